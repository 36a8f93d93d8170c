"""summary.md of an evaluation of answers."""

from collections.abc import Iterator, Mapping, Sequence

from gigamind.reports.answer_schema import AnswerItemReport, AnswerRunRecord, AnswerSliceReport
from gigamind.reports.cards.line import certified
from gigamind.reports.model_markdown import model_section
from gigamind.reports.quality_markdown import quality_section
from gigamind.reports.templating import figure, render

_WORST_SHOWN = 10
_COLUMNS = ("correctness", "utility", "source_coverage", "contradiction")


def answer_figure_rows(part: AnswerSliceReport) -> Iterator[tuple[str, dict[str, str | int]]]:
    """Label, and value, interval and n as text, of each figure, in the order of the summary."""
    for name, value in part.answers.items():
        found = part.intervals[f"answers.{name}"]
        interval = "–" if found.low is None else f"{figure(found.low)} – {figure(found.high)}"
        yield answer_label(name), {"value": figure(value), "interval": interval, "n": found.n}


def answer_label(name: str) -> str:
    """A figure's name for people."""
    return name.replace("_", " ")


def render_answer_summary(record: AnswerRunRecord) -> str:
    """The summary as Markdown; text of answers and notes is escaped, so that it cannot break a table or a list."""
    summary = record.summary
    return render(
        "answers.md.jinja",
        run=record.run,
        errors=record.errors,
        counts=summary.counts,
        rows=[(name, row) for name, row in answer_figure_rows(summary.overall) if row["n"]],
        unmeasured=[name for name, row in answer_figure_rows(summary.overall) if not row["n"]],
        supported=summary.verdicts.get("supported", 0),
        columns=[answer_label(name) for name in _COLUMNS],
        slices=[
            (name, part.items, [figure(part.answers.get(column)) for column in _COLUMNS])
            for parts in (summary.by_language, summary.by_tag)
            for name, part in parts.items()
        ],
        confidence=[
            (grade, summary.confidence.get(grade, 0)) for grade in ("high", "medium", "low", "none")
        ],
        verdicts=list(summary.verdicts.items()),
        doubts=[(name.replace("_", " "), count) for name, count in summary.doubts.items()],
        separation=separation(record),
        cuts=_cuts(summary.cuts),
        agreement=summary.agreement,
        quotes=summary.quotes,
        quality=quality_section(summary.quality) if summary.quality else None,
        flagged=summary.flagged,
        worst=_worst(record.items),
        certified=certified(record.card, record.run.judge),
        llm=model_section(summary.llm) if summary.llm else "",
        runtime=f"{summary.performance.eval_runtime_ms:.0f}",
    )


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
    """The answers with the most that no note supports, worst first."""
    judged = [
        (item.evaluation, item)
        for item in items
        if item.evaluation and item.evaluation.grounding_issues
    ]
    judged.sort(key=lambda pair: (pair[0].correctness or 0.0, pair[1].id))
    return [
        {
            "id": item.id,
            "question": item.question,
            "correctness": figure(told.correctness),
            "issues": told.grounding_issues[:3],
        }
        for told, item in judged[:_WORST_SHOWN]
    ]
