"""What snapshot.json holds (seed 6.2), whatever the task, and what a task must tell for its runs to be compared.

Beside the seed's fields stand those that a verdict needs: the hardware, which its section 7 compares, the judge's
fingerprint, and the values of each item, without which nothing can be said about chance.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, get_args

from pydantic import BaseModel, Field

from gigamind.records.judged import Finite, JudgeReport, Report
from gigamind.records.schema import Environment, Hardware, Record, RunReport, SpeedReport

VERSION = "1.0"
FILE = "snapshot.json"


SliceKind = Literal["language", "cross_lingual", "difficulty", "tag"]
SLICE_KINDS: tuple[SliceKind, ...] = get_args(SliceKind)
SliceName = tuple[SliceKind, str]
"""A part of the items, such as ("language", "ko"); the key is "" where the kind says all."""


class SnapshotItem(Report):
    """What a comparison needs of one item; each task adds its own.

    Attributes:
        language, cross_lingual, difficulty, tags: the slices that it stands in.
    """

    id: str
    language: str | None = Field(default=None, exclude_if=lambda key: key is None)
    cross_lingual: bool = Field(default=False, exclude_if=lambda is_so: not is_so)
    difficulty: str | None = Field(default=None, exclude_if=lambda key: key is None)
    tags: tuple[str, ...] = Field(default=(), exclude_if=lambda tags: not tags)

    @property
    def slices(self) -> tuple[SliceName, ...]:
        """The slices that it stands in, each once."""
        named: list[tuple[SliceKind, str | None]] = [
            ("language", self.language),
            ("cross_lingual", "" if self.cross_lingual else None),
            ("difficulty", self.difficulty),
            *(("tag", tag) for tag in dict.fromkeys(self.tags)),
        ]
        return tuple((kind, key) for kind, key in named if key is not None)


class SnapshotCheck(Report):
    """The check of one item.

    Attributes:
        yes: whether it fulfils each item of the checklist, by its id.
    """

    passed: bool
    yes: dict[str, bool]


class SnapshotHit(Report):
    """One note of a ranking; scores are null where its system tells none."""

    note: str
    base_score: Finite | None
    final_score: Finite | None


Summary = TypeVar("Summary", bound=BaseModel)
Item = TypeVar("Item", bound=SnapshotItem)


class EvalSnapshot(Report, Generic[Summary, Item]):
    """One run as a baseline.

    Attributes:
        task: decides what `metrics` and `items` are.
        judge_fingerprint: changes with anything that may change a verdict on the same output.
        config: the options of the run.
        metrics: its summary.json.
        kind: what a comparison must know of its task.
        checksum: of its file; see `gigamind.checksum`.  None in memory.
    """

    kind: ClassVar["ComparedTask[Any, Any, Any]"]
    version: Literal["1.0"] = VERSION
    created_at: str
    run_id: str
    task: str
    dataset_hash: str
    notes_hash: str
    notes_hash_mode: Literal["content", "mtime"]
    environment: Environment
    hardware: Hardware
    judge_fingerprint: str
    judge: JudgeReport | None = None
    config: dict[str, object]
    metrics: Summary
    items: tuple[Item, ...]
    checksum: str | None = None


Line = TypeVar("Line", bound=BaseModel)
Speed = Literal["search_p95", "cold_start"]
Pairs = Sequence[tuple[Item, Item]]
"""The items that both runs have, as in the baseline and as in the current run."""
Values = dict[str, list[tuple[float, float]]]
"""Metric with its block -> baseline and current value of each item that both runs measured."""
Terms = dict[str, list[tuple[tuple[float, float], tuple[float, float]]]]
"""Metric with its block -> what each item adds to numerator and denominator, in the baseline and in the current run."""


def paired_values(
    block: str,
    names: Iterable[str],
    pairs: Sequence[tuple[Mapping[str, float | None], Mapping[str, float | None]]],
) -> Values:
    """The figures of these names in a block, over the items that both runs could measure them on."""
    return {
        f"{block}.{name}": [
            (old, new)
            for before, after in pairs
            if (old := before.get(name)) is not None and (new := after.get(name)) is not None
        ]
        for name in names
    }


@dataclass(frozen=True, slots=True)
class Shown:
    """How an item stands in a comparison.

    Attributes:
        text: what it is to people: the query, the question, the note.
        expected_notes: empty where none was expected.
        ranking: what came, best first; None for a task that ranks nothing.
    """

    text: str
    expected_notes: tuple[str, ...]
    ranking: tuple[SnapshotHit, ...] | None


@dataclass(frozen=True, slots=True)
class Change:
    """How an item ended otherwise.

    Attributes:
        gain: never 0; negative for the worse.
        what: in a few words.
    """

    gain: float
    what: str


@dataclass(frozen=True, slots=True)
class Untested:
    """A figure that is compared, but not item by item."""

    metric: str
    baseline: float | None
    current: float | None


class Said(NamedTuple):
    """A task in words for people: what its dataset is made of, what is measured, and what its `settings` set."""

    subject: str
    maker: str
    setting: str


class ComparedTask(ABC, Generic[Summary, Line, Item]):
    """One task; its type arguments are the models of summary.json, per_item.jsonl and of a snapshot's items.

    Attributes:
        settings: options that make another system of what is measured.
    """

    said: Said
    settings: tuple[str, ...]
    summary: type[Summary]
    line: type[Line]
    snapshot: type[EvalSnapshot[Summary, Item]]

    def __init_subclass__(cls) -> None:
        cls.summary, cls.line, item = get_args(cls.__orig_bases__[0])  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]  of every class with type arguments
        cls.snapshot = EvalSnapshot[cls.summary, item]
        cls.snapshot.kind = cls()

    def judge_fingerprint(self, run: RunReport) -> str:
        """Changes with anything that may change a verdict on the same output."""
        return run.judge.fingerprint if run.judge else ""

    @abstractmethod
    def item(self, line: Line) -> Item:
        """What the snapshot keeps of a line of per_item.jsonl."""

    def take_snapshot(self, record: Record[Summary, Line]) -> EvalSnapshot[Summary, Item]:
        """The snapshot of a run."""
        run = record.run
        return self.snapshot.like(
            run,
            judge_fingerprint=self.judge_fingerprint(run),
            config=self.config(run),
            metrics=record.summary,
            items=tuple(self.item(line) for line in record.items),
        )

    def config(self, run: RunReport) -> dict[str, object]:
        """The options in effect, by name, with the task (seed 6.2)."""
        return {"task": run.task, **run.options}

    @abstractmethod
    def shown(self, item: Item) -> Shown:
        """How the item stands in a comparison."""

    @abstractmethod
    def change(self, before: Item, after: Item) -> Change | None:
        """How an item changed; None when it ended alike."""

    def has_verdict(self, item: Item) -> bool:
        """Whether its judge decided about the item; always, for a task whose figures need no judge."""
        del item
        return True

    def has_answer(self, item: Item) -> bool:
        """Whether the notes still hold what its label says answers it; always, for a task without such labels."""
        del item
        return True

    def is_recorded(self, snapshot: EvalSnapshot[Summary, Item]) -> bool:
        """Whether what was measured stood in the dataset; never, for a task that measures what a system does."""
        del snapshot
        return False

    def checklist(self, snapshot: EvalSnapshot[Summary, Item]) -> str:
        """Fingerprint of the checklist that its items were checked by besides; "" where they were not."""
        del snapshot
        return ""

    def is_checked(self, item: Item) -> bool:
        """Whether the checklist decided about the item."""
        del item
        return False

    def without_checks(self, item: Item) -> Item:
        """The item, for a comparison with one that was checked otherwise."""
        return item

    def values(self, pairs: Pairs[Item]) -> Values:
        """The metrics that are means over items."""
        del pairs
        return {}

    def terms(self, pairs: Pairs[Item]) -> Terms:
        """The metrics that are sums over items, divided."""
        del pairs
        return {}

    def figures(self, items: Sequence[Item]) -> dict[str, float]:
        """Every figure of one run by itself, where it is defined."""
        pairs = [(item, item) for item in items]
        means = {name: [value for value, _ in both] for name, both in self.values(pairs).items()}
        figures = {name: fsum(values) / len(values) for name, values in means.items() if values}
        for name, both in self.terms(pairs).items():
            over, under = (fsum(term[place] for term, _ in both) for place in (0, 1))
            if under:
                figures[name] = over / under
        return figures

    def counts(self, items: Sequence[Item]) -> dict[str, int]:
        """How many items of one run have each figure that is a mean over items."""
        pairs = [(item, item) for item in items]
        return {name: len(both) for name, both in self.values(pairs).items()}

    def untested(self, pairs: Pairs[Item]) -> Sequence[Untested]:
        """The figures that are neither."""
        del pairs
        return ()

    def speed(self, summary: Summary) -> Mapping[Speed, float | None]:
        """Times in milliseconds that gates hold; None where the run did not measure it."""
        del summary
        return {}

    def passes(self, summary: Summary) -> SpeedReport | None:
        """What searching costs in units of the reference load, pass by pass; None where that was not measured."""
        del summary
        return None

    def models(self, summary: Summary) -> Mapping[str, tuple[str, ...]]:
        """Names that servers gave of the models that answered, by what each was asked for."""
        del summary
        return {}


# Checks are compared only where the same checklist, asked of the same model, gave both; else no figure of theirs is,
# and the rest of the comparison goes on (seed 004, "2-1").
BLOCK = "quality"
PASS_RATE = f"{BLOCK}.pass_rate"
Checks = Literal["none", "compared", "other", "dropped", "new"]
"""Of two runs: neither has checks; both have those of one checklist; of two; or one run alone, the baseline or not."""


def checks_of(marks: tuple[str, str]) -> Checks:
    """By the fingerprints of the checklists of two runs; "" for a run without checks."""
    baseline, current = marks
    if baseline == current:
        return "compared" if baseline else "none"
    if baseline and current:
        return "other"
    return "dropped" if baseline else "new"


def why_not_compared(marks: tuple[str, str]) -> str:
    """One sentence or two, for people."""
    baseline, current = marks
    if not baseline:
        return (
            "The baseline holds no checks by a checklist, so those of the current run are compared with nothing."
            " For them a new baseline is needed."
        )
    if not current:
        return (
            "The baseline holds checks by a checklist and the current run holds none: evaluations are compared, checks"
            " are not. Run it again with --checklist."
        )
    return (
        "The checks were made by different checklists or models: evaluations are compared, checks are not. For them a"
        " new baseline is needed."
    )


def check_values(pairs: Sequence[tuple[SnapshotCheck | None, SnapshotCheck | None]]) -> Values:
    """The pass rate and each item's rate, over what was checked in both runs."""
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not both:
        return {}
    values: Values = {PASS_RATE: [(float(a.passed), float(b.passed)) for a, b in both]}
    for name in dict.fromkeys(name for _, current in both for name in current.yes):
        values[f"{BLOCK}.{name}"] = [
            (float(a.yes[name]), float(b.yes[name])) for a, b in both if name in a.yes
        ]
    return values


def check_change(before: SnapshotCheck | None, after: SnapshotCheck | None) -> tuple[float, str]:
    """By how many items of the checklist, in [-1, 1], and which, in a few words; (0, "") where nothing can be said."""
    if before is None or after is None:
        return 0.0, ""
    lost = [name for name, yes in before.yes.items() if yes and not after.yes.get(name)]
    gained = [name for name, yes in after.yes.items() if yes and not before.yes.get(name)]
    if not lost and not gained:
        return 0.0, ""
    words = {True: "passed", False: "not passed"}
    verdict = (
        f" {words[before.passed]} -> {words[after.passed]}" if before.passed != after.passed else ""
    )
    parts = [f"no longer {', '.join(lost)}"] if lost else []
    parts += [f"now {', '.join(gained)}"] if gained else []
    gain = (len(gained) - len(lost)) / len(after.yes)
    return gain, f"checklist{verdict}: {'; '.join(parts)}"
