"""Gets the answers of a run from a system or a model, has models judge and check them, and estimates the cost of that.

A model answers as the product does (spec 004): only from the notes, citing `[노트 1]` or `[Note 1]`. One process sends
all questions to a system and stores its answers next to the out folder, so `--max-concurrency` applies to the run; a
resumed run sends those without an answer.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cache, partial
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from gigamind.errors import LlmError, SystemFailedError, text_of
from gigamind.evaluation.asking import Account, Models, ask_all, judged_again
from gigamind.evaluation.costs import estimate_calls
from gigamind.evaluation.inputs import SHORTER_CONTEXT
from gigamind.evaluation.options import ModelRunOptions
from gigamind.evaluation.progress import Progress
from gigamind.evaluation.shards import (
    ModelRun,
    Shard,
    folders_of,
    is_resumable,
    results_in,
    unfinished_folder,
)
from gigamind.evaluation.task import Estimate, Evaluation, Run
from gigamind.evaluation.workers import Interrupted, ItemOutcome, run_workers
from gigamind.i18n import Language, Text, _, translator
from gigamind.interop.ranking import Oddity, Reply
from gigamind.judges.protocol import AnswerCase, Asking, Judge, PlannedCall, Verdict
from gigamind.judges.quality_gate import QualityGate
from gigamind.llm.client import Message
from gigamind.llm.limiter import Limiters
from gigamind.llm.store import Store
from gigamind.outcome import Failure, attempt
from gigamind.prompting.fences import fence_key
from gigamind.prompting.prompts import Prompt, as_json
from gigamind.prompting.replies import ModelReply, Most
from gigamind.records.judged import ProofReport, SearchQAEvaluation, VerdictReport
from gigamind.runs.store import (
    FINAL,
    ItemKey,
    ItemResult,
    RunStore,
    outcome_of,
    read_results,
    unless_final,
)
from gigamind.systems.dialect import ANSWERS, MOST_FAILED
from gigamind.systems.open import open_system
from gigamind.systems.protocol import Answerer, Guarded, Query, System
from gigamind.tasks.answers import NO_NOTES
from gigamind.tasks.answers.prepared import (
    GATE_ROLE,
    SYSTEM_ROLE,
    EvalCase,
    PreparedAnswers,
)
from gigamind.tasks.answers.schema import (
    AnswerItemReport,
    AnswerRunRecord,
    AnswerSummaryReport,
    question_id,
)
from gigamind.tasks.answers.summary import record_answers

_JUDGE_ROLE = "judge"
_ANSWER_ROLE = "answer"
_ANSWER_TEMPERATURE = 0.0
_SHORTER_ROW = _(
    "in the answer's dataset row, shorten `context_notes` to the relevant parts of notes"
)
_SHORTER_REPLY = _(
    "let the system return as `contexts` only the parts of notes that it used for its answer"
)


class AnswerReply(ModelReply, frozen=True):
    """The model's answer."""

    answer: Annotated[str, Most(8_000)] = Field(
        description="the answer, with the notes it rests on named in each sentence"
    )


@cache
def _prompt(language: Language) -> Prompt:
    return Prompt.included("search_answer/v1", language, ("nonce", "notes", "question"))


def _messages(case: EvalCase, fence_key: bytes) -> list[Message]:
    """Return the request for an answer."""
    prompt = _prompt(case.prompt_language)
    return prompt.about(case.sources, fence_key, question=as_json(case.question))


