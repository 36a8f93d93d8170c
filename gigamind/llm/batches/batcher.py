"""Collect the requests of one model into batches, send them, wait for them, and resume batches of a killed run.

Requests in quick succession form one batch, sent when no more have come for a moment.  Follow-up requests to the
answers of a batch (a second check, a repeated request after an invalid reply) form the next, smaller one.
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
from gigamind.i18n import _, n_
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
_SLOWER = 1.5  # factor of each wait over the previous one
_ENVELOPE = 64  # bytes around the requests
_TELL_EACH = 10  # progress reports per batch


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """Times in seconds."""

    poll: float = 10.0  # between the first two polls of a batch
    longest_poll: float = 300.0  # between any two polls
    quiet: float = 1.0  # time without another request after which the collected ones are sent
    listed: float = 30.0  # time after which a created batch is certainly in the provider's list

    @classmethod
    def of(cls, poll: float) -> "BatchTimes":
        """Return times for a given polling interval, with the others reduced accordingly."""
        usual = cls()
        return cls(
            poll, max(poll, usual.longest_poll), min(usual.quiet, poll), min(usual.listed, 3 * poll)
        )


class Batches:
    """The batches of all models of a run; `folder` has its files until it is finished, `note` receives messages."""

    def __init__(
        self, out: Path, folder: Path, times: BatchTimes, note: Callable[[str], None]
    ) -> None:
        self.out = out
        self.times = times
        self.note = note
        self.journal = BatchJournal(folder)


def provider_of(settings: ModelSettings) -> Provider:
    """Return the batch interface of a model's provider.

    Raises:
        InputError: The provider has no supported batches.
        LlmError: The key is not in the environment.
    """
    name, _slash, model = settings.model.partition("/")
    if name not in _PROVIDERS:
        message = _(
            "--batch: batch files work only with models named openai/... or anthropic/..., not with {model}. Omit"
            " --batch.",
            model=settings.model,
        )
        raise InputError(message)
    return _PROVIDERS[name](settings, model)


@dataclass(slots=True)
class Entry:
    """A request on its way."""

    request: Request
    worst: Attempt  # its row if nothing comes of it
    identity: str
    ended: asyncio.Future[Answer] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    started: bool = False  # its batch may exist, so its upper bound is in the ledger


class Batcher:
    """The batches of one model in one role; `booking` owns the requests, with their budget and ledger."""

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
        """Wait for the batches of the resumed run; raise LlmError if they are not available."""
        self._budget.start()
        if self._recovery is None:
            self._recovery = asyncio.create_task(self._recover())
        await asyncio.shield(self._recovery)

    def kept(self, identity: str) -> Answer | None:
        """Return an answer that the resumed run has paid for; each is returned once."""
        answers = self._kept.get(identity)
        return answers.popleft() if answers else None

    async def ask(self, entry: Entry) -> Answer:
        """Return the answer to a request; raise LlmError if there is none."""
        self._gathered.append(entry)
        if self._timer:
            self._timer.cancel()
        self._timer = self._after_quiet(self._wait_once_more)
        return await entry.ended

    async def close(self) -> None:
        """Stop waiting, and report the batches that are still open."""
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
            message = _(
                "This run stopped, but batch {batch} continues at {provider}. Wait for its results with --resume"
                " {out}, or cancel the batch with: gigamind llm batches {out} --cancel",
                batch=batch.batch_id,
                provider=self._provider.name,
                out=out,
            )
            self._batches.note(message)

    def _after_quiet(self, then: Callable[[], None]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(self._times.quiet / 2, then)

    def _wait_once_more(self) -> None:
        self._timer = self._after_quiet(self._depart)

    def _depart(self) -> None:
        entries, self._gathered = self._gathered, []
        for part in parts(entries, self._provider):
            task = asyncio.create_task(self._carry(part))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry(self, part: "Part") -> None:
        """Send a batch, and set the result or error of each of its requests."""
        try:
            outcomes = await self._through(part)
        except Exception as error:  # noqa: BLE001  a bug must reach the waiting callers
            outcomes = dict.fromkeys(part.entries, error)
        for custom_id, entry in part.entries.items():
            outcome = outcomes[custom_id]
            if entry.ended.done():
                continue
            if isinstance(outcome, Answer):
                entry.ended.set_result(outcome)
            elif isinstance(outcome, LlmError):  # a copy for each, because raising adds a traceback
                entry.ended.set_exception(LlmError(*outcome.args))
            else:
                entry.ended.set_exception(outcome)

    async def _through(self, part: "Part") -> dict[str, RequestOutcome]:
        """Send a batch and wait for it; nothing is charged before the batch can be created."""
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
            raise LlmError(_("the run stopped before the requests were sent"), "not_asked")
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
        """Create the batch of these lines exactly once; raise LlmError if it was not created."""

        async def attempt() -> State:
            try:
                return await self._provider.create(batch.tag, batch.file_id, lines)
            except LlmError as error:
                if not error.may_cost or not (state := await self._lost(batch)):
                    raise
                return state

        return await with_retries(attempt, self._settings)

    def _created(self, batch: Batch, state: State) -> Batch:
        message = n_(
            "batch {batch} was created at {provider}: {n} request to {model}",
            "batch {batch} was created at {provider}: {n:,} requests to {model}",
            n=len(batch.requests),
            batch=state.batch_id,
            provider=self._provider.name,
            model=batch.model,
        )
        self._batches.note(message)
        return self._journal.enter(batch, "created", batch_id=state.batch_id)

    async def _outcomes(self, batch: Batch) -> dict[str, RequestOutcome]:
        """Return the result of each request of a batch, after all have ended."""
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
                    continue  # cannot be assigned: the request has no result
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
                message = _(
                    "batch {batch}: the status could not be read ({reason}); gigamind tries again",
                    batch=batch.batch_id,
                    reason=error.message,
                )
                self._batches.note(message)
            else:
                share = _TELL_EACH * state.done // max(state.total, 1)
                if (state.status, share) != announced:
                    announced = state.status, share
                    message = _(
                        "batch {batch}: {status}, {done:,} of {total:,} requests done",
                        batch=batch.batch_id,
                        status=state.status,
                        done=state.done,
                        total=state.total,
                    )
                    self._batches.note(message)
                if state.ended:
                    return state
            async with self._budget.waiting():
                await asyncio.sleep(wait)
            wait = min(_SLOWER * wait, self._times.longest_poll)

    async def _lost(self, batch: Batch) -> State | None:
        try:
            return await self._find(batch)
        except LlmError as error:
            raise _UnknownError(error) from None

    async def _find(self, batch: Batch) -> State | None:
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
        """Return whether a found batch is ours; one without a tag is recognised by its results."""
        if self._provider.is_tagged:
            return True
        message = _(
            "batch {batch} may be the batch of this run whose id was lost; gigamind checks this when the batch ends",
            batch=state.batch_id,
        )
        self._batches.note(message)
        ended = await self._until_ended(replace(batch, batch_id=state.batch_id))
        path = self._journal.results_of(batch)
        await self._provider.download(ended, path)
        return any(custom_id in batch.requests for custom_id in self._read(path))

    async def _recover(self) -> None:
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
        for row in filter(None, map(self._ledger.row_of, batch.requests)):
            self._ledger.withdraw(row)
            await self._budget.settle(0, -(row.cost_pico_usd or 0))
            await self._budget.give_back(0)
        if batch.file_id:
            try:
                await self._provider.discard(batch.file_id)
            except LlmError as error:  # an unused file costs nothing
                message = _(
                    "the uploaded file {file} could not be deleted at {provider}: {reason}",
                    file=batch.file_id,
                    provider=self._provider.name,
                    reason=error.message,
                )
                self._batches.note(message)
        self._journal.enter(batch, "dropped")

    async def _book(self, custom_id: str, outcome: RequestOutcome) -> None:
        settings = self._settings
        unknown = Attempt("", 1, HTTP, UNFINISHED, settings.model, role=settings.role)
        # After a power cut the ledger may lack rows that the journal of batches has.
        before = self._ledger.row_of(custom_id) or replace(unknown, custom_id=custom_id)
        if before.status != UNFINISHED:
            return
        after = ended_row(before, outcome, self._price)
        self._ledger.append(after)
        await self._budget.settle(0, (after.cost_pico_usd or 0) - (before.cost_pico_usd or 0))


class _UnknownError(Exception):
    def __init__(self, error: LlmError) -> None:
        super().__init__(str(error))
        self.error = error


def _with_hint(error: LlmError) -> LlmError:
    if error.status != HTTPStatus.NOT_FOUND:
        return error
    message = _(
        "{reason}. Check that the environment contains the API key of the account that sent the batch.",
        reason=error.message,
    )
    return LlmError(message, *error.args[1:])


def _may_cost(error: LlmError) -> LlmError:
    return LlmError(*error.args[:4], may_cost=True)


def ended_row(worst: Attempt, outcome: RequestOutcome, price: Price | None) -> Attempt:
    """Return the row of a request without its text: as the server counted it, or else with its upper bound."""
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
    """The requests of one batch and their lines, by id."""

    tag: str
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    lines: dict[str, bytes] = field(default_factory=dict[str, bytes])


def parts(entries: Sequence[Entry], provider: Provider) -> list[Part]:
    """Split requests into batches within the limits of the provider."""
    limits: Limits = provider.limits
    split: list[Part] = []
    size = 0
    for entry in entries:
        if not split or len(split[-1].entries) == limits.requests:
            split.append(Part(f"gm-{token_hex(8)}"))
            size = 0
        line = _line(split[-1], entry, provider)
        if size + len(line) > limits.bytes - _ENVELOPE and split[-1].entries:
            split.append(Part(f"gm-{token_hex(8)}"))
            size = 0
            line = _line(split[-1], entry, provider)
        custom_id = f"{split[-1].tag}-{len(split[-1].entries)}"
        split[-1].entries[custom_id], split[-1].lines[custom_id] = entry, line
        size += len(line)
    return split


def _line(part: Part, entry: Entry, provider: Provider) -> bytes:
    return provider.line(f"{part.tag}-{len(part.entries)}", entry.request)


async def look_at_all(batches: Iterable[Batch], *, cancel: bool) -> list[str]:
    """Return the state of batches, one line each, and `cancel` them; raise LlmError if a provider is unreachable."""
    return [await _look_at(batch, cancel=cancel) for batch in batches]


async def _look_at(batch: Batch, *, cancel: bool) -> str:
    requests = n_(
        "{n} request to {model}",
        "{n:,} requests to {model}",
        n=len(batch.requests),
        model=batch.model,
    )
    if not batch.is_open or not batch.batch_id:
        known = batch.batch_id or batch.tag
        return _(
            "{batch}: {requests}: {status}", batch=known, requests=requests, status=batch.stage
        )
    settings = ModelSettings(batch.model, api_base=batch.api_base, key_variable=batch.key_variable)
    provider = provider_of(settings)
    try:
        state = await provider.look(batch.batch_id)
        if cancel and not state.ended:
            state = await provider.cancel(batch.batch_id)
    finally:
        await provider.close()
    return _(
        "{batch}: {requests}: {status}, {done:,} of {total:,} requests done",
        batch=batch.batch_id,
        requests=requests,
        status=state.status,
        done=state.done,
        total=state.total,
    )
