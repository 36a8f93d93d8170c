"""The unfinished folder of a run, and its shards: ranges of its items, each handled by one process.

Each start of a shard writes to a new folder in OUT.unfinished. Finished costs plus open leases never exceed the limits
of the run. A shard that a cluster moves to another worker keeps its lease, so a kill costs at most one lease.
"""

import json
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict, TypeVar

from gigamind.datasets.write import write_text
from gigamind.errors import EvaluationError, InputError, LlmCode
from gigamind.i18n import Text, _
from gigamind.llm.batches.batcher import read_batches
from gigamind.llm.budget import Budget
from gigamind.llm.ledger import PICO_PER_MICRO, STORE, Attempt, Totals, read_ledger
from gigamind.llm.settings import DEFAULT_IN_FLIGHT, ModelOptions, ModelSettings
from gigamind.records.schema import ErrorReport
from gigamind.runs.store import ITEMS_FILE, ItemKey, ItemResult, Journal, read_results

_Item = TypeVar("_Item")
ATTEMPTS_FILE = "attempts.jsonl"
_CUTS_FILE = "shards.json"
_SHARDS_EACH = 4  # per process; faster processes take more of them
_FULL = 2  # times that a shard must fill the requests in flight, to limit idle time at its end


class Range(NamedTuple):
    """Items of a run, from and to (exclusive)."""

    first: int
    end: int


class _Spent(NamedTuple):
    """Cost of requests, actual or possible."""

    pico_usd: int
    calls: int


_NO_ITEMS, _NOTHING = Range(0, 0), _Spent(0, 0)


