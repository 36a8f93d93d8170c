"""Reads what a finished run's judge said, and the labels that its dataset has itself, from the run's out folder.

What differs by task is a `JudgedKind`: its scales, and what a line of per_item.jsonl holds of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gigamind.datasets.labels import Label, ScoreLabel
from gigamind.errors import InputError
from gigamind.judges.protocol import Scale
from gigamind.records.judged import JudgeReport, LlmReport, SecondLookReport
from gigamind.records.reading import read_report, read_reports, read_written
from gigamind.records.schema import ErrorReport, RunReport
from gigamind.release.model import ComparedTask

_MISSING = "missing; give the out folder of a finished run"


@dataclass(frozen=True, slots=True)
class RunItem:
    """One item of a run.

    Attributes:
        cluster: what it is a part of, and stands and falls with: of a claim the id of its answer, else its own id.
        verdicts: scale -> verdict in [0, 1]; None where the judge gave none.
        own_labels: scale -> label that the dataset itself gives.
        confidence: the chance that the judge gave to its verdict, where it told one.
        quotes: what the judge quoted.
    """

    id: str
    cluster: str
    question: str
    language: str | None
    verdicts: Mapping[str, float | None]
    own_labels: Mapping[str, float]
    confidence: float | None = None
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedKind:
    """What a task's judge judges.

    Attributes:
        scales: name -> kind.
        label: a row of its labels file.
        compared: the models of its files.
        items: those of one line of per_item.jsonl.
    """

    scales: Mapping[str, Scale]
    label: type[Label]
    compared: ComparedTask[Any, Any, Any]
    items: Callable[[Any], Sequence[RunItem]]


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A finished run that a judge has judged.

    Attributes:
        items: by id, in the dataset's order.
        failed: ids of errors.jsonl, which have no verdict either.
        stored: replies that were not asked for but taken from the store.
        second_looks: the models that looked at claims once more.
        short_panels: verdicts that were given although a seat gave no vote.
    """

    folder: Path
    run_id: str
    task: str
    dataset: str
    dataset_hash: str
    judge: JudgeReport
    kind: JudgedKind
    items: Mapping[str, RunItem]
    failed: frozenset[str]
    stored: int
    second_looks: tuple[SecondLookReport, ...]
    short_panels: int = 0

    def verdicts(self, scale: str) -> dict[str, float]:
        """Verdicts that were given, by item id."""
        given = {item.id: item.verdicts.get(scale) for item in self.items.values()}
        return {name: verdict for name, verdict in given.items() if verdict is not None}


def read_judged_runs(folders: Sequence[Path], kinds: Mapping[str, JudgedKind]) -> list[JudgedRun]:
    """Runs of one judge over one dataset: the first is certified, the others are its repetitions.

    Raises:
        InputError: one cannot be read, was not judged, or is no repetition of the first.
    """
    _refuse_the_same(folders)
    runs = [_read_run(folder, kinds) for folder in folders]
    for other in runs[1:]:
        _check_repetition(runs[0], other)
    return runs


def _refuse_the_same(folders: Sequence[Path]) -> None:
    """A run that is held against itself never flips, whatever its judge does."""
    known: dict[str, Path] = {}
    for folder in folders:
        run = read_written(folder / "run.json", _MISSING)
        if run in known:
            raise InputError(
                f"{folder}: is the same run as {known[run]}, and no repetition of it; run the evaluation again, with"
                " --store-mode off"
            )
        known[run] = folder


def _check_repetition(first: JudgedRun, other: JudgedRun) -> None:
    for what, ours, theirs in (
        ("task", first.task, other.task),
        ("judge", first.judge.fingerprint, other.judge.fingerprint),
        ("model", first.judge.model, other.judge.model),
        ("dataset", first.dataset_hash, other.dataset_hash),
    ):
        if ours != theirs:
            raise InputError(
                f"{other.folder}: is no repetition of {first.folder}, for it has another {what}"
                f" ({theirs} instead of {ours}); give runs that differ in nothing"
            )
    if other.stored:  # an old verdict, read again, never flips
        raise InputError(
            f"{other.folder}: is no repetition, for {other.stored} of its replies are old ones from the store;"
            " run it with --store-mode off"
        )


def _read_run(folder: Path, kinds: Mapping[str, JudgedKind]) -> JudgedRun:
    run = read_report(folder / "run.json", RunReport, _MISSING)
    kind = kinds.get(run.task)
    if kind is None:
        raise InputError(
            f'{folder}: a run of the task "{run.task}", which no judge judges; there are {", ".join(kinds)}'
        )
    if run.judge is None:
        raise InputError(
            f"{folder}: run.json names no judge, so there is nothing to certify; run it again with a judge"
        )
    if run.judge.scales:  # a team's own judge
        kind = replace(kind, scales=run.judge.scales, label=ScoreLabel)
    lines = read_reports(folder / "per_item.jsonl", kind.compared.line, _MISSING)
    items = _by_id(folder, [item for line in lines for item in kind.items(line)])
    errors = read_reports(folder / "errors.jsonl", ErrorReport, _MISSING)
    summary = _summary(folder / "summary.json", kind)
    llm: LlmReport | None = getattr(summary, "llm", None)
    return JudgedRun(
        folder=folder,
        run_id=run.run_id,
        task=run.task,
        dataset=run.dataset,
        dataset_hash=run.dataset_hash,
        judge=run.judge,
        kind=kind,
        items=items,
        failed=frozenset(error.id for error in errors if error.id) - items.keys(),
        stored=llm.cache_hits if llm else 0,
        second_looks=getattr(summary, "second_looks", ()),
        short_panels=llm.panel.short if llm and llm.panel else 0,
    )


def _summary(path: Path, kind: JudgedKind) -> object:
    """None of a run that wrote no summary as JSON, of which nothing is known then."""
    return read_report(path, kind.compared.summary, _MISSING) if path.exists() else None


def _by_id(folder: Path, items: Sequence[RunItem]) -> dict[str, RunItem]:
    by_id: dict[str, RunItem] = {}
    for item in items:
        if item.id in by_id:
            raise InputError(
                f'{folder}: two items are called "{item.id}", an answer and a claim of another; give the answer another'
                " id, and run it again"
            )
        by_id[item.id] = item
    return by_id
