"""Models asked in shards: ranges of a run's items, each asked by one process, with a lease of what the run may use.

A shard writes into a folder of its own in OUT.unfinished, a new one each time it is begun: no two processes ever write
one file, and all that a run knows and has spent stands in its folder and in those of its shards.  What has ended has
spent, and what goes on may spend, is never more than the limits of the run; a process that may still live when nobody
hears of it keeps its lease for good, so that a kill costs one lease at most.
"""

import json
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from pathlib import Path
from typing import NamedTuple, TypedDict, TypeVar

from gigamind.errors import EvaluationError, InputError
from gigamind.llm.budget import Budget, budget_of
from gigamind.llm.ledger import STORE, Attempt, read_ledger, totals
from gigamind.llm.options import ModelOptions
from gigamind.llm.settings import DEFAULT_IN_FLIGHT, ModelSettings
from gigamind.llm.usage import PICO_PER_MICRO
from gigamind.runs.store import ITEMS_FILE, ItemKey, ItemResult, Journal, read_results

Item = TypeVar("Item")
ATTEMPTS_FILE = "attempts.jsonl"
_CUTS_FILE = "shards.json"
_SHARDS_EACH = 4  # of a process: whoever is faster takes more of them
_FULL = 2  # times that a shard must fill the requests in flight, or its end is a wait for few


class Range(NamedTuple):
    """Items of a run, from and to (exclusive)."""

    first: int
    end: int


class Spent(NamedTuple):
    """What requests did cost, or may."""

    pico_usd: int
    calls: int


_NO_ITEMS, _NOTHING = Range(0, 0), Spent(0, 0)


