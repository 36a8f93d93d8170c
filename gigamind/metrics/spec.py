"""What a metric is: how it is computed, what it is called, where it is shown and whether it may stop a release.

A metric stands beside its function; table.py collects them.  The measuring function of a room runs through its metrics,
and everything that shows, compares or gates figures reads the table: a new entry needs no other edit.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

Takes = Literal["rankings", "ranking", "spans", "verdicts", "note", "claims"]
_PLACES = {"{k}": r"(?P<k>\d+)", "{item}": r"(?P<item>[a-z][a-z0-9_]*)"}


@dataclass(frozen=True, slots=True)
class Block:
    """Figures that stand together in summary.json, under the block's name.

    Attributes:
        task: whose figures they are.
        unit, units: what the items behind them are called.
        beside: it stands beside the evaluation of a task, and not every run of the task has it.
    """

    task: str
    unit: str
    units: str
    beside: bool = False


BLOCKS: Mapping[str, Block] = {
    "search": Block("search", "query", "queries"),
    "unanswerable": Block("search", "query", "queries"),
    "links": Block("links", "note", "notes"),
    "answers": Block("answers", "answer", "answers"),
    "quality": Block("answers", "answer", "answers", beside=True),
}


class Text(NamedTuple):
    """What pages say in each language."""

    en: str
    ko: str


@dataclass(frozen=True, slots=True)
class Use:
    """Where a metric stands and what it decides.

    Attributes:
        gate: gates.toml may name it.
        lower: a rise is for the worse.
        undirected: it says how much is known, and neither a rise nor a fall is for the worse.
        main, page, summary: its place among the main figures, and among the columns by slice of report.html and of
            summary.md; those of equal place stand in the order of the table; 0 is none.
        first: of all cut-offs, these show the first, and not the deepest.
    """

    gate: bool = False
    lower: bool = False
    undirected: bool = False
    main: int = 0
    page: int = 0
    summary: int = 0
    first: bool = False


@dataclass(frozen=True)
class Metric:
    """One metric, or one for every cut-off.

    Attributes:
        takes: what `of` is given (see the measuring functions), and the cut-off where the name has one.
        of: its value of one item; None where that comes from elsewhere, such as a judge.
        name: as in summary.json; "{k}" stands for the cut-off, "{item}" for an item of a checklist.
        label: what pages call it; `plain` is what terminal and summary.md do, where that is not the English one.
        about: what it is, on the card of a main figure; without, a main figure has no card.
    """

    block: str
    takes: Takes | None
    of: Callable[..., Any] | None
    name: str
    label: Text
    about: Text | None = None
    plain: str = ""
    use: Use = Use()

    def __post_init__(self) -> None:
        if self.block not in BLOCKS:
            raise ValueError(f"{self.key}: no such block; there are {', '.join(BLOCKS)}")
        if not all((*self.label, *(self.about or ()))):
            raise ValueError(f"{self.key}: has no label, or no words about it, in a language")
        if self.of is not None and self.takes is None:
            raise ValueError(f"{self.key}: what its function takes is not said")

    @classmethod
    def of_judge(
        cls, name: str, label: Text, *, about: Text | None = None, lower: bool = False
    ) -> "Metric":
        """A figure of answers that a team's own judge gives as a score in [0, 1]; gates.toml may name it."""
        use = Use(gate=True, lower=lower)
        return cls("answers", None, None, name, label, about, use=use)

    def told(self, en: str, ko: str) -> "Metric":
        """The same, with a card that says what it is."""
        return replace(self, about=Text(en, ko))

    @property
    def key(self) -> str:
        """The name with its block."""
        return f"{self.block}.{self.name}"

    @property
    def has_cutoff(self) -> bool:
        """Whether it is measured at several ranks."""
        return "{k}" in self.name

    def at(self, k: int) -> str:
        """Its name at a cut-off."""
        return self.name.replace("{k}", str(k))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What its names match."""
        parts = re.split(r"(\{\w+\})", self.name)
        return re.compile("".join(_PLACES.get(part) or re.escape(part) for part in parts))

    def called(self, name: str, language: Literal["en", "ko"] | None) -> str:
        """What it is called under one of its names; without a language, in terminal and summary.md."""
        label = getattr(self.label, language) if language else self.plain or self.label.en
        match = self.pattern.fullmatch(name)
        return label.format(**match.groupdict()) if match else label


SHOWN = Use(gate=True, main=1, page=1, summary=1)
MAIN = Use(gate=True, main=1)


@dataclass(frozen=True, slots=True)
class Rows:
    """Makes the metrics of a room, which stand in one block and are computed from the same things."""

    block: str
    takes: Takes | None

    def __call__(
        self,
        of: Callable[..., Any] | None,
        name: str,
        en: str,
        ko: str,
        use: Use = Use(),
        *,
        plain: str = "",
    ) -> Metric:
        """See `Metric`; `en` and `ko` are its label."""
        return Metric(self.block, self.takes, of, name, Text(en, ko), None, plain, use)

    def named(self, of: Callable[..., Any], ko: str, use: Use = Use()) -> Metric:
        """One whose name is that of its function, in words its English label."""
        return self(of, of.__name__, of.__name__.replace("_", " "), ko, use)


OWN: dict[str, Metric] = {}
"""Those that were added at run time; see `table.register`."""


def measured(
    metrics: Sequence[Metric], takes: Takes
) -> Iterator[tuple[Metric, Callable[..., Any]]]:
    """Those of a room and those added to it that are computed from these things, with their functions."""
    for metric in (*metrics, *OWN.values()):
        if metric.takes == takes and metric.of is not None:
            yield metric, metric.of


def blocks_of(task: str) -> tuple[str, ...]:
    """The blocks that every run of a task has, the main one first."""
    return tuple(name for name, block in BLOCKS.items() if block.task == task and not block.beside)


def unit_of(task: str) -> str:
    """What an item of a task is called."""
    return BLOCKS[blocks_of(task)[0]].unit


def units_of(task: str) -> str:
    """What items of a task are called."""
    return BLOCKS[blocks_of(task)[0]].units