@dataclass(frozen=True, slots=True)
class _Asker:
    """Answers, judges and checks one item with models."""

    judge: Judge[AnswerCase, Any]
    gate: QualityGate | None
    fence_key: bytes
    fresh: frozenset[str]  # items that are judged and checked a second time
    stored: Mapping[str, str]  # stored answers of that model, by id
    shorter: Text  # advice if notes are longer than a model's context window
    store: Store  # for judges without an LLM
    # Pending answers; each is requested once, then judged and checked.
    answers: dict[str, asyncio.Future[str]] = field(default_factory=dict[str, asyncio.Future[str]])

    async def ask(self, models: Models, key: ItemKey, case: EvalCase) -> Any:  # noqa: ANN401  JSON values
        answer = await self._answer_of(models, case)
        answered, twice = case.answered(answer), case.id in self.fresh
        asking = Asking(
            models[GATE_ROLE if key.part == GATE_ROLE else _JUDGE_ROLE],
            case.id,
            self.fence_key,
            shorter=self.shorter,
            store=self.store,
            repeat=case.repeat,
        )
        if self.gate and key.part == GATE_ROLE:
            quality = await _checked(self.gate, answered, asking, twice=twice)
            return {"answer": answer, "quality": quality, "unread": dict(asking.unread)}
        value: dict[str, Any] = {"answer": answer, "evaluation": None, "flipped": None}
        try:
            verdict = await self.judge.judge(answered, asking)
        except LlmError as error:
            if case.answer is not None or outcome_of(error.code) not in FINAL:
                raise
            # The answer was paid for, so it is kept although its evaluation failed permanently.
            return {**value, "code": error.code, "message": str(error)}
        value |= _stored(verdict) | {"unread": dict(asking.unread)}
        if twice and verdict.scores:
            again = await unless_final(self.judge.judge(answered, asking.afresh()))
            # Without a second verdict, the first one counts.
            value["flipped"] = again.scores != verdict.scores if again and again.scores else None
        return value

    async def _answer_of(self, models: Models, case: EvalCase) -> str:
        known = case.answer if case.answer is not None else self.stored.get(case.id)
        if known is not None:
            return known
        if case.id not in self.answers:
            self.answers[case.id] = asyncio.ensure_future(self._generate(models, case))
        return await self.answers[case.id]

    async def _generate(self, models: Models, case: EvalCase) -> str:
        """Return the model's answer; without notes, a fixed answer that says so, without a request."""
        if not case.notes:
            return translator(case.prompt_language)(NO_NOTES)
        (model,) = models[_ANSWER_ROLE].values()
        reply = await model.ask(
            _messages(case, self.fence_key),
            AnswerReply,
            item_id=case.id,
            fingerprint=_prompt(case.prompt_language).fingerprint,
            repeat=case.repeat - 1,
        )
        return reply.answer


async def _checked(
    gate: QualityGate, case: AnswerCase, asking: Asking, *, twice: bool
) -> dict[str, Any]:
    """Check one answer, and return the JSON values of a `QualityReport`; a blank one needs no model.

    If the second check of `twice` fails permanently, the first one counts and `flipped` is null. Raises LlmError as
    `QualityGate.judge` does; for the second check, only transient ones.
    """
    report = (await gate.judge(case, asking)).detail
    again = None
    if twice and case.answer.strip():
        again = await unless_final(gate.judge(case, asking.afresh()))
    if again:
        pairs = zip(report.items, again.detail.items, strict=True)
        items = (own.model_copy(update={"flipped": own.yes != x.yes}) for own, x in pairs)
        flipped = report.passed != again.detail.passed
        report = report.model_copy(update={"items": tuple(items), "flipped": flipped})
    return report.model_dump(mode="json")


def _stored(verdict: Verdict[Any]) -> dict[str, Any]:
    """Return the JSON values that a run stores of a verdict."""
    if isinstance(verdict.detail, SearchQAEvaluation):
        return {"evaluation": verdict.detail.model_dump(mode="json")}
    if not verdict.scores:
        return {"verdict": None}
    report = VerdictReport.like(
        verdict,
        proof=tuple(map(ProofReport.like, verdict.proof)),
        flagged={number: tuple(flags) for number, flags in verdict.flags.items()},
    )
    return {"verdict": report.model_dump(mode="json")}


def _begin(prepared: PreparedAnswers, out: Path, progress: Progress) -> Mapping[str, str]:
    """Start or resume a run without any request, so that its models are opened; return its identity."""
    _ask_about(replace(prepared, cases={}), out, progress, None, begun=False)
    return _identity(prepared)


def _ask_about(
    prepared: PreparedAnswers, out: Path, progress: Progress, shard: Shard | None, *, begun: bool
) -> ModelRun:
    """Judge every answer of the run or shard with models; `begun` if the run has begun. Checks are separate."""
    options, cases = prepared.options, prepared.cases
    fresh = judged_again(list(cases), options.fresh_fraction, options.seed)
    if shard is not None:
        cases = dict(shard.of(list(cases.items())))
    if prepared.system:  # questions without an answer cannot be judged
        cases = {name: case for name, case in cases.items() if case.answer is not None}
    items = {ItemKey(name): case for name, case in cases.items()}
    if prepared.gate:  # last, because evaluations come first if the budget is too small for all
        items |= {ItemKey(name, GATE_ROLE): case for name, case in cases.items()}
    folders = folders_of(unfinished_folder(out), shard) if options.answer_model else ()
    stored = results_in(folders).values()
    shorter = SHORTER_CONTEXT if options.answer_model else _SHORTER_ROW
    asker = _Asker(
        prepared.judge.judge,
        prepared.gate.judge if prepared.gate else None,
        fence_key(options.replies, options.store_mode),
        fresh,
        {result.item_id: result.value["answer"] for result in stored if result.value},
        _SHORTER_REPLY if prepared.system else shorter,
        Store(options.replies, options.store_mode),
    )
    run = ask_all(
        items,
        asker.ask,
        partial(_open_models, prepared),
        _identity(prepared),
        options,
        out=out,
        progress=progress,
        begun=begun,
        stage=lambda key: "Checking" if key.part == GATE_ROLE else "Judging",
        needs=partial(_needs, prepared, fresh),
        shard=shard,
    )
    return replace(run, results={key: _failed(result) for key, result in run.results.items()})


