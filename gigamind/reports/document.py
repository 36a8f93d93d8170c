"""A page as data: blocks of typed values.

A task describes its result once, as a Document. The renderers (`terminal`, `markdown`, `html`) have one function per
block type and one format per value type. Texts are messages, or third-party text as plain `str`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import compress
from typing import Literal, Self

from gigamind.formats import points, share
from gigamind.i18n import Message, Text, Translator, _, joined, n_, translator
from gigamind.reports.charts import Trend
from gigamind.stats.paired import MIN_PAIRS

State = Literal[
    "passed",
    "warning",
    "inconclusive",
    "failed",
    "not-comparable",
    "waived",
    "measured",
    "informational",
    "skipped",
]
STATES: dict[State, Message] = {
    "passed": _("passed"),
    "warning": _("warning"),
    "inconclusive": _("inconclusive"),
    "failed": _("failed"),
    "not-comparable": _("not comparable"),
    "waived": _("waived"),
    "measured": _("measured"),
    "informational": _("informational"),
    "skipped": _("not measured"),
}
"""Words for states; a word always accompanies a colour or a shape."""


@dataclass(frozen=True, slots=True)
class Proportion:
    """A metric in [0, 1].

    Attributes:
        n: the number of items behind it, if that differs from its neighbours.
        ceiling: the highest value that the dataset allows, if that is below 1.
    """

    value: float | None
    n: int | None = None
    ceiling: float | None = None

    def notes(self) -> Iterator[Message]:
        """Yield what belongs behind the value."""
        if self.n is not None:
            yield _("{n:,} items", n=self.n)
        if self.ceiling is not None:
            yield _("highest possible {value}", value=share(self.ceiling))


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval of a metric in [0, 1]."""

    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A change of a metric in [-1, 1], shown in percentage points.

    Attributes:
        low, high: its 95 % interval; None if it is unknown, for which `note` may say why.
        limit: the smallest (for metrics where lower is better: largest) allowed difference; None if there is none.
        better: the direction of a significant change; None if it is not significant.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    limit: float | None = None
    better: bool | None = None
    note: Text = ""

    def text(self, say: Translator) -> str:
        """Return it in percentage points, with its interval or the reason why there is none."""
        if self.value is None:
            return "–"
        text = say(points(self.value))
        if self.low is not None and self.high is not None:
            low, high = (f"{100 * end:+.1f}".replace("-", "−") for end in (self.low, self.high))
            return say(_("{difference} ({low} to {high})", difference=text, low=low, high=high))
        return f"{text} ({say(self.note)})" if self.note else text


@dataclass(frozen=True, slots=True)
class Count:
    """A number of items, or "`n` of `of`"."""

    n: int | None
    of: int | None = None


@dataclass(frozen=True, slots=True)
class Time:
    """A time in milliseconds."""

    ms: float | None
    digits: int = 0


@dataclass(frozen=True, slots=True)
class Money:
    """A cost in US dollars; None if it is unknown."""

    usd: float | None


@dataclass(frozen=True, slots=True)
class Code:
    """A path, an option, a command or another text that readers copy."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """A link; media without links show its text."""

    text: Text
    url: str


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a rule in a word."""

    state: State


Cell = (
    Proportion | Interval | Difference | Count | Time | Money | Code | Link
    | Result | str | None
)  # fmt: skip
NUMBERS = Proportion, Interval, Difference, Count, Time, Money
"""Types of cells that are aligned to the right."""


