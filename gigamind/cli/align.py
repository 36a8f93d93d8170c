"""`gigamind align`: find quotes in their sources and print text or JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from gigamind.cli.command import command
from gigamind.cli.output import print_line, prints_json, show_result, translated
from gigamind.errors import InputError
from gigamind.evidence.result import Aligned, Alignment, AlignResult, Quote
from gigamind.evidence.schema import DEFAULT, LEAST_FUZZY
from gigamind.i18n import Message, _, joined
from gigamind.spans import Span, Utf16
from gigamind.text import printable, printable_lines

if TYPE_CHECKING:
    from gigamind.cli.documents import AlignDocument
    from gigamind.evidence.quality import AlignmentQuality
    from gigamind.evidence.schema import QuoteRow

_MAX_QUOTES_BYTES = 100_000_000
_UTF8_BYTES = 4  # upper limit per character


class _NamedSource(NamedTuple):
    """A source with its name on the command line."""

    name: str
    text: str


def _read_source(name: str, max_chars: int) -> _NamedSource:
    """Read one source; InputError if it cannot be read, is not UTF-8, or has more than `max_chars` characters."""
    from gigamind.evidence.schema import read_text

    text = read_text(Path(name), _UTF8_BYTES * max_chars)
    if len(text) > max_chars:
        raise InputError(
            "{file} has {chars:,} characters; the limit is {limit:,}. Split the file into several notes.",
            file=name,
            chars=len(text),
            limit=max_chars,
        )
    return _NamedSource(name, text)


def _read_quotes(name: str, sources: Sequence[_NamedSource]) -> list[Quote]:
    """Read the quotes of a JSON Lines file, which may have blank lines; an InputError names file and line."""
    from gigamind.evidence.schema import QuoteRow, read_text
    from gigamind.loading import numbered_lines, parsed

    names, quotes = [source.name for source in sources], list[Quote]()
    for number, line in numbered_lines(read_text(Path(name), _MAX_QUOTES_BYTES)):
        where = f"{name}:{number}"
        row = parsed(QuoteRow, line, where)
        index = _source_index(row, where, names)
        quotes.append(Quote(row.quote, index, row.entry_id, row.prefix, row.suffix, row.hint))
    if not quotes:
        raise InputError(
            '{file}: no quotes. Write one JSON object per line: {{"quote": "..."}}', file=name
        )
    return quotes


def _source_index(row: "QuoteRow", where: str, names: Sequence[str]) -> int:
    if row.source_index is not None and row.source is not None:
        raise InputError("{where}: set source_index or source, not both", where=where)
    if row.source_index is not None:
        return row.source_index
    wanted = row.source
    if wanted is None and len(names) == 1:
        return 0
    if wanted is None:
        raise InputError(
            "{where}: the quote has no source. Add source_index (0 to {last}) or source.",
            where=where,
            last=len(names) - 1,
        )
    matching = [index for index, name in enumerate(names) if name == wanted]
    matching = matching or [index for index, name in enumerate(names) if Path(name).name == wanted]
    values = {"where": where, "name": wanted, "names": names}
    if len(matching) > 1:
        raise InputError(
            "{where}: several sources have the name {name!r}. Sources: {names}", **values
        )
    if not matching:
        raise InputError("{where}: no source has the name {name!r}. Sources: {names}", **values)
    return matching[0]


_CONTEXT_CHARS = 24
_PASSAGE_CHARS = 120  # a longer passage is shown with its beginning and end

_REASONS = {
    "empty_quote": _("the quote has no letter and no digit"),
    "quote_too_long": _("the quote has over {limit:,} characters", limit=DEFAULT.max_quote_chars),
    "source_index_out_of_range": _("no source has the source_index of this quote"),
    "quote_too_short_for_fuzzy": _(
        "not found verbatim, and the quote is too short for a similarity search"
    ),
    "below_threshold": _("no sufficiently similar passage"),
}
_CRITICAL = {
    "number": _("number differs from the quote"),
    "negation": _("negation differs from the quote"),
    "polarity": _("a word means the opposite of a word in the quote"),
}


def _text(number: int, outcome: Alignment, sources: Sequence[_NamedSource]) -> str:
    """Return the place and passage of a quote; or the quote, the reason and the most similar passage."""
    index = outcome.quote.source_index
    text = sources[index].text if 0 <= index < len(sources) else ""
    if isinstance(outcome, Aligned):
        (start, end), span = Utf16(text).span_from_code_points(outcome.span), outcome.span
        method = outcome.method if outcome.level == "raw" else f"{outcome.method} {outcome.level}"
        place = f"{sources[index].name} {span.start}..{span.end} (UTF-16 {start}..{end})"
        notes = [_CRITICAL[name] for name in outcome.critical]
        if outcome.ambiguous:
            count = outcome.occurrences
            notes.append(_("one of {places} places where the quote occurs", places=count))
        shown = f"{place}  {method} {outcome.confidence:.2f}\n   {_in_context(span, text)}"
        found = joined((shown, *(_("({note})", note=note) for note in notes)), "  ")
    else:
        quote, parts = _shortened(outcome.quote.text).strip(), [_REASONS[outcome.reason]]
        if miss := outcome.near_miss:
            near = _(
                "most similar passage (similarity {similarity:.2f}):", similarity=miss.similarity
            )
            parts.append(joined((near, _in_context(miss.span, text)), " "))
        found = joined((f"“{quote}”", joined(parts, "; ")), " ")
    return f"{number}. {printable_lines(translated(found))}"


def _in_context(span: Span, source: str) -> str:
    """Return a passage between marks, with a few words around it."""
    before = source[max(0, span.start - _CONTEXT_CHARS) : span.start]
    after = source[span.end : span.end + _CONTEXT_CHARS]
    if span.start > _CONTEXT_CHARS:
        before = f"…{before.partition(' ')[2] or before}"
    if span.end + _CONTEXT_CHARS < len(source):
        after = f"{after.rpartition(' ')[0] or after}…"
    return f"{printable(before)}>>{_shortened(span.slice(source))}<<{printable(after).rstrip()}"


def _summary(rates: "AlignmentQuality | None", aligned: int) -> Message:
    if rates is None:
        return _("no quotes")
    return _(
        "Quotes found: {aligned:,} of {n:,}. Exact: {exact:.0%}, normalised: {normalized:.0%}, with a few edits:"
        " {fuzzy:.0%}, not found: {failed:.0%}. Shares of all quotes: not found but similar {near_miss:.0%}, found"
        " at several places {ambiguous:.0%}, found with a possibly different meaning {critical:.0%}.",
        n=rates.quotes,
        aligned=aligned,
        **rates.model_dump(exclude={"quotes"}),
    )


def _shortened(text: str) -> str:
    if len(text) > _PASSAGE_CHARS:
        half = _PASSAGE_CHARS // 2
        text = f"{text[:half]} … {text[-half:]}"
    return printable(text)


@command(
    "align",
    examples=(
        "gigamind align --source note.md --quotes quotes.jsonl",
        "gigamind align --source note.md --quotes quotes.jsonl --require-all --json",
    ),
    epilog="Exit codes: 0 done; 1 invalid input, or a quote not found with --require-all.",
)
@click.option(
    "--source",
    "source_names",
    metavar="FILE",
    multiple=True,
    required=True,
    help="UTF-8 text file in which to find the quotes; repeatable",
)
@click.option(
    "--quotes",
    "quotes_name",
    metavar="FILE",
    required=True,
    help=(
        'file of quotes (JSON Lines): "quote" and optionally source_index or source, prefix, suffix, hint and'
        " entry_id"
    ),
)
@click.option(
    "--threshold",
    type=click.FloatRange(LEAST_FUZZY, 1.0),
    default=DEFAULT.fuzzy_threshold,
    show_default=True,
    help="lowest similarity (0 to 1) at which a passage that differs by a few edits counts as found",
)
@click.option("--require-all", is_flag=True, help="exit with 1 if a quote was not found")
@prints_json
def align(
    source_names: tuple[str, ...], quotes_name: str, threshold: float, *, require_all: bool
) -> None:
    """Find where quotes occur in their sources.

    A quote matches verbatim, or ignoring white space, case, Unicode form and Markdown, or with a few edits. If
    nothing matches, the reason is shown. Positions count code points and UTF-16 code units. The start is included,
    the end is not.
    """
    from gigamind.evidence.align import align_all

    config = DEFAULT.accepting(threshold)
    sources = [_read_source(name, config.max_source_chars) for name in source_names]
    quotes = _read_quotes(quotes_name, sources)
    result = align_all(quotes, [source.text for source in sources], config=config)
    document = _document(result, sources)

    def show() -> None:
        for number, outcome in enumerate(result.outcomes, start=1):
            click.echo(_text(number, outcome, sources))
        print_line(_summary(document.quality, len(result.aligned)))

    show_result(document, show)
    if require_all and result.failed:
        raise click.exceptions.Exit(1)


def _document(result: AlignResult, sources: Sequence[_NamedSource]) -> "AlignDocument":
    from gigamind.checksum import text_hash
    from gigamind.cli.documents import AlignDocument, SourceDocument
    from gigamind.evidence.quality import quality

    written = result.records([source.text for source in sources])
    return AlignDocument(
        sources=tuple(
            SourceDocument(
                index=index, name=source.name, sha256=text_hash(source.text), chars=len(source.text)
            )
            for index, source in enumerate(sources)
        ),
        results=tuple(written),
        quality=quality(written),
    )
