"""Collect the requests of one model into batches, send them, wait for them, and resume batches of a killed run.

Requests in quick succession form one batch, sent when no more have come for a moment.  Follow-up requests to the
answers of a batch (a second check, a repeated request after an invalid reply) form the next, smaller one.
"""

import asyncio
import shlex
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal

from gigamind.errors import LlmError
from gigamind.i18n import _, n_
from gigamind.llm.batches.providers import Provider, RequestOutcome, State, provider_of
from gigamind.llm.client import Answer, Request
from gigamind.llm.faults import TRANSIENT, with_retries
from gigamind.llm.ledger import UNFINISHED, Attempt
from gigamind.llm.sender import Booking, Call
from gigamind.llm.settings import ModelSettings
from gigamind.llm.store import key_of
from gigamind.runs.store import Journal, read_journal

_BATCHES_FILE = "batches.jsonl"
_Stage = Literal["made", "creating", "created", "ended", "read", "dropped"]
_OPEN: frozenset[_Stage] = frozenset({"creating", "created", "ended"})


@dataclass(frozen=True, slots=True)
class _Batch:
    """One batch."""

    tag: str  # ours; the ids of its requests begin with it
    model: str
    role: str  # purpose of its requests
    api_base: str | None
    key_variable: str | None
    requests: Mapping[str, str]  # hash of each request, by its id
    stage: _Stage = "made"
    at: float = 0.0  # time of its last stage, in seconds since the epoch
    batch_id: str = ""
    status: str = ""  # in the provider's terms

    @property
    def is_open(self) -> bool:
        """Whether it has results that may cost money and are not read."""
        return self.stage in _OPEN


class Batches:
    """The batches of all models of a run, and the only writer of its `batches.jsonl`.

    Args:
        folder: Has their files until the run is finished; results are stored in `batches/`.
        poll_s: Seconds between the first two polls of a batch.
        note: Receives messages.
    """

    def __init__(self, out: Path, folder: Path, poll_s: float, note: Callable[[str], None]) -> None:
        self.out = out
        self.note = note
        self.poll_s = poll_s
        self.longest_poll_s = max(poll_s, 300.0)
        self.quiet_s = min(poll_s, 1.0)  # without another request, the collected ones are sent
        self.listed_s = min(3 * poll_s, 30.0)  # then a created batch is in the provider's list
        self._folder = folder
        self._batches = {batch.tag: batch for batch in read_batches(folder)}
        self._journal: Journal | None = None

    def __iter__(self) -> Iterator[_Batch]:
        return iter(list(self._batches.values()))

    def enter(self, batch: _Batch, stage: _Stage, /, **facts: Any) -> _Batch:  # noqa: ANN401  JSON values
        """Return the batch at its next stage, which is on disk on return."""
        facts |= {"stage": stage, "at": round(time.time(), 3)}
        if self._journal is None:
            self._journal = Journal(self._folder / _BATCHES_FILE, sync=True)
        self._journal.append({"tag": batch.tag, **facts})
        self._batches[batch.tag] = after = replace(batch, **facts)
        return after

    def results_of(self, batch: _Batch) -> Path:
        """Return the file of its results in the provider's form."""
        folder = self._folder / "batches"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{batch.tag}.jsonl"

    def close(self) -> None:
        """Release the file for the next writer."""
        if self._journal:
            self._journal.close()
            self._journal = None  # models that share it each close it


def read_batches(folder: Path) -> list[_Batch]:
    """Return the batches of a run with their last stages; raise InputError if the file was edited."""
    batches: dict[str, dict[str, Any]] = {}
    for row in read_journal(folder / _BATCHES_FILE):
        batches.setdefault(row["tag"], {}).update(row)
    known = {each.name for each in fields(_Batch)}  # other versions have more
    return [
        _Batch(**{name: facts[name] for name in facts if name in known})
        for facts in batches.values()
    ]


_SLOWER = 1.5  # factor of each wait over the previous one
_ENVELOPE = 64  # bytes around the requests
_REPORTS = 10  # progress reports per batch


