"""Shows alignments: a table on the terminal, with the aligned text highlighted, or a Markdown table."""

import re
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gigamind.cli.quotes import NamedSource
from gigamind.evidence.config import DEFAULT
from gigamind.evidence.quality import quality
from gigamind.evidence.result import Aligned, Alignment, AlignResult, Failed
from gigamind.spans import Span, Utf16

# A source may carry terminal escapes and direction overrides; none may reach the screen.
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+"
)
_CONTEXT_CHARS = 24
_PASSAGE_CHARS = 120  # of a longer passage, the beginning and the end are shown
_PIPE_WIDTH = 200  # columns where there is no terminal to ask

_REASONS = {
    "empty_quote": "the quote is empty",
    "quote_too_long": f"the quote is longer than {DEFAULT.max_quote_chars} characters",
    "source_index_out_of_range": "there is no such source",
    "quote_too_short_for_fuzzy": "not verbatim, and too short to compare by similarity",
    "fuzzy_disabled": "not verbatim, and --no-fuzzy is set",
    "below_threshold": "nothing similar enough",
}


def print_table(result: AlignResult, sources: Sequence[NamedSource]) -> None:
    """Print the table; highlighted where standard output is a terminal."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    table = Table("#", "source", "found", "confidence", "code points", "UTF-16", "passage")
    units = [Utf16(source.text) for source in sources]
    for number, outcome in enumerate(result.outcomes, start=1):
        table.add_row(*_cells(number, outcome, sources, units), _passage(outcome, sources))
    console.print(table)
    console.print(_summary(result))


def markdown(result: AlignResult, sources: Sequence[NamedSource]) -> str:
    """A Markdown table and the summary."""
    units = [Utf16(source.text) for source in sources]
    lines = [
        "| # | source | found | confidence | code points | UTF-16 | passage |",
        "|---:|---|---|---:|---|---|---|",
    ]
    for number, outcome in enumerate(result.outcomes, start=1):
        cells = [*_cells(number, outcome, sources, units), _passage(outcome, sources).plain]
        lines.append(f"| {' | '.join(map(_escaped, cells))} |")
    return "\n".join([*lines, "", _summary(result)])


def _cells(
    number: int, outcome: Alignment, sources: Sequence[NamedSource], units: Sequence[Utf16]
) -> list[str]:
    """The columns before the passage."""
    index = outcome.quote.source_index
    known = 0 <= index < len(sources)
    source = printable(sources[index].name) if known else f"{index}?"
    if isinstance(outcome, Failed):
        return [str(number), source, "no", "", "", ""]
    start, end = units[index].span_from_code_points(outcome.span)
    span = outcome.span
    return [
        str(number),
        source,
        outcome.method if outcome.level == "raw" else f"{outcome.method} {outcome.level}",
        f"{outcome.confidence:.2f}",
        f"{span.start}..{span.end}",
        f"{start}..{end}",
    ]


def _passage(outcome: Alignment, sources: Sequence[NamedSource]) -> Text:
    """What was found, within its surroundings; or the quote, the reason, and what came nearest."""
    if isinstance(outcome, Aligned):
        source = sources[outcome.quote.source_index].text
        text = Text.assemble(*_in_context(outcome.span, source, "bold reverse green"))
        return text.append(_notes(outcome), "yellow")
    text = Text(_shortened(outcome.quote.text), "red").append(
        f"  {_REASONS[outcome.reason]}", "dim"
    )
    if outcome.near_miss:
        source = sources[outcome.quote.source_index].text
        text.append(f"; nearest, {outcome.near_miss.similarity:.2f}: ", "dim")
        text.append_tokens(_in_context(outcome.near_miss.span, source, "yellow"))
    return text


def _in_context(span: Span, source: str, style: str) -> list[tuple[str, str]]:
    before = source[max(0, span.start - _CONTEXT_CHARS) : span.start]
    after = source[span.end : span.end + _CONTEXT_CHARS]
    return [
        (printable(before), "dim"),
        (_shortened(span.slice(source)), style),
        (printable(after), "dim"),
    ]


def _notes(outcome: Aligned) -> str:
    notes = [f"{name} differs" for name in outcome.critical]
    if outcome.ambiguous:
        notes.append(f"1 of {outcome.occurrences} places")
    return f"  ({', '.join(notes)})" if notes else ""


def _summary(result: AlignResult) -> str:
    rates = quality(result.outcomes)
    if rates is None:
        return "no quotes"
    return (
        f"{len(result.aligned)} of {rates.quotes} aligned: exact {rates.exact:.0%}, normalized {rates.normalized:.0%}, "
        f"fuzzy {rates.fuzzy:.0%}; failed {rates.failed:.0%}, near misses {rates.near_miss:.0%}, "
        f"ambiguous {rates.ambiguous:.0%}, critical {rates.critical:.0%}"
    )


def printable(text: str) -> str:
    """`text` without what a terminal would obey: control characters, direction overrides, line ends."""
    return _UNPRINTABLE.sub(" ", text)


def _shortened(text: str) -> str:
    if len(text) > _PASSAGE_CHARS:
        half = _PASSAGE_CHARS // 2
        text = f"{text[:half]} … {text[-half:]}"
    return printable(text)


def _escaped(cell: str) -> str:
    """Safe inside a Markdown table: no cell ends early, and no HTML of a source becomes part of the page."""
    return re.sub(r"([\\|`*_\[\]<>])", r"\\\1", cell)
