"""Gathers the requests of one model into batches, sends them, waits for them, and goes on with those of a killed run.

Requests that come one behind the other make one batch; it leaves when no more has come for a moment.  What the answers
of one batch lead to (a second look, a reply that was not valid asked for again) makes the next, smaller one.
"""

import asyncio
import json
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from secrets import token_hex

from gigamind.errors import InputError, LlmError
from gigamind.llm.batches.anthropic import AnthropicBatches
from gigamind.llm.batches.journal import Batch, BatchJournal
from gigamind.llm.batches.openai import OpenAiBatches
from gigamind.llm.batches.provider import Limits, Provider, RequestOutcome, State
from gigamind.llm.booking import Booking
from gigamind.llm.client import Answer, Request
from gigamind.llm.faults import TRANSIENT, fault_of, with_retries
from gigamind.llm.ledger import HTTP, UNFINISHED, Attempt
from gigamind.llm.settings import ModelSettings
from gigamind.llm.usage import Price, Usage

_PROVIDERS = {"openai": OpenAiBatches, "anthropic": AnthropicBatches}
_SLOWER = 1.5  # each wait than the one before
_ENVELOPE = 64  # bytes around the requests
_TELL_EACH = 10  # parts of a batch, as they are done


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """Seconds.

    Attributes:
        poll: between the first two looks at a batch.
        longest_poll: between any two.
        quiet: without another request, until those that have come leave.
        listed: after which a batch that was created stands in its provider's list for sure.
    """

    poll: float = 10.0
    longest_poll: float = 300.0
    quiet: float = 1.0
    listed: float = 30.0

    @classmethod
    def of(cls, poll: float) -> "BatchTimes":
        """Those of which one is given; the others are no longer than they need to be."""
        usual = cls()
        return cls(
            poll, max(poll, usual.longest_poll), min(usual.quiet, poll), min(usual.listed, 3 * poll)
        )


class Batches:
    """The batches of a run, of all its models.

    Args:
        out: the out folder that the run is to write.
        folder: where it is kept until then.
        note: is told how far they are.
    """

    def __init__(
        self, out: Path, folder: Path, times: BatchTimes, note: Callable[[str], None]
    ) -> None:
        self.out = out
        self.times = times
        self.note = note
        self.journal = BatchJournal(folder)


def provider_of(settings: ModelSettings) -> Provider:
    """The batches of a model's provider.

    Raises:
        InputError: it has none that we know.
        LlmError: its key is not in the environment.
    """
    name, _, model = settings.model.partition("/")
    if name not in _PROVIDERS:
        raise InputError(
            f"--batch: {settings.model} is none of openai/... and anthropic/..., whose batch files gigamind can send;"
            " leave out --batch"
        )
    return _PROVIDERS[name](settings, model)


@dataclass(slots=True)
class Entry:
    """A request on its way.

    Attributes:
        worst: its row, should nothing come of it.
        identity: hash of what is asked, of which item.
        started: what it may cost is booked, for its batch may have been created.
    """

    request: Request
    worst: Attempt
    identity: str
    ended: asyncio.Future[Answer] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    started: bool = False