def cell_text(cell: Cell, say: Translator) -> str:  # noqa: C901, PLR0911  one case a type
    """Return a cell as plain text: the one format of each type of value."""
    match cell:
        case None:
            return "–"
        case Proportion(value):
            notes = ", ".join(map(say, cell.notes()))
            return f"{share(value)} ({notes})" if notes else share(value)
        case Interval(low, high):
            return "–" if low is None else f"{share(low)} – {share(high)}"
        case Difference():
            return cell.text(say)
        case Count(n, of):
            number = "–" if n is None else f"{n:,}"
            return say(_("{n} of {of:,}", n=number, of=of)) if of is not None else number
        case Time(ms, digits):
            return "–" if ms is None else f"{ms:,.{digits}f} ms"
        case Money(usd):
            return say(_("unknown") if usd is None else _("{usd:.6f} USD", usd=usd))
        case Code(text):
            return text
        case Link(text):
            return say(text)
        case Result(state):
            return say(STATES[state])
        case str():
            return say(cell)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result in one sentence, which all media print; `leads` are sentences that belong right below it."""

    state: State
    sentence: Text
    leads: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class Banner:
    """Why the figures below cannot be trusted yet, in place of a verdict."""

    sentence: Text


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph; a `faint` one explains a table or a figure."""

    text: Text
    faint: bool = False


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of sentences; `warning` ones need the reader's attention."""

    items: tuple[Text, ...]
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of the policy, each with its state and what it found, those that decided first."""

    items: tuple[tuple[State, Text], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """What to do next: what it achieves, and a command, lines of a file or a link to do it."""

    label: Text
    command: str = ""
    url: str = ""

    @property
    def is_file(self) -> bool:
        """Whether the command is lines of a file."""
        return "\n" in self.command

    @property
    def link(self) -> str:
        """Return the URL for media without sections; "" if it is a place on the page."""
        return self.url if not self.url.startswith("#") else ""


@dataclass(frozen=True, slots=True)
class Steps:
    """The next steps, the most useful first."""

    items: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Rows under a heading of their own; "" if the table has one group."""

    rows: tuple[tuple[Cell, ...], ...]
    title: Text = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of typed cells; the first cell of a row names it. Differences share one axis.

    `minor` has the places of columns that narrow media (the terminal) leave out.
    """

    columns: tuple[Text, ...]
    groups: tuple[Group, ...]
    caption: Text = ""
    minor: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, columns: Iterable[Text], rows: Iterable[Iterable[Cell]], caption: Text = ""
    ) -> Self:
        """Return a table with one group."""
        group = Group(tuple(map(tuple, rows)))
        return cls(tuple(columns), (group,), caption)

    @property
    def rows(self) -> Iterator[tuple[Cell, ...]]:
        """Return the rows of all groups."""
        return (row for group in self.groups for row in group.rows)

    def explained(self) -> "Table":
        """Return the table with the reason why differences have no interval, if some have too few changed items."""
        if not any(isinstance(x, Difference) and x.note for row in self.rows for x in row):
            return self
        reason = _("No interval: fewer than {n} items changed.", n=MIN_PAIRS)
        return replace(self, caption=joined(filter(None, (self.caption, reason)), " "))

    def filled(self) -> "Table":
        """Return the table without the columns that have no value in any row."""
        say = translator("en")
        columns = zip(*self.rows, strict=True)
        kept = [any(cell_text(x, say) not in {"", "–"} for x in column) for column in columns]
        groups = (
            replace(group, rows=tuple(tuple(compress(row, kept)) for row in group.rows))
            for group in self.groups
        )
        return replace(self, columns=tuple(compress(self.columns, kept)), groups=tuple(groups))


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """One main metric; `about` explains it in a few words."""

    label: Text
    value: Proportion
    interval: Interval
    n: int
    about: Text


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """The main metrics."""

    figures: tuple[KeyFigure, ...]

    @property
    def as_table(self) -> Table:
        """Return the same as a table, for text."""
        rows = ((x.label, x.value, x.interval, Count(x.n)) for x in self.figures)
        return Table.of((_("metric"), _("value"), _("95% CI"), _("items")), rows)


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart; the caption is also its text alternative. Only HTML and Prefect's page show it."""

    chart: Trend
    caption: Text


@dataclass(frozen=True, slots=True)
class SideLine:
    """A line of an example: a note of a ranking, or a claim; `mark` says why it is highlighted."""

    text: Text
    value: Cell = ""
    mark: Literal["", "expected", "wrong"] = ""


