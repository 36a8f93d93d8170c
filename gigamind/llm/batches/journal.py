"""How far each batch of a run is: `batches.jsonl` beside its account, a line before and after each thing that is done.

made -> uploaded (where there is a file) -> creating -> created -> ended -> read; or dropped, where none was created.
Whatever process reads it next knows what may have been paid for: from `creating` on.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from gigamind.errors import LlmCode, LlmError
from gigamind.runs.store import Journal, read_journal

BATCHES_FILE = "batches.jsonl"
Stage = Literal["made", "uploaded", "creating", "created", "ended", "read", "dropped"]
_OPEN: frozenset[Stage] = frozenset({"creating", "created", "ended"})


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch.

    Attributes:
        tag: ours; the ids of its requests begin with it.
        role: what its model was asked for.
        requests: what each was asked, as a hash, by its id.
        at: of its last stage, in seconds since the epoch.
        batch_id, file_id: the provider's.
        problem: message, code and `may_cost` of the error that a request without a result ends in.
    """

    tag: str
    model: str
    role: str
    api_base: str | None
    key_variable: str | None
    requests: Mapping[str, str]
    stage: Stage = "made"
    at: float = 0.0
    batch_id: str = ""
    file_id: str = ""
    problem: tuple[str, LlmCode, bool] = ("its batch has no result of it", "server_error", True)

    @property
    def is_open(self) -> bool:
        """Whether something may be paid for that is not read."""
        return self.stage in _OPEN

    @property
    def without_result(self) -> LlmError:
        """What a request ends in that has no result."""
        message, code, may_cost = self.problem
        return LlmError(message, code, may_cost=may_cost)


class BatchJournal:
    """The one writer of a run's `batches.jsonl`.

    Args:
        folder: of the run; results are kept in `batches/`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._batches = {batch.tag: batch for batch in read_batches(folder)}
        self._journal: Journal | None = None

    def __iter__(self) -> Iterator[Batch]:
        return iter(list(self._batches.values()))

    def make(self, batch: Batch) -> Batch:
        """Begin a batch."""
        return self.enter(batch, "made", **_head(batch))

    def enter(self, batch: Batch, stage: Stage, **facts: Any) -> Batch:  # noqa: ANN401  JSON values
        """The batch at its next stage; on return it is on the disk."""
        row = {"tag": batch.tag, "stage": stage, "at": round(time.time(), 3), **facts}
        if self._journal is None:
            self._journal = Journal(self._folder / BATCHES_FILE, sync=True)
        self._journal.append(row)
        self._batches[batch.tag] = after = _after(batch, row)
        return after

    def results_of(self, batch: Batch) -> Path:
        """The file of its results, as the provider gave them."""
        folder = self._folder / "batches"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{batch.tag}.jsonl"

    def close(self) -> None:
        """Let the next writer in."""
        if self._journal:
            self._journal.close()
            self._journal = None  # models that share it each close it


def read_batches(folder: Path) -> list[Batch]:
    """The batches of a run, as far as each is; none where it had none.

    Raises:
        InputError: the file was changed by hand.
    """
    batches: dict[str, Batch] = {}
    for row in read_journal(folder / BATCHES_FILE):
        made = row["stage"] == "made"
        before = Batch(**{name: row[name] for name in _HEAD}) if made else batches[row["tag"]]
        batches[row["tag"]] = _after(before, row)
    return list(batches.values())


_HEAD = ("tag", "model", "role", "api_base", "key_variable", "requests")


def _head(batch: Batch) -> dict[str, Any]:
    return {name: getattr(batch, name) for name in _HEAD}


def _after(batch: Batch, row: Mapping[str, Any]) -> Batch:
    facts = {name: row[name] for name in ("batch_id", "file_id") if name in row}
    problem = tuple(row["problem"]) if "problem" in row else batch.problem
    return replace(batch, stage=row["stage"], at=row["at"], problem=problem, **facts)
