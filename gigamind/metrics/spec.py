"""Metrics: how each is computed, named and shown, and whether a gate may use it.  table.py collects all."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

from gigamind.i18n import Message, _, translator

_Takes = Literal["rankings", "ranking", "spans", "verdicts", "note", "claims"]
CUTOFFS = (1, 3, 5, 10)  # ranks in reports, in addition to the run's topk
_PLACES = {"{k}": r"(?P<k>\d+)", "{item}": r"(?P<item>[a-z][a-z0-9_]*)"}


@dataclass(frozen=True, slots=True)
class _Block:
    """A group of figures in summary.json; `unit` names the items, `optional` ones are not in every run of the task."""

    task: str
    unit: Message
    units: Message
    optional: bool = False


_QUERIES, _ANSWERS = (_("query"), _("queries")), (_("answer"), _("answers"))

BLOCKS: Mapping[str, _Block] = {
    "search": _Block("search", *_QUERIES),
    "unanswerable": _Block("search", *_QUERIES),
    "links": _Block("links", _("note"), _("notes")),
    "answers": _Block("answers", *_ANSWERS),
    "quality": _Block("answers", *_ANSWERS, optional=True),
}


class Text(NamedTuple):
    """A text of a third-party metric in two languages; other languages show the English."""

    en: str
    ko: str


@dataclass(frozen=True, slots=True)
class Use:
    """Where a metric is shown, and whether a gate may use it.

    Attributes:
        lower: lower is better.
        undirected: neither direction is better, as it measures how much is known.
        main, page, summary: its position among the main figures, and in report.html and summary.md by slice; 0 is none,
            equals follow the table.
        first: these places show the first cut-off instead of the deepest.
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
        takes: the input of `of` (see the measuring functions), followed by the cut-off if the name has one.
        of: computes its value for one item; None if the value comes from elsewhere, such as a judge.
        name: as in summary.json; "{k}" is the cut-off, "{item}" an item of a checklist.
        label: its name for readers.
        about: its explanation beside a main figure; `about_first` replaces it at the cut-off 1.
    """

    block: str
    takes: _Takes | None
    of: Callable[..., Any] | None
    name: str
    label: Text | Message
    about: Text | Message | None = None
    use: Use = Use()
    about_first: Message | None = None

    def __post_init__(self) -> None:
        problem: Message | None = None
        texts = (text for text in (self.label, self.about) if isinstance(text, Text))
        if self.block not in BLOCKS:
            problem = _(
                "{metric}: the block of this metric is unknown. Valid blocks: {blocks}.",
                metric=self.key,
                blocks=list(BLOCKS),
            )
        elif not all(part for text in texts for part in text):
            problem = _(
                "{metric}: the label or the explanation (`about`) is empty in one of the languages",
                metric=self.key,
            )
        elif self.of is not None and self.takes is None:
            problem = _(
                "{metric}: the metric has a function (`of`), so it also needs `takes`, the function's input",
                metric=self.key,
            )
        if problem:
            raise ValueError(problem)

    @classmethod
    def of_judge(
        cls, name: str, label: Text, *, about: Text | None = None, lower: bool = False
    ) -> Self:
        """Return a metric of answers that a third-party judge scores in [0, 1]; gates.toml may name it."""
        use = Use(gate=True, lower=lower, main=1)
        return cls("answers", None, None, name, label, about, use=use)

    def described(self, about: Message, first: Message | None = None) -> "Metric":
        """Return the metric with an explanation; `first` is that of the cut-off 1."""
        return replace(self, about=about, about_first=first)

    @property
    def key(self) -> str:
        """Return the name with its block."""
        return f"{self.block}.{self.name}"

    @property
    def has_cutoff(self) -> bool:
        """Return whether it is measured at several ranks."""
        return "{k}" in self.name

    def at(self, k: int) -> str:
        """Return its name at a cut-off."""
        return self.name.replace("{k}", str(k))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return the pattern of its names."""
        parts = re.split(r"(\{\w+\})", self.name)
        return re.compile("".join(_PLACES.get(part) or re.escape(part) for part in parts))

    def places(self, name: str) -> dict[str, str]:
        """Return what one of its names has in the places of the pattern, such as the cut-off `k`."""
        match = self.pattern.fullmatch(name)
        return match.groupdict() if match else {}

    def called(self, name: str, language: str) -> str:
        """Return the label for one of its names."""
        label = in_language(self.label, language)
        return label.format(**self.places(name)) if self.pattern.fullmatch(name) else label


def in_language(text: Text | Message, language: str) -> str:
    """Return a text of a metric in a language."""
    if isinstance(text, Text):
        return getattr(text, language, text.en)
    return translator(language)(text)


SHOWN = Use(gate=True, main=1, page=1, summary=1)
MAIN = Use(gate=True, main=1)


@dataclass(frozen=True, slots=True)
class Rows:
    """Creates metrics that share a block and an input."""

    block: str
    takes: _Takes | None

    def __call__(
        self, of: Callable[..., Any] | None, name: str, label: Message, use: Use = Use()
    ) -> Metric:
        return Metric(self.block, self.takes, of, name, label, use=use)

    def named(self, of: Callable[..., Any], label: Message, use: Use = Use()) -> Metric:
        """Return a metric with the name of its function."""
        return self(of, of.__name__.removeprefix("_"), label, use)


OWN: dict[str, Metric] = {}
"""Metrics that were added at run time; see `table.register`."""


def measured(
    metrics: Sequence[Metric], takes: _Takes, *given: object, ranks: Sequence[int] = ()
) -> dict[str, Any]:
    """Return the values of the metrics with this input, added ones included, by name; some for each of the ranks."""
    values: dict[str, Any] = {}
    for metric in (*metrics, *OWN.values()):
        if metric.takes == takes and (of := metric.of) is not None:
            if metric.has_cutoff:
                values |= {metric.at(k): of(*given, k) for k in ranks}
            else:
                values[metric.name] = of(*given)
    return values


def cutoffs(topk: int) -> list[int]:
    """Return the ranks that are measured."""
    return sorted({*(k for k in CUTOFFS if k < topk), topk})


def blocks_of(task: str) -> tuple[str, ...]:
    """Return the blocks that every run of a task has, the main one first."""
    return tuple(key for key, group in BLOCKS.items() if group.task == task and not group.optional)


def unit_of(task: str) -> Message:
    """Return the name of an item of a task."""
    return BLOCKS[blocks_of(task)[0]].unit


def units_of(task: str) -> Message:
    """Return the plural name of the items of a task."""
    return BLOCKS[blocks_of(task)[0]].units