@dataclass(slots=True)
class _Entry:
    """A request on its way."""

    line: bytes
    worst: Attempt  # its row if nothing comes of it
    identity: str
    call: Call  # has been sent if the batch may exist; its upper bound is then in the ledger
    ended: asyncio.Future[Answer] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


@dataclass(eq=False)
class BatchSender(Booking):
    """Sends in batches; raises as `provider_of`.  A failed request is not retried; `--resume` requests it again."""

    batches: Batches

    def __post_init__(self) -> None:
        self._provider = provider_of(self.settings)
        self._collected: list[_Entry] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._recovery: asyncio.Task[None] | None = None
        # By the resumed run, with their ids.
        self._paid: defaultdict[str, deque[tuple[str, Answer]]] = defaultdict(deque)
        self._waited_for: dict[str, _Batch] = {}

    async def ready(self) -> None:
        """Wait for the batches of the resumed run; raise LlmError if they are not available."""
        self.budget.start()
        if self._recovery is None:
            self._recovery = asyncio.create_task(self._recover())
        await asyncio.shield(self._recovery)

    async def close(self) -> None:
        """Stop waiting, and report the batches that are still open."""
        tasks = [*self._tasks, *([self._recovery] if self._recovery else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._provider.close()
        self.batches.close()
        for batch in self._waited_for.values():
            message = _(
                "This run stopped, but batch {batch} continues at {provider}. Wait for its results with --resume"
                " {out}, or cancel the batch with: gigamind llm batches {out} --cancel",
                batch=batch.batch_id,
                provider=self._provider.name,
                out=shlex.quote(str(self.batches.out)),
            )
            self.batches.note(message)

    async def send(self, request: Request, call: Call) -> Answer:
        paid = self._paid.get(_identity(request, call))
        if not paid:
            call.custom_id = f"gm-{token_hex(8)}"
            return await self._attempt(request, call)
        call.custom_id, answer = paid.popleft()
        # After a power cut the ledger may lack rows that the journal of batches has.
        before = self.ledger.row_of(call.custom_id)
        ended, row = self._answered(request, answer, before or self._worst(request, call))
        call.attempts += 1
        booked = (before.cost_pico_usd or 0) if before else 0
        await self.budget.settle(-booked, -booked)  # reserved again
        return await self._booked(call, ended, row, booked)

    async def _through(self, request: Request, worst: Attempt, call: Call) -> Answer:
        self.budget.check_time()
        line = self._provider.line(worst.custom_id, request)
        entry = _Entry(line, worst, _identity(request, call), call)
        self._collected.append(entry)
        if len(self._collected) == 1:
            task = asyncio.create_task(self._depart())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await entry.ended

    async def _depart(self) -> None:
        """Send the collected requests when no more have come for a moment."""
        known = 0
        while known < len(self._collected):
            known = len(self._collected)
            await asyncio.sleep(self.batches.quiet_s)
        entries, self._collected = self._collected, []
        await asyncio.gather(*map(self._carry, _parts(entries, self._provider)))

    async def _carry(self, entries: Sequence[_Entry]) -> None:
        """Send a batch, and set the result or error of each of its requests."""
        outcomes: Mapping[str, Answer | Exception]
        try:
            outcomes = await self._send_batch(entries)
        except Exception as error:  # noqa: BLE001  a bug must reach the waiting callers
            outcomes = dict.fromkeys((entry.worst.custom_id for entry in entries), error)
        for entry in entries:
            outcome = outcomes[entry.worst.custom_id]
            if entry.ended.done():
                continue
            if isinstance(outcome, Answer):
                entry.ended.set_result(outcome)
            else:  # a copy for each, because raising adds a traceback
                entry.ended.set_exception(copy(outcome))

    async def _send_batch(self, entries: Sequence[_Entry]) -> dict[str, RequestOutcome]:
        """Send a batch and wait for it; nothing is charged before the batch can be created."""
        settings, tag = self.settings, f"gm-{token_hex(8)}"
        lines = [entry.line for entry in entries]
        identities = {entry.worst.custom_id: entry.identity for entry in entries}
        whose = (settings.model, settings.role, settings.api_base, settings.key_variable)
        batch = _Batch(tag, *whose, identities)
        batch = self.batches.enter(batch, "made", **asdict(batch))
        file_id = await with_retries(partial(self._provider.upload, tag, lines), settings)
        self.budget.check_time()
        if any(entry.ended.cancelled() for entry in entries):
            raise LlmError(_("the run stopped before the requests were sent"), "not_asked")
        for entry in entries:
            self.ledger.start(entry.worst)
            entry.call.sent = time.perf_counter()
        batch = self.batches.enter(batch, "creating")
        try:
            state = await self._create(batch, file_id, lines)
        except LlmError as error:
            if not error.may_cost:
                for entry in entries:
                    self.ledger.withdraw(entry.worst)
                    entry.call.sent = None
                self.batches.enter(batch, "dropped")
            raise
        return await self._outcomes(self._created(batch, state))

    async def _create(self, batch: _Batch, file_id: str, lines: Sequence[bytes]) -> State:
        """Create the batch of these lines exactly once; an LlmError says by `may_cost` whether it may exist."""
        may_exist = False

        async def attempt() -> State:
            nonlocal may_exist
            try:
                return await self._provider.create(batch.tag, file_id, lines)
            except LlmError as error:
                is_server_error = (error.status or 0) >= HTTPStatus.INTERNAL_SERVER_ERROR
                may_exist = error.may_cost or is_server_error
                state = await self._find(batch) if may_exist else None
                may_exist = False
                if state is None:
                    raise
                return state

        try:
            return await with_retries(attempt, self.settings, hopeless=lambda: may_exist)
        except LlmError as error:
            raise LlmError(*error.args[:4], may_cost=may_exist) from None

    def _created(self, batch: _Batch, state: State) -> _Batch:
        message = n_(
            "batch {batch} was created at {provider}: {n} request to {model}",
            "batch {batch} was created at {provider}: {n:,} requests to {model}",
            n=len(batch.requests),
            batch=state.batch_id,
            provider=self._provider.name,
            model=batch.model,
        )
        self.batches.note(message)
        return self.batches.enter(batch, "created", batch_id=state.batch_id)

    async def _outcomes(self, batch: _Batch) -> dict[str, RequestOutcome]:
        """Return the result of each request of a batch, after all have ended."""
        path, problem = self.batches.results_of(batch), self._provider.without_result(batch.status)
        if batch.stage != "read":
            self._waited_for[batch.tag] = batch
            try:
                state = await self._until_ended(batch)
                problem = state.problem
                batch = self.batches.enter(batch, "ended", status=state.status)
                await self._provider.download(state, path)
            except LlmError as error:
                raise LlmError(*error.args[:4], may_cost=True) from None
            batch = self.batches.enter(batch, "read")
            del self._waited_for[batch.tag]
        outcomes = self._provider.read(path)
        return {name: outcomes.get(name) or problem for name in batch.requests}

    async def _until_ended(self, batch: _Batch) -> State:
        wait, announced = self.batches.poll_s, ("", -1)
        while True:
            try:
                state = await self._provider.look(batch.batch_id)
            except LlmError as error:
                if error.code not in TRANSIENT:
                    hint = _(
                        "{reason}. Check that the environment contains the API key of the account that sent the batch.",
                        reason=error.message,
                    )
                    text = hint if error.status == HTTPStatus.NOT_FOUND else error.message
                    raise LlmError(text, *error.args[1:]) from None
                message = _(
                    "batch {batch}: the status could not be read ({reason}); gigamind tries again",
                    batch=batch.batch_id,
                    reason=error.message,
                )
                self.batches.note(message)
            else:
                share = _REPORTS * state.done // max(state.total, 1)
                if (state.status, share) != announced:
                    announced = state.status, share
                    self.batches.note(
                        _(
                            "batch {batch}: {progress}",
                            batch=batch.batch_id,
                            progress=_progress(state),
                        )
                    )
                if state.ended:
                    return state
            await self.budget.sleep(wait)
            wait = min(_SLOWER * wait, self.batches.longest_poll_s)

    async def _find(self, batch: _Batch) -> State | None:
        others = {known.batch_id for known in self.batches}
        while True:
            is_late = time.time() >= batch.at + self.batches.listed_s
            for state in await self._provider.find(batch.tag, batch.at, len(batch.requests)):
                if state.batch_id not in others and await self._is(batch, state):
                    return state
            if is_late:
                return None
            await asyncio.sleep(self.batches.poll_s)

    async def _is(self, batch: _Batch, state: State) -> bool:
        """Return whether a found batch is ours; one without a tag is recognised by its results."""
        if self._provider.is_tagged:
            return True
        message = _(
            "batch {batch} may be the batch of this run whose id was lost; gigamind checks this when the batch ends",
            batch=state.batch_id,
        )
        self.batches.note(message)
        ended = await self._until_ended(replace(batch, batch_id=state.batch_id))
        path = self.batches.results_of(batch)
        await self._provider.download(ended, path)
        return any(custom_id in batch.requests for custom_id in self._provider.read(path))

    async def _recover(self) -> None:
        whose = (self.settings.model, self.settings.role, self.settings.api_base)
        mine = [each for each in self.batches if (each.model, each.role, each.api_base) == whose]
        await asyncio.gather(*map(self._resume, mine))

    async def _resume(self, batch: _Batch) -> None:
        if batch.stage == "creating" and (state := await self._find(batch)):
            batch = self._created(batch, state)
        if batch.stage != "dropped" and not batch.batch_id:  # it was never created
            for row in filter(None, map(self.ledger.row_of, batch.requests)):
                self.ledger.withdraw(row)
                await self.budget.settle(0, -(row.cost_pico_usd or 0))
                await self.budget.give_back(0)
            self.batches.enter(batch, "dropped")
        elif batch.stage != "dropped":
            for custom_id, outcome in (await self._outcomes(batch)).items():
                before = self.ledger.row_of(custom_id)
                if isinstance(outcome, Answer):
                    self._paid[batch.requests[custom_id]].append((custom_id, outcome))
                elif before and before.status == UNFINISHED:
                    after = before.failed(outcome)
                    self.ledger.append(after)
                    change = (after.cost_pico_usd or 0) - (before.cost_pico_usd or 0)
                    await self.budget.settle(0, change)


def _identity(request: Request, call: Call) -> str:
    return key_of({
        "messages": [dict(message) for message in request.messages],
        "schema": request.form,
        "parameters": dict(request.parameters),
        "item": call.item_id,
        "key": call.key,
        "fresh": call.fresh,
    })  # fmt: skip


def _parts(entries: Iterable[_Entry], provider: Provider) -> list[list[_Entry]]:
    """Split requests into batches within the limits of a provider."""
    split: list[list[_Entry]] = []
    left = 0
    for entry in entries:
        left -= len(entry.line)
        if not split or left < 0 or len(split[-1]) == provider.most_requests:
            split.append([])
            left = provider.most_bytes - _ENVELOPE - len(entry.line)
        split[-1].append(entry)
    return split


def _progress(state: State) -> str:
    return _(
        "{status}, {done:,} of {total:,} requests done",
        status=state.status,
        done=state.done,
        total=state.total,
    )


async def look_at(batch: _Batch, *, cancel: bool) -> str:
    """Return a line on the state of a batch, and `cancel` it; raise LlmError if its provider is unreachable."""
    progress: str = batch.stage
    if batch.is_open and batch.batch_id:
        provider = provider_of(
            ModelSettings(batch.model, api_base=batch.api_base, key_variable=batch.key_variable)
        )
        try:
            state = await provider.look(batch.batch_id)
            if cancel and not state.ended:
                state = await provider.cancel(batch.batch_id)
        finally:
            await provider.close()
        progress = _progress(state)
    return n_(
        "{batch}: {n} request to {model}: {progress}",
        "{batch}: {n:,} requests to {model}: {progress}",
        n=len(batch.requests),
        batch=batch.batch_id or batch.tag,
        model=batch.model,
        progress=progress,
    )
