"""A search evaluation whose judge weighs all that search shows."""

import json

import pytest

from gigamind.errors import InputError
from gigamind.tasks import evaluate


def items(done):
    rows = (done.out / "per_item.jsonl").read_text("utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, rows)}


def run_of(done):
    return json.loads((done.out / "run.json").read_text("utf-8"))


def test_the_verdict_hangs_on_the_probability_and_the_setting_of_the_file(make_options):
    done = evaluate(make_options(unanswerable_mode="calibrated"))
    judge = run_of(done)["judge"]
    assert (judge["kind"], judge["file"]) == ("calibrated", "judges/unanswerable_calibrated.toml")
    found = items(done)
    assert found["nothing"]["answerable_score"] == 0.0
    for item in found.values():
        assert item["judged_unanswerable"] is (item["answerable_score"] < judge["setting"])
    assert found["first"]["judged_unanswerable"] is False
    assert done.summary.llm is None


def test_verdicts_are_those_of_the_same_signals_in_hybrid_and_semantic_mode(make_options, tmp_path):
    hybrid, semantic = (
        evaluate(make_options(unanswerable_mode="calibrated", mode=mode, out=tmp_path / mode))
        for mode in ("hybrid", "semantic")
    )
    scores = [
        {name: item["answerable_score"] for name, item in items(done).items()}
        for done in (hybrid, semantic)
    ]
    assert scores[0] == scores[1]
    assert run_of(hybrid)["judge"] == run_of(semantic)["judge"]
    assert not run_of(hybrid)["warnings"]  # that of --min-score is about the threshold judge


def test_keyword_mode_has_a_setting_and_a_fingerprint_of_its_own(make_options, tmp_path):
    judges = [
        run_of(
            evaluate(make_options(unanswerable_mode="calibrated", mode=mode, out=tmp_path / mode))
        )["judge"]
        for mode in ("keyword", "hybrid")
    ]
    assert judges[0]["fingerprint"] != judges[1]["fingerprint"]
    assert judges[0]["setting"] != judges[1]["setting"]


@pytest.mark.parametrize(("lang", "words"), [("en", "least probability"), ("ko", "최소 확률")])
def test_the_page_speaks_of_probabilities(make_options, lang, words):
    done = evaluate(make_options(unanswerable_mode="calibrated", lang=lang))
    assert words in (done.out / "report.html").read_text("utf-8")
    summary = (done.out / "summary.md").read_text("utf-8")
    assert "the probability that the vault answers it is below" in summary


def test_a_judge_file_decides_the_kind_by_itself(make_options, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('kind = "threshold"\nmin_score = 0.75\n', encoding="utf-8")
    done = evaluate(make_options(judge=file))
    assert run_of(done)["judge"] | {"fingerprint": ""} == {
        "kind": "threshold",
        "file": str(file),
        "fingerprint": "",
        "setting": 0.75,
        "model": None,
        "languages": [],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'kind = "threshold"\nmin_score = 2\n',
            "min_score: Input should be less than or equal to 1",
        ),
        ('kind = "threshold"\nmin_score = 0.1\nmore = 1\n', "more: there is no such field"),
        ('kind = "oracle"\n', "kind: must be threshold, calibrated or llm, and is 'oracle'"),
        ("kind", "the judge file cannot be read"),
    ],
)
def test_a_judge_file_that_says_something_else_is_refused_before_any_work(
    make_options, tmp_path, text, message
):
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        evaluate(make_options(judge=file))
    assert not (tmp_path / "cache").exists()
