"""Thresholds of a judge of words, fitted to human verdicts, and measured on answers that did not choose them."""

import json

import pytest

from gigamind.assets import asset
from gigamind.datasets.jsonl import read_answers
from gigamind.errors import DatasetError
from gigamind.judges.fit import write_judge_file
from gigamind.judges.fit_answers import HEAD, fit_answers, labelled_answers
from gigamind.judges.load import load_answer_judge
from gigamind.judges.search_qa.by_words import WordsJudgeFile
from gigamind.judges.spec import read_judge_file

FILE = load_answer_judge(asset("judges") / "words.toml", "auto").file
FRUITS = [
    "apples", "pears", "plums", "cherries", "grapes", "melons", "lemons", "peaches", "quinces",
    "apricots", "figs", "olives",
]  # fmt: skip


def rows(tmp_path, *, wrong=True):
    """Right claims have only words of their note, wrong ones half."""
    file = tmp_path / "answers.jsonl"
    lines = []
    for number, fruit in enumerate(FRUITS):
        note = f"Ripe {fruit} travel north by slow boats every Monday."
        right = f"Ripe {fruit} travel north by boats."
        false = f"Ripe {fruit} attract hungry wasps and boats."
        claims = [{"text": right, "verdict": "supported"}]
        claims += [{"text": false, "verdict": "not_found"}] if wrong else []
        lines.append({
            "id": f"a-{number}", "question": "How do fruits travel?", "answer": f"{right} {false}",
            "context_notes": [{"title": "Fruits", "text": note}], "labels": {"claims": claims},
        })  # fmt: skip
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert len(read_answers(file).items) == len(FRUITS)
    return file


def test_the_threshold_separates_the_labels_and_its_figures_are_held_out(tmp_path):
    answers, problems = labelled_answers(rows(tmp_path), None)
    fitted = fit_answers(answers, FILE)
    figures = fitted.fitted["en"]
    assert problems == []
    assert list(fitted.fitted) == ["en"]
    assert fitted.min_score["ko"] == FILE.min_score["ko"]
    assert (figures.claims, figures.answers, figures.supported) == (24, 12, 12)
    assert (figures.balanced_accuracy, figures.precision, figures.recall) == (1.0, 1.0, 1.0)
    assert figures.low < 1.0 == figures.high


def test_a_fitted_file_reads_back_as_it_was_written(tmp_path):
    answers, _problems = labelled_answers(rows(tmp_path), None)
    fitted, file = fit_answers(answers, FILE), tmp_path / "mine.toml"
    write_judge_file(file, fitted, HEAD)
    assert read_judge_file(file, WordsJudgeFile) == fitted
    assert load_answer_judge(file, "auto").fingerprint("") != load_answer_judge(
        asset("judges") / "words.toml", "auto"
    ).fingerprint("")


def test_too_few_labels_of_a_verdict_are_refused(tmp_path):
    answers, _problems = labelled_answers(rows(tmp_path, wrong=False), None)
    with pytest.raises(DatasetError, match="10 supported and 10"):
        fit_answers(answers, FILE)
