"""Evaluate items with a model; keep paid replies in `unfinished_folder` despite Ctrl-C, kill or errors."""

import asyncio
import math
import shlex
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar, cast

from gigamind.datasets.sample import sample
from gigamind.errors import (
    BudgetError,
    EvaluationError,
    InputError,
    LlmCode,
    LlmError,
    UnwrittenError,
)
from gigamind.evaluation import shards
from gigamind.evaluation.options import ModelRunOptions
from gigamind.evaluation.progress import Narrator, Progress
from gigamind.event_loop import run_async
from gigamind.i18n import Message, Text, _, from_json, joined
from gigamind.llm.ask import LanguageModel
from gigamind.llm.batches.batcher import Batches, read_batches
from gigamind.llm.budget import Budget
from gigamind.llm.faults import advice_for
from gigamind.llm.ledger import Ledger, Totals
from gigamind.llm.limiter import Limiters
from gigamind.llm.settings import ModelOptions, ModelSettings
from gigamind.runs.store import ItemKey, ItemResult, RunStore, evaluate_all

_Item = TypeVar("_Item")
_BEAT_S = 1.0
# If the first items all end like this, the cause is not the item, and asking stops as well.
_ALIKE: frozenset[LlmCode] = frozenset({
    *("bad_request", "invalid_output", "malformed_response"),
    *("server_error", "timeout", "rate_limited"),
})  # fmt: skip
_ENOUGH = 8  # equal errors in a row, without one success
_MOST_IN_BATCHES = 50_000  # items whose conversations are held in memory
# What may help if the error of a model is final.
_FIX = _("another --model, or your own judge file (--judge)")
_FIX_BY_CODE = {
    "invalid_output": _("another --model, --structured md_json, or your own judge file (--judge)"),
    "truncated": _("another --model, or your own judge file (--judge) with a larger max_tokens"),
}

Models = Mapping[str, Mapping[str, LanguageModel]]
"""The models of a run: by role (`judge`, `answer`, ...), then by name, in order."""


def _every_model(models: Models) -> list[LanguageModel]:
    """Return all models."""
    return [model for named in models.values() for model in named.values()]


@dataclass(frozen=True, slots=True)
class Account:
    """Budget, ledger and stores that all models of a run share; see `LanguageModel.open`."""

    ledger: Ledger
    replies: Path
    budget: Budget
    limiters: Limiters = field(default_factory=Limiters)
    batches: Batches | None = None
    shard: shards.Shard | None = None

    @classmethod
    def of(
        cls,
        options: ModelRunOptions,
        ledger: Ledger,
        out: Path,
        progress: Progress,
        shard: shards.Shard | None = None,
    ) -> Self:
        """Return the account of a run, resumed run or shard; InputError if it has open batches but no `--batch`."""
        folder = shards.unfinished_folder(out)
        if shard and not shard.gathers:
            budget = shard.budget(options, folder)
            return cls(ledger, options.replies, budget, Limiters(alone=False), None, shard)
        spent = Totals.of(shards.attempts_of(out)) if options.resume else None
        batches = None
        if options.batch:
            tell: Callable[[str], None] = (
                progress.tell if isinstance(progress, Narrator) else lambda _line: None
            )
            batches = Batches(out, folder, options.batch_poll, tell)
        elif any(batch.is_open for batch in read_batches(folder)):
            raise InputError(
                "--resume {folder}: the run sent batches whose results are not read yet. To read them, add"
                " --batch. To stop them first, run: gigamind llm batches {folder} --cancel",
                folder=shlex.quote(str(out)),
            )
        return cls(ledger, options.replies, Budget.of(options, spent), batches=batches)

    def open(
        self,
        role: str,
        names: Iterable[str],
        options: ModelOptions,
        adjust: Callable[[ModelSettings], ModelSettings],
    ) -> dict[str, LanguageModel]:
        """Open the models of these names for one role; `adjust` adapts their settings."""

        def with_role(settings: ModelSettings) -> ModelSettings:
            adjusted = replace(adjust(settings), role=role)
            if self.shard:
                return self.shard.share(adjusted)
            # All requests wait for one batch; the provider decides how many run at a time.
            return replace(adjusted, max_in_flight=_MOST_IN_BATCHES) if self.batches else adjusted

        paid = (self.ledger, self.replies, with_role, self.budget)
        opened = partial(LanguageModel.open, options, *paid, batches=self.batches)
        return {name: opened(model=name, limiters=self.limiters) for name in names}


