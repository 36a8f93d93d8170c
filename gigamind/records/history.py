"""Runs that stand beside one another in a folder, as a schedule leaves them: their dates, figures and conditions."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gigamind.errors import InputError
from gigamind.records.judged import JudgeReport
from gigamind.records.schema import Environment, RunReport

# Options that change no figure: where files go, which gates hold, how fast, how dear.
_ASIDE = """
dataset notes out format lang figures min_rows dry_run strict save_snapshot compare changed phase gates judge_card junit
comment fail_on_regression notes_hash_mode notes_hash_exclude resume allow_partial min_coverage cache_dir batch
batch_poll key_variable model_timeout_s max_wait max_in_flight requests_per_minute tokens_per_minute prices max_cost_usd
max_calls max_minutes store store_mode warmup timeout_ms max_concurrency speed_passes cold_start
"""
_NO_CONDITION = frozenset(_ASIDE.split())
_LOOKED_AT = 10  # times as many folders as runs that are wanted, for a folder may hold runs of several vaults


@dataclass(frozen=True, slots=True)
class PastRun:
    """One finished run.

    Attributes:
        folder: name of its out folder.
        figures: of all its items, by name with block: "search.mrr"; without those that were not measured.
    """

    folder: str
    run: RunReport
    figures: Mapping[str, float]

    @property
    def source(self) -> tuple[str, str, str]:
        """What is evaluated: runs that differ in it are of different histories."""
        return self.run.task, self.run.dataset, self.run.notes

    @property
    def measure(self) -> tuple[str, str, object]:
        """What it was measured by: dataset, judge and sample; runs that differ in it are not to be compared."""
        judge = self.run.judge.fingerprint if self.run.judge else ""
        return self.run.dataset_hash, judge, self.run.options.get("sample")


def conditions(
    options: Mapping[str, object],
    environment: Environment,
    judge: JudgeReport | None,
    notes_hash: str,
) -> dict[str, str]:
    """What may move the figures of a run beside chance, by name, as text."""
    asked = {name: _plain(value) for name, value in options.items() if name not in _NO_CONDITION}
    commit = (environment.git_commit or "")[:12]
    return asked | {
        "embedding model": environment.embedding_model or "none",
        "system": environment.system.name if environment.system else "builtin",
        "gigamind": f"{environment.app_version} {commit}".strip(),
        "index schema": environment.rag_schema_version,
        "judge": judge.describe() if judge else "none",
        "notes": notes_hash[:12],
    }


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def differing(rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Of each row what is not the same in all of them; "–" for what it does not have."""
    names = dict.fromkeys(name for row in rows for name in row)
    kept = [name for name in names if len({row.get(name, "–") for row in rows}) > 1]
    return [{name: row.get(name, "–") for name in kept} for row in rows]


def histories(folder: Path) -> tuple[list[list[PastRun]], int]:
    """All complete runs in a folder by what they evaluate, each history oldest first; and how many folders are none.

    Raises:
        InputError: there is no such folder, or no complete run in it.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; name one that holds out folders of runs")
    folders = sorted(path for path in folder.iterdir() if path.is_dir())
    read = [_read(path) for path in folders]
    runs = [past for past in read if past and past.run.status == "complete"]
    if not runs:
        raise InputError(
            f"{folder}: none of its {len(folders)} folders holds a complete run (run.json, summary.json); name the"
            " folder in which out folders of runs stand"
        )
    runs.sort(key=_made)
    by_source: dict[tuple[str, str, str], list[PastRun]] = {}
    for past in runs:
        by_source.setdefault(past.source, []).append(past)
    return list(by_source.values()), len(folders) - len(runs)


def _made(past: PastRun) -> tuple[float, str]:
    """By the moment, for runs of one folder may have been made in several time zones."""
    return datetime.fromisoformat(past.run.created_at).timestamp(), past.run.run_id


def past_runs(out: Path, most: int) -> list[PastRun]:
    """The complete runs beside `out` of what it evaluates, it included; oldest first, the last `most` of them.

    Folders that hold no run, or one that cannot be read, are none.
    """
    own = _read(out)
    if own is None:
        return []
    beside = sorted((path for path in out.resolve().parent.iterdir()), reverse=True)
    last = itertools.islice(_of(own, beside[: most * _LOOKED_AT]), most)
    return sorted(last, key=_made)


def _of(own: PastRun, folders: list[Path]) -> Iterator[PastRun]:
    for folder in folders:
        past = _read(folder)
        if past and past.source == own.source and past.run.status == "complete":
            yield past


def _read(out: Path) -> PastRun | None:
    try:
        run = RunReport.model_validate_json((out / "run.json").read_bytes())
        datetime.fromisoformat(run.created_at)
        summary: dict[str, Any] = json.loads((out / "summary.json").read_bytes())
        overall: dict[str, Any] = summary["overall"]
        measured: dict[str, object] = overall["intervals"]
        values = {key: overall[key.partition(".")[0]][key.partition(".")[2]] for key in measured}
    except (OSError, ValueError, KeyError, ValidationError, RecursionError):
        return None
    figures = {key: value for key, value in values.items() if value is not None}
    return PastRun(out.resolve().name, run, figures)
