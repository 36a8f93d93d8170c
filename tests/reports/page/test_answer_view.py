"""The page of an answer run: its result, examples, sections and list."""

import re

import pytest
from blocks import HOSTILE, find, harmless, section
from judged_folders import ANSWER, CLAIM, EVALUATION
from search_records import make_record
from summaries import answer_summary

from gigamind.i18n import translator
from gigamind.records import judged
from gigamind.records.schema import IntervalReport
from gigamind.reports.comparison import WORDS_BLIND
from gigamind.reports.document import Count, Interval, KeyFigures, Listing, Proportion, Table
from gigamind.reports.html import render_html
from gigamind.reports.labels import LABELS
from gigamind.reports.markdown import render_markdown
from gigamind.reports.run import Outcome, run_document
from gigamind.tasks.answers import schema
from gigamind.tasks.answers.view import AnswerView

EN = translator("en")
VIEW = AnswerView()
NEAREST = "It is 15 days."
FACT = schema.LabelsReport(
    correctness=None, utility=None, abstains=None, claims=(),
    facts=(schema.LabelledFactReport(text="fact", vital=True, note=1, claim=None),),
)  # fmt: skip


def claim(number, verdict, **changes):
    values = CLAIM | {
        "id": number, "text": f"claim {number}", "end": 1, "utf16_end": 1, "verdict": verdict, "note": 1,
        "evidence": {"status": "aligned", "source_index": 0, "quote": NEAREST, "start": 0, "end": 14},
        "source": judged.SourceSentence(heading="", text=NEAREST),
    }  # fmt: skip
    return judged.EvaluatedClaim.model_validate(values | changes)


def answer(name, *verdicts, evaluated=True, **changes):
    claims = tuple(claim(number, verdict) for number, verdict in enumerate(verdicts, 1))
    share = verdicts.count("supported") / len(verdicts) if verdicts else None
    evaluation = EVALUATION | {"correctness": share, "claims": claims, "abstains": not verdicts}
    values = ANSWER | {
        "id": name, "question": f"question {name}", "answer": "a", "language": "en", "labels": None,
        "notes": (schema.NoteReport(title="Leave", path=None, text=NEAREST),),
        "evaluation": evaluation if evaluated else None, "metrics": {"correctness": share},
    }  # fmt: skip
    return schema.AnswerItemReport.model_validate(values | changes)


def part(items, **values):
    interval = IntervalReport(low=0.25, high=0.75, n=items)
    return schema.AnswerSliceReport(
        items=items, answers=values, intervals={f"answers.{name}": interval for name in values}
    )


def make_answers(*items, metrics=(), counts=None, **summary):
    """An answer run of these items, judged by words."""
    evaluated = [item.evaluation for item in items if item.evaluation]
    claims = [claim for evaluation in evaluated for claim in evaluation.claims]
    verdicts = [claim.verdict for claim in claims]
    numbers = dict.fromkeys(schema.AnswerCounts.model_fields, 0) | {
        "answers_total": len(items),
        "answers_evaluated": sum(item.is_judged for item in items),
        "claims": len(claims),
    }
    judge = judged.JudgeReport(kind="words", file="words.toml", fingerprint="f", metrics=metrics)
    run = make_record(run={"task": "answers", "judge": judge, "options": {"seed": 42}}).run
    overall = part(len(items), correctness=0.5, utility=None)
    values = {
        "counts": numbers | (counts or {}), "overall": overall, "by_language": {"en": overall},
        "verdicts": {name: verdicts.count(name) for name in dict.fromkeys(verdicts)},
    }  # fmt: skip
    return schema.AnswerRunRecord(run, answer_summary(**values | summary), items, ())


def sections(record):
    return {section.id: section for section in VIEW.sections(record, EN)}


def quality(checked=4):
    rate, low, high = (0.5, 0.15, 0.85) if checked else (None, None, None)
    item = schema.QualityItemRate(
        id="direct", ko="직접?", en="Direct?", yes=2, rate=rate, low=low, high=high, unproven=1
    )
    overall = schema.QualitySliceReport(
        checked=checked, passed=2, pass_rate=rate, low=low, high=high, items=(item,)
    )
    return schema.QualitySummaryReport(
        judge=judged.JudgeReport(kind="checklist", file="f", fingerprint="c"), feature="search_qa",
        min_pass_ratio=0.75, unchecked=0, overall=overall, by_language={"ko": overall},
    )  # fmt: skip