def ask_all(
    items: Mapping[ItemKey, _Item],
    ask: Callable[[Models, ItemKey, _Item], Awaitable[Any]],
    connect: Callable[[Account], Models],
    identity: Mapping[str, str],
    options: ModelRunOptions,
    *,
    out: Path,
    progress: Progress,
    begun: bool = False,
    stage: Callable[[ItemKey], Text] = lambda _key: _("Judging"),
    needs: Callable[[ItemKey, _Item], int] = lambda _key, _item: 1,
    shard: shards.Shard | None = None,
) -> shards.ModelRun:
    """Evaluate every item that has no final result yet.

    Args:
        ask: returns JSON values for an item, using the models of `connect`; raises LlmError on failure.
        connect: opens the models with the account of the run.
        identity: what the run is of, by name; checked by `--resume`.
        begun: this process has begun the run; like `--resume`, it then continues.
        stage: name of the stage of an item, for the progress.
        needs: calls that an item needs if every reply is valid.
        shard: the part of the run that `items` are; None for the whole run, an empty one for its known results.

    Raises:
        InputError: a run to resume is missing or of something else, or one exists already.
        LlmError: a model cannot be called at all: its key is missing, or its provider unknown.
        EvaluationError: no item could be evaluated; says why most failed, and what may help.
    """
    run = shards.unfinished_folder(out)
    others, gathers = shards.folders_of(run, shard), shard is not None and shard.gathers
    folder, interrupted = run, False
    if shard is not None and not gathers:
        RunStore.check(run, identity)
        folder = shard.begin(run)
    begun = begun or options.resume is not None or (gathers and shards.is_resumable(out))
    with RunStore(folder, identity, resume=begun and folder == run) as store:
        if others != [folder]:
            known_before = shards.results_in(others)
            store.results |= {key: known_before[key] for key in items if key in known_before}
        ledger = Ledger(folder / shards.ATTEMPTS_FILE)
        try:
            models = connect(Account.of(options, ledger, out, progress, shard))
        except BaseException:
            ledger.close()
            if not store.results and not ledger.rows and others == [folder]:
                shutil.rmtree(folder)  # nothing to keep, so the next attempt need not resume
            raise
        stages = _Stages(items, stage, progress, models, store)
        guarded = _Guarded(ask, models, stages, shard, needs)
        known: dict[ItemKey, ItemResult] = {}
        try:
            asking = _all({} if gathers else items, guarded, store)
            is_left = None if folder == run else lambda: not shards.is_awaited(run)
            known = {result.key: result for result in run_async(asking, is_left)}
        except KeyboardInterrupt:
            interrupted = True
        except UnwrittenError as error:
            raise UnwrittenError(
                "{reason}. The run was stopped; finished items are kept. Free some disk space, then resume"
                " with --resume {folder}.",
                reason=error.message,
                folder=out,
            ) from error
        finally:
            ledger.close()  # models close it, too, where there are any
        if folder != run:
            for skipped in (end for end in known.values() if end.outcome == "skipped_budget"):
                store.append(skipped)  # so that gathering knows that it was tried
        known = known or {key: store.results[key] for key in items if key in store.results}
    unasked = tuple(key for key in items if key not in known)
    if items and not interrupted and not unasked and folder == run:
        _refuse_hopeless(known, out, allow_none=options.allow_partial)
    rows = shards.rows_in(others[1:]) if folder == run else ()
    return shards.ModelRun(known, (*ledger.rows, *rows), interrupted, unasked)


def judged_again(names: Sequence[str], share: float, seed: int) -> frozenset[str]:
    """Return the items to judge a second time, to measure consistency; the same for equal seeds."""
    return frozenset(sample(names, math.ceil(share * len(names)), seed))


@dataclass
class _Stages:
    """Reports the progress of each stage, and problems of the servers."""

    items: Collection[ItemKey]
    stage: Callable[[ItemKey], Text]
    progress: Progress
    models: Models
    store: RunStore

    def __post_init__(self) -> None:
        self._totals = Counter(map(self.stage, self.items))
        self._done = Counter(self.stage(key) for key in self.items if self.store.final(key))
        self._without_verdict = 0
        self._limiters = {model.limiters for model in _every_model(self.models)}
        if isinstance(self.progress, Narrator):
            for limiters in self._limiters:
                limiters.tell, limiters.changed = self.progress.tell, self._tell_trouble
        for name, total in self._totals.items():
            if self._done[name] < total:
                self.progress.stage(name, self._done[name], total)

    def ended(self, key: ItemKey, *, scored: bool) -> None:
        name = self.stage(key)
        self._done[name] += 1
        self._without_verdict += not scored
        self.progress.stage(name, self._done[name], self._totals[name])
        self._tell_trouble()

    async def beat(self) -> None:
        """Report problems repeatedly until cancelled, because a slow server may end no item for minutes."""
        while True:
            await asyncio.sleep(_BEAT_S)
            self._tell_trouble()

    def _tell_trouble(self) -> None:
        if isinstance(self.progress, Narrator):
            count = self._without_verdict
            lost = _("items without a verdict: {count:,}", count=count) if count else ""
            troubles = (lost, *(limiters.describe() for limiters in self._limiters))
            self.progress.trouble(joined(filter(None, troubles), ", "))


