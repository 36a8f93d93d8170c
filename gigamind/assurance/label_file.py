"""The file of `gigamind label`: a plan in the first line, then a row for each key press; nothing is rewritten.

The plan says which units are drawn: strata, a pilot in proportion to them, then Neyman allocation. Looks are planned.
"""

import errno
import json
import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from pydantic import BaseModel, Field

from gigamind.assurance.label_items import CHOICES, Decided, LabelUnit
from gigamind.datasets.labels import LabelRow
from gigamind.errors import EvaluationError, InputError, reason_of
from gigamind.i18n import _
from gigamind.loading import numbered_lines, parsed, read_bytes, read_text
from gigamind.stats.stratified import PILOT, neyman, proportional

LOOKS = 5
"""Planned looks at a decision, which share the error of 5 %; a look after every label would be wrong in 35 %."""
_THIRDS = 3
_SMALLEST, _MOST = 8, 12  # units of a stratum; strata

_Key = tuple[int, ...]


class LabelPlan(BaseModel, frozen=True, extra="forbid"):
    """How the labels of a file are drawn, written down before the first label.

    Attributes:
        runs: Run ids; with two, each unit is labelled in both and the figure is their difference.
        budget: Units to label.
        floor: Value that the figure must not fall below, decided at the looks; None if nothing is decided.
        strata: Stratum by unit id.  Other judges of the same items need it, as their verdicts give other strata.
    """

    task: str
    dataset_hash: str
    runs: tuple[str, ...]
    budget: int = Field(ge=1)
    seed: int
    random: bool = False
    floor: float | None = None
    strata: dict[str, int]

    @property
    def looks(self) -> tuple[int, ...]:
        """Numbers of labelled units at which a decision is shown, in rising order."""
        return tuple(sorted({-(-self.budget * look // LOOKS) for look in range(1, LOOKS + 1)}))

    def last_look(self, labelled: int) -> int | None:
        """Return the number of units at the last planned look; None before the first."""
        return max((look for look in self.looks if look <= labelled), default=None)

    def drawn(self, strata_of: Sequence[int], errors: Mapping[int, float | None]) -> list[int]:
        """Return the units to label by index, in their order: the pilot, then the rest once the pilot is done.

        The units of a stratum are spread over the whole part, so that no stratum is shown after another.

        Args:
            errors: |label - verdict| of the units that are done; None if it is unknown, as for a skipped unit.
        """
        order: list[int] = np.random.default_rng(self.seed).permutation(len(strata_of)).tolist()
        budget = min(self.budget, len(strata_of))
        if self.random:
            return order[:budget]
        names = sorted(set(strata_of))
        own = [[at for at in order if strata_of[at] == name] for name in names]
        sizes = [len(one) for one in own]
        first = proportional(sizes, max(1, round(PILOT * budget)))
        pilots = [one[:n] for one, n in zip(own, first, strict=True)]
        pilot = _spread(pilots)
        if any(at not in errors for at in pilot):
            return pilot
        known = [[error for at in one if (error := errors[at]) is not None] for one in pilots]
        total = neyman(sizes, [len(one) for one in known], [sum(one) for one in known], budget)
        rest = [one[n:m] for one, n, m in zip(own, first, total, strict=True)]
        return pilot + _spread(rest)


def strata(rows: Sequence[tuple[str, int, float]]) -> list[int]:
    """Return the stratum of each unit: language x verdict x third of the doubt.

    There are at most 12 strata, and none has fewer than 8 units if it can join another.

    Args:
        rows: Language, number of the verdict and doubt of each unit.
    """
    languages = sorted({language for language, _verdict, _doubt in rows})
    doubts = np.array([doubt for _language, _verdict, doubt in rows])
    edges = np.quantile(doubts, [1 / _THIRDS, 2 / _THIRDS]) if rows else doubts
    thirds = np.searchsorted(edges, doubts, side="left")
    keys = [
        (languages.index(language), verdict, int(third))
        for (language, verdict, _doubt), third in zip(rows, thirds, strict=True)
    ]
    return _merge_small(keys)


def _merge_small(keys: Sequence[_Key], least: int = _SMALLEST) -> list[int]:
    """Return the stratum of each key.  Small strata join the nearest: the last part of a key is given up first."""
    groups: dict[_Key, list[int]] = {}
    for at, key in enumerate(keys):
        groups.setdefault(key, []).append(at)
    while len(groups) > 1:
        smallest = min(sorted(groups), key=lambda one: len(groups[one]))
        if len(groups[smallest]) >= least and len(groups) <= _MOST:
            break
        moved = groups.pop(smallest)
        nearest = min(groups, key=lambda other: (_distance(smallest, other), len(groups[other])))
        groups[nearest] += moved
    numbers = {at: number for number, key in enumerate(sorted(groups)) for at in groups[key]}
    return [numbers[at] for at in range(len(keys))]


def _distance(one: _Key, other: _Key) -> tuple[int, int]:
    first = next(at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
    return len(one) - first, abs(one[first] - other[first])


def _spread(parts: Sequence[Sequence[int]]) -> list[int]:
    turns = [
        ((turn + 0.5) / len(part), number, at)
        for number, part in enumerate(parts)
        for turn, at in enumerate(part)
    ]
    return [at for _turn, _number, at in sorted(turns)]


class _PlanLine(BaseModel, extra="forbid"):
    plan: LabelPlan


def is_label_file(path: Path) -> bool:
    """Return whether the file begins with a plan, which `gigamind label` writes."""
    return read_bytes(path, _("the file of labels"))[:9] == b'{"plan": '


class LabelFile:
    """A file of labels that several processes may append to.

    Raises:
        InputError: The file holds something else, or was begun for another dataset or task.
    """

    def __init__(self, path: Path, plan: LabelPlan) -> None:
        self.path = path
        self._read: tuple[tuple[int, int], list[LabelRow]] | None = None
        if not path.exists() or not path.stat().st_size:
            self.plan = plan
            self._append(json.dumps({"plan": plan.model_dump(mode="json")}))
            return
        self.plan = read_plan(path)
        self._cut_partial_row()
        if (self.plan.task, self.plan.dataset_hash) != (plan.task, plan.dataset_hash):
            raise InputError(
                "{file}: these labels belong to another dataset or task ({task}, dataset {hash:.12}). Name another file"
                " with --labels.",
                file=path,
                task=self.plan.task,
                hash=self.plan.dataset_hash,
            )

    @property
    def rows(self) -> list[LabelRow]:
        """All rows in their order, read again when the file has changed."""
        stat = self.path.stat()
        state = stat.st_size, stat.st_mtime_ns
        if self._read is None or self._read[0] != state:
            self._read = state, read_rows(self.path)
        return self._read[1]

    def append(self, row: LabelRow) -> None:
        """Write a row to the disk; EvaluationError if it cannot be written."""
        self._append(row.model_dump_json(exclude_defaults=True))

    def add(self, other: Path) -> int:
        """Append the rows of another file that this one lacks; return how many."""
        known = {row.model_dump_json() for row in self.rows}
        new = [row for row in read_rows(other) if row.model_dump_json() not in known]
        for row in new:
            self.append(row)
        return len(new)

    def _append(self, line: str) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # One write without a buffer, so that rows of two processes never mix.
            with self.path.open("ab", buffering=0) as file:
                size, row = file.tell(), (line + "\n").encode()
                if file.write(row) < len(row):  # the disk is full
                    file.truncate(size)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # noqa: TRY301
                os.fsync(file.fileno())
        except OSError as error:
            raise EvaluationError(
                "{file}: cannot be written ({reason})", file=self.path, reason=reason_of(error)
            ) from error

    def _cut_partial_row(self) -> None:
        """Remove a last row that a kill left unfinished; it was not reported as saved."""
        content = self.path.read_bytes()
        if not content.endswith(b"\n"):
            os.truncate(self.path, content.rfind(b"\n") + 1)


def read_plan(path: Path) -> LabelPlan:
    """Return the plan in the first line; InputError if there is none."""
    first = read_text(path, _("the file of labels")).partition("\n")[0]
    return parsed(_PlanLine, first, f"{path}:1").plan


def read_rows(path: Path) -> list[LabelRow]:
    """Return the rows of a file that `gigamind label` wrote; an InputError names the invalid line."""
    text = read_text(path, _("the file of labels"))
    whole = text[: text.rfind("\n") + 1]
    rows = [
        parsed(LabelRow, line, f"{path}:{number}")
        for number, line in numbered_lines(whole)
        if not line.startswith('{"plan": ')
    ]
    for row in rows:
        if row.choice not in CHOICES.get(row.kind, {}) and not (row.skipped or row.withdrawn):  # pyright: ignore[reportCallIssue, reportArgumentType]
            raise InputError(
                '{file}: "{id}" has the unknown choice "{choice}".',
                file=path,
                id=row.key,
                choice=row.choice,
            )
    return rows


@dataclass
class Choices:
    """What annotators chose for tasks, which are named by key and content.

    Attributes:
        first: First choice of each annotator, made before the judge's verdict was shown.
        again: Pairs of an annotator's first and second choice.
        agreed: Choice that counts; absent if annotators disagree and it is not settled.
        changed: Keys of labels of items that have changed since; they do not count.
        skipped: Tasks that an annotator skipped, or withdrew and labelled after the judge's verdict was shown.
    """

    first: dict[Decided, dict[str, str]] = field(default_factory=dict[Decided, dict[str, str]])
    again: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    repeated: dict[str, set[Decided]] = field(default_factory=lambda: defaultdict(set))
    agreed: dict[Decided, str] = field(default_factory=dict[Decided, str])
    changed: set[str] = field(default_factory=set[str])
    skipped: dict[str, set[Decided]] = field(default_factory=lambda: defaultdict(set))

    @property
    def disputed(self) -> list[Decided]:
        return [task for task in self.first if task not in self.agreed]


def _kept(rows: Iterable[LabelRow]) -> list[LabelRow]:
    """Return the rows that their annotator has not withdrawn."""
    kept = dict[int, LabelRow]()
    places: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        own = places[row.annotator, row.key, row.content]
        if not row.withdrawn:
            own.append(number)
            kept[number] = row
        elif own:
            del kept[own.pop()]
    return list(kept.values())


def choices_of(rows: Iterable[LabelRow], units: Iterable[LabelUnit] | None) -> Choices:
    """Resolve rows, in their order, into the choices for these units; None for all that the rows are about."""
    rows = list(rows)
    known = {(row.key, row.content) for row in rows}
    if units is not None:
        known = {decided for unit in units for decided in unit.contents.items()}
    found, settled, kinds = Choices(), dict[Decided, str](), dict[Decided, str]()
    for row in _kept(rows):
        task = row.key, row.content
        kinds[task] = row.kind
        given = found.first.setdefault(task, {})
        if task not in known:
            found.changed.add(row.key)
        elif row.skipped or (row.later and row.annotator not in given):
            found.skipped[row.annotator].add(task)
        elif row.settled:
            settled[task] = row.choice
        elif row.again and row.annotator in given:
            found.again.append((given[row.annotator], row.choice))
            found.repeated[row.annotator].add(task)
        elif not row.later:
            given.setdefault(row.annotator, row.choice)
    found.first = {task: given for task, given in found.first.items() if given}
    for task, given in found.first.items():
        values = [CHOICES[kinds[task]][choice] for choice in given.values()]  # pyright: ignore[reportArgumentType]
        if task in settled or all(value == values[0] for value in values):
            found.agreed[task] = settled.get(task) or next(iter(given.values()))
    found.changed -= {key for key, _content in found.first}
    return found


def labels_by_scale(
    agreed: Mapping[Decided, str], units: Iterable[LabelUnit]
) -> dict[str, dict[str, float]]:
    """Return item id -> scale -> label in [0, 1]; an answer whose claims all have a label has its correctness."""
    labels: dict[str, dict[str, float]] = {}
    for unit in units:
        choices = unit.choices(agreed)
        for task in unit.tasks:
            if task.key in choices and task.kind != "hit":
                values = CHOICES[task.kind][choices[task.key]]
                labels.setdefault(task.id, {}).update(values)
        correctness = unit.labelled_value(choices)
        if correctness is not None and any(task.kind == "claim" for task in unit.tasks):
            labels.setdefault(unit.id, {})["correctness"] = correctness
    return {name: values for name, values in labels.items() if values}


def gains_of(path: Path, queries: Collection[str]) -> dict[str, dict[str, int]]:
    """Return query -> note -> grade of the labelled hits; InputError if the file has none that annotators agree on."""
    rows = read_rows(path) if is_label_file(path) else []
    gains: dict[str, dict[str, int]] = {}
    agreed = choices_of(rows, None).agreed
    for row in rows:
        choice = agreed.get((row.key, row.content))
        if row.note and choice and row.id in queries:
            gains.setdefault(row.id, {})[row.note] = int(CHOICES["hit"][choice]["gain"])
    if not gains:
        raise InputError(
            "{file}: no label of a search result of these queries. Label a search run with `gigamind label`.",
            file=path,
        )
    return gains