def test_the_result_counts_claims_that_are_not_supported():
    items = answer("a", "supported", "not_found"), answer("b", "supported")
    by_words = VIEW.result(make_answers(*items))
    assert re.findall(r"[\d.]+", by_words)[:4] == ["1", "3", "33.3", "2"]
    by_quotes = VIEW.result(make_answers(*items, told={"supported": 3}))
    assert by_quotes != by_words
    silent = VIEW.result(make_answers(answer("a")))
    nothing = VIEW.result(make_answers(answer("a", evaluated=False)))
    assert len({by_words, by_quotes, silent, nothing}) == 4


def test_the_checklist_is_a_figure_if_answers_were_checked():
    def keys(**changes):
        summary = make_answers(answer("a", "supported"), **changes).summary
        return {figure.key: figure for figure in VIEW.figures(summary)}

    rate = keys(quality=quality())["quality.pass_rate"]
    interval = rate.interval
    assert (rate.value, interval.low, interval.high, interval.n) == (0.5, 0.15, 0.85, 4)
    for unchecked in (keys(), keys(quality=quality(checked=0))):
        assert list(unchecked) == ["answers.correctness", "answers.utility"]


def test_warnings_name_what_makes_figures_doubtful():
    item = answer("a", "supported")
    assert list(VIEW.warnings(make_answers(item))) == [WORDS_BLIND]
    assert not list(VIEW.warnings(make_answers(item, told={"supported": 1})))
    doubtful = make_answers(
        item, counts={"without_context": 3}, flagged=2, notices={"other_language": 4}
    )
    numbers = [re.findall(r"^\d+", warning) for warning in VIEW.warnings(doubtful)]
    assert numbers == [["2"], [], ["3"], ["4"]]


def test_the_worst_answers_show_their_claim_beside_the_nearest_sentence():
    items = (
        answer("fine", "supported"), answer("refused", labels=FACT),
        answer("half", "supported", "not_found"), answer("none", "not_found"),
        answer("false", "supported", "not_found", "contradicted"),
    )  # fmt: skip
    examples = VIEW.examples(make_answers(*items))
    assert [one.id for one in examples.items] == ["false", "none", "half"]
    assert examples.of == 4
    own, nearest = examples.items[0].sides
    assert [(line.text, line.mark) for line in own.lines] == [("claim 3", "wrong")]
    assert [(line.text, line.value) for line in nearest.lines] == [(NEAREST, "Leave")]
    assert LABELS["contradicted"] in examples.items[0].what
    assert re.findall(r"\d+", examples.items[0].what) == ["2", "3"]


def test_a_claim_without_any_sentence_and_an_omission_are_examples_with_less():
    alone = claim(1, "not_found", evidence=None, source=None, note=None)
    lost = answer("a", "not_found")
    lost = lost.model_copy(
        update={"evaluation": lost.evaluation.model_copy(update={"claims": (alone,)})}
    )
    first, second = VIEW.examples(make_answers(answer("b", labels=FACT), lost)).items
    assert [side.lines[0].text for side in first.sides] == ["claim 1"]
    assert "fact" in second.what
    assert not second.sides


@pytest.mark.parametrize(("lower", "order"), [(False, ["b", "a"]), (True, ["c", "a"])])
def test_a_judge_of_ones_own_orders_answers_by_its_first_metric(lower, order):
    metrics = (judged.MetricReport(name="tone", en="tone", ko="어조", lower_is_better=lower),)
    items = [
        answer(
            name,
            evaluated=False,
            metrics={"tone": value},
            verdict=judged.VerdictReport(scores={"tone": value}, text=f"text {name}"),
        )
        for name, value in (("a", 0.5), ("b", 0.0), ("c", 1.0))
    ]
    record = make_answers(*items, metrics=metrics, overall=part(3, tone=0.5))
    examples = VIEW.examples(record)
    assert [one.id for one in examples.items] == order
    assert f"text {order[0]}" in examples.items[0].what
    assert re.findall(r"[\d.]+\d", VIEW.result(record)) == ["0.500"]
    assert not {"refusals", "claims"} & sections(record).keys()
    figures = find(run_document(VIEW, record, Outcome(), EN).blocks, KeyFigures)
    assert [figure.value for figure in figures.figures] == [Proportion(0.5)]