@dataclass
class _Guarded:
    """Evaluates one item; stops asking after an error that affects every item, or many equal ones without success."""

    ask: Callable[[Models, ItemKey, Any], Awaitable[Any]]
    models: Models
    stages: _Stages
    shard: shards.Shard | None
    needs: Callable[[ItemKey, Any], int]

    def __post_init__(self) -> None:
        hopeless = self.shard.hopeless if self.shard else None
        # The messages of shards come as JSON from another process.
        self._hopeless = (
            LlmError(from_json(hopeless[0]), cast("LlmCode", hopeless[1])) if hopeless else None
        )
        self._succeeded = self.shard.succeeded if self.shard else False
        self._alike: list[LlmCode] = []

    @property
    def most_in_flight(self) -> int:
        return max((model.settings.max_in_flight for model in _every_model(self.models)), default=1)

    async def __call__(self, key: ItemKey, item: Any) -> Any:  # noqa: ANN401  JSON values
        if self._hopeless:
            raise self._hopeless
        scored = False
        try:
            async with self._reserved(key, item):
                value = await self.ask(self.models, key, item)
        except LlmError as error:
            self._failed(error)
            raise
        else:
            scored = self._succeeded = True
            if self._hopeless and self._hopeless.code == "not_asked":
                self._hopeless = None  # this item was in flight when the others failed
            return value
        finally:
            self.stages.ended(key, scored=scored)

    def _reserved(self, key: ItemKey, item: Any) -> AbstractAsyncContextManager[None]:  # noqa: ANN401  as above
        for model in _every_model(self.models)[:1]:  # they share a budget
            if model.budget.limits.holds_items:
                return model.budget.whole(self.needs(key, item))
        return nullcontext()

    def _failed(self, error: LlmError) -> None:
        if error.code in shards.HOPELESS:
            self._hopeless = error
        elif not self._succeeded and error.code in _ALIKE:
            alike = self._alike[-1:] in ([], [error.code])
            self._alike = [*(self._alike if alike else ()), error.code]
            if len(self._alike) == _ENOUGH:
                advice = advice_for(error, _every_model(self.models)[0].settings)
                self._hopeless = LlmError(
                    _(
                        "not sent to the model, because the first {count} items failed with the same error:"
                        " {reason} ({code}). {advice}",
                        count=_ENOUGH,
                        reason=error.message,
                        code=error.code,
                        advice=advice,
                    ),
                    "not_asked",
                )


async def _all(
    items: Mapping[ItemKey, _Item], guarded: _Guarded, store: RunStore
) -> Sequence[ItemResult]:
    beat = asyncio.create_task(guarded.stages.beat())
    try:
        results = await evaluate_all(items, guarded, store, max_in_flight=guarded.most_in_flight)
        if guarded.shard:  # the next shard starts at once, and all shards share the rate limit
            limiters = (model.limiters for model in _every_model(guarded.models))
            rests = (limiter.rest_s for each in limiters for limiter in each.by_server.values())
            await asyncio.sleep(max(rests, default=0.0))
    except ExceptionGroup as errors:
        unwritten, others = errors.split(UnwrittenError)
        if unwritten is None or others is not None:
            raise
        first: Exception = unwritten
        while isinstance(first, ExceptionGroup):
            first = first.exceptions[0]
        raise first from None
    else:
        return results
    finally:
        beat.cancel()
        for model in _every_model(guarded.models):
            await model.close()


def _refuse_hopeless(results: Mapping[ItemKey, ItemResult], out: Path, *, allow_none: bool) -> None:
    """Raise if a run has no verdict at all, with the error that stopped it or the most frequent one."""
    if any(result.outcome == "scored" for result in results.values()):
        return
    if allow_none and not any(result.code in shards.HOPELESS for result in results.values()):
        return
    codes = Counter(result.code for result in results.values())
    code = "not_asked" if "not_asked" in codes else codes.most_common(1)[0][0]
    first = next(result for result in results.values() if result.code == code)
    kind = BudgetError if code == "budget_exceeded" else EvaluationError
    raise kind(
        "no item could be judged: {reason} ({code}). {advice}",
        reason=first.message or code,
        code=code,
        advice=_advice(first, out),
    )


def _advice(first: ItemResult, out: Path) -> Message:
    """Return how to continue: resume the run, or if the error is final, run it in another way."""
    if first.is_final:
        return _(
            "The error is final: --resume {folder} does not repeat the failed requests. Start a new run with"
            " another --out. Use {fix}. To ask the same model again, add --store-mode refresh. All requests are in"
            " {file}.",
            folder=out,
            fix=_FIX_BY_CODE.get(first.code, _FIX),
            file=shards.unfinished_folder(out) / shards.ATTEMPTS_FILE,
        )
    resume = _("Resume with --resume {folder}. Finished items are kept.", folder=out)
    return joined(filter(None, (_BEFORE_RESUMING.get(first.code), resume)), " ")


_FIX_PROBLEM = _("Fix the problem.")
_BEFORE_RESUMING: Mapping[str, Message] = {
    "auth_failed": _FIX_PROBLEM,
    "quota_exhausted": _FIX_PROBLEM,
    "not_asked": _FIX_PROBLEM,
    "budget_exceeded": _("Raise the limit."),
    "cassette_miss": _("Allow new requests with --store-mode readwrite."),
}