def _needs(prepared: PreparedAnswers, fresh: Collection[str], key: ItemKey, case: EvalCase) -> int:
    judge, answering = prepared.judge.judge, 0
    if prepared.gate and key.part == GATE_ROLE:
        judge = prepared.gate.judge
    elif prepared.options.answer_model and case.notes:
        answering = 1
    calls = judge.calls(case.typical(by_system=prepared.system is not None))
    return answering + (2 if case.id in fresh else 1) * calls


def _open_models(prepared: PreparedAnswers, account: Account) -> Models:
    """Open the models of the judge, of answering if a model answers, and of the quality gate if there is one."""
    options, judge = prepared.options, prepared.judge.judge
    names = judge.models(options)
    models = {_JUDGE_ROLE: account.open(_JUDGE_ROLE, names, options, judge.settings)}
    if options.answer_model:
        models[_ANSWER_ROLE] = account.open(
            _ANSWER_ROLE,
            [options.answer_model],
            options.for_answering(),
            lambda settings: settings.spoken(
                _ANSWER_TEMPERATURE, options.answer_max_tokens, "--answer-max-tokens"
            ),
        )
    if prepared.gate:
        gate = prepared.gate.judge
        models[GATE_ROLE] = account.open(GATE_ROLE, gate.models(options), options, gate.settings)
    return models


def _failed(result: ItemResult) -> ItemResult:
    """Return a result with an answer but a failed evaluation as a failure."""
    value: dict[str, Any] = result.value or {}
    if not (code := value.get("code")):
        return result
    return replace(result, outcome=outcome_of(code), code=code, message=value["message"])


def _identity(prepared: PreparedAnswers) -> dict[str, str]:
    options = prepared.options
    settings = ("sample", "seed", "fresh_fraction", "repeats", "answer_model", "answer_max_tokens")
    searched = ("mode", "fusion", "embedder", "context_notes", "context_chars")
    named = (*settings, *searched) if options.answer_model else settings
    own = {"checklist": prepared.gate.report.fingerprint if prepared.gate else ""}
    return prepared.identity(prepared.judge.report, own, named)


_MIN_ANSWER = 40  # tokens


def _planned(prepared: PreparedAnswers, judge: Judge[AnswerCase, Any]) -> list[PlannedCall]:
    by_system = prepared.system is not None
    answers = (case.typical(by_system=by_system) for case in prepared.cases.values())
    return [call for answer in answers for call in judge.planned(answer)]


def _answering(prepared: PreparedAnswers, case: EvalCase) -> Iterator[PlannedCall]:
    if case.notes:
        most = prepared.options.answer_max_tokens
        yield PlannedCall.of(_messages(case, b""), AnswerReply, _MIN_ANSWER, most)


_MAX_FAILURES = 8  # after this many failures without any answer, no more questions are sent


@dataclass(frozen=True, slots=True)
class _SystemResults:
    """The answers of a system."""

    results: Mapping[ItemKey, ItemResult]  # of each completed question, by item
    interrupted: bool = False  # whether Ctrl-C stopped it
    warnings: tuple[str, ...] = ()  # data-quality warnings about the system

    @property
    def final(self) -> Mapping[ItemKey, ItemResult]:
        """The results; failures are final if they are few enough for a valid run.

        Otherwise a nightly run with one timeout would stay unfinished, and the next run would judge old answers.
        """
        failed = [key for key, result in self.results.items() if result.outcome != "scored"]
        if len(failed) > MOST_FAILED * len(self.results):
            return self.results
        final = {key: replace(self.results[key], outcome="unscored") for key in failed}
        return {**self.results, **final}