@dataclass(frozen=True, slots=True)
class Side:
    """One run's version of an example."""

    label: Text
    lines: tuple[SideLine, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """An item that shows the result: its text, what happened, and the versions side by side; `better`: it improved."""

    id: str
    title: str
    what: Text
    expected: tuple[str, ...] = ()
    sides: tuple[Side, ...] = ()
    better: bool = False


EXAMPLES = 3
"""Examples on the first screen."""


@dataclass(frozen=True, slots=True)
class Examples:
    """The items that changed most, or the worst ones; `of` is how many there are in all."""

    title: Text
    items: tuple[Example, ...]
    of: int


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values, such as the details of a run."""

    rows: tuple[tuple[Text, Cell], ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """All items, with search, filters and sorting; only HTML shows it.

    `script` is the asset that shows one item, `data` JSON from `items_script`.
    """

    script: str
    data: str


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a heading; HTML shows `folded` ones closed. `id` is the anchor, and picks sections for a medium."""

    id: str
    title: Text
    blocks: "tuple[Block, ...]"
    folded: bool = False

    @classmethod
    def closed(cls, anchor: str, title: Text, *blocks: "Block | None") -> Self:
        """Return a folded section of the blocks that are given."""
        return cls(anchor, title, tuple(filter(None, blocks)), folded=True)


Block = (
    Verdict | Banner | Prose | Bullets | Conditions | Steps | Table | KeyFigures | Plot | Examples
    | Facts | Listing | Section
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Document:
    """A page: its subject (task, run or runs) and its blocks; sections come after what everybody must see."""

    title: Text
    subject: Text
    blocks: tuple[Block, ...]
    version: str = ""  # of gigamind

    def only(self, *ids: str) -> "Document":
        """Return the part before the sections, which the terminal and a comment show, with only these sections."""
        kept = (b for b in self.blocks if not isinstance(b, Section) or b.id in ids)
        return replace(self, blocks=tuple(kept))

    def without(self, *warnings: Text) -> "Document":
        """Return the document without these warnings, which the reader has seen."""
        blocks = (
            Bullets(tuple(x for x in b.items if x not in warnings), warning=True)
            if isinstance(b, Bullets) and b.warning
            else b
            for b in self.blocks
        )
        return replace(self, blocks=tuple(b for b in blocks if b != Bullets((), warning=True)))

    def linked(self, step: Step) -> "Document":
        """Return the document with another first step after the verdict, such as the link to its HTML page."""
        steps = next((b for b in self.blocks if isinstance(b, Steps)), Steps(()))
        first, *others = (b for b in self.blocks if b is not steps)
        return replace(self, blocks=(first, Steps((step, *steps.items)), *others))

    @property
    def verdict(self) -> Verdict | Banner | None:
        """Return the verdict, or the banner in its place."""
        return next((b for b in self.blocks if isinstance(b, Verdict | Banner)), None)

    @property
    def headline(self) -> Text:
        """Return the sentence of the verdict or banner; "" if there is none."""
        return self.verdict.sentence if self.verdict else ""


def shaped(
    title: Text,
    subject: Text,
    *,
    verdict: Verdict | Banner | None,
    figures: KeyFigures | None = None,
    steps: Iterable[Step] = (),
    table: Table | None = None,
    examples: Examples | None = None,
    conditions: Conditions | None = None,
    noise: Text = "",
    warnings: Iterable[Text] = (),
    sections: Iterable[Section | None] = (),
    version: str = "",
) -> Document:
    """Return a page in the one order of all pages; parts without content are left out."""
    shown, more = _ranked(warnings)
    blocks: list[Block | None] = [
        verdict,
        Steps(tuple(steps)) if (steps := tuple(steps)) else None,
        figures if figures and figures.figures else None,
        table if table and any(table.rows) else None,
        Bullets(shown, warning=True) if shown else None,
        examples if examples and examples.items else None,
        conditions if conditions and conditions.items else None,
        Prose(noise, faint=True) if noise else None,
        *(section for section in sections if section and section.blocks),
        Section.closed("warnings", _("Other warnings"), Bullets(more)) if more else None,
    ]
    return Document(title, subject, tuple(b for b in blocks if b is not None), version)


_WARNINGS_SHOWN = 3


def _ranked(warnings: Iterable[Text]) -> tuple[tuple[Text, ...], tuple[Text, ...]]:
    """Return the warnings of the first screen and the others, without duplicates; callers order them.

    A warning about one line of a file is never on the first screen.
    """
    distinct = tuple(dict.fromkeys(filter(None, warnings)))
    general = [text for text in distinct if "line" not in getattr(text, "values", ())]
    shown = tuple(general[:_WARNINGS_SHOWN])
    return shown, tuple(text for text in distinct if text not in shown)


def more_text(shown: int, of: int) -> Message:
    """Return how many of the items are shown, which every list says."""
    return _("{shown} of {of:,}", shown=shown, of=of)


def listed(texts: Iterable[Text], most: int) -> Message:
    """Return the first texts in a line, and how many more there are."""
    texts = list(texts)
    parts = texts[:most]
    if rest := len(texts) - len(parts):
        parts.append(n_("{n} more", "{n:,} more", n=rest))
    return joined(parts, ", ")