class Batcher:
    """The batches of one model in one role.

    Args:
        booking: whose they are, with the account that they go on.
    """

    def __init__(self, provider: Provider, batches: Batches, booking: Booking) -> None:
        self._provider = provider
        self._batches = batches
        self._journal = batches.journal
        self._times = batches.times
        self._settings = booking.settings
        self._budget = booking.budget
        self._ledger = booking.ledger
        self._price = booking.price
        self._gathered: list[Entry] = []
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._recovery: asyncio.Task[None] | None = None
        self._kept: defaultdict[str, deque[Answer]] = defaultdict(deque)
        self._waited_for: dict[str, Batch] = {}

    async def ready(self) -> None:
        """Wait for what a run before this one has sent.

        Raises:
            LlmError: it cannot be had now.
        """
        self._budget.start()
        if self._recovery is None:
            self._recovery = asyncio.create_task(self._recover())
        await asyncio.shield(self._recovery)

    def kept(self, identity: str) -> Answer | None:
        """An answer that a run before this one has paid for; each is given once."""
        answers = self._kept.get(identity)
        return answers.popleft() if answers else None

    async def ask(self, entry: Entry) -> Answer:
        """The answer to a request.

        Raises:
            LlmError: there is none.
        """
        self._gathered.append(entry)
        if self._timer:
            self._timer.cancel()
        self._timer = self._after_quiet(self._wait_once_more)
        return await entry.ended

    async def close(self) -> None:
        """Stop waiting, and say of what nothing is known yet."""
        if self._timer:
            self._timer.cancel()
        tasks = [*self._tasks, *([self._recovery] if self._recovery else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._provider.close()
        self._journal.close()
        out = self._batches.out
        for batch in self._waited_for.values():
            self._batches.note(
                f"batch {batch.batch_id} goes on at {self._provider.name}: wait for it with --resume {out}, or stop it"
                f" with: gigamind llm batches {out} --cancel"
            )

    def _after_quiet(self, then: Callable[[], None]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(self._times.quiet / 2, then)

    def _wait_once_more(self) -> None:
        """A busy loop calls late, with others' requests still to come."""
        self._timer = self._after_quiet(self._depart)

    def _depart(self) -> None:
        entries, self._gathered = self._gathered, []
        for part in parts(entries, self._provider):
            task = asyncio.create_task(self._carry(part))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry(self, part: "Part") -> None:
        """Send a batch, and give each request its end, whatever that is."""
        try:
            outcomes = await self._through(part)
        except Exception as error:  # noqa: BLE001  a bug must reach those who wait
            outcomes = dict.fromkeys(part.entries, error)
        for custom_id, entry in part.entries.items():
            outcome = outcomes[custom_id]
            if entry.ended.done():
                continue
            if isinstance(outcome, Answer):
                entry.ended.set_result(outcome)
            elif isinstance(outcome, LlmError):  # each has its own: it grows as it rises
                entry.ended.set_exception(LlmError(*outcome.args))
            else:
                entry.ended.set_exception(outcome)

    async def _through(self, part: "Part") -> dict[str, RequestOutcome]:
        """Send a batch and wait for it; nothing is booked before all of it can be created."""
        settings, lines = self._settings, list(part.lines.values())
        identities = {name: entry.identity for name, entry in part.entries.items()}
        whose = (settings.model, settings.role, settings.api_base, settings.key_variable)
        batch = self._journal.make(Batch(part.tag, *whose, identities))

        async def upload() -> str:
            return await self._provider.upload(part.tag, lines)

        file_id = await with_retries(upload, settings)
        if file_id:
            batch = self._journal.enter(batch, "uploaded", file_id=file_id)
        self._budget.check_time()
        if any(entry.ended.cancelled() for entry in part.entries.values()):
            raise LlmError("stopped before anything was sent", "not_asked")
        for custom_id, entry in part.entries.items():
            entry.worst = replace(entry.worst, custom_id=custom_id)
            self._ledger.start(entry.worst)
            entry.started = True
        batch = self._journal.enter(batch, "creating")
        try:
            state = await self._create(batch, lines)
        except LlmError:
            for entry in part.entries.values():
                self._ledger.withdraw(entry.worst)
                entry.started = False
            self._journal.enter(batch, "dropped")
            raise
        except _UnknownError as unknown:
            raise _may_cost(unknown.error) from None
        return await self._outcomes(self._created(batch, state))

    async def _create(self, batch: Batch, lines: Sequence[bytes]) -> State:
        """The batch of these lines, created once.

        Raises:
            LlmError: it was not created.
        """

        async def attempt() -> State:
            try:
                return await self._provider.create(batch.tag, batch.file_id, lines)
            except LlmError as error:
                if not error.may_cost or not (state := await self._lost(batch)):
                    raise
                return state

        return await with_retries(attempt, self._settings)

    def _created(self, batch: Batch, state: State) -> Batch:
        self._batches.note(
            f"batch {state.batch_id} of {len(batch.requests):,} requests to {batch.model} is at {self._provider.name}"
        )
        return self._journal.enter(batch, "created", batch_id=state.batch_id)

    async def _outcomes(self, batch: Batch) -> dict[str, RequestOutcome]:
        """How each request of a batch ended, once all have."""
        if batch.stage != "read":
            self._waited_for[batch.tag] = batch
            try:
                state = await self._until_ended(batch)
                problem = state.problem
                facts = (problem.args[0], problem.code, problem.may_cost)
                batch = self._journal.enter(batch, "ended", status=state.status, problem=facts)
                await self._provider.download(state, self._journal.results_of(batch))
            except LlmError as error:
                raise _may_cost(error) from None
            batch = self._journal.enter(batch, "read")
            del self._waited_for[batch.tag]
        outcomes = self._read(self._journal.results_of(batch))
        return {name: outcomes.get(name) or batch.without_result for name in batch.requests}

    def _read(self, path: Path) -> dict[str, RequestOutcome]:
        outcomes: dict[str, RequestOutcome] = {}
        with path.open(encoding="utf-8") as lines:
            for line in filter(str.strip, lines):
                try:
                    custom_id, outcome = self._provider.read(json.loads(line))
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    continue  # whose it is cannot be told: that one has no result
                outcomes[custom_id] = outcome
        return outcomes

    async def _until_ended(self, batch: Batch) -> State:
        wait, announced = self._times.poll, ("", -1)
        while True:
            try:
                state = await self._provider.look(batch.batch_id)
            except LlmError as error:
                if error.code not in TRANSIENT:
                    raise _with_hint(error) from None
                self._batches.note(f"batch {batch.batch_id}: {error}; it is looked at again")
            else:
                share = _TELL_EACH * state.done // max(state.total, 1)
                if (state.status, share) != announced:
                    announced = state.status, share
                    done = f"{state.done:,} of {state.total:,} done"
                    self._batches.note(f"batch {batch.batch_id}: {state.status}, {done}")
                if state.ended:
                    return state
            async with self._budget.waiting():
                await asyncio.sleep(wait)
            wait = min(_SLOWER * wait, self._times.longest_poll)

    async def _lost(self, batch: Batch) -> State | None:
        """The same, where whoever asks would ask for another one."""
        try:
            return await self._find(batch)
        except LlmError as error:
            raise _UnknownError(error) from None

    async def _find(self, batch: Batch) -> State | None:
        """The batch whose creation was asked for, if it was created."""
        others = {known.batch_id for known in self._journal}
        while True:
            is_late = time.time() >= batch.at + self._times.listed
            for state in await self._provider.find(batch.tag, batch.at, len(batch.requests)):
                if state.batch_id not in others and await self._is(batch, state):
                    return state
            if is_late:
                return None
            await asyncio.sleep(self._times.poll)

    async def _is(self, batch: Batch, state: State) -> bool:
        """Whether a batch that was found is ours; one that carries no tag tells by its results."""
        if self._provider.is_tagged:
            return True
        self._batches.note(
            f"batch {state.batch_id}: it may be one whose id was lost; its end tells"
        )
        ended = await self._until_ended(replace(batch, batch_id=state.batch_id))
        path = self._journal.results_of(batch)
        await self._provider.download(ended, path)
        return any(custom_id in batch.requests for custom_id in self._read(path))

    async def _recover(self) -> None:
        """Go on with the batches of the run that is resumed, and keep their answers."""
        settings = self._settings
        whose = (settings.model, settings.role, settings.api_base)
        mine = [each for each in self._journal if (each.model, each.role, each.api_base) == whose]
        await asyncio.gather(*map(self._resume, mine))

    async def _resume(self, batch: Batch) -> None:
        if batch.stage == "creating" and (state := await self._find(batch)):
            batch = self._created(batch, state)
        if batch.stage in {"made", "uploaded", "creating"}:
            await self._drop(batch)
        elif batch.stage != "dropped":
            for custom_id, outcome in (await self._outcomes(batch)).items():
                await self._book(custom_id, outcome)
                if isinstance(outcome, Answer):
                    self._kept[batch.requests[custom_id]].append(outcome)

    async def _drop(self, batch: Batch) -> None:
        """Forget a batch that was never created."""
        for row in filter(None, map(self._ledger.row_of, batch.requests)):
            self._ledger.withdraw(row)
            await self._budget.settle(0, -(row.cost_pico_usd or 0))
            await self._budget.give_back(0)
        if batch.file_id:
            try:
                await self._provider.discard(batch.file_id)
            except LlmError as error:  # it costs nothing where it is
                self._batches.note(
                    f"file {batch.file_id} was left at {self._provider.name}: {error}"
                )
        self._journal.enter(batch, "dropped")

    async def _book(self, custom_id: str, outcome: RequestOutcome) -> None:
        """Give a request of the run before this one its row, should it have had none but what it costs at most."""
        settings = self._settings
        unknown = Attempt("", 1, HTTP, UNFINISHED, settings.model, role=settings.role)
        # After a power cut the account may lack what the journal of batches has.
        before = self._ledger.row_of(custom_id) or replace(unknown, custom_id=custom_id)
        if before.status != UNFINISHED:
            return
        after = ended_row(before, outcome, self._price)
        self._ledger.append(after)
        await self._budget.settle(0, (after.cost_pico_usd or 0) - (before.cost_pico_usd or 0))


class _UnknownError(Exception):
    """Whether a batch was created cannot be told now."""

    def __init__(self, error: LlmError) -> None:
        super().__init__(str(error))
        self.error = error


def _with_hint(error: LlmError) -> LlmError:
    if error.status != HTTPStatus.NOT_FOUND:
        return error
    hint = "; is the key of the account that sent it in the environment?"
    return LlmError(f"{error}{hint}", *error.args[1:])


def _may_cost(error: LlmError) -> LlmError:
    return LlmError(*error.args[:4], may_cost=True)


def ended_row(worst: Attempt, outcome: RequestOutcome, price: Price | None) -> Attempt:
    """The row of a request whose text is not at hand: as the server counted it, or else the most that it may cost."""
    if isinstance(outcome, LlmError):
        row = worst if outcome.may_cost else worst.free()
        return replace(row, status=outcome.code, http_status=outcome.status)
    fault, usage = fault_of(outcome, ""), outcome.usage or Usage(0, 0)
    row = (
        worst.charged(usage, price)
        if min(usage.prompt_tokens, usage.completion_tokens) > 0
        else worst
    )
    answerer = {"answered_by": outcome.model, "fingerprint": outcome.fingerprint}
    return replace(row, status=fault.code if fault else "ok", **answerer)


@dataclass(frozen=True, slots=True)
class Part:
    """The requests of one batch, and their lines, by id."""

    tag: str
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    lines: dict[str, bytes] = field(default_factory=dict[str, bytes])


def parts(entries: Sequence[Entry], provider: Provider) -> list[Part]:
    """Requests as batches that the provider takes."""
    limits: Limits = provider.limits
    made: list[Part] = []
    size = 0
    for entry in entries:
        if not made or len(made[-1].entries) == limits.requests:
            made.append(Part(f"gm-{token_hex(8)}"))
            size = 0
        line = _line(made[-1], entry, provider)
        if size + len(line) > limits.bytes - _ENVELOPE and made[-1].entries:
            made.append(Part(f"gm-{token_hex(8)}"))
            size = 0
            line = _line(made[-1], entry, provider)
        custom_id = f"{made[-1].tag}-{len(made[-1].entries)}"
        made[-1].entries[custom_id], made[-1].lines[custom_id] = entry, line
        size += len(line)
    return made


def _line(part: Part, entry: Entry, provider: Provider) -> bytes:
    return provider.line(f"{part.tag}-{len(part.entries)}", entry.request)


async def look_at_all(batches: Iterable[Batch], *, cancel: bool) -> list[str]:
    """How far batches are, asked by hand, in a line each; those that go on are stopped if told so.

    Raises:
        LlmError: a provider could not be asked.
    """
    return [await _look_at(batch, cancel=cancel) for batch in batches]


async def _look_at(batch: Batch, *, cancel: bool) -> str:
    requests = f"{len(batch.requests):,} requests to {batch.model}"
    if not batch.is_open or not batch.batch_id:
        return f"{batch.batch_id or batch.tag}: {requests}: {batch.stage}"
    settings = ModelSettings(batch.model, api_base=batch.api_base, key_variable=batch.key_variable)
    provider = provider_of(settings)
    try:
        state = await provider.look(batch.batch_id)
        if cancel and not state.ended:
            state = await provider.cancel(batch.batch_id)
    finally:
        await provider.close()
    return f"{batch.batch_id}: {requests}: {state.status}, {state.done:,} of {state.total:,} done"
