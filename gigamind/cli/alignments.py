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
from gigamind.text import printable

_CONTEXT_CHARS = 24
_PASSAGE_CHARS = 120  # of a longer passage, the beginning and the end are shown
_MARKS = (">>", "<<")  # around a passage where nothing can be highlighted
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
    """Print the table: highlighted where standard output is a terminal, elsewhere the passage between marks."""
    console = Console(highlight=False)
    marks = ("", "")
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
        marks = _MARKS
    # The source is left out where there is one, and UTF-16 where it is the same: a passage needs the room.
    several = len(sources) > 1
    table = Table("#", *(["source"] if several else []), "found", "at", "passage")
    units = [Utf16(source.text) for source in sources]
    for row, outcome in enumerate(result.outcomes, start=1):
        number, source, found, confidence, points, utf16 = _cells(row, outcome, sources, units)
        place = points if points == utf16 else f"{points}\nUTF-16 {utf16}"
        cells = [number, *([source] if several else []), f"{found} {confidence}".strip(), place]
        table.add_row(*cells, _passage(outcome, sources, marks))
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
        passage = _passage(outcome, sources, _MARKS).plain
        cells = [*_cells(number, outcome, sources, units), passage]
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


def _passage(outcome: Alignment, sources: Sequence[NamedSource], marks: tuple[str, str]) -> Text:
    """What was found, within its surroundings; or the quote, the reason, and what came nearest."""
    if isinstance(outcome, Aligned):
        source = sources[outcome.quote.source_index].text
        text = Text.assemble(*_in_context(outcome.span, source, "bold reverse green", marks))
        return text.append(_notes(outcome), "yellow")
    quote = _shortened(outcome.quote.text).strip()
    text = Text(f"“{quote}” " if quote else "", "red").append(_REASONS[outcome.reason], "dim")
    if outcome.near_miss:
        source = sources[outcome.quote.source_index].text
        text.append(f"; nearest, {outcome.near_miss.similarity:.2f}: ", "dim")
        text.append_tokens(_in_context(outcome.near_miss.span, source, "yellow", marks))
    return text


def _in_context(
    span: Span, source: str, style: str, marks: tuple[str, str]
) -> list[tuple[str, str]]:
    """The passage between `marks`, with what stands before and behind it, cut at a word where there is one."""
    before = source[max(0, span.start - _CONTEXT_CHARS) : span.start]
    after = source[span.end : span.end + _CONTEXT_CHARS]
    if span.start > _CONTEXT_CHARS:
        before = f"…{before.partition(' ')[2] or before}"
    if span.end + _CONTEXT_CHARS < len(source):
        after = f"{after.rpartition(' ')[0] or after}…"
    return [
        (printable(before), "dim"),
        (f"{marks[0]}{_shortened(span.slice(source))}{marks[1]}", style),
        (printable(after).rstrip(), "dim"),
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


def _shortened(text: str) -> str:
    if len(text) > _PASSAGE_CHARS:
        half = _PASSAGE_CHARS // 2
        text = f"{text[:half]} … {text[-half:]}"
    return printable(text)


def _escaped(cell: str) -> str:
    """Safe inside a Markdown table: no cell ends early, and no HTML of a source becomes part of the page."""
    return re.sub(r"([\\|`*_\[\]<>])", r"\\\1", cell)
