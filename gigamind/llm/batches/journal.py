"""The state of each batch of a run: `batches.jsonl` beside its ledger, with a line before and after each action.

made -> uploaded (if there is a file) -> creating -> created -> ended -> read; or dropped, if none was created.
From `creating` on, the batch may have been paid for.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from gigamind.errors import LlmCode, LlmError
from gigamind.i18n import _
from gigamind.runs.store import Journal, read_journal

BATCHES_FILE = "batches.jsonl"
Stage = Literal["made", "uploaded", "creating", "created", "ended", "read", "dropped"]
_OPEN: frozenset[Stage] = frozenset({"creating", "created", "ended"})


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch."""

    tag: str  # ours; the ids of its requests begin with it
    model: str
    role: str  # purpose of its requests
    api_base: str | None
    key_variable: str | None
    requests: Mapping[str, str]  # hash of each request, by its id
    stage: Stage = "made"
    at: float = 0.0  # time of its last stage, in seconds since the epoch
    batch_id: str = ""
    file_id: str = ""
    problem: tuple[str, LlmCode, bool] = (
        _("the batch has no result for this request"),
        "server_error",
        True,
    )

    @property
    def is_open(self) -> bool:
        """Whether it has results that may cost money and are not read."""
        return self.stage in _OPEN

    @property
    def without_result(self) -> LlmError:
        """The error of a request without a result."""
        message, code, may_cost = self.problem
        return LlmError(message, code, may_cost=may_cost)


class BatchJournal:
    """The only writer of a run's `batches.jsonl`; results are stored in `batches/` in the folder of the run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._batches = {batch.tag: batch for batch in read_batches(folder)}
        self._journal: Journal | None = None

    def __iter__(self) -> Iterator[Batch]:
        return iter(list(self._batches.values()))

    def make(self, batch: Batch) -> Batch:
        """Start a batch."""
        return self.enter(batch, "made", **{name: getattr(batch, name) for name in _HEAD})

    def enter(self, batch: Batch, stage: Stage, **facts: Any) -> Batch:  # noqa: ANN401  JSON values
        """Return the batch at its next stage, which is on disk on return."""
        row = {"tag": batch.tag, "stage": stage, "at": round(time.time(), 3), **facts}
        if self._journal is None:
            self._journal = Journal(self._folder / BATCHES_FILE, sync=True)
        self._journal.append(row)
        self._batches[batch.tag] = after = _after(batch, row)
        return after

    def results_of(self, batch: Batch) -> Path:
        """Return the file of its results in the provider's form."""
        folder = self._folder / "batches"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{batch.tag}.jsonl"

    def close(self) -> None:
        """Release the file for the next writer."""
        if self._journal:
            self._journal.close()
            self._journal = None  # models that share it each close it


def read_batches(folder: Path) -> list[Batch]:
    """Return the batches of a run with their last stages; raise InputError if the file was edited."""
    batches: dict[str, Batch] = {}
    for row in read_journal(folder / BATCHES_FILE):
        is_new = row["stage"] == "made"
        before = Batch(**{name: row[name] for name in _HEAD}) if is_new else batches[row["tag"]]
        batches[row["tag"]] = _after(before, row)
    return list(batches.values())


_HEAD = ("tag", "model", "role", "api_base", "key_variable", "requests")


def _after(batch: Batch, row: Mapping[str, Any]) -> Batch:
    facts = {name: row[name] for name in ("batch_id", "file_id") if name in row}
    problem = tuple(row["problem"]) if "problem" in row else batch.problem
    return replace(batch, stage=row["stage"], at=row["at"], problem=problem, **facts)
