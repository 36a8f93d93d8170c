"""Write an output folder atomically: into a folder beside it, which is renamed when complete."""

import contextlib
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Generator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from gigamind.errors import EvaluationError, InputError, reason_of
from gigamind.i18n import Text
from gigamind.loading import first_problem
from gigamind.records.schema import Record

Format = Literal["json", "md", "both"]

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


@contextlib.contextmanager
def whole_folder(out: Path, *, replace: bool = False) -> Generator[Path]:
    """Yield a folder to write into, which becomes or replaces `out` when the block succeeds."""
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    aside = out.with_name(f".{out.name}.{secrets.token_hex(4)}")
    replaced = aside.with_name(f"{aside.name}.replaced")
    aside.mkdir()
    try:
        yield aside
        if replace and out.exists():
            out.rename(replaced)
        elif out.exists():
            out.rmdir()  # empty, as checked at the start
        aside.rename(out)
        shutil.rmtree(replaced, ignore_errors=True)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def write_run(
    out: Path,
    record: Record[Any, Any],
    output: Format,
    files: Mapping[str, str] | None = None,
    *,
    replace: bool = False,
) -> None:
    """Write every file of seed section 6, all or none; `replace` what the same run left when it was stopped.

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
            _write(aside, text)
            aside.replace(out / name)


def write_texts(out: Path, files: Mapping[str, str]) -> None:
    """Write a folder with these files, name -> text, all or none.

    Raises:
        EvaluationError: as for `write_run`.
    """
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
        _write(folder / name, text)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


Model = TypeVar("Model", bound=BaseModel)


def read_report(path: Path, model: type[Model], missing: Text) -> Model:
    """Read a file as a report.

    Raises:
        InputError: see `read_written`; or the file was not written by gigamind.
    """
    return parse_report(read_written(path, missing), model, str(path))


def read_reports(path: Path, model: type[Model], missing: Text) -> list[Model]:
    """Read each line of a file as a report.

    Raises:
        InputError: as for `read_report`; names the line.
    """
    # Not splitlines: a note's text may contain U+2028, which JSON does not escape.
    lines = enumerate(read_written(path, missing).split("\n"), start=1)
    return [parse_report(line, model, f"{path}:{number}") for number, line in lines if line]


def parse_report(text: str, model: type[Model], place: str) -> Model:
    """Parse a report; `place` names its source in messages.

    Raises:
        InputError: it was not written by gigamind.
    """
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
