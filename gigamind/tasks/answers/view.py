"""How such a run is shown: summary.md here, report.html in page.py."""

from collections.abc import Iterator, Mapping, Sequence

from gigamind.metrics.table import label
from gigamind.records.judged import LlmReport, MetricReport
from gigamind.records.schema import Record
from gigamind.release.model import PASS_RATE
from gigamind.reports.cards.line import certified
from gigamind.reports.figures import MetricRow, keys_of, metric_rows, values_of
from gigamind.reports.text import model_section, render
from gigamind.reports.views import Pages, View
from gigamind.tasks.answers.compare import AnswerSnapshot
from gigamind.tasks.answers.doors import not_believed, second_look
from gigamind.tasks.answers.schema import (
    AnswerItemReport,
    AnswerRunRecord,
    AnswerSummaryReport,
    QualitySummaryReport,
)
from gigamind.wording import between, share, words


def _sentence(quality: QualitySummaryReport) -> str:
    overall = quality.overall
    told = (
        f"{overall.passed} of {overall.checked} answers pass the checklist of {quality.feature}:"
        f" at least {quality.min_pass_ratio:.0%} of its items."
    )
    if quality.unchecked:
        told += f" {quality.unchecked} could not be checked: see errors.jsonl."
    if quality.not_run:
        told += f" {quality.not_run} were not checked, for the run was interrupted."
    return told


_WORST_SHOWN = 10


def _cuts(claims: Mapping[str, int]) -> str:
    """How far a model cut the claims; empty where none was asked to."""
    parts, whole, uncut = (claims.get(name, 0) for name in ("part", "sentence", "uncut"))
    if not parts and not uncut:
        return ""
    return (
        f"A model cut the sentences into claims. Parts of a sentence: {parts}; whole sentences: {whole}; left whole"
        f" because the model's parts do not stand in them: {uncut}."
    )


def separation(record: AnswerRunRecord) -> str:
    """Whether correctness and utility say different things on this data, in a sentence."""
    found = record.summary.correlation
    if found.r is None:
        return (
            f"Whether correctness and utility tell answers apart in different ways cannot be said: {found.n} answers"
            " have both, or one of them never changes."
        )
    if found.separate:
        return f"Correctness and utility are two figures: over {found.n} answers they correlate with r = {found.r:.2f}."
    return (
        f"Correctness and utility do not separate on this data: over {found.n} answers they correlate with"
        f" r = {found.r:.2f}, so one says little that the other does not."
    )


def _worst(items: Sequence[AnswerItemReport]) -> list[dict[str, object]]:
    """The answers with the most that no note supports or that is left out, worst first."""
    judged = [
        (item.evaluation, item, issues)
        for item in items
        if item.evaluation
        and (
            issues := [
                *item.evaluation.grounding_issues,
                *(f"left out: {text}" for text in item.left_out),
            ]
        )
    ]
    judged.sort(
        key=lambda row: (row[0].correctness or 0.0, _completeness(row[1]) or 0.0, row[1].id)
    )
    return [
        {
            "id": item.id,
            "question": item.question,
            "score": f"correctness {share(told.correctness)}, completeness {share(_completeness(item))}",
            "issues": issues[:3],
        }
        for told, item, issues in judged[:_WORST_SHOWN]
    ]


def _completeness(item: AnswerItemReport) -> float | None:
    return item.metrics.get("completeness")


def _worst_by(metric: MetricReport, items: Sequence[AnswerItemReport]) -> list[dict[str, object]]:
    """The answers that a figure of a team's own judge is worst for, worst first, with what the judge wrote."""
    low, key = metric.lower_is_better, f"answers.{metric.name}"
    scored = [
        (value if low else 1 - value, item, value)
        for item in items
        if (value := item.metrics.get(metric.name)) is not None
    ]
    worst = sorted((row for row in scored if row[0]), key=lambda row: (-row[0], row[1].id))
    return [
        {
            "id": item.id,
            "question": item.question,
            "score": f"{label(key)} {share(value)}",
            "issues": [item.verdict.text] if item.verdict and item.verdict.text else [],
        }
        for _, item, value in worst[:_WORST_SHOWN]
    ]


class AnswerView(View[AnswerSummaryReport, AnswerItemReport, AnswerSnapshot]):
    """See the module."""

    def markdown(self, record: Record[AnswerSummaryReport, AnswerItemReport]) -> str:
        """The summary as Markdown; text of answers and notes is escaped, so that it cannot break a table or a list."""
        summary = record.summary
        own = record.run.judge.metrics if record.run.judge else ()
        rows, columns = (
            metric_rows(summary.overall, "answers"),
            keys_of(record.run.judge, "summary"),
        )
        return render(
            "answers.md.jinja",
            run=record.run,
            errors=record.errors,
            summary=summary,
            counts=summary.counts,
            rows=[row for row in rows if row.n],
            unmeasured=[row.metric for row in rows if not row.n],
            columns=[label(key) for key in columns],
            slices=[
                (name, part.items, values_of(part, columns))
                for parts in (summary.by_language, summary.by_tag)
                for name, part in parts.items()
            ],
            own=bool(own),
            separation=separation(record),
            cuts=_cuts(summary.cuts),
            not_believed=not_believed(summary, words("en")),
            second_look=second_look(summary, words("en")),
            quality=_sentence(summary.quality) if summary.quality else "",
            worst=_worst_by(own[0], record.items) if own else _worst(record.items),
            certified=certified(record.card, record.run.judge),
            llm=model_section(summary.llm) if summary.llm else "",
        )

    @property
    def pages(self) -> Pages:
        from gigamind.tasks.answers.page import answer_figures, render_answer_html

        return render_answer_html, answer_figures

    def rows(self, summary: AnswerSummaryReport) -> Iterator[MetricRow]:
        yield from metric_rows(summary.overall, "answers")
        if summary.quality:
            found = summary.quality.overall
            rate, name = share(found.pass_rate), label(PASS_RATE)
            yield MetricRow("checklist", name, rate, between(found), found.checked)

    def missing(self, summary: AnswerSummaryReport) -> list[tuple[int, str, str]]:
        return [
            (summary.counts.rows_rejected, "row rejected", "rows rejected"),
            (
                summary.counts.unjudged,
                "answer without an evaluation",
                "answers without an evaluation",
            ),
            (
                summary.quality.unchecked if summary.quality else 0,
                "answer that could not be checked",
                "answers that could not be checked",
            ),
        ]

    def not_run(self, summary: AnswerSummaryReport) -> int:
        return summary.counts.not_run

    def finding(self, summary: AnswerSummaryReport) -> str:
        return not_believed(summary, words("en"))

    def llm(self, summary: AnswerSummaryReport) -> LlmReport | None:
        return summary.llm
