"""The judges that cost nothing, side by side in every run."""

import re

import pytest
from blocks import section
from out_files import rows_of, run_of

from gigamind.errors import InputError
from gigamind.tasks import evaluate
from gigamind.tasks.search.free_judges import KnownErrors
from gigamind.tasks.search.schema import JudgeRates


def test_each_says_something_of_every_query_and_only_hybrid_search_has_answer_scores(
    make_options, tmp_path
):
    kinds = {
        mode: {tuple(row["judges"]) for row in rows_of(evaluate(made).out)}
        for mode in ("hybrid", "keyword")
        if (made := make_options(mode=mode, out=tmp_path / mode))
    }
    assert kinds == {
        "hybrid": {("threshold", "answer_score", "calibrated")},
        "keyword": {("threshold", "calibrated")},
    }


def test_the_chosen_judge_stands_among_them_with_its_own_setting(make_options):
    done = evaluate(make_options(mode="keyword", min_score=0.9))
    told = {rates.kind: (rates.chosen, rates.setting) for rates in done.summary.judges}
    assert told["threshold"] == (True, 0.9)
    assert told["calibrated"][0] is False
    for row in rows_of(done.out):
        assert row["judges"]["threshold"]["unanswerable"] is row["judged_unanswerable"]


def test_the_answer_score_decides_where_it_is_chosen(make_options):
    done = evaluate(make_options(mode="hybrid", unanswerable_mode="answer_score"))
    for row in rows_of(done.out):
        own = row["judges"]["answer_score"]
        assert row["judged_unanswerable"] is own["unanswerable"]
        assert row["answerable_score"] == own["score"]
        assert own["unanswerable"] is (not row["ranking"] or own["score"] < 0.3)
    used = section(done.page, "judge").blocks
    assert "answer_score" in str(used[0])


def test_the_answer_score_needs_both_legs(make_options):
    with pytest.raises(InputError, match=r"answer_score: .*--mode hybrid"):
        evaluate(make_options(mode="keyword", unanswerable_mode="answer_score"))


def test_a_run_recommends_at_most_one_judge_and_only_by_its_own_figures(make_options):
    done = evaluate(make_options(mode="keyword"))
    messages = run_of(done.out)["warnings"]
    text = KnownErrors(done.summary.judges).advice
    chosen = next(rates for rates in done.summary.judges if rates.chosen)
    assert (chosen.missed == chosen.unanswerable) == bool(text)
    assert [m for m in messages if "--unanswerable-mode" in m] == ([text] if text else [])


def _rates(kind, missed, refused, *, chosen=False):
    rates = dict.fromkeys(("precision", "recall", "f1"), None)
    return JudgeRates(
        kind=kind, chosen=chosen, setting=0.5, missed=missed, unanswerable=44, refused=refused,
        answerable=158, far=missed / 44, false_refusals=refused / 158, **rates,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("own", "others", "recommended"),
    [
        ((44, 0), [("calibrated", 25, 73), ("answer_score", 25, 101)], "llm"),
        ((44, 0), [("calibrated", 10, 73)], "llm"),  # refuses too many
        ((44, 0), [("calibrated", 30, 5)], "llm"),  # misses too many
        ((44, 0), [("calibrated", 20, 20), ("answer_score", 15, 20)], "answer_score"),
        ((44, 0), [], "llm"),
        ((43, 0), [("calibrated", 0, 0)], ""),
    ],
)
def test_a_judge_is_recommended_by_its_errors_on_these_queries(own, others, recommended):
    judges = [_rates("threshold", *own, chosen=True), *(_rates(*other) for other in others)]
    modes = re.findall(r"--unanswerable-mode (\w+)", KnownErrors(judges).advice)
    assert modes == ([recommended] if recommended else [])


def test_a_model_as_judge_gets_no_advice():
    assert KnownErrors([_rates("threshold", 44, 0)]).advice == KnownErrors([]).advice == ""


def test_there_is_no_word_on_a_threshold_where_every_query_has_an_answer(make_options, tmp_path):
    rows = [{"id": "a", "query": "deploy", "answerable": True, "expected_notes": ["deploy.md"]}]
    done = evaluate(make_options(rows, mode="keyword", out=tmp_path / "answerable"))
    assert run_of(done.out)["warnings"] == []