def test_answered_and_refused_questions_are_counted_by_whether_notes_answer_them():
    items = (
        *(answer(f"a{n}", "supported") for n in range(3)), *(answer(f"r{n}") for n in range(2)),
        answer("u", "not_found", unanswerable=True),
        *(answer(f"s{n}", unanswerable=True) for n in range(4)), answer("lost", evaluated=False),
    )  # fmt: skip
    table = find(sections(make_answers(*items))["refusals"].blocks, Table)
    cells = [[int(re.match(r"\d+", cell)[0]) for cell in row[1:]] for row in table.rows]
    assert cells == [[3, 2], [1, 4]]


def test_without_labels_of_answerability_there_is_no_table_of_refusals():
    assert "refusals" not in sections(make_answers(answer("a", "supported"), answer("b")))
    labelled = make_answers(answer("a", "supported"), answer("b", labels=FACT))
    (row,) = find(sections(labelled)["refusals"].blocks, Table).rows
    assert [cell.split()[0] for cell in row[1:]] == ["0", "1"]


def test_claims_are_counted_by_verdict_and_by_why_quotes_do_not_prove_them():
    record = make_answers(
        answer("a", "supported", "not_found", "not_found"), doubts={"little_in_common": 2}
    )
    verdicts, doubts = (b for b in sections(record)["claims"].blocks if isinstance(b, Table))
    assert list(verdicts.rows) == [(LABELS["not_found"], Count(2)), (LABELS["supported"], Count(1))]
    assert list(doubts.rows) == [(LABELS["little_in_common"], Count(2))]


def test_the_checklist_has_its_pass_rate_and_the_rate_of_each_item():
    record = make_answers(answer("a", "supported"), quality=quality())
    blocks = sections(record)["checklist"].blocks
    assert list(find(blocks, Table).rows) == [
        ("passed", Proportion(0.5, 4), Interval(0.15, 0.85), Count(None)),
        ("Direct?", Proportion(0.5), Interval(0.15, 0.85), Count(1)),
    ]
    assert "checklist" not in sections(make_answers(answer("a", "supported")))


def test_slices_have_the_metrics_that_any_of_them_measured():
    tags = {"rare": part(1, correctness=0.25, utility=None), "often": part(40, correctness=0.75)}
    blocks = sections(make_answers(answer("a", "supported"), by_tag=tags))["slices"].blocks
    assert [row[1:] for row in find(blocks, Table).rows] == [
        (Count(1), Proportion(0.5)),
        (Count(40), Proportion(0.75)),
        (Count(1), Proportion(0.25)),
    ]
    assert "slices" not in sections(make_answers(answer("a", "supported")))


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_the_page_shows_hostile_and_long_texts_as_texts(lang):
    bad = answer("a", "not_found", question=HOSTILE, answer=HOSTILE, tags=(HOSTILE,))
    long = answer("b", "not_found", question="q" * 500)
    record = make_answers(bad, long, by_tag={HOSTILE: part(1, correctness=0.5)})
    page = run_document(VIEW, record, Outcome(), translator(lang))
    harmless(page, lang)
    assert not re.search(r"(?<!\\)<", render_markdown(page, translator(lang)))


def test_a_run_without_answers_has_a_page():
    record = make_answers(overall=part(0), by_language={})
    page = run_document(VIEW, record, Outcome(), EN)
    assert page.headline == VIEW.result(record)
    assert VIEW.result(record) in render_markdown(page, EN)
    assert "<h1>" in render_html(page, EN)


def test_an_interrupted_run_counts_what_was_not_run():
    record = make_answers(answer("a", "supported"), counts={"not_run": 3})
    assert VIEW.not_run(record.summary) == 3
    left = quality().model_copy(update={"not_run": 5})
    assert VIEW.not_run(record.summary.model_copy(update={"quality": left})) == 5


def test_the_list_is_a_section_that_only_html_shows():
    record = make_answers(answer("a", "supported"))
    page = run_document(VIEW, record, Outcome(), EN)
    found = section(page, "list")
    assert find(found.blocks, Listing).script == "answer_item.js"
    assert not found.folded
