"""Documents as HTML: one self-contained file with its policy, style and scripts.

The content security policy forbids the network, inline handlers and all other scripts. Third-party texts are escaped.
"""

import base64
import functools
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from gigamind.formats import share
from gigamind.i18n import Translator, _, script_messages
from gigamind.reports.charts import inline_svg
from gigamind.reports.document import (
    NUMBERS,
    STATES,
    Banner,
    Block,
    Bullets,
    Cell,
    Code,
    Conditions,
    Difference,
    Document,
    Examples,
    Facts,
    Group,
    Interval,
    KeyFigure,
    KeyFigures,
    Link,
    Listing,
    Plot,
    Proportion,
    Prose,
    Result,
    Section,
    Side,
    Steps,
    Table,
    Verdict,
    cell_text,
    difference_text,
    more_text,
)
from gigamind.reports.text import upright

_SURROGATE = re.compile("[\ud800-\udfff]")
_SCRIPTS = ("messages.js", "common.js")
_LIST = "report.js"
_PAGE = "page.js"
_NARROW = 6  # columns; a table with more scrolls within the page
_SHORT = 12  # characters; shorter cells are not split over lines
_AXIS = 100  # units of the drawn axis of differences


def render_html(document: Document, say: Translator) -> str:
    """Return a document as one file."""
    listing = _listing(document.blocks)
    names = (*_SCRIPTS, *((listing.script, _LIST) if listing else ()), _PAGE)
    script = "".join(map(_asset, names))
    renderer = _Page(say, is_listed=listing is not None)
    places = (at for at, b in enumerate(document.blocks) if isinstance(b, Section))
    cut = next(places, len(document.blocks))
    sections = document.blocks[cut:]
    page = _template().render(
        say=say,
        _=say.gettext,
        document=document,
        head=renderer.blocks(document.blocks[:cut]),
        body=renderer.blocks(sections),
        contents=[(b.id, say(b.title)) for b in sections if isinstance(b, Section)],
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


def _listing(blocks: Iterable[Block]) -> Listing | None:
    for block in blocks:
        if isinstance(block, Listing):
            return block
        if isinstance(block, Section) and (listing := _listing(block.blocks)):
            return listing
    return None


class _Page:
    """Renders blocks; one method for each type."""

    def __init__(self, say: Translator, *, is_listed: bool) -> None:
        self.say = say
        self.is_listed = is_listed

    def blocks(self, blocks: Iterable[Block]) -> Markup:
        return Markup("\n").join(
            getattr(self, type(block).__name__.lower())(block) for block in blocks
        )

    def text(self, text: object) -> Markup:
        """Return a text with code in backticks; third-party control characters are visible."""
        return coded(self.say(text) if isinstance(text, str) else str(text))

    def verdict(self, block: Verdict) -> Markup:
        leads = Markup("").join(self._p(lead, "lead") for lead in block.leads)
        return Markup('<div class="verdict {}"><h1>{}</h1>{}</div>').format(
            block.state, self.text(block.sentence), leads
        )

    def banner(self, block: Banner) -> Markup:
        return Markup('<div class="verdict banner"><h1>{}</h1></div>').format(
            self.text(block.sentence)
        )

    def _command(self, command: str) -> Markup:
        if not command:
            return Markup()
        return Markup('<pre class="command"><code>{}</code></pre>').format(upright(command))

    def _p(self, text: object, kind: str) -> Markup:
        return Markup('<p class="{}">{}</p>').format(kind, self.text(text))

    def prose(self, block: Prose) -> Markup:
        return self._p(block.text, "small faint" if block.faint else "lead")

    def bullets(self, block: Bullets) -> Markup:
        items = self._items(map(self.text, block.items))
        kind = "notices" if block.warning else "reasons"
        return Markup('<ul class="{}">{}</ul>').format(kind, items)

    def _items(self, items: Iterable[Markup]) -> Markup:
        return Markup("").join(Markup("<li>{}</li>").format(item) for item in items)

    def conditions(self, block: Conditions) -> Markup:
        items = self._items(
            Markup("{} <span>{}</span>").format(self._word(item.state), self.text(item.text))
            for item in block.items
        )
        inner = Markup('<ul class="conditions">{}</ul>').format(items)
        return self._part(self.text(_("Conditions")), inner)

    def _part(self, title: Markup, inner: Markup) -> Markup:
        return Markup('<div class="part"><h2 class="minor">{}</h2>{}</div>').format(title, inner)

    def _word(self, state: str) -> Markup:
        word = self.say(STATES[state])  # pyright: ignore[reportArgumentType]
        return Markup('<span class="word {}">{}</span>').format(state, word)

    def steps(self, block: Steps) -> Markup:
        items = self._items(
            Markup("{}{}").format(
                self.cell(Link(step.label, step.url)) if step.url else self.text(step.label),
                self._command(step.command),
            )
            for step in block.items
        )
        inner = Markup('<ol class="steps">{}</ol>').format(items)
        return self._part(self.text(_("What to do next")), inner)

    def cell(self, cell: Cell, scale: float = 0.0) -> Markup:
        if isinstance(cell, Difference):
            return self._difference(cell, scale)
        if isinstance(cell, Result):
            return self._word(cell.state)
        if isinstance(cell, Code):
            return Markup("<code>{}</code>").format(upright(cell.text))
        if isinstance(cell, Link):
            return Markup('<a href="{}">{}</a>').format(cell.url, self.text(cell.text))
        if isinstance(cell, Proportion):
            notes = (
                Markup('<span class="was">{}</span>').format(self.say(x)) for x in cell.notes()
            )
            return Markup("").join((share(cell.value), *notes))
        return self.text(cell_text(cell, self.say))

    def _difference(self, cell: Difference, scale: float) -> Markup:
        main, bracket, interval = difference_text(cell, self.say).partition("(")
        way, word = "", ""
        if cell.better is not None:
            way, word = ("better", _("better")) if cell.better else ("worse", _("worse"))
        word = Markup(' <span class="way">{}</span>').format(self.say(word)) if word else ""
        behind = Markup(' <span class="was">{}{}</span>').format(bracket, interval)
        text = Markup('<span class="change {}"><span class="nowrap">{}</span>{}{}</span>').format(
            way, main.strip(), word, behind if interval else ""
        )
        return Markup('<span class="drawn">{}{}</span>').format(_axis(cell, scale), text)

    def table(self, block: Table) -> Markup:
        cells: Iterable[tuple[Cell, ...]] = zip(*block.rows, strict=True)
        kinds = [min({*map(_kind, column)} - {""}, default="") for column in cells]
        scale = max((_extent(cell) for row in block.rows for cell in row), default=0.0)
        heads = Markup("").join(
            Markup('<th scope="col" class="{} {}">{}</th>').format(
                kind,
                _width(self.say(column.label)).replace("nowrap", "whole"),
                self.text(column.label),
            )
            if column.label
            else Markup("<td></td>")
            for column, kind in zip(block.columns, kinds, strict=False)
        )
        caption = (
            Markup("<caption>{}</caption>").format(self.text(block.caption))
            if block.caption
            else ""
        )
        groups = Markup("").join(
            self._group(group, block, kinds, scale) for group in block.groups if group.rows
        )
        drawn = Markup(
            '<table class="figures stacks">{}<thead><tr>{}</tr></thead>{}</table>'
        ).format(caption, heads, groups)
        if len(kinds) <= _NARROW and kinds.count("difference") <= 1:
            return drawn
        return Markup(
            '<div class="scroll" tabindex="0" role="group" aria-label="{}">{}</div>'
        ).format(self.say(block.caption or block.columns[0].label), drawn)

    def _group(self, group: Group, block: Table, kinds: Sequence[str], scale: float) -> Markup:
        labels = [self.say(column.label) for column in block.columns]
        title = (
            Markup('<tr class="group"><th scope="rowgroup" colspan="{}">{}</th></tr>').format(
                len(labels), self.text(group.title)
            )
            if group.title
            else ""
        )
        rows = Markup("").join(
            Markup("<tr>{}</tr>").format(
                Markup("").join(
                    Markup('<th scope="row" class="{}">{}</th>').format(
                        _width(cell_text(cell, self.say)), self.cell(cell)
                    )
                    if at == 0
                    else Markup('<td class="{}" data-label="{}">{}</td>').format(
                        f"{kinds[at]} {_width(cell_text(cell, self.say))}".strip(),
                        labels[at],
                        self.cell(cell, scale),
                    )
                    for at, cell in enumerate(row)
                )
            )
            for row in group.rows
        )
        return Markup("<tbody>{}{}</tbody>").format(title, rows)

    def keyfigures(self, block: KeyFigures) -> Markup:
        return Markup('<div class="cards">{}</div>').format(
            Markup("").join(map(self._figure, block.figures))
        )

    def _figure(self, figure: KeyFigure) -> Markup:
        n = self.say(_("N = {n}", n=figure.n)).replace(" ", "\u00a0")
        about = filter(None, (self.say(figure.about), n))
        return Markup(
            '<div class="card"><h2>{}</h2><p class="figure">{}</p>{}{}<p class="small faint">{}</p></div>'
        ).format(
            self.text(figure.label),
            self.cell(figure.value),
            _whisker(figure.value, figure.interval),
            Markup(
                '<p class="small"><span class="faint">{}</span> <span class="nowrap">{}</span></p>'
            ).format(self.say(_("95% CI")), cell_text(figure.interval, self.say))
            if figure.interval.low is not None
            else "",
            self.text(" · ".join(about)),
        )

    def plot(self, block: Plot) -> Markup:
        caption = self.say(block.caption)
        drawn = Markup(inline_svg(block.chart, caption))  # noqa: S704  made by us, from escaped text
        return Markup('<figure class="plot">{}<figcaption>{}</figcaption></figure>').format(
            drawn, self.text(caption)
        )

    def examples(self, block: Examples) -> Markup:
        count = self.say(more_text(len(block.items), block.of))
        cards = Markup("").join(
            Markup(
                '<li class="example"><h3>{} {}</h3><p class="{}">{}</p>'
                '{}<div class="rankings">{}</div></li>'
            ).format(
                self.text(item.title),
                Markup(  # noqa: S704  both are ours
                    '<a class="faint" href="#q={0}">{1}</a>'
                    if self.is_listed
                    else '<span class="faint">{1}</span>'
                ).format(quote(item.id, safe="", errors="replace"), upright(item.id)),
                "right" if item.better else "wrongly",
                self.text(item.what),
                Markup('<p class="small">{}: {}</p>').format(
                    self.say(_("expected")), upright(", ".join(item.expected))
                )
                if item.expected
                else "",
                Markup("").join(map(self._side, item.sides)),
            )
            for item in block.items
        )
        return Markup(
            '<div class="part"><h2 class="minor">{} <span class="faint">({})</span></h2>'
            '<ol class="examples">{}</ol></div>'
        ).format(self.text(block.title), count, cards)

    def _side(self, side: Side) -> Markup:
        marks = {"expected": _("expected"), "wrong": _("not supported")}
        lines = Markup("").join(
            Markup('<li class="{}">{} <span class="faint">{}</span>{}</li>').format(
                line.mark,
                self.text(line.text),
                self.cell(line.value),
                Markup(' <span class="{}">{}</span>').format(
                    "cross" if line.mark == "wrong" else "tick", self.say(marks[line.mark])
                )
                if line.mark
                else "",
            )
            for line in side.lines
        )
        shown = Markup("<ul>{}</ul>").format(lines) if lines else self._p(_("nothing"), "small")
        return Markup('<div><h4 class="faint">{}</h4>{}</div>').format(self.text(side.label), shown)

    def facts(self, block: Facts) -> Markup:
        rows = Markup("").join(
            Markup("<dt>{}</dt><dd>{}</dd>").format(self.text(name), self.cell(cell))
            for name, cell in block.rows
        )
        return Markup('<dl class="wrap">{}</dl>').format(rows)

    def listing(self, block: Listing) -> Markup:
        return Markup('<noscript><p>{}</p></noscript><div id="items"></div>').format(
            self.text(block.no_script)
        )

    def section(self, block: Section) -> Markup:
        plots = [b for b in block.blocks if isinstance(b, Plot)]
        others = self.blocks(b for b in block.blocks if not isinstance(b, Plot))
        drawn = Markup('<div class="plots">{}</div>').format(self.blocks(plots)) if plots else ""
        title = Markup('<h2 id="{0}-title">{1}</h2>').format(block.id, self.text(block.title))
        inner = Markup('<div class="body">{}{}</div>').format(others, drawn)
        if block.folded:
            inner = Markup("<details><summary>{}</summary>{}</details>").format(title, inner)
        else:
            inner = Markup("{}{}").format(title, inner)
        return Markup(
            '<section id="{0}" aria-labelledby="{0}-title" tabindex="-1">{1}</section>'
        ).format(block.id, inner)


def _kind(cell: Cell) -> str:
    if isinstance(cell, Difference):
        return "difference"
    if isinstance(cell, Result):
        return "result"
    return "number" if isinstance(cell, NUMBERS) else ""


def _width(text: str) -> str:
    """Return the class of a cell: a phone leaves out "none", and lines end between words unless one is very long."""
    if text in ("", "–"):
        return "none"
    if len(text) <= _SHORT:
        return "nowrap"
    return "" if any(len(word) > 2 * _SHORT for word in text.split()) else "whole"


def _extent(cell: Cell) -> float:
    """Return how far a difference reaches from 0."""
    if not isinstance(cell, Difference):
        return 0.0
    ends = (cell.value, cell.low, cell.high, cell.limit)
    return max((abs(end) for end in ends if end is not None), default=0.0)


def _axis(cell: Difference, scale: float) -> Markup:
    """Draw a difference on the common axis of its table: interval, value, zero line and limit line."""
    if not scale or cell.value is None:
        return Markup()

    def at(value: float) -> float:
        return round(_AXIS / 2 * (1 + 0.96 * value / scale), 2)

    parts = [Markup('<rect class="zero" x="{}" y="0" width="0.8" height="12"/>').format(at(0.0))]
    if cell.limit is not None:
        parts.append(
            Markup('<rect class="limit" x="{}" y="0" width="0.8" height="12"/>').format(
                at(cell.limit)
            )
        )
    if cell.low is not None and cell.high is not None:
        width = max(0.8, at(cell.high) - at(cell.low))
        parts.append(
            Markup('<rect class="range" x="{}" y="4" width="{:.2f}" height="4"/>').format(
                at(cell.low), width
            )
        )
    parts.append(
        Markup('<rect class="dot" x="{:.2f}" y="2" width="1.6" height="8"/>').format(
            at(cell.value) - 0.4
        )
    )
    return Markup(
        '<svg class="axis" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">{}</svg>'
    ).format(Markup("").join(parts))


def _whisker(value: Proportion, interval: Interval) -> Markup:
    """Draw a metric in [0, 1] with its interval."""
    if value.value is None:
        return Markup()
    marks = Markup()
    if value.ceiling is not None:
        marks = Markup('<rect class="ceiling" x="{:.2f}" y="0" width="0.8" height="10"/>').format(
            99.2 * value.ceiling
        )
    if interval.low is not None and interval.high is not None:
        width = max(0.6, 100 * (interval.high - interval.low))
        marks += Markup('<rect class="range" x="{:.2f}" y="3" width="{:.2f}" height="4"/>').format(
            100 * interval.low, width
        )
    return Markup(
        '<svg class="whisker" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" x="0" y="4.5" width="100" height="1"/>{}'
        '<rect class="dot" x="{:.2f}" y="0" width="1.6" height="10"/></svg>'
    ).format(marks, 98.4 * value.value)


@functools.cache
def _asset(name: str) -> str:
    """Return a file of the page, with the line ends that a browser sees: its hash depends on them."""
    return (resources.files("gigamind.reports.page") / "templates" / name).read_text(
        encoding="utf-8"
    )


def _policy(script: str) -> str:
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(_asset('report.css'))}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@functools.cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("gigamind.reports.page"),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=upright,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.jinja")


_CODE = re.compile("`([^`]+)`")


def coded(text: str) -> Markup:
    """Return a message as markup: text in backticks as code, "->" as an arrow."""
    escaped = str(escape(upright(text))).replace(" -&gt; ", " → ")
    return Markup(_CODE.sub(r"<code>\1</code>", escaped))  # noqa: S704  escaped before