def _system_of(prepared: PreparedAnswers, answerer: Answerer | None) -> System[Reply]:
    """Return the system of a run, which is `answerer` if it is open; InputError if it cannot be opened."""
    options = prepared.options
    if answerer is not None:
        return Guarded(answerer, "answer", Reply)
    if options.is_builtin:
        raise TypeError("no system answers in this run")
    whole = options.sample is None and not prepared.errors
    return open_system(options.named_system, ANSWERS, prepared.cases.keys() if whole else None)


def _ask_system(
    prepared: PreparedAnswers, answerer: Answerer | None, out: Path, progress: Progress
) -> _SystemResults:
    """Start or resume the run of `out`, and send the questions without an answer, to `answerer` if it is open."""
    most = prepared.options.max_concurrency
    with (
        closing(_system_of(prepared, answerer)) as system,
        RunStore(unfinished_folder(out), _begin(prepared, out, progress), resume=True) as store,
    ):
        keys = [ItemKey(name, SYSTEM_ROLE) for name in prepared.cases]
        cases = [prepared.cases[key.item_id] for key in keys if store.final(key) is None]
        total, ended = len(keys), itertools.count(len(keys) - len(cases) + 1)
        is_run = prepared.system is not None and prepared.system.kind == "run"
        requests = _Requests(system)

        def store_result(outcome: ItemOutcome[Reply]) -> None:
            requests.count(outcome)
            store.append(_result(outcome, is_run=is_run))
            progress.stage("Questions", next(ended), total)

        interrupted = False
        if cases:
            progress.stage("Questions", total - len(cases), total)
        try:
            run_workers(
                requests.by_id(cases),
                max_concurrency=min(most, system.concurrency or most),
                timeout_ms=prepared.options.timeout_ms,
                on_end=store_result,
            )
        except Interrupted as stop:
            interrupted = True
            for outcome in stop.results:
                if ItemKey(outcome.item_id, SYSTEM_ROLE) not in store.results:
                    store.append(_result(outcome, is_run=is_run))
        results = {key: store.results[key] for key in keys if key in store.results}
    return _SystemResults(results, interrupted, system.warnings)


def _stored_answers(prepared: PreparedAnswers, out: Path) -> _SystemResults:
    """Return the answers that another process of the run has stored."""
    results = read_results(unfinished_folder(out))
    keys = [ItemKey(name, SYSTEM_ROLE) for name in prepared.cases]
    return _SystemResults({key: results[key] for key in keys if key in results})


@dataclass
class _Requests:
    """Sends questions, and stops if the first ones all fail."""

    system: System[Reply]
    failures: int = 0
    answered: bool = False
    stopped: Text = ""  # why no more questions are sent; "" while they are

    def by_id(self, cases: Sequence[EvalCase]) -> dict[str, Callable[[], Reply]]:
        return {
            case.id: partial(self.send, Query(question_id(case.id, case.repeat), case.question))
            for case in cases
        }

    def send(self, question: Query) -> Reply:
        if self.stopped:
            raise SystemFailedError(self.stopped)
        reply = self.system.ask(question)
        try:
            return Reply.parse(reply)
        except ValueError as error:
            raise SystemFailedError(text_of(error)) from error

    def count(self, outcome: ItemOutcome[Reply]) -> None:
        if not isinstance(outcome, Failure):
            self.answered = True
        elif not self.answered and not self.stopped:
            self.failures += 1
            if self.failures == _MAX_FAILURES:
                self.stopped = _(
                    "question not sent, because the system did not answer the first {count} questions: {reason}",
                    count=_MAX_FAILURES,
                    reason=outcome.message,
                )


def _result(outcome: ItemOutcome[Reply], *, is_run: bool) -> ItemResult:
    """Return the stored result; results of a file (`is_run`) have no latency, and their failures are final."""
    if isinstance(outcome, Failure):
        failed = "unscored" if is_run else "error"
        return ItemResult(outcome.item_id, failed, outcome.error, outcome.message, part=SYSTEM_ROLE)
    oddities: Counter[Oddity] = Counter(outcome.value.oddities)
    contexts: list[dict[str, Any]] = []
    for context in outcome.value.contexts:
        bad = context.base_score is not None and not isfinite(context.base_score)
        oddities["bad_scores"] += bad
        contexts.append(asdict(replace(context, base_score=None) if bad else context))
    odd = {name: count for name, count in oddities.items() if count}
    value = {"answer": outcome.value.answer, "contexts": contexts, "oddities": odd}
    took = 0.0 if is_run else outcome.latency_ms
    return ItemResult(outcome.item_id, "scored", value=value, latency_ms=took, part=SYSTEM_ROLE)


