"""Documents on a terminal: the part before the sections, without colours, so that it can be piped."""

from collections.abc import Callable, Iterator
from textwrap import fill
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text as RichText

from gigamind.i18n import Translator, _
from gigamind.reports.document import (
    NUMBERS,
    STATES,
    Banner,
    Block,
    Bullets,
    Conditions,
    Count,
    Document,
    Examples,
    Facts,
    KeyFigures,
    Listing,
    Plot,
    Prose,
    Section,
    Steps,
    Table,
    Verdict,
    cell_text,
    more_text,
    table,
)
from gigamind.text import printable

_INDENT = "  "
_HEADING = 14  # columns
_WIDTH = 200  # of tables in a file or a pipe


def show(document: Document, console: Console, say: Translator) -> None:
    """Print the verdict, the next steps, the table and the examples of a document; its sections are left out."""
    if not console.is_terminal:
        console.width = _WIDTH
    for block in document.first.blocks:
        for part in _RENDERERS[type(block)](block, say):
            console.print(part)


def _lines(*texts: str) -> Iterator[RenderableType]:
    yield from (RichText(printable(text)) for text in texts)


def _verdict(block: Verdict, say: Translator) -> Iterator[RenderableType]:
    return _lines(say(block.sentence), *map(say, block.leads))


def _banner(block: Banner, say: Translator) -> Iterator[RenderableType]:
    return _lines(say(block.sentence), *([_INDENT + block.command] if block.command else []))


def _prose(block: Prose, say: Translator) -> Iterator[RenderableType]:
    return _lines(say(block.text))


def _bullets(block: Bullets, say: Translator) -> Iterator[RenderableType]:
    return _lines(*(f"{_INDENT}{'! ' if block.warning else ''}{say(x)}" for x in block.items))


def _conditions(block: Conditions, say: Translator) -> Iterator[RenderableType]:
    return _lines(*(f"{_INDENT}{say(STATES[x.state])}: {say(x.text)}" for x in block.items))


def _steps(block: Steps, say: Translator) -> Iterator[RenderableType]:
    return _lines(
        *(f"{say(step.label)}: {step.command or step.url}".rstrip(": ") for step in block.items)
    )


def _table(block: Table, say: Translator) -> Iterator[RenderableType]:
    shown = [place for place, column in enumerate(block.columns) if not column.minor]
    grid = RichTable(box=None, pad_edge=False)
    first = next(block.rows, ())
    for place in shown:
        right = place < len(first) and isinstance(first[place], NUMBERS)
        label = printable(say(block.columns[place].label))
        if right:  # numbers do not break, but their headings do
            label = fill(label, _HEADING, break_long_words=False)
        grid.add_column(
            RichText(label), justify="right" if right else "left", no_wrap=right, overflow="fold"
        )
    for group in block.groups:
        for row in group.rows:
            grid.add_row(*(RichText(printable(cell_text(row[place], say))) for place in shown))
    yield grid


def _key_figures(block: KeyFigures, say: Translator) -> Iterator[RenderableType]:
    rows = [(x.label, x.value, x.interval, Count(x.n)) for x in block.figures]
    return _table(table((_("metric"), _("value"), _("95% CI"), _("items")), rows), say)


def _examples(block: Examples, say: Translator) -> Iterator[RenderableType]:
    yield from _lines(f"{say(block.title)} ({say(more_text(len(block.items), block.of))}):")
    yield from _lines(
        *(f"{_INDENT}{item.title} ({item.id}): {say(item.what)}" for item in block.items)
    )


def _facts(block: Facts, say: Translator) -> Iterator[RenderableType]:
    return _lines(*(f"{say(name)}: {cell_text(cell, say)}" for name, cell in block.rows))


def _section(block: Section, say: Translator) -> Iterator[RenderableType]:
    yield from _lines(say(block.title))
    yield Group(*(part for inner in block.blocks for part in _RENDERERS[type(inner)](inner, say)))


def _nothing(block: Plot | Listing, say: Translator) -> Iterator[RenderableType]:
    del block, say
    return iter(())


_RENDERERS: dict[type[Block], Callable[[Any, Translator], Iterator[RenderableType]]] = {
    Verdict: _verdict,
    Banner: _banner,
    Prose: _prose,
    Bullets: _bullets,
    Conditions: _conditions,
    Steps: _steps,
    Table: _table,
    KeyFigures: _key_figures,
    Plot: _nothing,
    Examples: _examples,
    Facts: _facts,
    Listing: _nothing,
    Section: _section,
}
