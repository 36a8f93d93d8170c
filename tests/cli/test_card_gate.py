"""What a judge card must show before it may gate: runs judged over HTTP, certified, then compared."""

import json
import re
import shutil
from xml.etree import ElementTree as ET

import pytest
from answer_reply import verdict
from called import ran
from command_line import SEARCH
from faulty_model import running
from row_files import write_rows

from gigamind.assets import asset

QUOTES = {"en": "The deploy runs every Friday.", "ko": "휴가는 팀장에게 신청한다."}
ASKED = {"en": ("deploy {}", "zebra {}"), "ko": ("휴가 신청 {}", "얼룩말 {}")}
# One at a time: the server gives its replies in the order of the queries.
MODEL = ("--unanswerable-mode", "llm", "--model", "openai/judge", "--max-in-flight", "1")
MODEL += ("--model-timeout-s", "60")  # both given: no speed is measured
STORE = ("--store", "store", "--store-mode", "readwrite")
UNTIMED = ("--speed-passes", "0")  # equal runs on a busy machine need not pass the gates of speed
BELOW = ("kappa 0.000", "0.400")
NO_KOREAN = ("unanswerable, Korean",)


def rows():
    """Ten answerable and ten unanswerable queries of each language."""
    for language, queries in ASKED.items():
        for n in range(20):
            answerable = n < 10
            note = {"en": "deploy.md", "ko": "휴가.md"}[language]
            yield {
                "id": f"{language}{n}",
                "query": queries[not answerable].format(n),
                "language": language,
                "answerable": answerable,
                "expected_notes": [note] if answerable else [],
            }


@pytest.fixture(scope="module")
def runs(tmp_path_factory, enter_case):
    """A server, and a folder with the runs `one` and `two` and its replies; all 40 verdicts of each are right."""
    folder = tmp_path_factory.mktemp("runs")
    with running() as server:
        # Nothing is found for the others, so the model is not asked about them.
        server.script.extend(verdict(QUOTES[x["language"]]) for x in rows() if x["answerable"])
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("OPENAI_API_KEY", "none")
            enter_case(folder, environment)
            write_rows(folder / "queries.jsonl", rows())
            given = (*SEARCH, *UNTIMED, *MODEL, *STORE, "--api-base", server.url)
            for out in ("one", "two"):
                ran(*given, "--out", out)
        yield folder, server


@pytest.fixture
def judged(case, search, runs, monkeypatch):
    """Runs as `one` and `two` were, into another folder."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    folder, server = runs
    shutil.copytree(folder, case, dirs_exist_ok=True)
    return lambda out, *options: search(
        *MODEL, *STORE, "--api-base", server.url, "--out", out, *options
    )


@pytest.fixture
def card(judged, case):
    """Certifies the judge by labels: all of them right, all alike, or those of English queries."""

    def make(labels):
        kept = [row for row in rows() if labels != "english" or row["language"] == "en"]
        told = [
            {"id": row["id"], "unanswerable": labels == "alike" or not row["answerable"]}
            for row in kept
        ]
        write_rows(case / "labels.jsonl", told)
        return ran("judge", "certify", "one", "--labels", "labels.jsonl", "--out", "card")

    assert judged
    return make


def gates(case, policy):
    text = (asset("deployments") / "gates.toml").read_text("utf-8")
    text, found = re.subn("^cards = [^ \n]+", f'cards = "{policy}"', text, flags=re.MULTILINE)
    assert found == 1
    (case / "gates.toml").write_text(text, encoding="utf-8")
    return (
        "--gates",
        "gates.toml",
        "--phase",
        "ga",
        "--fail-on-regression",
        "--judge-card",
        "card",
    )


@pytest.mark.parametrize(
    ("labels", "policy", "code", "why"),
    [
        ("right", "require", 0, ("1.000 (95% CI 0.825 – 1.000)",)),
        ("alike", "require", 4, BELOW),
        ("alike", "warn", 0, BELOW),
        ("english", "require", 4, NO_KOREAN),
    ],
)
def test_a_card_gates_by_what_it_shows_and_the_policy(
    case, gigamind, card, labels, policy, code, why
):
    """More policies and cards: tests/release/test_card_gate.py."""
    card(labels)
    ended = gigamind(
        "compare", "one", "two", *gates(case, policy), "--out", "two-runs", "--junit", "gate.xml"
    )
    assert ended.code == code, ended.stdout
    told = (case / "two-runs" / "compare.md").read_text("utf-8")
    (found,) = ET.parse(case / "gate.xml").findall(".//testcase[@name='judge_card']")
    message = "".join(found.itertext()) + "".join(one.get("message", "") for one in found)
    rule = json.loads((case / "two-runs" / "compare.json").read_text("utf-8"))["gate"]["rules"][-1]
    assert (rule["metric"], rule["scale"]) == ("judge_card", "unanswerable")
    assert rule["n"] == (20 if labels == "english" else 40)
    assert (found.find("failure") is not None) is (code == 4)
    for shown in (message, *([] if labels == "right" else [ended.stdout, told])):
        assert all(part in shown for part in why)


def test_the_report_of_a_run_says_certified_only_of_a_card_that_shows_enough(case, judged, card):
    card("alike")
    compared = ("--compare", "one", *gates(case, "require"), "--lang", "ko")
    assert judged("poor", *compared).code == 4
    report = (case / "poor" / "report.html").read_text("utf-8")
    summary = (case / "poor" / "summary.md").read_text("utf-8")
    advice = "<script.*?</script>|gigamind judge certify|다시 인증하십시오|인증 안 됨"
    for page in (report, summary):
        assert all(figure in page for figure in ("카파 0.000", "0.400"))
        assert "인증" not in re.sub(advice, "", page, flags=re.DOTALL)
    assert "40" in summary
    for path in (case / "card").iterdir():
        path.unlink()
    (case / "card").rmdir()
    card("right")
    assert judged("good", *compared).code == 0
    for name in ("report.html", "summary.md"):
        assert "인증" in (case / "good" / name).read_text("utf-8")


def test_gates_that_cannot_be_read_are_told_before_anything_is_asked(case, judged, card):
    card("right")
    (case / "bad.toml").write_text("schema = 1\n[card]\nmin_label = 3\n", encoding="utf-8")
    ended = judged("three", "--judge-card", "card", "--gates", "bad.toml")
    assert ended.code == 1
    assert "bad.toml: card.min_label: " in ended.stderr
    assert not (case / "three").exists()
