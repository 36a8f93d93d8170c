"""Documents as Markdown: summary.md, compare.md, comments, job summaries and Prefect artifacts.

Third-party texts are escaped: no line, table or fence breaks.
"""

import base64
import re

from gigamind.i18n import Text, Translator, _
from gigamind.reports import document as doc
from gigamind.reports.charts import visible

_MEANING = re.compile(r"([\\`*_\[\]<>|#~&$])")
_CODE = re.compile("`([^`\n]+)`")
_BLOCK_MARK = re.compile(r"^(\d*)([.)]|[-+=]+)(?=\s|$)")  # 1. or - or --- in front
_MENTION = re.compile(r"(?<!\w)@(?=\w)")
_MARKS = {
    "passed": "✓ ", "failed": "✗ ", "warning": "! ", "inconclusive": "? ", "not-comparable": "? ", "waived": "~ ",
}  # fmt: skip
"""Plain signs beside the words of states; they need no emoji font."""


def render_markdown(
    document: doc.Document,
    say: Translator,
    *,
    level: int = 1,
    plots: bool = False,
    fold: bool = False,
) -> str:
    """Return a document as Markdown.

    Args:
        level: of its title.
        plots: include charts as images in the text, for readers that show them (Prefect).
        fold: put folded sections into <details> elements, as comments do.
    """
    page = _Page(say, level, plots=plots, fold=fold)
    head = [f"{'#' * level} {_inline(say(document.title))}", _inline(say(document.subject))]
    parts = [*filter(None, head), *(page.block(block) for block in document.blocks)]
    text = "\n\n".join(filter(None, parts)) + "\n"
    return _MENTION.sub("@\u200b", text)  # a name in a question must not notify anybody


