"""Write an output folder atomically, by renaming a folder beside it; read the runs of a folder."""

import contextlib
import itertools
import json
import os
import re
import secrets
import tempfile
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Self, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from gigamind.errors import EvaluationError, InputError, reason_of
from gigamind.i18n import Text, n_
from gigamind.loading import first_problem
from gigamind.records.judged import JudgeReport
from gigamind.records.schema import Environment, Record, RunReport
from gigamind.runs.folders import whole_folder
from gigamind.version import build_name

_Format = Literal["json", "md", "both"]

_RUN_FILE = "run.json"
_SURROGATE = re.compile("[\ud800-\udfff]")


def check_out_folder(out: Path, *, replace: bool = False) -> None:
    """Check, before any work, that `out` can be written; `replace` allows what the same run left when stopped.

    Raises:
        InputError: it exists and is not an empty folder that can be replaced, or is not writable.
    """
    try:
        if not (replace and (out / _RUN_FILE).is_file()):
            _refuse_existing(out)
        parent = next(folder for folder in out.resolve().parents if folder.exists())
        with tempfile.TemporaryDirectory(dir=parent):
            pass
    except OSError as error:
        raise InputError(
            "--out {folder}: cannot be written ({reason}). Name a writable folder.",
            folder=out,
            reason=reason_of(error),
        ) from error


def _refuse_existing(out: Path) -> None:
    if not out.exists():
        return
    if not out.is_dir():
        raise InputError("--out {folder}: is a file. Name a new folder.", folder=out)
    if out.resolve().is_mount():
        raise InputError(
            "--out {folder}: gigamind cannot replace this folder, because it is a mount point. Name a folder"
            " inside it.",
            folder=out,
        )
    if any(out.iterdir()):
        raise InputError(
            "--out {folder}: exists already. Name a new folder, or remove this one.", folder=out
        )


def served_at(out: Path) -> str | None:
    """Return the address of the files of `out` with a "/"; None if not served (see deployments/server.env)."""
    address = os.environ.get("GIGAMIND_REPORTS_URL", "").rstrip("/")
    folder = Path(os.environ.get("GIGAMIND_REPORTS", "eval/out"))
    try:
        inside = out.resolve().relative_to(folder.resolve())
    except ValueError:
        return None
    return f"{address}/{quote(inside.as_posix())}/" if address else None


def write_run(
    out: Path,
    record: Record[Any, Any],
    output: _Format,
    files: Mapping[str, str] | None = None,
    *,
    replace: bool = False,
) -> None:
    """Write every file of spec section 6, all or none; `replace` what the same run left when it was stopped.

    Args:
        output: whether to write summary.json.
        files: the other files of the run, path in the folder -> text.

    Raises:
        EvaluationError: the disk is full, or the folder has disappeared or been filled since the check.
    """
    texts = {
        _RUN_FILE: as_json(record.run, indent=2) + "\n",
        "per_item.jsonl": "".join(as_json(item) + "\n" for item in record.items),
        "errors.jsonl": "".join(as_json(error) + "\n" for error in record.errors),
    }
    if record.attempts is not None:
        rows = (json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in record.attempts)
        texts["attempts.jsonl"] = "".join(rows)
    if output in {"json", "both"}:
        texts["summary.json"] = as_json(record.summary, indent=2) + "\n"
    with _explaining_errors(out), whole_folder(out, replace=replace) as folder:
        _write_files(folder, texts | dict(files or {}))


def rewrite_texts(out: Path, files: Mapping[str, str]) -> None:
    """Replace files of a finished run; each is written whole or not at all.

    Raises:
        EvaluationError: a file cannot be written.
    """
    with _explaining_errors(out):
        for name, text in files.items():
            aside = out / f".{name}.{secrets.token_hex(4)}"
            write_page(aside, text)
            aside.replace(out / name)


