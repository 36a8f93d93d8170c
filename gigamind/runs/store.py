"""The results of a run, item by item as they end: `items.jsonl` in its folder, which a later process can continue.

The first line tells what the run is of (dataset, notes, judge, options, as hashes); it is resumed only with the same.
Each line after it is one item; should an item stand there twice, the later line holds.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from gigamind.errors import InputError
from gigamind.runs.journal import Journal, read_journal

Outcome = Literal["scored", "unscored", "refused", "error", "skipped_budget"]
# What another attempt would not change.
FINAL: frozenset[Outcome] = frozenset({"scored", "unscored", "refused"})
ITEMS_FILE = "items.jsonl"


@dataclass(frozen=True, slots=True)
class ItemResult:
    """How one item ended.

    Attributes:
        code: of the error; empty when scored.
        message: what went wrong and how to mend it; empty when scored.
        value: JSON values; None without a verdict, unless what led there was kept.
        latency_ms: wall time, waiting included.
        passing: what went wrong may pass, whatever the outcome.
    """

    item_id: str
    outcome: Outcome
    code: str = ""
    message: str = ""
    value: Any = None
    latency_ms: float = 0.0
    passing: bool = False

    @property
    def is_final(self) -> bool:
        """Whether a resumed run would get nothing else."""
        return self.outcome in FINAL and not self.passing


@dataclass(frozen=True, slots=True)
class Unscored:
    """An item without a verdict of which something is worth keeping; as an error ends one without.

    Attributes:
        kept: JSON values.
        passing: another attempt may end otherwise.
    """

    code: str
    message: str
    kept: Any
    passing: bool = False


class RunStore:
    """The one writer of a run's results.  Use it as a context manager.

    Args:
        identity: what the run is of; strings that must be the same for a resumed run.
        resume: continue the run in `folder` instead of starting one there.

    Raises:
        InputError: there is no run to resume, it is of something else, or one is there already.
    """

    def __init__(self, folder: Path, identity: Mapping[str, str], *, resume: bool = False) -> None:
        self._path = folder / ITEMS_FILE
        rows = list(read_journal(self._path))
        _check(self._path, rows, identity, resume=resume)
        self.results = {row["item_id"]: ItemResult(**row) for row in rows[1:]}
        self._journal = Journal(self._path, sync=True)
        if not rows:
            self._journal.append({"run": dict(identity)})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._journal.close()

    def append(self, result: ItemResult) -> None:
        """Keep a result; on return it survives a killed process and a power cut."""
        self._journal.append(asdict(result))
        self.results[result.item_id] = result

    def final(self, item_id: str) -> ItemResult | None:
        """The result of an item that need not be evaluated again."""
        found = self.results.get(item_id)
        return found if found and found.is_final else None


def read_results(folder: Path) -> dict[str, ItemResult]:
    """The results of a run by item, while it lasts or later; none when there is no run.

    Raises:
        InputError: the file was changed by hand.
    """
    rows = list(read_journal(folder / ITEMS_FILE))
    return {row["item_id"]: ItemResult(**row) for row in rows[1:]}


def _check(
    path: Path, rows: list[dict[str, Any]], identity: Mapping[str, str], *, resume: bool
) -> None:
    if not resume:
        if rows:
            raise InputError(
                f"{path}: a run is there already; continue it with --resume, or name another folder"
            )
        return
    if not rows:
        raise InputError(f"{path}: there is no run to resume")
    before: Mapping[str, str] = rows[0].get("run", {})
    changed = [name for name in {**before, **identity} if before.get(name) != identity.get(name)]
    if changed:
        raise InputError(
            f"{path}: the run cannot be resumed, for these differ: {', '.join(changed)}; start a new one"
        )