@dataclass(frozen=True, slots=True)
class Shard:
    """A range of items, and what it may use of what the run may; the limits themselves stand in the options.

    Attributes:
        items: an empty range asks nothing: it is the whole run, as far as its shards know it.
        taken: of the limits, by the rest of the run: what is spent, and what others hold.
        began: when the minutes of the run began, in seconds since the epoch.
        at_once: shards that share the limits of requests in flight and a minute.
        succeeded: the model has answered in this run.
        hopeless: the error that no item can escape, and its code; nothing is asked then.
    """

    items: Range = _NO_ITEMS
    taken: Spent = _NOTHING
    began: float = 0.0
    at_once: int = 1
    succeeded: bool = False
    hopeless: tuple[str, str] | None = None

    @property
    def gathers(self) -> bool:
        """Whether it asks nothing, and tells what is known."""
        return self.items.first == self.items.end

    def of(self, items: Sequence[Item]) -> Sequence[Item]:
        """Its own of a run's items; all of them where it gathers."""
        return items if self.gathers else items[slice(*self.items)]

    def begin(self, run: Path) -> Path:
        """A new folder for it in that of its run."""
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
        """What is left to it of the limits, whoever began it before."""
        own, limits = spent_in(shard_folders(run, self.items)), budget_of(options).limits
        return Budget(
            limits,
            spent_pico_usd=self.taken.pico_usd + own.pico_usd,
            calls=self.taken.calls + own.calls,
            began=self.began,
        )

    def share(self, settings: ModelSettings) -> ModelSettings:
        """The settings with its part of the limits of rate; requests in flight that nobody has limited are its own."""
        requests, tokens = settings.requests_per_minute, settings.tokens_per_minute
        return replace(
            settings,
            max_in_flight=_in_flight(settings, self.at_once),
            requests_per_minute=requests and max(1, requests // self.at_once),
            tokens_per_minute=tokens and max(1, tokens // self.at_once),
        )


GATHERED = Shard()
"""Asks nothing: the whole run, as far as its shards know it."""


class ShardEnd(TypedDict):
    """How a shard ended, as JSON values; what it found stands in its folder.

    Attributes:
        scored: whether any item has a verdict.
        skipped: whether its lease left any item unasked.
        hopeless: the error that no item could escape, and its code.
        stopped: the run that it belongs to had ended before it did.
    """

    scored: bool
    skipped: bool
    hopeless: tuple[str, str] | None
    stopped: bool
    runtime_ms: float


def _in_flight(settings: ModelSettings, at_once: int) -> int:
    given = settings.max_in_flight
    return max(1, given // at_once) if settings.in_flight_fixed else given


def _name(items: Range) -> str:
    return f"shard-{items.first:08}-{items.end:08}"


def shard_folders(run: Path, items: Range | None = None) -> list[Path]:
    """The folders of a run's shards, in the order of their items, and as they were begun; or those of one range."""
    folders = run.glob(f"{_name(items) if items else 'shard-*'}.*")
    return sorted(folders, key=lambda folder: (folder.stem, int(folder.suffix[1:])))


def folders_of(run: Path, shard: Shard | None = None) -> list[Path]:
    """The run's own folder and those of its shards; of a shard, its own alone."""
    return [run, *shard_folders(run, shard.items if shard and not shard.gathers else None)]


def rows_in(folders: Iterable[Path]) -> list[Attempt]:
    """Every request that these folders tell of, and every stored answer, in the order of the folders.

    What is asked once a run, such as how a model fares on trial, each shard asks: one that has the answer of another
    shard from the store has not asked.
    """
    rows = [(folder.stem, row) for folder in folders for row in read_ledger(folder / ATTEMPTS_FILE)]
    asked_by: dict[tuple[str, str], str] = {}
    for name, row in sorted(rows, key=lambda pair: pair[1].source == STORE):
        asked_by.setdefault((row.call, row.key), name)
    return [row for name, row in rows if row.source != STORE or asked_by[row.call, row.key] == name]


def spent_in(folders: Iterable[Path]) -> Spent:
    """What these requests have cost; one that was never answered, the most that it may have."""
    sums = totals(rows_in(folders))
    return Spent(sums.pico_usd, sums.http_calls)


def results_in(folders: Iterable[Path]) -> dict[ItemKey, ItemResult]:
    """The results in these folders by item: of two of one item the final one, else the later."""
    known: dict[ItemKey, ItemResult] = {}
    for folder in folders:
        for key, result in read_results(folder).items():
            if result.is_final or key not in known or not known[key].is_final:
                known[key] = result
    return known


def is_asked(run: Path) -> bool:
    """Whether the process that gave out the shards of a run still waits for them: it keeps the run's journal open."""
    journal = run / ITEMS_FILE
    if not journal.is_file():
        return False
    try:
        Journal(journal).close()
    except InputError:
        return True
    return False


def cut(run: Path, items: int, options: ModelOptions, processes: int) -> list[Range]:
    """The shards of so many items; a resumed run has those that it began with."""
    cuts = run / _CUTS_FILE
    if cuts.is_file():
        return [Range(*ends) for ends in json.loads(cuts.read_text("utf-8"))]
    least = _FULL * max(1, (options.max_in_flight or DEFAULT_IN_FLIGHT * processes) // processes)
    pieces = min(items, max(processes, min(_SHARDS_EACH * processes, items // least)))
    ends = [items * piece // pieces for piece in range(pieces + 1)] if pieces else []
    ranges = [Range(first, end) for first, end in pairwise(ends)]
    aside = cuts.with_name(f".{cuts.name}")
    aside.write_text(json.dumps(ranges), "utf-8")
    aside.replace(cuts)
    return ranges


class Leases:
    """What the shards of a run may use: each a part of what is left, and what it leaves is leased again.

    Args:
        run: the folder of the run.
    """

    def __init__(self, options: ModelOptions, run: Path) -> None:
        limits = budget_of(options).limits
        usd = limits.micro_usd
        self._caps = (None if usd is None else usd * PICO_PER_MICRO, limits.calls)
        self._run = run
        self._spent = spent_in(folders_of(run))
        self._held: dict[Range, Spent] = {}
        self._before: dict[Range, Spent] = {}

    def lease(self, items: Range, among: int) -> Spent | None:
        """What is taken by the rest of the run; None as long as others hold all that is left.

        Args:
            among: shards that may begin now, this one included.
        """
        own = spent_in(shard_folders(self._run, items))
        parts = [
            self._part(cap, spent + sum(held[kind] for held in self._held.values()), among)
            for kind, (cap, spent) in enumerate(zip(self._caps, self._spent, strict=True))
        ]
        if self._held and 0 in parts:
            return None
        self._held[items] = Spent(*(part or 0 for part in parts))
        self._before[items] = own
        taken = (
            0 if cap is None or part is None else cap - part - spent
            for cap, part, spent in zip(self._caps, parts, own, strict=True)
        )
        return Spent(*taken)

    def _part(self, cap: int | None, taken: int, among: int) -> int | None:
        return None if cap is None else -(-max(0, cap - taken) // among)  # rounded up

    def give_back(self, items: Range) -> None:
        """Book what a shard has spent, and let others have the rest."""
        del self._held[items]
        before, now = self._before.pop(items), spent_in(shard_folders(self._run, items))
        self._book(Spent(now.pico_usd - before.pico_usd, now.calls - before.calls))

    def lose(self, items: Range) -> None:
        """Book all of the lease of a shard that nobody hears of: it may spend it yet."""
        del self._before[items]
        self._book(self._held.pop(items))

    @property
    def used_up(self) -> bool:
        """Whether no further call can be leased, whatever is given back."""
        return any(
            cap is not None and cap <= spent
            for cap, spent in zip(self._caps, self._spent, strict=True)
        )

    def _book(self, spent: Spent) -> None:
        self._spent = Spent(self._spent.pico_usd + spent.pico_usd, self._spent.calls + spent.calls)


class Shards:
    """Which shard of a run comes next, and what that of others means for it.

    Args:
        ranges: see `cut`.
        run: the folder of the run.
        processes: that may ask at a time.
    """

    def __init__(
        self, ranges: Sequence[Range], options: ModelOptions, run: Path, processes: int
    ) -> None:
        self._run = run
        self._waiting = deque(ranges)
        self._skipped: deque[Range] = deque()
        self._hopeless_ones: deque[Range] = deque()
        self._running: set[Range] = set()
        self._tried_alone: set[Range] = set()
        self._tried_again: set[Range] = set()
        # Each needs a request in flight, and one a minute.
        limits = (processes, options.max_in_flight, options.requests_per_minute)
        most = min(limit for limit in limits if limit)
        self._leases = Leases(options, run)
        self._shared = Shard(began=time.time(), at_once=most)

    def next(self) -> Shard | None:
        """One that may begin now; None while there is none, and once all have ended if none is running."""
        if self._shared.hopeless or len(self._running) >= self._shared.at_once:
            return None
        alone = not self._waiting and not self._running
        if alone and self._skipped and not self._leases.used_up:
            # What is left may do for it where nobody else holds any.
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
        """One has ended: what it left is leased again; what no item can escape, no shard can.

        Raises:
            EvaluationError: it could not see that the run was still waiting for it.
        """
        items = shard.items
        if end["stopped"]:
            raise EvaluationError(
                f"{_name(items)} stopped, for it saw {self._run / ITEMS_FILE} without a lock: the out folder must be"
                " on a file system whose locks hold on all machines"
            )
        self._running.discard(items)
        self._leases.give_back(items)
        if end["scored"]:
            self._succeed()
        if end["skipped"] and items not in self._tried_alone:
            self._skipped.append(items)
        if (hopeless := end["hopeless"]) is None:
            return
        lone = (
            hopeless[1] == "not_asked"
        )  # eight errors alike, which others have shown to be no rule
        if not lone or not self._shared.succeeded:
            self._shared = replace(self._shared, hopeless=hopeless)
            self._hopeless_ones.append(items)
        elif items not in self._tried_again:
            self._tried_again.add(items)
            self._waiting.append(items)

    def broke_off(self, shard: Shard, *, may_live: bool) -> None:
        """One is begun again, for its process has died, or is not heard of."""
        self._running.discard(shard.items)
        self._waiting.appendleft(shard.items)
        (self._leases.lose if may_live else self._leases.give_back)(shard.items)

    def unasked(self) -> list[Shard]:
        """Those that were never begun, since nothing can be asked any more."""
        return [replace(self._shared, items=items) for items in self._waiting]

    def _succeed(self) -> None:
        self._shared = replace(self._shared, succeeded=True)
        if self._shared.hopeless and self._shared.hopeless[1] == "not_asked":
            self._shared = replace(self._shared, hopeless=None)
            self._tried_again.update(self._hopeless_ones)
            self._waiting.extend(self._hopeless_ones)
            self._hopeless_ones.clear()