@dataclass(frozen=True, slots=True)
class Shard:
    """A range of items and its part of the run's limits; the limits themselves are in the options."""

    # An empty range uses no model: it collects the known results of the whole run.
    items: Range = _NO_ITEMS
    taken: _Spent = _NOTHING  # part of the limits that the rest of the run has spent or leased
    began: float = 0.0  # start of the run's time limit, in seconds since the epoch
    at_once: int = 1  # number of shards that share the limits of concurrency and rate
    succeeded: bool = False  # whether the model has answered in this run
    # Error that affects every item, as JSON, and its code; nothing is requested then.
    hopeless: tuple[Any, str] | None = None

    @property
    def gathers(self) -> bool:
        return self.items.first == self.items.end

    def of(self, items: Sequence[_Item]) -> Sequence[_Item]:
        return items if self.gathers else items[slice(*self.items)]

    def begin(self, run: Path) -> Path:
        run.mkdir(parents=True, exist_ok=True)
        for number in count(1):
            folder = run / f"{_name(self.items)}.{number}"
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            return folder
        raise AssertionError

    def budget(self, options: ModelOptions, run: Path) -> Budget:
        """Return its budget, less what earlier starts of it have spent."""
        own, limits = _spent_in(_shard_folders(run, self.items)), Budget.of(options).limits
        spent, calls = self.taken.pico_usd + own.pico_usd, self.taken.calls + own.calls
        return Budget(limits, spent_pico_usd=spent, calls=calls, began=self.began)

    def share(self, settings: ModelSettings) -> ModelSettings:
        """Return settings with its part of the rate limits; unlimited requests in flight stay unlimited."""
        requests, tokens = settings.requests_per_minute, settings.tokens_per_minute
        in_flight = settings.max_in_flight
        if settings.in_flight_fixed:
            in_flight = max(1, in_flight // self.at_once)
        return replace(
            settings,
            max_in_flight=in_flight,
            requests_per_minute=requests and max(1, requests // self.at_once),
            tokens_per_minute=tokens and max(1, tokens // self.at_once),
        )


class ShardEnd(TypedDict):
    """How a shard ended, as JSON values; its results are in its folder."""

    scored: bool  # whether any item has a verdict
    skipped: bool  # whether its lease was too small for some items
    hopeless: tuple[Any, str] | None  # error that affects every item, and its code
    stopped: bool  # whether its run ended first
    runtime_ms: float


def _name(items: Range) -> str:
    return f"shard-{items.first:08}-{items.end:08}"


def _shard_folders(run: Path, items: Range | None = None) -> list[Path]:
    """Return the folders of a run's shards, or of one range, by items and start."""
    folders = run.glob(f"{_name(items) if items else 'shard-*'}.*")
    return sorted(folders, key=lambda folder: (folder.stem, int(folder.suffix[1:])))


def folders_of(run: Path, shard: Shard | None = None) -> list[Path]:
    """Return the run's own folder and its shards' folders; for a shard, its own only."""
    return [run, *_shard_folders(run, shard.items if shard and not shard.gathers else None)]


def rows_in(folders: Iterable[Path]) -> list[Attempt]:
    """Return every request and stored reply in these folders, in their order.

    Each shard repeats requests made once per run, such as the test of a model, unless the store has the reply.
    """
    rows = [(folder.stem, row) for folder in folders for row in read_ledger(folder / ATTEMPTS_FILE)]
    first_folder: dict[tuple[str, str], str] = {}
    for name, row in sorted(rows, key=lambda pair: pair[1].source == STORE):
        first_folder.setdefault((row.call, row.key), name)
    return [
        row for name, row in rows if row.source != STORE or first_folder[row.call, row.key] == name
    ]


def _spent_in(folders: Iterable[Path]) -> _Spent:
    """Return the cost of these requests; a request without a reply counts with its maximum cost."""
    sums = Totals.of(rows_in(folders))
    return _Spent(sums.pico_usd, sums.http_calls)


def results_in(folders: Iterable[Path]) -> dict[ItemKey, ItemResult]:
    """Return the results in these folders by item; final results win, then later ones."""
    known: dict[ItemKey, ItemResult] = {}
    for folder in folders:
        for key, result in read_results(folder).items():
            if result.is_final or key not in known or not known[key].is_final:
                known[key] = result
    return known


def is_awaited(run: Path) -> bool:
    """Return whether the process that began a run still runs, as it keeps the run's journal open."""
    journal = run / ITEMS_FILE
    if not journal.is_file():
        return False
    try:
        Journal(journal).close()
    except InputError:
        return True
    return False


def cut(run: Path, items: int, options: ModelOptions, processes: int) -> list[Range]:
    """Return the shards for so many items; a resumed run keeps its original ones."""
    cuts = run / _CUTS_FILE
    if cuts.is_file():
        return [Range(*ends) for ends in json.loads(cuts.read_text("utf-8"))]
    least = _FULL * max(1, (options.max_in_flight or DEFAULT_IN_FLIGHT * processes) // processes)
    pieces = min(items, max(processes, min(_SHARDS_EACH * processes, items // least)))
    ends = [items * piece // pieces for piece in range(pieces + 1)] if pieces else []
    ranges = [Range(first, end) for first, end in pairwise(ends)]
    write_text(cuts, json.dumps(ranges))
    return ranges


class _Leases:
    """Assigns parts of the remaining budget of a run (its folder) to shards; what a shard leaves is assigned again."""

    def __init__(self, options: ModelOptions, run: Path) -> None:
        limits = Budget.of(options).limits
        usd = limits.micro_usd
        self._caps = (None if usd is None else usd * PICO_PER_MICRO, limits.calls)
        self._run = run
        self._spent = _spent_in(folders_of(run))
        self._leased: dict[Range, _Spent] = {}
        self._before: dict[Range, _Spent] = {}

    def lease(self, items: Range, among: int) -> _Spent | None:
        """Lease a part for one of `among` shards; return what the rest of the run takes, None if others hold all."""
        own = _spent_in(_shard_folders(self._run, items))
        leased = [sum(lease[kind] for lease in self._leased.values()) for kind in (0, 1)]
        parts = [
            None if cap is None else -(-max(0, cap - spent - lease) // among)  # rounded up
            for cap, spent, lease in zip(self._caps, self._spent, leased, strict=True)
        ]
        if self._leased and 0 in parts:
            return None
        self._leased[items] = _Spent(*(part or 0 for part in parts))
        self._before[items] = own
        taken = (
            0 if cap is None or part is None else cap - part - spent
            for cap, part, spent in zip(self._caps, parts, own, strict=True)
        )
        return _Spent(*taken)

    def give_back(self, items: Range) -> None:
        """Book the costs of a finished shard and release the rest of its lease."""
        del self._leased[items]
        before, now = self._before.pop(items), _spent_in(_shard_folders(self._run, items))
        usd, calls = self._spent
        self._spent = _Spent(usd + now.pico_usd - before.pico_usd, calls + now.calls - before.calls)

    @property
    def used_up(self) -> bool:
        """Return whether no further call can be leased, even if all leases are returned."""
        return any(
            cap is not None and cap <= spent
            for cap, spent in zip(self._caps, self._spent, strict=True)
        )


class Shards:
    """Decides which shard of a run (its folder) starts next, and how the outcome of one affects the others."""

    def __init__(
        self, ranges: Sequence[Range], options: ModelOptions, run: Path, processes: int
    ) -> None:
        self._run = run
        self._waiting = deque(ranges)
        self._skipped: deque[Range] = deque()
        self._hopeless_ranges: deque[Range] = deque()
        self._running: set[Range] = set()
        self._tried_alone: set[Range] = set()
        self._tried_again: set[Range] = set()
        # Each shard needs at least one request in flight and one per minute.
        limits = (processes, options.max_in_flight, options.requests_per_minute)
        most = min(limit for limit in limits if limit)
        self._leases = _Leases(options, run)
        self._shared = Shard(began=time.time(), at_once=most)

    def next(self) -> Shard | None:
        """Return a shard that may start now, or None; None with no running shard means that all have ended."""
        if self._shared.hopeless or len(self._running) >= self._shared.at_once:
            return None
        alone = not self._waiting and not self._running
        if alone and self._skipped and not self._leases.used_up:
            # The rest of the budget may be enough once no other shard holds a lease.
            self._waiting.append(self._skipped.popleft())
            self._tried_alone.add(self._waiting[0])
        if not self._waiting or self._tried_alone & self._running:
            return None
        items = self._waiting[0]
        among = min(len(self._waiting), self._shared.at_once - len(self._running))
        taken = self._leases.lease(items, among)
        if taken is None:
            return None
        self._running.add(self._waiting.popleft())
        return replace(self._shared, items=items, taken=taken)

    def ended(self, shard: Shard, end: ShardEnd) -> None:
        """Release a finished lease and pass on a hopeless error; EvaluationError if file locks do not work."""
        items = shard.items
        if end["stopped"]:
            raise EvaluationError(
                "{shard} stopped because {file} was not locked. The output folder must be on a file system"
                " whose locks work across machines.",
                shard=_name(items),
                file=self._run / ITEMS_FILE,
            )
        self._running.discard(items)
        self._leases.give_back(items)
        if end["scored"]:
            self._shared = replace(self._shared, succeeded=True)
            if self._shared.hopeless and self._shared.hopeless[1] == "not_asked":
                self._shared = replace(self._shared, hopeless=None)
                self._tried_again.update(self._hopeless_ranges)
                self._waiting.extend(self._hopeless_ranges)
                self._hopeless_ranges.clear()
        if end["skipped"] and items not in self._tried_alone:
            self._skipped.append(items)
        if (hopeless := end["hopeless"]) is None:
            return
        # Several equal errors; successes in other shards show that they do not affect every item.
        may_be_local = hopeless[1] == "not_asked"
        if not may_be_local or not self._shared.succeeded:
            self._shared = replace(self._shared, hopeless=hopeless)
            self._hopeless_ranges.append(items)
        elif items not in self._tried_again:
            self._tried_again.add(items)
            self._waiting.append(items)

    def broke_off(self, shard: Shard) -> None:
        """Queue a shard again whose process died."""
        self._running.discard(shard.items)
        self._waiting.appendleft(shard.items)
        self._leases.give_back(shard.items)

    def unasked(self) -> list[Shard]:
        """Return the shards that were never started because nothing can be requested any more."""
        return [replace(self._shared, items=items) for items in self._waiting]


# Errors that every further item would have as well.
HOPELESS: frozenset[LlmCode] = frozenset({"auth_failed", "quota_exhausted", "not_asked"})


@dataclass(frozen=True, slots=True)
class ModelRun:
    """The results of models."""

    results: Mapping[ItemKey, ItemResult]  # of each finished item, in item order
    attempts: Sequence[Attempt]  # every request of the run, including those before it was resumed
    interrupted: bool = False  # whether Ctrl-C stopped it
    unasked: Sequence[ItemKey] = ()  # items without a result because of that

    def unscored(
        self, named: Callable[[ItemKey], tuple[Literal["verdict", "check", "item"], Text]]
    ) -> list[ErrorReport]:
        """Return an error report for each missing result; `named` returns its kind and the kind of its item."""
        stopped = ("not_asked", _("the run was stopped early; --resume continues it"))
        failed = {key: end for key, end in self.results.items() if end.outcome != "scored"}
        lost = {key: (end.code, end.message) for key, end in failed.items()}
        lost |= dict.fromkeys(self.unasked, stopped)
        return [
            ErrorReport(
                kind=named(key)[0],
                id=key.item_id,
                error=code,
                message=_(
                    "{unit} {id}: {reason}", unit=named(key)[1], id=key.item_id, reason=message
                ),
            )
            for key, (code, message) in lost.items()
        ]


def unfinished_folder(out: Path) -> Path:
    """Return the folder that keeps the results so far of the run that will write `out`."""
    return out.with_name(f"{out.name}.unfinished")


def check_unfinished(out: Path, *, resume: bool) -> None:
    """Raise InputError if the folder beside `out` is missing in a resumed run, or exists in another one.

    A new run removes what a failed start left: nothing was evaluated or paid for, and no batch was sent.
    """
    kept = is_resumable(out)
    if kept and not resume and _is_empty(unfinished_folder(out)):
        shutil.rmtree(unfinished_folder(out))
        return
    if resume and not kept:
        raise InputError(
            "--resume {folder}: this folder has no interrupted run to resume. The run has ended, or never"
            " existed.",
            folder=out,
        )
    if kept and not resume:
        raise InputError(
            "{unfinished}: an unfinished run exists. Resume it with --resume {folder}, or name another folder.",
            unfinished=unfinished_folder(out),
            folder=out,
        )


def _is_empty(run: Path) -> bool:
    folders = folders_of(run)
    return not (
        is_awaited(run)
        or any(read_batches(run))
        or any(result.outcome == "scored" for result in results_in(folders).values())
        or any(
            row.prompt_tokens or row.cost_pico_usd or row.status == "unfinished"
            for row in rows_in(folders)
        )
    )


def is_resumable(out: Path) -> bool:
    """Return whether a run that was to write `out` can be resumed."""
    return (unfinished_folder(out) / ITEMS_FILE).is_file()


def attempts_of(out: Path) -> Sequence[Attempt]:
    """Return the requests of the run that will write `out`, including its shards' requests."""
    return rows_in(folders_of(unfinished_folder(out)))
