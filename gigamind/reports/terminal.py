"""Documents on a terminal: the part before the sections, without colours, so that it can be piped."""

from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text as RichText

from gigamind.i18n import Translator
from gigamind.reports import document as doc
from gigamind.text import printable

_INDENT = "  "
_HEADING = 20  # columns
_WIDTH = 200  # of tables in a file or a pipe


def show(
    document: doc.Document, console: Console, say: Translator, page: Path | None = None
) -> None:
    """Print what precedes the sections, and the section on repeated answers; steps name the file of the `page`."""
    if not console.is_terminal:
        console.width = _WIDTH
    shown = document.only("repeats").blocks
    for block in (x for b in shown for x in (b.blocks if isinstance(b, doc.Section) else (b,))):
        if isinstance(block, doc.Table | doc.KeyFigures):
            console.print(_table(block if isinstance(block, doc.Table) else block.as_table, say))
        for line in _lines(block, say, page):
            console.print(RichText(printable(line)))


def _lines(block: doc.Block, say: Translator, page: Path | None) -> Iterator[str]:
    match block:
        case doc.Verdict(_state, sentence, leads):
            yield say(sentence)
            yield from map(say, leads)
        case doc.Banner(text) | doc.Prose(text):
            yield say(text)
        case doc.Bullets(items, warning):
            yield from (f"{_INDENT}{'! ' if warning else ''}{say(item)}" for item in items)
        case doc.Conditions(items):
            yield from (f"{_INDENT}{say(doc.STATES[state])}: {say(text)}" for state, text in items)
        case doc.Steps(items):
            # The page has lines of a file.
            yield from (_step(step, say, page) for step in items if not step.is_file)
        case doc.Examples(title, items, of):
            yield f"{say(title)} ({say(doc.more_text(len(items), of))}):"
            yield from (f"{_INDENT}{item.title} ({item.id}): {say(item.what)}" for item in items)
        case _:  # a table, or a part of pages
            return


def _step(step: doc.Step, say: Translator, page: Path | None) -> str:
    label, where = say(step.label).removesuffix("."), step.command or step.link
    if where:
        return f"{label}: {where}"
    has_place = step.url and page and page.suffix == ".html"
    return f"{label} ({page})." if has_place else say(step.label)


def _table(block: doc.Table, say: Translator) -> RichTable:
    shown = [place for place in range(len(block.columns)) if place not in block.minor]
    grid = RichTable(box=None, pad_edge=False)
    first = next(block.rows, ())
    for place in shown:
        right = place < len(first) and isinstance(first[place], doc.NUMBERS)
        label = printable(say(block.columns[place]))
        if right:  # numbers do not break, but their headings do
            label = fill(label, _HEADING, break_long_words=False)
        grid.add_column(
            RichText(label), justify="right" if right else "left", no_wrap=right, overflow="fold"
        )
    for group in block.groups:
        for row in group.rows:
            grid.add_row(*(RichText(printable(doc.cell_text(row[place], say))) for place in shown))
    return grid
