"""Which figures of an evaluation of answers report.html shows, and what it calls them."""

from collections.abc import Iterator

from gigamind.reports.answer_schema import AnswerSliceReport, AnswerSummaryReport
from gigamind.reports.page.slices import Figure
from gigamind.reports.page.wording import Words

MAIN = (
    "correctness",
    "utility",
    "contradiction",
    "source_coverage",
    "context_utilisation",
    "citation_precision",
)
COLUMNS = ("correctness", "utility", "contradiction", "source_coverage")
_TAGS = 15


def answer_figure(part: AnswerSliceReport, name: str) -> Figure | None:
    """The figure of that name; None where nothing was measured."""
    if part.answers.get(name) is None:
        return None
    return Figure("answers", name, part.answers[name], part.intervals[f"answers.{name}"])


def some_answers(part: AnswerSliceReport, names: tuple[str, ...]) -> list[Figure]:
    """The figures of these names that were measured."""
    return [figure for name in names if (figure := answer_figure(part, name))]


def called(name: str, told: Words) -> str:
    """A figure's name for people."""
    return told(f"answer.{name}")


def answer_slices(
    summary: AnswerSummaryReport, told: Words
) -> Iterator[tuple[str, AnswerSliceReport]]:
    """All answers, those in each language, and those with each of the most frequent tags."""
    yield told("answer.all_answers"), summary.overall
    for language, part in summary.by_language.items():
        yield told("page.kind_language", key=language), part
    tags = sorted(summary.by_tag.items(), key=lambda entry: (-entry[1].items, entry[0]))
    for tag, part in tags[:_TAGS]:
        yield told("page.kind_tag", key=tag), part
