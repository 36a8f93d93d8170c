"""report.html of an evaluation of answers; see `layout`."""

from collections.abc import Iterator

from gigamind.reports.answer_schema import AnswerRunRecord, AnswerSummaryReport
from gigamind.reports.cards.line import certified
from gigamind.reports.page.answer_data import answers_json
from gigamind.reports.page.answer_metrics import (
    COLUMNS,
    MAIN,
    answer_slices,
    called,
    some_answers,
)
from gigamind.reports.page.answer_plots import answer_figures
from gigamind.reports.page.headline import Card, against, card, notices, share
from gigamind.reports.page.layout import held_against, metric_rows, render_page
from gigamind.reports.page.model_costs import model_block
from gigamind.reports.page.quality import pass_rate, quality_block
from gigamind.reports.page.wording import Language, Words, words
from gigamind.reports.release.answers import AnswerSnapshot
from gigamind.reports.release.compare import Comparison
from gigamind.reports.release.gates import GateResult

_LEADING = ("answers.correctness", "answers.utility", "quality.pass_rate")
_GRADES = ("high", "medium", "low", "none")
_CUTS = ("part", "sentence", "uncut")
_VERDICTS = ("supported", "contradicted", "not_found", "unverified")


def render_answer_html(
    record: AnswerRunRecord,
    *,
    lang: Language = "en",
    baseline: AnswerSnapshot | None = None,
    gate: GateResult | None = None,
) -> str:
    """The report of a run, beside a baseline when there is one; `gate` is the verdict on the release, shown first.

    Raises:
        InputError: the baseline cannot be compared at all; see `compare`.
    """
    told = words(lang)
    comparison = held_against(baseline, record)
    drawn = answer_figures(record, baseline, lang=lang)
    summary = record.summary
    overall = summary.overall
    return render_page(
        "answers.html.jinja",
        "answer_item.js",
        record,
        told,
        comparison=comparison,
        gate=gate,
        drawn=drawn,
        captions="answer.figure_",
        data=answers_json(record.items, told.script("answer_script", "panel_script"), comparison),
        headline=answer_headline(record, comparison, told),
        notices=list(notices(record, comparison, told, not_run=_not_finished(summary))),
        cards=list(_cards(record, comparison, told)),
        metric_rows=list(
            metric_rows(
                [*some_answers(overall, tuple(overall.answers)), *pass_rate(summary.quality)],
                comparison,
                lambda found: called(found.name, told),
            )
        ),
        **_judging(record, comparison, told),
        slice_metrics=[called(name, told) for name in COLUMNS],
        slice_rows=[
            (label, part.items, [share(part.answers.get(name)) for name in COLUMNS])
            for label, part in answer_slices(summary, told)
        ],
    )


def _not_finished(summary: AnswerSummaryReport) -> int:
    """Answers that an interrupted run did not evaluate, or did not come to check."""
    return max(summary.counts.not_run, summary.quality.not_run if summary.quality else 0)


def _judging(
    record: AnswerRunRecord, comparison: Comparison | None, told: Words
) -> dict[str, object]:
    """What the section on the verdicts shows."""
    summary = record.summary
    return {
        "separation": _separation(record, told),
        "cuts": _cuts(record, told),
        "grades": [
            (grade, told(f"answer_script.{grade}"), summary.confidence.get(grade, 0))
            for grade in _GRADES
        ],
        "verdicts": [
            (name, told(f"answer_script.{name}"), summary.verdicts.get(name, 0))
            for name in _VERDICTS
        ],
        "doubts": [(told(f"answer_script.{name}"), n) for name, n in summary.doubts.items()],
        "agreement": list(_agreement(record, told)),
        "quality": quality_block(summary.quality, told, comparison),
        "certified": certified(record.card, record.run.judge, told.language),
        "model": model_block(summary.llm, told),
    }


def answer_headline(record: AnswerRunRecord, comparison: Comparison | None, told: Words) -> str:
    """The run in one sentence; with a comparable baseline, what surely changed."""
    changed = against(comparison, told, _LEADING, _LEADING, lambda name: called(name, told))
    if changed is not None:
        return changed
    counts = record.summary.counts
    if not counts.answers_evaluated:
        return told("answer.nothing")
    supported = record.summary.verdicts.get("supported", 0)
    key = "answer.result" if counts.claims else "answer.silent"
    return told(
        key,
        answers=counts.answers_evaluated,
        claims=counts.claims,
        supported=supported,
        share=f"{100 * supported / max(1, counts.claims):.1f}\u00a0%",
    )


def _cards(record: AnswerRunRecord, comparison: Comparison | None, told: Words) -> Iterator[Card]:
    main = some_answers(record.summary.overall, MAIN)
    for figure in (*main, *pass_rate(record.summary.quality)):
        change = comparison.metric(figure.key) if comparison else None
        yield card(figure, change, called(figure.name, told), told(f"answer.about_{figure.name}"))


def _separation(record: AnswerRunRecord, told: Words) -> str:
    found = record.summary.correlation
    if found.r is None:
        return told("answer.separation_unknown", n=found.n)
    key = "answer.separate" if found.separate else "answer.inseparable"
    return told(key, n=found.n, r=f"{found.r:.2f}".replace("-", "−"))


def _cuts(record: AnswerRunRecord, told: Words) -> str:
    found = record.summary.cuts
    if not found.get("part") and not found.get("uncut"):
        return ""
    return told("answer.cuts", **{name: found.get(name, 0) for name in _CUTS})


def _agreement(record: AnswerRunRecord, told: Words) -> Iterator[tuple[str, str, int]]:
    found = record.summary.agreement
    if found:
        yield told("answer.claim_accuracy"), share(found.claim_accuracy), found.claims
        yield (
            told("answer.abstention_accuracy"),
            share(found.abstention_accuracy),
            found.abstentions,
        )
        yield told("answer.correctness_error"), share(found.correctness_error), found.correctness_n
        yield told("answer.utility_error"), share(found.utility_error), found.utility_n