class _Page:
    """Renders blocks; one method for each type."""

    def __init__(self, say: Translator, level: int, *, plots: bool, fold: bool) -> None:
        self.say, self.level, self.plots, self.fold = say, level, plots, fold

    def block(self, block: doc.Block) -> str:
        return getattr(self, type(block).__name__.lower())(block)

    def cell(self, cell: doc.Cell) -> str:
        if isinstance(cell, doc.Code):
            # A code span cannot escape the bar that would end a table cell.
            return _code(cell.text) if "|" not in cell.text else _inline(cell.text)
        if isinstance(cell, doc.Link):
            return f"[{_inline(self.say(cell.text))}]({cell.url})"
        return _inline(doc.cell_text(cell, self.say))

    def text(self, text: Text) -> str:
        """Return a sentence; parts in backticks are code."""
        return _sentence(self.say(text))

    def verdict(self, block: doc.Verdict) -> str:
        return "\n\n".join([f"**{self.text(block.sentence)}**", *map(self.text, block.leads)])

    def banner(self, block: doc.Banner) -> str:
        return f"> **{self.text(block.sentence)}**"

    def prose(self, block: doc.Prose) -> str:
        return self.text(block.text)

    def bullets(self, block: doc.Bullets) -> str:
        lines = "\n".join(f"- {self.text(item)}" for item in block.items)
        return self._titled(_("Before you trust the figures"), lines) if block.warning else lines

    def _titled(self, title: Text, content: str) -> str:
        return f"**{_inline(self.say(title))}**\n\n{content}"

    def conditions(self, block: doc.Conditions) -> str:
        lines = (
            f"- {_MARKS.get(state, '')}{self.say(doc.STATES[state])}: {self.text(text)}"
            for state, text in block.items
        )
        return self._titled(_("Conditions"), "\n".join(lines))

    def steps(self, block: doc.Steps) -> str:
        lines: list[str] = []
        for step in block.items:
            label = self.text(step.label)
            if step.link:
                label = f"[{label}]({step.link})"
            own = f": {_code(step.command)}" if step.command else ""
            if step.is_file:
                lines_of_file = ("```toml", *step.command.split("\n"), "```")
                own = ":" + "".join(f"\n  {line}" for line in lines_of_file)
            lines.append(f"- {label}{own}")
        return self._titled(_("What to do next"), "\n".join(lines))

    def table(self, block: doc.Table) -> str:
        first = next(block.rows, ())
        right = [isinstance(cell, doc.NUMBERS) for cell in first]
        heads = " | ".join(_inline(self.say(label)) for label in block.columns)
        lines = [f"| {heads} |", "|" + "".join("---:|" if r else "---|" for r in right)]
        for group in block.groups:
            if group.title and group.rows:
                empty = " |" * (len(block.columns) - 1)
                lines.append(f"| **{_inline(self.say(group.title))}** |{empty}")
            lines += [f"| {' | '.join(map(self.cell, row))} |" for row in group.rows]
        caption = f"{_inline(self.say(block.caption))}\n\n" if block.caption else ""
        return caption + "\n".join(lines)

    def keyfigures(self, block: doc.KeyFigures) -> str:
        return self.table(block.as_table)

    def plot(self, block: doc.Plot) -> str:
        if not self.plots:
            return ""
        drawn = base64.b64encode(block.chart.svg_file(self.say).encode()).decode()
        return f"![{_inline(self.say(block.caption))}](data:image/svg+xml;base64,{drawn})"

    def examples(self, block: doc.Examples) -> str:
        count = self.say(doc.more_text(len(block.items), block.of))
        lines = [f"**{_inline(self.say(block.title))}** ({count})", ""]
        for place, item in enumerate(block.items, 1):
            what = f": {self.text(item.what)}" if item.what else ""
            lines.append(f"{place}. **{_inline(item.title)}** ({_code(item.id)}){what}")
            if item.expected:
                expected = ", ".join(map(_code, item.expected))
                label = self.say(_("expected"))
                lines.append(f"    - {label}: {expected}")
            lines += [f"    - {self._side(side)}" for side in item.sides]
        return "\n".join(lines)

    def _side(self, side: doc.Side) -> str:
        texts = ((_inline(self.say(line.text)), line.mark) for line in side.lines)
        content = " · ".join(f"**{text}**" if mark else text for text, mark in texts)
        content = content or self.say(_("nothing"))
        return f"{_inline(self.say(side.label))}: {content}"

    def facts(self, block: doc.Facts) -> str:
        rows = (f"| {_inline(self.say(name))} | {self.cell(cell)} |" for name, cell in block.rows)
        return "\n".join(["| | |", "|---|---|", *rows])

    def listing(self, block: doc.Listing) -> str:
        del block
        return ""

    def section(self, block: doc.Section) -> str:
        inner = _Page(self.say, self.level + 1, plots=self.plots, fold=False)
        content = "\n\n".join(filter(None, map(inner.block, block.blocks)))
        if not content:
            return ""
        title = _inline(self.say(block.title))
        if self.fold and block.folded:
            return f"<details><summary>{title}</summary>\n\n{content}\n\n</details>"
        return f"{'#' * (self.level + 1)} {title}\n\n{content}"


def _inline(text: object) -> str:
    """Return a text on one line, with the special characters of Markdown and HTML escaped."""
    line = _MEANING.sub(r"\\\1", _on_a_line(text))
    return _BLOCK_MARK.sub(r"\1\\\2", line)


def _sentence(text: object) -> str:
    """Return a sentence of ours like `_inline`; parts in backticks are code, which no text inside can end."""
    parts = _CODE.split(_on_a_line(text))
    shown = (_code(x) if at % 2 else _MEANING.sub(r"\\\1", x) for at, x in enumerate(parts))
    return _BLOCK_MARK.sub(r"\1\\\2", "".join(shown))


def _code(text: object) -> str:
    """Return a text as a code span on one line; backticks inside need a longer fence.  Not for table cells."""
    line = _on_a_line(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _on_a_line(text: object) -> str:
    return visible(" ".join(str(text).split()))
