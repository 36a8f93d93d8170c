"""Reads finished runs whose judge is to be certified: the first, and its repetitions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from gigamind.errors import InputError
from gigamind.evals.judged_items import TASKS, RunItem, Task
from gigamind.reports.judged import JudgeReport


class _Read(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Run(_Read):
    """What is needed of run.json."""

    run_id: str
    task: str
    dataset: str
    dataset_hash: str
    judge: JudgeReport | None = None


class _Usage(_Read):
    cache_hits: int


class _Summary(_Read):
    """What is needed of summary.json."""

    llm: _Usage | None = None


class _Error(_Read):
    id: str | None = None


Part = TypeVar("Part", bound=_Read)


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A finished run that a judge has judged.

    Attributes:
        items: by id, in the dataset's order.
        failed: ids of errors.jsonl, which have no verdict either.
        stored: replies that were not asked for but taken from the store.
    """

    folder: Path
    run_id: str
    task: str
    dataset: str
    dataset_hash: str
    judge: JudgeReport
    items: Mapping[str, RunItem]
    failed: frozenset[str]
    stored: int

    def verdicts(self, scale: str) -> dict[str, float]:
        """Verdicts that were given, by item id."""
        given = {one.id: one.verdicts.get(scale) for one in self.items.values()}
        return {name: verdict for name, verdict in given.items() if verdict is not None}


def read_judged_runs(folders: Sequence[Path]) -> list[JudgedRun]:
    """Runs of one judge over one dataset: the first is certified, the others are its repetitions.

    Raises:
        InputError: one cannot be read, was not judged, or is no repetition of the first.
    """
    _refuse_the_same(folders)
    runs = [_read_run(folder) for folder in folders]
    for other in runs[1:]:
        _check_repetition(runs[0], other)
    return runs


def _refuse_the_same(folders: Sequence[Path]) -> None:
    """A run that is held against itself never flips, whatever its judge does."""
    known: dict[str, Path] = {}
    for folder in folders:
        run = _text(folder / "run.json")
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


def _read_run(folder: Path) -> JudgedRun:
    run = _parsed(_text(folder / "run.json"), _Run, folder / "run.json")
    if run.task not in TASKS:
        raise InputError(
            f'{folder}: a run of the task "{run.task}", which no judge judges; there are {", ".join(TASKS)}'
        )
    if run.judge is None:
        raise InputError(
            f"{folder}: run.json names no judge, so there is nothing to certify; run it again with a judge"
        )
    items = _by_id(folder, _items(folder / "per_item.jsonl", TASKS[run.task]))
    return JudgedRun(
        folder=folder,
        run_id=run.run_id,
        task=run.task,
        dataset=run.dataset,
        dataset_hash=run.dataset_hash,
        judge=run.judge,
        items=items,
        failed=_failed(folder / "errors.jsonl") - items.keys(),
        stored=_stored(folder / "summary.json"),
    )


def _by_id(folder: Path, items: Sequence[RunItem]) -> dict[str, RunItem]:
    found: dict[str, RunItem] = {}
    for item in items:
        if item.id in found:
            raise InputError(
                f'{folder}: two items are called "{item.id}", an answer and a claim of another; give the answer another'
                " id, and run it again"
            )
        found[item.id] = item
    return found


def _items(path: Path, task: Task) -> list[RunItem]:
    found: list[RunItem] = []
    for number, line in _lines(path):
        place = f"{path}:{number}"
        try:
            found += task.items(_json(line, place))
        except ValidationError as error:
            raise _foreign(error, place) from error
    return found


def _failed(path: Path) -> frozenset[str]:
    errors = (_parsed(line, _Error, f"{path}:{number}") for number, line in _lines(path))
    return frozenset(error.id for error in errors if error.id)


def _stored(path: Path) -> int:
    """None are known of in a run that wrote no summary as JSON."""
    summary = _parsed(_text(path), _Summary, path) if path.exists() else _Summary()
    return summary.llm.cache_hits if summary.llm else 0


def _lines(path: Path) -> list[tuple[int, str]]:
    # Not splitlines: a note's text may hold U+2028, which JSON leaves as it is.
    return [(n, line) for n, line in enumerate(_text(path).split("\n"), start=1) if line]


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError as error:
        raise InputError(f"{path}: missing; give the out folder of a finished run") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def _parsed(text: str, model: type[Part], place: Path | str) -> Part:
    try:
        return model.model_validate(_json(text, place))
    except ValidationError as error:
        raise _foreign(error, place) from error


def _json(text: str, place: Path | str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: no JSON, or cut short ({error})") from error


def _foreign(error: ValidationError, place: Path | str) -> InputError:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"]) or "the whole"
    return InputError(f"{place}: not as gigamind writes it ({field}: {first['msg']})")
