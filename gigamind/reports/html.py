"""Documents as HTML: one self-contained file with its policy, style and scripts.

The content security policy forbids the network, inline handlers and all other scripts. Third-party texts are escaped.
"""

import base64
import functools
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from gigamind.formats import share
from gigamind.i18n import Translator, script_messages
from gigamind.reports import document as doc
from gigamind.reports.charts import Trend, visible

_SURROGATE = re.compile("[\ud800-\udfff]")
_SCRIPTS = ("messages.js", "common.js")
_LIST = "report.js"
_PAGE = "page.js"
_LEAST_EXTENT = 0.02  # of the axis of differences, so that noise does not look large
_SHORT = 12  # characters; shorter cells are not split over lines
_WORDS = re.compile("[^/ \n]+/?|[/ \n]")  # of a command; lines end between them

_FRAME = Markup(
    '<iframe sandbox srcdoc="{page}" title="{title}"'
    ' style="width: 100%; height: 34rem; border: 0; resize: vertical; overflow: auto"></iframe>'
)


def render_cell(document: doc.Document, say: Translator) -> str:
    """Return a document without scripts for a notebook's output: a frame, so that its style applies nowhere else."""
    page = render_html(document, say, scripts=False)
    return str(_FRAME.format(page=page, title=say(document.title)))


def render_html(document: doc.Document, say: Translator, *, scripts: bool = True) -> str:
    """Return a document as one file."""
    listing = _listing(document.blocks)
    names = (*_SCRIPTS, *((listing.script, _LIST) if listing else ()), _PAGE)
    script = "".join(map(_asset, names)) if scripts else ""
    blocks = _renderer(say, is_listed=listing is not None)
    places = (at for at, b in enumerate(document.blocks) if isinstance(b, doc.Section))
    cut = next(places, len(document.blocks))
    sections = document.blocks[cut:]
    template = _environment().get_template("page.html.jinja")
    page = template.render(
        say=say,
        _=say.gettext,
        document=document,
        head=blocks(document.blocks[:cut]),
        body=blocks(sections),
        contents=[(b.id, say(b.title)) for b in sections if isinstance(b, doc.Section) and scripts],
        data=Markup(listing.data if listing else items_script(say, [])),  # noqa: S704  escaped by its maker
        style=Markup(_asset("report.css")),  # noqa: S704  ours
        script=Markup(script),  # noqa: S704  ours
        policy=_policy(script),
    )
    return _SURROGATE.sub("\ufffd", page)


def items_script(say: Translator, items: Sequence[object], **tables: object) -> str:
    """Return the items, `tables` they refer to by index, and messages as JSON that is safe in a script element."""
    content = {"words": script_messages(say.language), **tables, "items": items}
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Escaped, no text can end the script element ("</script") or open a comment ("<!--").
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _listing(blocks: Iterable[doc.Block]) -> doc.Listing | None:
    for block in blocks:
        if isinstance(block, doc.Listing):
            return block
        if isinstance(block, doc.Section) and (listing := _listing(block.blocks)):
            return listing
    return None


def _renderer(say: Translator, *, is_listed: bool) -> Callable[[Iterable[doc.Block]], Markup]:
    """Return a function that renders blocks, each with the macro of its type."""

    def blocks(given: Iterable[doc.Block]) -> Markup:
        return Markup("\n").join(getattr(macros, type(b).__name__.lower())(b) for b in given)

    def text(given: object) -> Markup:
        return _coded(say(given) if isinstance(given, str) else str(given))

    def drawn(chart: Trend, caption: str) -> Markup:
        return Markup(chart.inline_svg(caption, say))  # noqa: S704  made by us, from escaped text

    template = _environment().get_template("blocks.html.jinja")
    macros = template.make_module(
        {
            "_": say.gettext,
            "at": _at,
            "blocks": blocks,
            "cell_text": doc.cell_text,
            "drawn": drawn,
            "has": _has,
            "is_listed": is_listed,
            "kinds_of": _kinds,
            "more_text": doc.more_text,
            "quote": quote,
            "say": say,
            "scale_of": _scale,
            "share": share,
            "states": doc.STATES,
            "text": text,
            "ways": {True: "better", False: "worse", None: ""},
            "width": _width,
            "words_of": _WORDS.findall,
            "zip": zip,
        }
    )
    return blocks


def _kinds(table: doc.Table) -> list[str]:
    columns: Iterable[tuple[doc.Cell, ...]] = zip(*table.rows, strict=True)
    return [min({*map(_kind, column)} - {""}, default="") for column in columns]


def _kind(cell: doc.Cell) -> str:
    if isinstance(cell, doc.Difference | doc.Result):
        return type(cell).__name__.lower()
    return "number" if isinstance(cell, doc.NUMBERS) else ""


def _width(text: str) -> str:
    """Return the class of a cell: a phone leaves out "none", and lines end between words unless one is very long."""
    if text in ("", "–"):
        return "none"
    if len(text) <= _SHORT:
        return "nowrap"
    return "" if any(len(word) > 2 * _SHORT for word in text.split()) else "whole"


def _scale(table: doc.Table) -> float:
    """Return how far the differences of a table reach from 0."""
    cells = (cell for row in table.rows for cell in row if isinstance(cell, doc.Difference))
    ends = (end for x in cells for end in (x.value, x.low, x.high, x.limit) if end is not None)
    extent = max(map(abs, ends), default=0.0)
    return max(extent, _LEAST_EXTENT) if extent else 0.0


def _has(table: doc.Table, part: Literal["low", "limit"]) -> bool:
    """Return whether intervals or limit lines are drawn."""
    cells = (cell for row in table.rows for cell in row if isinstance(cell, doc.Difference))
    return any(getattr(cell, part) is not None for cell in cells)


def _at(value: float, scale: float) -> float:
    """Return the place of a difference on an axis of 100 units."""
    return round(50 * (1 + 0.96 * value / scale), 2)


@functools.cache
def _asset(name: str) -> str:
    """Return a file of the page, with the line ends that a browser sees: its hash depends on them."""
    file = resources.files("gigamind.reports.page") / "templates" / name
    return file.read_text(encoding="utf-8")


def _policy(script: str) -> str:
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(_asset('report.css'))}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _upright(value: object) -> object:
    """Return a value for a page: texts with visible control characters, markup and numbers unchanged."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@functools.cache
def _environment() -> Environment:
    # Compiled templates are kept beside compiled modules, if Python keeps those.
    folder = Path(__file__).with_name("__pycache__")
    keeps = not sys.dont_write_bytecode and os.access(folder, os.W_OK)
    return Environment(
        loader=PackageLoader("gigamind.reports.page"),
        bytecode_cache=FileSystemBytecodeCache(str(folder), "%s.pyc") if keeps else None,
        undefined=StrictUndefined,
        autoescape=True,
        finalize=_upright,
        trim_blocks=True,
        lstrip_blocks=True,
    )


_CODE = re.compile("`([^`]+)`")
_OPTION, _WHOLE = re.compile(r"--[a-z-]+"), r'<span class="nowrap">\g<0></span>'  # of a command


def _coded(text: str) -> Markup:
    """Return a message as markup: text in backticks as code."""
    escaped = str(escape(visible(text)))
    marked = _CODE.sub(lambda code: f"<code>{_OPTION.sub(_WHOLE, code[1])}</code>", escaped)
    return Markup(marked)  # noqa: S704  escaped before