def write_texts(out: Path, files: Mapping[str, str]) -> None:
    """Write a folder with these files, name -> text, all or none; raises as `write_run`."""
    with _explaining_errors(out), whole_folder(out) as folder:
        _write_files(folder, files)


@contextlib.contextmanager
def _explaining_errors(out: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise EvaluationError(
            "--out {folder}: the results cannot be written ({reason})",
            folder=out,
            reason=reason_of(error),
        ) from error


def as_json(report: BaseModel, indent: int | None = None) -> str:
    """Return the report as JSON text; lone surrogates, which JSON readers reject, become escape sequences."""
    separators = (",", ": " if indent else ":")
    text = json.dumps(
        report.model_dump(mode="json"),
        ensure_ascii=False,
        allow_nan=False,
        indent=indent,
        separators=separators,
    )
    return _SURROGATE.sub(lambda match: f"\\\\u{ord(match[0]):04x}", text)


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_page(folder / name, text)


def write_page(path: Path, text: str) -> None:
    """Write a text as UTF-8 with the same line ends on every platform."""
    path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


_Model = TypeVar("_Model", bound=BaseModel)


def read_report(path: Path, model: type[_Model], missing: Text) -> _Model:
    """Read a file as a report; raises as `read_written`, or InputError if gigamind did not write it."""
    return parse_report(read_written(path, missing), model, str(path))


def read_reports(path: Path, model: type[_Model], missing: Text) -> list[_Model]:
    """Read each line of a file as a report; raises as `read_report`, with the line."""
    # Not splitlines: a note's text may contain U+2028, which JSON does not escape.
    lines = enumerate(read_written(path, missing).split("\n"), start=1)
    return [parse_report(line, model, f"{path}:{number}") for number, line in lines if line]


def parse_report(text: str, model: type[_Model], place: str) -> _Model:
    """Parse a report; `place` names its source in messages; InputError if gigamind did not write it."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise InputError(
            "{place}: not written by this version of gigamind ({reason})",
            place=place,
            reason=first_problem(error),
        ) from error


def read_written(path: Path, missing: Text) -> str:
    """Return the text of a file that gigamind wrote; `missing` explains its absence in the message.

    Raises:
        InputError: it is missing or cannot be read.
    """
    try:
        return path.read_text("utf-8")
    except FileNotFoundError as error:
        raise InputError("{file}: {reason}", file=path, reason=missing) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise InputError("{file}: cannot be read ({reason})", file=path, reason=reason) from error


# Options that change no figure: file locations, gates, speed and cost.
_ASIDE = """
dataset notes exclude out format lang min_rows dry_run strict save_snapshot compare changed phase gates judge_card junit
comment fail_on_regression notes_hash_mode notes_hash_exclude resume allow_partial min_coverage cache_dir batch
batch_poll key_variable model_timeout_s max_wait max_in_flight requests_per_minute tokens_per_minute prices max_cost_usd
max_calls max_minutes store store_mode warmup timeout_ms max_concurrency speed_passes cold_start
judge_forecast
"""
_NO_CONDITION = frozenset(_ASIDE.split())
_LOOKED_AT = 10  # folders examined per requested run, as some belong to other vaults


@dataclass(frozen=True, slots=True)
class PastRun:
    """A finished run; `figures` are those measured over all its items, by name with block: "search.mrr"."""

    folder: str
    run: RunReport
    figures: Mapping[str, float]

    @classmethod
    def of(cls, folder: str, record: Record[Any, Any]) -> Self:
        """Return a run that is not written yet."""
        return cls(folder, record.run, _figures(record.summary.overall.model_dump()))

    @property
    def source(self) -> tuple[str, str, str]:
        """Return what was evaluated; runs with another source have another history."""
        return self.run.task, self.run.dataset, self.run.notes

    @property
    def measure(self) -> tuple[str, str, object]:
        """Return what it was measured with: dataset, judge and sample; other measures are not comparable."""
        judge = self.run.judge.fingerprint if self.run.judge else ""
        return self.run.dataset_hash, judge, self.run.options.get("sample")


def conditions(
    options: Mapping[str, object],
    environment: Environment,
    judge: JudgeReport | None,
    notes_hash: str,
) -> dict[str, str]:
    """Return everything except chance that may change the figures of a run, by name, as text."""
    given = {name: _plain(value) for name, value in options.items() if name not in _NO_CONDITION}
    system = environment.system
    return given | {
        "embedding model": environment.embedding_model or "none",
        "system": f"{system.name} {(system.file_hash or '')[:12]}".strip() if system else "builtin",
        "gigamind": build_name(environment.app_version, environment.git_commit),
        "index schema": environment.rag_schema_version,
        "judge": judge.describe() if judge else "none",
        "notes": notes_hash[:12],
    }


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def differing(rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return the entries of each row that are not equal in all rows; "–" for missing ones."""
    names = dict.fromkeys(name for row in rows for name in row)
    kept = [name for name in names if len({row.get(name, "–") for row in rows}) > 1]
    return [{name: row.get(name, "–") for name in kept} for row in rows]


def histories(folder: Path) -> tuple[list[list[PastRun]], int]:
    """Return all complete runs in a folder grouped by source, oldest first, and the number of other folders.

    Raises:
        InputError: there is no such folder, or no complete run in it.
    """
    if not folder.is_dir():
        raise InputError(
            "{folder}: no such folder. Name a folder that contains output folders of runs.",
            folder=folder,
        )
    folders = sorted(path for path in folder.iterdir() if path.is_dir())
    runs = [past for past in map(_read, folders) if past and past.run.status == "complete"]
    if not runs:
        raise InputError(
            n_(
                "{folder}: the only subfolder contains no complete run (run.json, summary.json). Name a folder"
                " that contains the output folders of runs.",
                "{folder}: none of the {n:,} subfolders contains a complete run (run.json, summary.json). Name a"
                " folder that contains the output folders of runs.",
                n=len(folders),
                folder=folder,
            )
        )
    runs.sort(key=_created)
    by_source: dict[tuple[str, str, str], list[PastRun]] = {}
    for past in runs:
        by_source.setdefault(past.source, []).append(past)
    return list(by_source.values()), len(folders) - len(runs)


def _created(past: PastRun) -> tuple[float, str]:
    """Return the sort key of a run: its time in UTC, as runs may come from several time zones."""
    return datetime.fromisoformat(past.run.created_at).timestamp(), past.run.run_id


def past_runs(out: Path, most: int, own: PastRun | None = None) -> list[PastRun]:
    """Return the latest complete runs beside `out` with its source, oldest first, at most `most`, with itself.

    `own` is the run of `out` if the folder is not written yet.
    """
    current = own or _read(out)
    if current is None:
        return []
    home = out.resolve().parent
    folders = home.iterdir() if home.is_dir() else ()
    beside = sorted(
        (path for path in folders if own is None or path.name != out.name), reverse=True
    )
    read = (_read(folder) for folder in beside[: most * _LOOKED_AT])
    same = (past for past in read if past and past.source == current.source)
    complete = (past for past in same if past.run.status == "complete")
    last = list(itertools.islice(complete, most - (own is not None)))
    return sorted([*last, *([own] if own else [])], key=_created)


def _figures(overall: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a summary that have an interval."""
    names = [(name, *name.split(".", 1)) for name in overall["intervals"]]
    values = {name: overall[block][figure] for name, block, figure in names}
    return {name: value for name, value in values.items() if value is not None}


def _read(out: Path) -> PastRun | None:
    try:
        run = RunReport.model_validate_json((out / "run.json").read_bytes())
        datetime.fromisoformat(run.created_at)
        summary: dict[str, Any] = json.loads((out / "summary.json").read_bytes())
        return PastRun(out.resolve().name, run, _figures(summary["overall"]))
    except (OSError, ValueError, KeyError, ValidationError, RecursionError):
        return None
