import json
import re

import pytest
from called import ran
from command_line import reached
from faulty_model import running
from judged_folders import write_judged_run
from korean import HANGUL

from gigamind.records.card import read_card


@pytest.fixture
def run_folder(tmp_path, monkeypatch):
    """A finished run in `run/` of the working directory: four queries, one judged wrongly."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": f"q{n}", "query": f"질의 {n}", "language": "ko", "answerable": n < 2}
        | {"judged_unanswerable": n > 0, "judgement": None}
        for n in range(4)
    ]
    return write_judged_run(tmp_path / "run", rows)


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_report_is_written_and_its_first_screen_shown(run_folder, lang):
    ended = ran("judge", "certify", "run", "--out", "card", "--lang", lang)
    verdict, *_others, _file = ended.stdout.splitlines()
    assert re.findall(r"\d+", verdict) == ["4", "30"]  # labels, and how many are needed
    assert (HANGUL.search(verdict) is not None) == (lang == "ko")
    assert ended.stdout.rstrip().endswith("judge_card.html")
    text = (run_folder.parent / "card" / "judge_card.md").read_text("utf-8")
    assert f"**{verdict}**" in text.replace("\\", "")
    card = json.loads((run_folder.parent / "card" / "judge_card.json").read_text("utf-8"))
    assert card["scales"][0]["overall"]["figures"]["sensitivity"]["value"] == 1.0
    assert card["judge"]["fingerprint"] == "f" * 64
    page = (run_folder.parent / "card" / "judge_card.html").read_text("utf-8")
    assert f'<html lang="{lang}">' in page


def test_without_out_the_card_stands_where_that_of_the_flow_does(gigamind, run_folder):
    assert gigamind("judge", "certify", "run").code == 0
    assert list(run_folder.parent.glob("eval/cards/*/judge_card.html"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--out", "card"], "run.json: "), (["--out", "card"], "RUN..."),
        (["run", "--out", "run"], "--out run: "),
        (["run", "--out", "card", "--labels", "labels.jsonl"], "labels.jsonl:2: unanswerable: "),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_error_and_exit_code_1(gigamind, run_folder, arguments, message):
    rows = '{"id": "q1", "unanswerable": true}\n{"id": "q2"}\n'
    (run_folder.parent / "labels.jsonl").write_text(rows, encoding="utf-8")
    ended = gigamind("judge", "certify", *arguments)
    assert ended.code == 1
    assert message in ended.stderr
    assert not (run_folder.parent / "card").exists()


def test_runs_of_a_real_model_judge_are_certified_and_repeated(search, gigamind, case):
    """Over HTTP: the fake model gives the same reply to the same question, so nothing flips."""
    with running() as server:
        asked = ("--unanswerable-mode", "llm", "--model", "openai/judge", *reached(server))
        for out, store in (("one", "readwrite"), ("two", "off"), ("three", "readwrite")):
            ended = search(*asked, "--store", "store", "--store-mode", store, "--out", out)
            assert ended.code == 0, ended.stderr
    ended = ran("judge", "certify", "one", "two", "--out", "card")
    card = read_card(case / "card")
    told = json.loads((case / "one" / "run.json").read_text("utf-8"))["judge"]
    assert card.is_valid_for(told["fingerprint"], "openai/judge")
    assert (card.scales[0].overall.items, card.scales[0].flips.value) == (3, 0.0)
    ended = gigamind("judge", "certify", "one", "three", "--out", "another")
    assert (ended.code, "--store-mode" in ended.stderr) == (1, True)
