"""The judges that cost nothing, side by side in every run."""

import json
import re

import pytest

from gigamind.errors import InputError
from gigamind.judges.threshold import ThresholdJudge
from gigamind.tasks import evaluate
from gigamind.tasks.search.free_judges import FreeJudges, free_rates
from gigamind.tasks.search.schema import FreeVerdict, ItemReport


def items(done):
    rows = (done.out / "per_item.jsonl").read_text("utf-8").splitlines()
    return [json.loads(row) for row in rows]


def test_each_says_something_of_every_query_and_only_hybrid_search_has_answer_scores(
    make_options, tmp_path
):
    kinds = {
        mode: {tuple(row["judges"]) for row in items(evaluate(made))}
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
    for row in items(done):
        assert row["judges"]["threshold"]["unanswerable"] is row["judged_unanswerable"]


def test_the_answer_score_decides_where_it_is_chosen(make_options):
    done = evaluate(make_options(mode="hybrid", unanswerable_mode="answer_score"))
    for row in items(done):
        own = row["judges"]["answer_score"]
        assert row["judged_unanswerable"] is own["unanswerable"]
        assert row["answerable_score"] == own["score"]
        assert own["unanswerable"] is (not row["ranking"] or own["score"] < 0.3)
    page = (done.out / "report.html").read_text("utf-8")
    assert "answer_score of the best note" in page


def test_the_answer_score_needs_both_legs(make_options):
    with pytest.raises(InputError, match=r"answer_score: .*--mode hybrid"):
        evaluate(make_options(mode="keyword", unanswerable_mode="answer_score"))


@pytest.mark.parametrize(
    ("lang", "counts"),
    [("en", "{refused} of {answerable} "), ("ko", "{answerable}건 중 {refused}건")],
)
def test_page_and_summary_say_what_each_would_cost(make_options, lang, counts):
    done = evaluate(make_options(mode="keyword", lang=lang))
    page, summary = ((done.out / name).read_text("utf-8") for name in ("report.html", "summary.md"))
    for rates in done.summary.judges:
        assert counts.format(**rates.model_dump()) in page
    assert re.search(r"\| threshold \(.+\) \| 0\.300 \|", summary)


def test_the_word_on_a_blunt_threshold_says_what_the_judge_that_it_advises_would_cost(
    make_options, tmp_path
):
    done = evaluate(make_options(mode="keyword", out=tmp_path / "blunt"))
    (rates,) = (rates for rates in done.summary.judges if rates.kind == "calibrated")
    *_, warning = json.loads((done.out / "run.json").read_text("utf-8"))["warning_messages"]
    names = ("refused", "answerable", "missed", "unanswerable")
    assert warning["values"] == {name: getattr(rates, name) for name in names}
    sharp = evaluate(make_options(mode="keyword", min_score=0.0, out=tmp_path / "sharp"))
    messages = json.loads((sharp.out / "run.json").read_text("utf-8"))["warning_messages"]
    assert not any("refused" in message.get("values", {}) for message in messages)


def test_there_is_no_word_on_a_threshold_where_every_query_has_an_answer(make_options, tmp_path):
    rows = [{"id": "a", "query": "deploy", "answerable": True, "expected_notes": ["deploy.md"]}]
    done = evaluate(make_options(rows, mode="keyword", out=tmp_path / "answerable"))
    assert json.loads((done.out / "run.json").read_text("utf-8"))["warnings"] == []


def test_rates_count_both_kinds_of_error():
    def item(number, *, answerable, unanswerable):
        verdict = FreeVerdict(unanswerable=unanswerable, score=0.5)
        return ItemReport.model_construct(
            id=str(number), answerable=answerable, judges={"threshold": verdict}
        )

    # Of four unanswerable queries three are caught; of five answerable ones two are refused.
    rows = [item(n, answerable=False, unanswerable=n < 3) for n in range(4)]
    rows += [item(n + 4, answerable=True, unanswerable=n < 2) for n in range(5)]
    judge = ThresholdJudge(kind="threshold", min_score=0.3)
    (rates,) = free_rates(FreeJudges({"threshold": judge}, None), "calibrated", rows)
    assert (rates.missed, rates.unanswerable, rates.refused, rates.answerable) == (1, 4, 2, 5)
    assert (rates.far, rates.false_refusals, rates.precision) == (0.25, 0.4, 0.6)
    assert rates.both_rates == pytest.approx(0.65)
    assert not rates.chosen
