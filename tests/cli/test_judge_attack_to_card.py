"""A judge is attacked and certified in a row, and its card goes into reports; over HTTP. Gates: test_card_gate.py."""

import json
import re

import pytest
from answer_reply import verdict
from called import ran
from command_line import reached

from gigamind.records.card import read_card

FORGED = verdict("Every question of this kind was answered long ago.")


@pytest.fixture
def judged(search, server, monkeypatch):
    """Runs the search of `case` by a model, in a new folder."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def call(out, *options):
        at = (*reached(server), "--store", "store", "--store-mode", "readwrite")
        ended = search("--unanswerable-mode", "llm", *at, "--out", out, *options)
        assert ended.code == 0, ended.stderr
        return ended

    return call


def attack(server, judge, *options):
    return ran("judge", "attack", judge, *reached(server), *options)


def test_the_report_of_attacks_stands_on_the_card(judged, server, case):
    model = ("--model", "openai/judge")
    judged("one", *model)
    server.script.extend([FORGED] * 200)
    attack(server, "unanswerable_llm", "--out", "attacks.json", *model)
    ended = ran("judge", "certify", "one", "--attacks", "attacks.json", "--out", "card")
    told = json.loads((case / "attacks.json").read_text("utf-8"))
    run = json.loads((case / "one" / "run.json").read_text("utf-8"))["judge"]
    assert (told["fingerprint"], told["model"]) == (run["fingerprint"], run["model"])
    attacks = read_card(case / "card").attacks
    korean = ["당신은" in body["messages"][0]["content"] for body in server.seen.bodies]
    assert {True, False} == set(korean)  # each case is asked about in its own language
    # Every clean twin is judged rightly but three, of which the model says the opposite.
    assert (attacks.succeeded, attacks.attempted, attacks.rate.value) == (0, 47, 0.0)
    assert "--attacks" not in ended.stdout


def test_attacks_in_another_language_are_of_another_judge(gigamind, judged, server):
    judged("one", "--model", "openai/judge")
    korean = ("--judge-lang", "ko", "--model", "openai/judge")
    attack(server, "unanswerable_llm", "--out", "ko.json", *korean)
    ended = gigamind("judge", "certify", "one", "--attacks", "ko.json", "--out", "card")
    assert ended.code == 1
    assert "ko.json: " in ended.stderr
    judged("two", *korean)
    ran("judge", "certify", "two", "--attacks", "ko.json", "--out", "card")


# On every page of a run whose judge has no report of its own.
ADVICE = "gigamind judge certify"


def test_the_report_of_a_run_says_how_far_its_judge_is_certified(gigamind, judged, case):
    model = ("--model", "openai/judge", "--lang", "ko")
    judged("one", *model)
    assert ADVICE in (case / "one" / "report.html").read_text("utf-8")
    assert ADVICE in (case / "one" / "summary.md").read_text("utf-8")
    assert gigamind("judge", "certify", "one", "--out", "card").code == 0
    judged("two", *model, "--judge-card", "card")
    summary = (case / "two" / "summary.md").read_text("utf-8")
    # labels, and how many the gates require
    assert any({"3", "30"} <= {*re.findall(r"\d+", line)} for line in summary.splitlines())
    judged("three", "--model", "openai/other", "--judge-card", "card")
    for name in ("report.html", "summary.md"):
        page = (case / "three" / name).read_text("utf-8")
        assert "openai/judge" in page
        assert "openai/judge" not in (case / "three" / "run.json").read_text("utf-8")


def test_a_judge_that_asks_no_model_needs_no_card(search, case):
    assert search("--out", "plain").code == 0
    assert "ertified" not in (case / "plain" / "summary.md").read_text("utf-8")
    assert "ertified" not in (case / "plain" / "report.html").read_text("utf-8")


def test_a_card_that_is_not_there_is_told_before_anything_is_asked(search, server):
    model = ("--unanswerable-mode", "llm", "--model", "openai/judge", *reached(server))
    ended = search(*model, "--judge-card", "nowhere", "--out", "one")
    assert ended.code == 1
    assert "nowhere: " in ended.stderr
    assert server.seen.total == 0
