"""Read the verdicts of a finished run, and the labels of its dataset, from the run's output folder.

What differs by task is a `JudgedKind`: its scales, and the items in a line of per_item.jsonl.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gigamind.assurance.label_items import LabelUnit
from gigamind.datasets.labels import Label, ScoreLabel
from gigamind.errors import InputError
from gigamind.i18n import _
from gigamind.judges.protocol import Scale
from gigamind.records.folder import read_report, read_reports, read_written
from gigamind.records.judged import JudgeReport, LlmReport, SecondLookReport
from gigamind.records.schema import ErrorReport, RunReport
from gigamind.release.model import ComparedTask

MISSING = _("this file is missing; pass the output folder of a finished run")


@dataclass(frozen=True, slots=True)
class RunItem:
    """One item of a run."""

    id: str
    cluster: str  # id of the group of dependent items: a claim's answer, else the item itself
    question: str
    language: str | None
    verdicts: Mapping[str, float | None]  # scale -> verdict in [0, 1]; None if the judge gave none
    own_labels: Mapping[str, float]  # scale -> label from the dataset
    confidence: float | None = None  # probability of its verdict, as the judge states it
    quotes: tuple[str, ...] = ()
    scores: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    """Scores of free judges by kind; an item below a judge's threshold, or with None, is unanswerable."""


@dataclass(frozen=True, slots=True)
class JudgedKind:
    """What the judge of a task judges."""

    scales: Mapping[str, Scale]  # name -> kind
    label: type[Label]
    compared: ComparedTask[Any, Any, Any]
    items: Callable[[Any], Sequence[RunItem]]  # returns the items in one line of per_item.jsonl
    units: Callable[[Any], Sequence[LabelUnit]]  # returns what people label of a line


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A finished run with a judge."""

    folder: Path
    report: RunReport
    judge: JudgeReport
    kind: JudgedKind
    items: Mapping[str, RunItem]  # by id, in the order of the dataset
    failed: frozenset[str]  # ids in errors.jsonl, which have no verdict either
    stored: int  # replies taken from the store instead of requested
    second_looks: tuple[SecondLookReport, ...]  # models that checked claims a second time
    units: tuple[LabelUnit, ...] = ()  # what people label, in the same order

    def verdicts(self, scale: str) -> dict[str, float]:
        """Return the existing verdicts by item id."""
        given = {item.id: item.verdicts.get(scale) for item in self.items.values()}
        return {name: verdict for name, verdict in given.items() if verdict is not None}


def read_judged_runs(folders: Sequence[Path], kinds: Mapping[str, JudgedKind]) -> list[JudgedRun]:
    """Read runs of one judge over one dataset; raise InputError unless they repeat the first."""
    known: dict[str, Path] = {}
    for folder in folders:  # a run given twice never flips compared with itself
        run = read_written(folder / "run.json", MISSING)
        if run in known:
            raise InputError(
                "{folder}: this is the same run as {other}, not a repetition. Run the evaluation again with"
                " --store-mode off.",
                folder=folder,
                other=known[run],
            )
        known[run] = folder
    runs = [_read_run(folder, kinds) for folder in folders]
    for other in runs[1:]:
        _check_repetition(runs[0], other)
    return runs


def _check_repetition(first: JudgedRun, other: JudgedRun) -> None:
    for what, ours, theirs in (
        (_("task"), first.report.task, other.report.task),
        (_("judge"), first.judge.fingerprint, other.judge.fingerprint),
        (_("model"), first.judge.model, other.judge.model),
        (_("dataset"), first.report.dataset_hash, other.report.dataset_hash),
    ):
        if ours != theirs:
            raise InputError(
                "{folder}: this run is not a repetition of {first}: the {what} differs ({actual} instead of"
                " {expected}). Repetitions need the same settings.",
                folder=other.folder,
                first=first.folder,
                what=what,
                actual=theirs,
                expected=ours,
            )
    if other.stored:  # a stored verdict never flips
        raise InputError(
            "{folder}: this run is not an independent repetition: it reused stored model replies ({n}). Run it again"
            " with --store-mode off.",
            n=other.stored,
            folder=other.folder,
        )


def _read_run(folder: Path, kinds: Mapping[str, JudgedKind]) -> JudgedRun:
    run = read_report(folder / "run.json", RunReport, MISSING)
    kind = kinds.get(run.task)
    if kind is None:
        raise InputError(
            '{folder}: a run of the task "{task}" has no judge that can be certified. Tasks with a judge: {tasks}',
            folder=folder,
            task=run.task,
            tasks=tuple(kinds),
        )
    if run.judge is None:
        raise InputError(
            "{folder}: run.json names no judge, so there is nothing to certify. Run the evaluation again with a judge.",
            folder=folder,
        )
    if run.judge.scales:  # a custom judge
        kind = replace(kind, scales=run.judge.scales, label=ScoreLabel)
    lines = read_reports(folder / "per_item.jsonl", kind.compared.line, MISSING)
    items: dict[str, RunItem] = {}
    for item in (item for line in lines for item in kind.items(line)):
        if item.id in items:
            raise InputError(
                '{folder}: an answer and a claim of another answer both have the id "{item}". Change the'
                " answer's id in the dataset, then run the evaluation again.",
                folder=folder,
                item=item.id,
            )
        items[item.id] = item
    errors = read_reports(folder / "errors.jsonl", ErrorReport, MISSING)
    file = folder / "summary.json"
    summary = read_report(file, kind.compared.summary, MISSING) if file.exists() else None
    llm: LlmReport | None = getattr(summary, "llm", None)
    return JudgedRun(
        folder=folder,
        report=run,
        judge=run.judge,
        kind=kind,
        items=items,
        failed=frozenset(error.id for error in errors if error.id) - items.keys(),
        stored=llm.cache_hits if llm else 0,
        second_looks=getattr(summary, "second_looks", ()),
        units=tuple(unit for line in lines for unit in kind.units(line)),
    )
