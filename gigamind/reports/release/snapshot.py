"""snapshot.json: what a later run is compared with (seed 6.2), one file that needs no vault and no dataset.

Beside the seed's fields it keeps the hardware, which its section 7 compares, the judge's fingerprint, and the values of
each item, without which nothing can be said about chance.
"""

import json
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gigamind.errors import InputError
from gigamind.reports.schema import (
    Environment,
    ErrorReport,
    Hardware,
    ItemReport,
    RunRecord,
    RunReport,
    SummaryReport,
)

VERSION = "1.0"
FILE = "snapshot.json"

Report = TypeVar("Report", bound=BaseModel)
Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SnapshotHit(_Part):
    """One note of a ranking."""

    note: str
    base_score: Finite
    final_score: Finite


class SnapshotItem(_Part):
    """What a comparison needs of one item.

    Attributes:
        metrics: as in per_item.jsonl.
    """

    id: str
    query: str
    answerable: bool
    judged_unanswerable: bool | None
    expected_notes: tuple[str, ...]
    ranking: tuple[SnapshotHit, ...]
    metrics: dict[str, Finite | None]


class EvalSnapshot(_Part):
    """One run as a baseline.

    Attributes:
        judge_fingerprint: changes with anything that may change a verdict on the same ranking.
        config: the options of the run.
    """

    version: Literal["1.0"] = VERSION
    created_at: str
    run_id: str
    task: Literal["search"] = "search"
    dataset_hash: str
    notes_hash: str
    notes_hash_mode: Literal["content", "mtime"]
    environment: Environment
    hardware: Hardware
    judge_fingerprint: str
    config: dict[str, object]
    metrics: SummaryReport
    items: tuple[SnapshotItem, ...]


def take_snapshot(record: RunRecord) -> EvalSnapshot:
    """The snapshot of a run."""
    run = record.run
    return EvalSnapshot(
        created_at=run.created_at,
        run_id=run.run_id,
        dataset_hash=run.dataset_hash,
        notes_hash=run.notes_hash,
        notes_hash_mode=run.notes_hash_mode,
        environment=run.environment,
        hardware=run.hardware,
        judge_fingerprint=run.judge.fingerprint if run.judge else "",
        config=run.options,
        metrics=record.summary,
        items=tuple(_item(item) for item in record.items),
    )


def read_snapshot(path: Path) -> EvalSnapshot:
    """A snapshot from its file, or from the out folder of a run (which need not have saved one).

    Raises:
        InputError: there is none, it is cut short, foreign, of another task or of a newer version, or it lacks items;
            says which and what to do.
    """
    if not path.exists():
        raise InputError(
            f"{path}: no such file or folder; give a snapshot.json or the out folder of a run"
        )
    if path.is_dir():
        snapshot = take_snapshot(read_run(path))
    else:
        content = _object(path)
        _check_header(path, content)
        snapshot = _parsed(json.dumps(content), EvalSnapshot, str(path))
    if not snapshot.items:
        raise InputError(
            f"{path}: holds no item, so nothing can be compared with it; run the baseline again"
        )
    return snapshot


def read_run(out: Path) -> RunRecord:
    """Everything in an out folder.

    Raises:
        InputError: a file is missing, unreadable, or not what it should be; names the file and the line.
    """
    return RunRecord(
        _parsed(_text(out / "run.json"), RunReport, str(out / "run.json")),
        _parsed(_text(out / "summary.json"), SummaryReport, str(out / "summary.json")),
        _lines(out / "per_item.jsonl", ItemReport),
        _lines(out / "errors.jsonl", ErrorReport),
    )


def _item(item: ItemReport) -> SnapshotItem:
    return SnapshotItem(
        id=item.id,
        query=item.query,
        answerable=item.answerable,
        judged_unanswerable=item.judged_unanswerable,
        expected_notes=item.expected_notes,
        ranking=tuple(
            SnapshotHit(note=hit.note, base_score=hit.base_score, final_score=hit.final_score)
            for hit in item.ranking
        ),
        metrics=item.metrics,
    )


def _check_header(path: Path, content: dict[str, object]) -> None:
    """Say what a file is before saying which of its fields is wrong."""
    version, task = content.get("version"), content.get("task")
    if not isinstance(version, str) or "metrics" not in content:
        raise InputError(f"{path}: not a snapshot of gigamind; make one with --save-snapshot")
    if version != VERSION:
        raise InputError(
            f"{path}: snapshot version {version}, and this gigamind reads {VERSION};"
            " use the version that wrote it, or make a new baseline"
        )
    if task != "search":
        raise InputError(
            f'{path}: a snapshot of the task "{task}", which cannot be compared with a search'
        )
    if "items" not in content:
        raise InputError(
            f"{path}: has no values by item, so chance cannot be told; make a new baseline"
        )


def _object(path: Path) -> dict[str, object]:
    try:
        content = json.loads(_text(path), parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not JSON, or cut short ({error.msg})") from error
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: not a snapshot of gigamind; make one with --save-snapshot")
    return content  # pyright: ignore[reportUnknownVariableType]  checked field by field next


def _refuse_constant(name: str) -> float:
    raise ValueError(f"holds {name}, which is no figure; make a new baseline")


def _lines(path: Path, model: type[Report]) -> list[Report]:
    # Not splitlines: a note's text may hold U+2028, which JSON leaves as it is.
    lines = _text(path).split("\n")
    return [_parsed(line, model, f"{path}:{i}") for i, line in enumerate(lines, start=1) if line]


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: missing; is this the out folder of a finished run with its JSON?"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def _parsed(text: str, model: type[Report], where: str) -> Report:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise InputError(f"{where}: not as gigamind writes it ({field}: {first['msg']})") from error
