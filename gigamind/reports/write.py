"""Writes an out folder whole or not at all: into a folder beside it, renamed when everything stands."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from gigamind.errors import InputError
from gigamind.reports.markdown import render_summary
from gigamind.reports.schema import RunRecord

Format = Literal["json", "md", "both"]


def check_out_folder(out: Path) -> None:
    """See to it, before any work is done, that `out` can be written at the end.

    Raises:
        InputError: it exists and is not empty, or may not be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"--out {out}: exists already; name a new folder, or remove it")
    parent = next(folder for folder in (out.absolute(), *out.absolute().parents) if folder.exists())
    try:
        with tempfile.TemporaryDirectory(dir=parent if parent.is_dir() else parent.parent):
            pass
    except OSError as error:
        raise InputError(
            f"--out {out}: cannot be written ({error.strerror} at {parent}); name a folder you may write to"
        ) from error


@contextlib.contextmanager
def _whole_folder(out: Path) -> Generator[Path]:
    """A folder to write into, which becomes `out` when the block ends without an error."""
    out.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        yield aside
        aside.chmod(0o777 & ~_umask())  # mkdtemp gives 0o700; a report is for others too
        if out.exists():
            out.rmdir()  # empty, as checked at the start
        aside.rename(out)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def write_run(out: Path, record: RunRecord, output: Format) -> None:
    """Write every file of seed section 6, all or none; `output` chooses between summary.json and summary.md."""
    with _whole_folder(out) as folder:
        _write_json(folder / "run.json", record.run)
        _write_lines(folder / "per_item.jsonl", record.items)
        _write_lines(folder / "errors.jsonl", record.errors)
        if output in {"json", "both"}:
            _write_json(folder / "summary.json", record.summary)
        if output in {"md", "both"}:
            _write(folder / "summary.md", render_summary(record))


def _write_json(path: Path, report: BaseModel) -> None:
    _write(path, report.model_dump_json(indent=2) + "\n")


def _write_lines(path: Path, reports: Sequence[BaseModel]) -> None:
    _write(path, "".join(report.model_dump_json() + "\n" for report in reports))


def _write(path: Path, text: str) -> None:
    # A lone surrogate of a broken row has no UTF-8 form; it must not cost the report.
    path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