@dataclass
class AnswerEvaluation(Evaluation[AnswerSummaryReport, AnswerItemReport, None]):
    """Checked answers, queries with notes for a model to answer from, or questions for a system."""

    prepared: PreparedAnswers
    answerer: Answerer | None = None  # the system, if the caller has opened it
    # The system's answers, once there are any.
    system_results: _SystemResults | None = field(default=None, init=False)
    results = TypeAdapter(list[None])

    @property
    def count(self) -> int:
        return 0

    @property
    def asks_a_model(self) -> bool:
        return True

    def score(self, first: int, end: int, progress: Progress) -> list[None]:
        del first, end, progress
        return []

    @property
    def to_ask(self) -> int:
        return len(self.prepared.cases)

    def ask(
        self, results: Sequence[None], out: Path, progress: Progress, shard: Shard | None = None
    ) -> ModelRun:
        del results
        if self.prepared.system is None:
            return _ask_about(self.prepared, out, progress, shard, begun=False)
        if shard and not shard.gathers:  # the process that began the run stored the answers
            prepared = self.prepared.with_answers(read_results(unfinished_folder(out)))
            return _ask_about(prepared, out, progress, shard, begun=False)
        if shard and is_resumable(out) and self.prepared.options.resume is None:
            self.system_results = self.system_results or _stored_answers(self.prepared, out)
        answers = self.system_results or _ask_system(self.prepared, self.answerer, out, progress)
        self.system_results = answers
        if answers.interrupted and shard:
            raise KeyboardInterrupt
        if answers.interrupted:
            return ModelRun(answers.results, (), interrupted=True)
        prepared = self.prepared.with_answers(answers.results)
        run = _ask_about(prepared, out, progress, shard, begun=True)
        return replace(run, results={**answers.final, **run.results})

    def record(self, run: Run[None], started: datetime) -> AnswerRunRecord:
        model_run, prepared = run.model_run or ModelRun({}, (), interrupted=True), self.prepared
        if self.system_results:
            warnings = (*prepared.warnings, *self.system_results.warnings)
            prepared = replace(prepared, warnings=warnings)
        return record_answers(prepared, run, model_run, started)

    def with_run(self) -> "AnswerEvaluation":
        """Add the answers of a run file, without storing them; raises InputError if it cannot be used."""
        prepared = self.prepared
        with closing(_system_of(prepared, None)) as system:
            requests = _Requests(system).by_id(list(prepared.cases.values()))
            outcomes = [attempt(name, send) for name, send in requests.items()]
        results = [_result(outcome, is_run=True) for outcome in outcomes]
        answered = prepared.with_answers({result.key: result for result in results})
        cases = {name: case for name, case in answered.cases.items() if case.response}
        warnings = (*prepared.warnings, *system.warnings)
        return replace(self, prepared=replace(prepared, cases=cases, warnings=warnings))

    def estimate(self) -> list[Estimate]:
        """Return estimates (see `estimate_calls`): answering if a model answers, judging, checking."""
        prepared, options = self.prepared, self.prepared.options
        judge = prepared.judge.judge
        works: list[Estimate] = []
        limiters = Limiters()

        def add(
            what: Text, model: str, calls: Sequence[PlannedCall], reached: ModelRunOptions = options
        ) -> None:
            work = _("{work} {count:,} answers", work=what, count=len(prepared.cases))
            works.append(estimate_calls(work, model, calls, reached, limiters=limiters))

        if options.answer_model:
            calls = [
                call for case in prepared.cases.values() for call in _answering(prepared, case)
            ]
            add(_("generating"), options.answer_model, calls, reached=options.for_answering())
        models = judge.models(options)
        by_what: dict[str, list[PlannedCall]] = {}
        for call in _planned(prepared, judge):
            by_what.setdefault(call.what, []).append(call)
        for what, group in by_what.items():
            add(what, group[0].model or models[0], group)
        if gate := prepared.gate:
            checks = _planned(prepared, gate.judge)
            add(_("applying the checklist to"), options.settings().model, checks)
        return works

    def least_calls(self) -> int:
        """Return the number of requests that judge the first answer completely; 0 without a model."""
        options, first = self.prepared.options, next(iter(self.prepared.cases.values()))
        fresh = judged_again(list(self.prepared.cases), options.fresh_fraction, options.seed)
        return _needs(self.prepared, fresh, ItemKey(first.id), first)
