import json
import shutil
import subprocess
import sys

import pytest
from judged_folders import write_judged_run
from reached import reached

from gigamind.llm.fake import running
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


@pytest.mark.parametrize(
    ("lang", "verdict", "why", "headline"),
    [
        (
            "en",
            "It is not shown that this judge, held against its dataset's labels, may gate a release (4 labels).",
            "  unanswerable: 4 labels, fewer than 30.",
            "3 of 4 verdicts are as labelled (accuracy 0.750",
        ),
        (
            "ko",
            "이 판정기를 출시 게이트에 써도 되는지 데이터셋의 정답만으로는 아직 알 수 없습니다 (정답 4건).",
            "  답변 불가: 정답 4건으로 30건보다 적음.",
            "판정 4건 중 3건이 정답표와 같습니다 (정확도 0.750",
        ),
    ],
)
def test_a_card_is_written_and_its_headline_told(
    gigamind, run_folder, lang, verdict, why, headline
):
    ended = gigamind("judge", "certify", "run", "--out", "card", "--lang", lang)
    assert ended.code == 0, ended.stderr
    told = ended.stdout.split("\n")
    assert told[0] == verdict
    assert why in told
    assert headline in ended.stdout
    assert ended.stdout.rstrip().endswith("judge_card.html")
    card = json.loads((run_folder.parent / "card" / "judge_card.json").read_text("utf-8"))
    assert card["scales"][0]["overall"]["figures"]["sensitivity"]["value"] == 1.0
    assert card["judge"]["fingerprint"] == "f" * 64
    page = (run_folder.parent / "card" / "judge_card.html").read_text("utf-8")
    assert f'<html lang="{lang}">' in page


def test_without_out_the_card_stands_where_that_of_the_flow_does(gigamind, run_folder):
    assert gigamind("judge", "certify", "run").code == 0
    assert list(run_folder.parent.glob("eval/cards/*/judge_card.html"))


def test_cautions_go_to_standard_error(gigamind, run_folder):
    ended = gigamind("judge", "certify", run_folder, "--out", "card")
    assert "Only 2 labels for unanswerable = yes" in ended.stderr
    assert "One run only" in ended.stderr


@pytest.mark.parametrize(
    ("lang", "line"),
    [
        (
            "en",
            "  quotes one line for every claim: correctness 1.000, unsupported but believed 1 / 1,",
        ),
        (
            "ko",
            "  모든 주장에 같은 줄을 인용함: 정확성 1.000, 근거 없이 인정된 주장 1 / 1,",
        ),
    ],
)
def test_what_liars_get_away_with_is_told_with_the_card(gigamind, run_folder, lang, line):
    figures = {"correctness": 1.0, "passed_off": 1, "hidden": 0, "utility": None, "unscored": 0}
    counts = {"answers": 1, "unlabelled": 0, "claims": 2, "unsupported": 1}
    liars = counts | {
        "dataset": "a.jsonl",
        "dataset_hash": "h",
        "correctness": 0.5,
        "utility": None,
    }
    liars["liars"] = [{"name": "pastes_one_line"} | figures]
    tests = run_folder.parent / "tests.json"
    tests.write_text(json.dumps({"fingerprint": "f" * 64, "liars": liars}), encoding="utf-8")
    ended = gigamind("judge", "certify", "run", "--tests", tests, "--out", "card", "--lang", lang)
    assert ended.code == 0, ended.stderr
    assert line in ended.stdout
    assert read_card(run_folder.parent / "card").liars.liars[0].passed_off == 1


def test_repetitions_are_further_runs(gigamind, run_folder):
    again = shutil.copytree(run_folder, run_folder.parent / "again")
    told = json.loads((again / "run.json").read_text("utf-8"))
    (again / "run.json").write_text(json.dumps(told | {"run_id": "again"}), encoding="utf-8")
    ended = gigamind("judge", "certify", run_folder, again, "--out", "card")
    assert "of two equal runs, 0.000 of the verdicts differ" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--out", "card"], "run.json: missing"),
        (["--out", "card"], "Missing argument 'RUN...'"),
        (["run", "--out", "run"], "exists already"),
        (
            ["run", "--out", "card", "--labels", "labels.jsonl"],
            "labels.jsonl:2: unanswerable: Field required",
        ),
    ],
)
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
    ended = gigamind("judge", "certify", "one", "two", "--out", "card")
    assert ended.code == 0, ended.stderr
    card = read_card(case / "card")
    told = json.loads((case / "one" / "run.json").read_text("utf-8"))["judge"]
    assert card.is_valid_for(told["fingerprint"], "openai/judge")
    assert (card.scales[0].overall.items, card.scales[0].flips.value) == (3, 0.0)
    ended = gigamind("judge", "certify", "one", "three", "--out", "another")
    assert (ended.code, "from the store" in ended.stderr) == (1, True)


def test_help_loads_no_numbers():
    code = "import sys, gigamind.cli.main; print('numpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
