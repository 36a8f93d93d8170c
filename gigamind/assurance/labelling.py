"""A labelling session over a run: what an annotator decides next, what a label changes, and what the labels show."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol

import numpy as np

from gigamind.assurance.judged_runs import MISSING
from gigamind.assurance.label_file import LOOKS, Choices, LabelFile, LabelPlan, choices_of, strata
from gigamind.assurance.label_items import CHOICES, Decided, LabelTask, LabelUnit, passage
from gigamind.assurance.options import LabelOptions
from gigamind.datasets.labels import LabelRow
from gigamind.errors import InputError
from gigamind.records.folder import read_report, read_reports
from gigamind.records.schema import RunReport
from gigamind.release.model import ComparedTask
from gigamind.spans import Utf16
from gigamind.stats.agreement import krippendorff_alpha
from gigamind.stats.intervals import CONFIDENCE
from gigamind.stats.stratified import StratifiedMean, stratified_mean

_SECOND_SHARE = 5  # each fifth unit is labelled by a second annotator too
_AGAIN_EVERY = 10  # after each ten units, an annotator labels one of the first ten again
_VERDICTS = 3  # numbers of strata by verdict, to combine two runs


class _Labelled(Protocol):
    """The part of a task that labelling needs."""

    compared: ComparedTask[Any, Any, Any]

    def units(self, item: Any, /) -> Sequence[LabelUnit]: ...  # noqa: ANN401  a line of per_item.jsonl


@dataclass(frozen=True)
class _Drawable:
    """What is drawn as a whole: a unit of the run, with the same unit of the baseline run, if one is given."""

    parts: tuple[LabelUnit, ...]

    @property
    def id(self) -> str:
        return self.parts[0].id

    @cached_property
    def value(self) -> float | None:
        """Return the judge's value, or how much it differs from the baseline's."""
        return _difference([part.value for part in self.parts])

    def labelled(self, agreed: Mapping[Decided, str]) -> float | None:
        return _difference([part.labelled_value(part.choices(agreed)) for part in self.parts])

    @cached_property
    def tasks(self) -> Mapping[Decided, tuple[LabelUnit, LabelTask]]:
        """Each task once: what is equal in both runs is labelled once."""
        return {
            (task.key, part.contents[task.key]): (part, task)
            for part in reversed(self.parts)
            for task in part.tasks
        }

    @property
    def stratum(self) -> tuple[str, int, float]:
        verdict = sum(part.verdict * _VERDICTS**at for at, part in enumerate(self.parts))
        return self.parts[0].language, verdict, max(part.doubt for part in self.parts)


@dataclass(frozen=True, slots=True)
class _State:
    """What the rows of a file of labels say.

    Attributes:
        rows: Number of rows.
        queue: Units to label by index, in their order.
        labels: Label of the units with agreed choices, in the order of the queue; None if it is not of the figure.
    """

    rows: int
    choices: Choices
    queue: list[int]
    labels: dict[int, float | None]


def _difference(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return known[0] if len(known) == 1 else known[0] - known[1]


def _read_units(folder: Path, tasks: Mapping[str, _Labelled]) -> tuple[RunReport, list[LabelUnit]]:
    """Return run.json and what people can label in a run; InputError if the folder is no finished run."""
    run = read_report(folder / "run.json", RunReport, MISSING)
    task = tasks[run.task]
    lines = read_reports(folder / "per_item.jsonl", task.compared.line, MISSING)
    return run, [unit for line in lines for unit in task.units(line)]


class Labelling:
    """A session over a run and a file of labels.

    Raises:
        InputError: A run cannot be read, the runs differ in task or dataset, nothing can be labelled, or the file
            belongs to another dataset.
    """

    def __init__(self, options: LabelOptions, tasks: Mapping[str, _Labelled]) -> None:
        run, units = _read_units(options.run, tasks)
        parts: list[list[LabelUnit]] = [units]
        runs = [run.run_id]
        if options.baseline:
            before, others = _read_units(options.baseline, tasks)
            if (before.task, before.dataset_hash) != (run.task, run.dataset_hash):
                raise InputError(
                    "{baseline}: this run has another task or dataset than {run}. Name two runs over one dataset.",
                    baseline=options.baseline,
                    run=options.run,
                )
            by_id = {unit.id: unit for unit in others}
            parts = [[unit for unit in units if unit.id in by_id]]
            parts.append([by_id[unit.id] for unit in parts[0]])
            runs.append(before.run_id)
        self.drawables = [_Drawable(tuple(both)) for both in zip(*parts, strict=True)]
        if not self.drawables:
            raise InputError("{run}: this run has no judged item to label.", run=options.run)
        self.task = run.task
        self._options = options
        ids = [drawable.id for drawable in self.drawables]
        numbers = strata([drawable.stratum for drawable in self.drawables])
        plan = LabelPlan(
            task=run.task,
            dataset_hash=run.dataset_hash,
            runs=tuple(runs),
            budget=min(options.count, len(self.drawables)),
            seed=options.seed,
            random=options.random,
            floor=options.floor,
            strata=dict(zip(ids, numbers, strict=True)),
        )
        self.file = LabelFile(options.labels, plan)
        self._state: _State | None = None

    @property
    def plan(self) -> LabelPlan:
        return self.file.plan

    def command(self, *, adds: bool = False) -> str | None:
        """Return the command that uses the labels or adds those from an offline page; None for links."""
        run, labels = str(self._options.run), ["--labels", str(self._options.labels)]
        if adds:
            return shlex.join(["gigamind", "label", run, *labels, "--add", "saved.jsonl"])
        certified = self.task != "links"
        return shlex.join(["gigamind", "judge", "certify", run, *labels]) if certified else None

    @cached_property
    def strata(self) -> list[int]:
        known = {} if self.plan.random else self.plan.strata
        return [known.get(drawable.id, 0) for drawable in self.drawables]

    @cached_property
    def _known(self) -> dict[Decided, tuple[_Drawable, LabelUnit, LabelTask]]:
        return {
            decided: (drawable, *task)
            for drawable in self.drawables
            for decided, task in drawable.tasks.items()
        }

    @property
    def state(self) -> "_State":
        """What the rows of the file say, computed again when there are more."""
        rows = self.file.rows
        if self._state is None or self._state.rows != len(rows):
            choices = choices_of(rows, (part for one in self.drawables for part in one.parts))
            self._state = self._after(len(rows), choices)
        return self._state

    def _after(self, rows: int, choices: Choices) -> "_State":
        errors: dict[int, float | None] = {}
        labels: dict[int, float | None] = {}
        skipped = set[Decided]().union(*choices.skipped.values())
        for at, drawable in enumerate(self.drawables):
            if choices.first.keys() >= drawable.tasks.keys():
                label = drawable.labelled(choices.agreed)
                error = _difference([label, drawable.value])
                errors[at] = error and min(1.0, abs(error))
                if choices.agreed.keys() >= drawable.tasks.keys():
                    labels[at] = label
            elif not skipped.isdisjoint(drawable.tasks):
                errors[at] = None
        queue = self.plan.drawn(self.strata, errors)
        return _State(rows, choices, queue, {at: labels[at] for at in queue if at in labels})

    def _done_by(self, annotator: str) -> set[int]:
        first = self.state.choices.first
        return {
            at
            for at, drawable in enumerate(self.drawables)
            if all(annotator in first.get(task, ()) for task in drawable.tasks)
        }

    def next(self, annotator: str) -> tuple[_Drawable, bool] | None:
        """Return the next unit of an annotator, and whether they label it again; None at the end.

        After each ten units, one of the first ten comes again.  An annotator who comes later begins with a fifth of
        what others labelled.
        """
        choices, queue = self.state.choices, self.state.queue
        repeated = choices.repeated.get(annotator, set())
        skipped = choices.skipped.get(annotator, set())
        done = self._done_by(annotator)
        mine = [at for at in queue if at in done]
        first_ones = [self.drawables[at] for at in mine[:_AGAIN_EVERY]]
        due = [drawable for drawable in first_ones if repeated.isdisjoint(drawable.tasks)]
        if due and len(first_ones) - len(due) < len(mine) // _AGAIN_EVERY:
            return due[0], True
        waiting: list[tuple[bool, int]] = []
        for turn, at in enumerate(queue):
            tasks = self.drawables[at].tasks
            if at in mine or not skipped.isdisjoint(tasks):
                continue
            by_others = choices.first.keys() >= tasks.keys()
            if not by_others or turn % _SECOND_SHARE == 0:
                waiting.append((not by_others, at))
        waiting.sort(key=lambda one: one[0])
        return (self.drawables[waiting[0][1]], False) if waiting else None

    def label(
        self,
        annotator: str,
        decided: Decided,
        choice: str,
        *,
        reason: str = "",
        seconds: float | None = None,
        again: bool = False,
        settled: bool = False,
    ) -> dict[str, Any]:
        """Save a label; return verdict and the figure before and after. InputError for an unknown task or choice."""
        _drawable, _unit, task = self._task(decided)
        if choice not in CHOICES[task.kind]:
            raise InputError('"{choice}" is no choice for a {kind}.', choice=choice, kind=task.kind)
        before = self.figure()
        seen = any(
            row.choice
            and not row.settled
            and (row.annotator, row.key, row.content) == (annotator, *decided)
            for row in self.file.rows
        )
        later = seen and not again and not settled
        given = {"reason": reason, "seconds": seconds, "again": again, "settled": settled}
        self._save(annotator, decided, choice, later=later, **given)
        progress = self.progress(annotator)
        return {
            "verdict": task.verdict,
            "counts": not later,
            "before": before and before.value,
            "after": progress["figure"] and progress["figure"]["value"],
            "progress": progress,
        }

    def skip(self, annotator: str, decided: Decided) -> None:
        self._save(annotator, decided, skipped=True)

    def undo(self, annotator: str) -> Decided | None:
        """Take back the annotator's last label, and return its task; None without one."""
        withdrawn = 0
        for row in reversed(self.file.rows):
            if row.annotator != annotator:
                continue
            decided = row.key, row.content
            if row.withdrawn:
                withdrawn += 1
            elif withdrawn:
                withdrawn -= 1
            elif decided in self._known:
                self._save(annotator, decided, withdrawn=True)
                return decided
        return None

    def drawable_of(self, decided: Decided) -> _Drawable:
        return self._task(decided)[0]

    def all_units(self, annotator: str) -> list[dict[str, Any]]:
        """Return what is left for an annotator, in proportion to the strata, with the judge's verdicts."""
        done, mine = dict.fromkeys(range(len(self.drawables))), self._done_by(annotator)
        return [
            {
                **self.unit(drawable, annotator),
                "verdicts": {key: task.verdict for (key, _c), (_u, task) in drawable.tasks.items()},
            }
            for at in self.plan.drawn(self.strata, done)
            if at not in mine and (drawable := self.drawables[at])
        ]

    def _task(self, decided: Decided) -> tuple[_Drawable, LabelUnit, LabelTask]:
        if decided not in self._known:
            raise InputError(
                'The run has no item "{id}" with this content. Load the page again.', id=decided[0]
            )
        return self._known[decided]

    def _save(self, annotator: str, decided: Decided, choice: str = "", **more: Any) -> None:  # noqa: ANN401
        _drawable, _unit, task = self._task(decided)
        self.file.append(
            LabelRow(
                id=task.id,
                note=task.note,
                kind=task.kind,
                choice=choice,
                content=decided[1],
                annotator=annotator,
                labelled_at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
                **more,
            )
        )

    def figure(
        self, of: int | None = None, confidence: float = CONFIDENCE
    ) -> StratifiedMean | None:
        """Return the mean that the labels estimate, from the first `of` labelled units in their order; None if few."""
        judged = [at for at, drawable in enumerate(self.drawables) if drawable.value is not None]
        place = {at: number for number, at in enumerate(judged)}
        known = list(self.state.labels.items())[:of]
        labels = {at: label for at, label in known if label is not None and at in place}
        if not labels:
            return None
        return stratified_mean(
            np.array(list(labels.values())),
            np.array([self.drawables[at].value for at in judged], dtype=np.float64),
            np.array([place[at] for at in labels]),
            np.array([self.strata[at] for at in judged]),
            np.arange(len(judged)),
            confidence=confidence,
            lowest=-1.0 if len(self.plan.runs) > 1 else 0.0,
        )

    def progress(self, annotator: str) -> dict[str, Any]:
        """Return what the page shows beside the item."""
        choices, complete = self.state.choices, len(self.state.labels)
        mean, look = self.figure(), self.plan.last_look(complete)
        values = [drawable.value for drawable in self.drawables if drawable.value is not None]
        return {
            "labelled": complete,
            "mine": len(self._done_by(annotator)),
            "budget": self.plan.budget,
            "items": len(self.drawables),
            "difference": len(self.plan.runs) > 1,
            "judged": fmean(values) if values else None,
            "figure": mean
            and {"value": mean.value, "low": mean.interval.low, "high": mean.interval.high},
            "floor": self.plan.floor,
            "look": look and self._decision(look),
            "next_look": next((one for one in self.plan.looks if one > complete), None),
            "agreement": self._agreement(),
            "disputed": len(choices.disputed),
            "changed": len(choices.changed),
        }

    def _decision(self, look: int) -> dict[str, Any] | None:
        mean = self.figure(look, 1 - (1 - CONFIDENCE) / LOOKS)
        if mean is None or self.plan.floor is None:
            return None
        low, high, floor = mean.interval.low, mean.interval.high, self.plan.floor
        decision = "above" if low >= floor else "below" if high < floor else "open"
        return {"at": look, "low": low, "high": high, "floor": floor, "decision": decision}

    def _agreement(self) -> dict[str, Any]:
        """Return the share of equal repeated labels, and Krippendorff's alpha between annotators, with their counts."""
        several = [given for given in self.state.choices.first.values() if len(given) > 1]
        names = sorted({name for given in several for name in given})
        every = (choice for choices in CHOICES.values() for choice in choices)
        numbers = {choice: float(at) for at, choice in enumerate(every)}
        ratings = np.array(
            [[numbers.get(given.get(name, ""), np.nan) for name in names] for given in several]
        ).reshape(len(several), len(names))
        again = self.state.choices.again
        return {
            "tasks": len(several),
            "alpha": krippendorff_alpha(ratings),
            "again": len(again),
            "same": sum(one == other for one, other in again),
        }

    def disputed(self) -> list[dict[str, Any]]:
        """Return the tasks that annotators label differently, with each one's choice."""
        choices = self.state.choices
        return [self.shown(one) | {"given": choices.first[one]} for one in choices.disputed]

    def unit(self, drawable: _Drawable, annotator: str, *, again: bool = False) -> dict[str, Any]:
        """Return what the page shows of a unit; the judge's verdict only on what the annotator has labelled."""
        first = {} if again else self.state.choices.first
        shown: list[dict[str, Any]] = []
        for decided, (_part, task) in drawable.tasks.items():
            choice = first.get(decided, {}).get(annotator)
            verdict = choice and task.verdict
            shown.append(self.shown(decided) | {"choice": choice, "verdict": verdict})
        return {"id": drawable.id, "again": again, "tasks": shown}

    def shown(self, decided: Decided) -> dict[str, Any]:
        """Return what the page shows of a task; offsets are UTF-16 code units."""
        drawable, unit, task = self._known[decided]
        found = passage(task.text, task.sources)
        sources: list[dict[str, Any]] = [
            {"number": at, "title": one.title, "path": one.path, "text": one.text, "range": None}
            for at, one in enumerate(task.sources, start=1)
        ]
        if task.kind == "link" and task.start is not None:
            sources[0]["range"] = [task.start, task.end]
        elif found and task.kind in {"claim", "question", "hit"}:
            number, span = found
            units = Utf16(task.sources[number].text)
            sources[number]["range"] = list(units.span_from_code_points(span))
            sources.insert(0, sources.pop(number))
        return {
            "key": decided[0],
            "content": decided[1],
            "kind": task.kind,
            "choices": list(CHOICES[task.kind]),
            "language": unit.language,
            "question": unit.question,
            "answer": unit.answer,
            "baseline": unit is not drawable.parts[0],
            "text": task.text,
            "range": None if task.start is None else [task.start, task.end],
            "note": task.note,
            "sources": sources,
        }
