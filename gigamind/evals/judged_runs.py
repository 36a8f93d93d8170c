"""Takes verdicts and labels out of finished runs, to certify their judge: all that differs by task is here."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from gigamind.datasets.labels import AnswerabilityLabel, AnswerLabel, Label
from gigamind.errors import InputError
from gigamind.judges.certify import Scale
from gigamind.reports.judged import JudgementReport, JudgeReport


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


class _Item(_Read):
    id: str
    language: str | None = None


class _SearchItem(_Item):
    query: str
    answerable: bool
    judged_unanswerable: bool | None
    judgement: JudgementReport | None = None


class _AnswerItem(_Item):
    question: str = Field(validation_alias=AliasChoices("question", "query"))
    correctness: float | None
    utility: float | None


class _Error(_Read):
    id: str | None = None


@dataclass(frozen=True, slots=True)
class RunItem:
    """One item of a run.

    Attributes:
        verdicts: scale -> verdict in [0, 1]; None where the judge gave none.
        own_labels: scale -> label that the dataset itself gives.
        confidence: the chance that the judge gave to its verdict, where it told one.
        quotes: what the judge quoted.
    """

    id: str
    question: str
    language: str | None
    verdicts: Mapping[str, float | None]
    own_labels: Mapping[str, float]
    confidence: float | None = None
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """What a task's judge judges.

    Attributes:
        scales: name -> kind.
        label: a row of its labels file.
    """

    scales: Mapping[str, Scale]
    label: type[Label]


TASKS: Mapping[str, Task] = {
    "search": Task({"unanswerable": "binary"}, AnswerabilityLabel),
    "answers": Task({"correctness": "graded", "utility": "graded"}, AnswerLabel),
}


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
    runs = [_read_run(folder) for folder in folders]
    first = runs[0]
    for other in runs[1:]:
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
    return runs


def _read_run(folder: Path) -> JudgedRun:
    run = _parsed(_text(folder / "run.json"), _Run, folder / "run.json", None)
    if run.task not in TASKS:
        raise InputError(
            f'{folder}: a run of the task "{run.task}", which no judge judges; there are {", ".join(TASKS)}'
        )
    if run.judge is None:
        raise InputError(
            f"{folder}: run.json names no judge, so there is nothing to certify; run it again with a judge"
        )
    read = {"search": _search_items, "answers": _answer_items}[run.task]
    items = {item.id: item for item in read(folder / "per_item.jsonl")}
    errors = _rows(folder / "errors.jsonl", _Error)
    return JudgedRun(
        folder=folder,
        run_id=run.run_id,
        task=run.task,
        dataset=run.dataset,
        dataset_hash=run.dataset_hash,
        judge=run.judge,
        items=items,
        failed=frozenset(error.id for error in errors if error.id) - items.keys(),
        stored=_stored(folder / "summary.json"),
    )


def _stored(path: Path) -> int:
    """None are known of in a run that wrote no summary as JSON."""
    summary = _parsed(_text(path), _Summary, path, None) if path.exists() else _Summary()
    return summary.llm.cache_hits if summary.llm else 0


def _search_items(path: Path) -> list[RunItem]:
    return [_of_search(item) for item in _rows(path, _SearchItem)]


def _of_search(item: _SearchItem) -> RunItem:
    judged, told = item.judged_unanswerable, item.judgement
    confidence = told.confidence if told and told.outcome == "scored" else None
    if confidence is not None and told and told.told_unanswerable != judged:
        confidence = (
            None  # it was the model's for the opposite, which the judge's rule did not believe
        )
    return RunItem(
        id=item.id,
        question=item.query,
        language=item.language,
        verdicts={"unanswerable": None if judged is None else float(judged)},
        own_labels={"unanswerable": float(not item.answerable)},
        confidence=confidence,
        quotes=tuple(quote.text for quote in told.quotes) if told else (),
    )


def _answer_items(path: Path) -> list[RunItem]:
    return [
        RunItem(
            id=item.id,
            question=item.question,
            language=item.language,
            verdicts={"correctness": item.correctness, "utility": item.utility},
            own_labels={},
        )
        for item in _rows(path, _AnswerItem)
    ]


Row = TypeVar("Row", bound=_Read)


def _rows(path: Path, model: type[Row]) -> list[Row]:
    # Not splitlines: a note's text may hold U+2028, which JSON leaves as it is.
    lines = enumerate(_text(path).split("\n"), start=1)
    return [_parsed(line, model, path, number) for number, line in lines if line]


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError as error:
        raise InputError(f"{path}: missing; give the out folder of a finished run") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def _parsed(text: str, model: type[Row], path: Path, line: int | None) -> Row:
    where = path if line is None else f"{path}:{line}"
    try:
        fields: Any = json.loads(text)
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise InputError(f"{where}: not as gigamind writes it ({field}: {first['msg']})") from error
    except ValueError as error:
        raise InputError(f"{where}: no JSON, or cut short ({error})") from error
