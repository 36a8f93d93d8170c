"""Read the runs of a folder, as a schedule leaves them: dates, figures and conditions."""

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gigamind.errors import InputError
from gigamind.i18n import n_
from gigamind.records.judged import JudgeReport
from gigamind.records.schema import Environment, Record, RunReport
from gigamind.version import build_name

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
    return given | {
        "embedding model": environment.embedding_model or "none",
        "system": environment.system.name if environment.system else "builtin",
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
    read = [_read(path) for path in folders]
    runs = [past for past in read if past and past.run.status == "complete"]
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


def past_run(folder: str, record: Record[Any, Any]) -> PastRun:
    """Return a run that is not written yet."""
    return PastRun(folder, record.run, _figures(record.summary.overall.model_dump()))


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
