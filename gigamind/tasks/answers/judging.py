"""Calls models for each item, for a missing answer, its evaluation and its checklist; estimates the cost of that."""

import asyncio
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from gigamind.errors import LlmError
from gigamind.evaluation.asking import Account, Models, ask_all, judged_again
from gigamind.evaluation.estimate import asking, with_fresh
from gigamind.evaluation.inputs import SHORTER_CONTEXT
from gigamind.evaluation.options import ModelRunOptions
from gigamind.evaluation.progress import Progress
from gigamind.evaluation.shards import ModelRun, Shard, folders_of, results_in, unfinished_folder
from gigamind.evaluation.task import Estimate
from gigamind.i18n import Language, Text, _
from gigamind.judges.asking import Asking, PlannedCall, counted
from gigamind.judges.protocol import KEY, AnswerCase, Judge
from gigamind.judges.quality_gate import QualityGate
from gigamind.llm.ledger import Ledger
from gigamind.llm.limiter import Limiters
from gigamind.llm.store import Store
from gigamind.prompting.fences import fence_key
from gigamind.prompting.prompts import Prompt
from gigamind.runs.store import FINAL, ItemKey, ItemResult, outcome_of, unless_final
from gigamind.tasks.answers.answering import (
    AnswerReply,
    answer_from,
    answer_messages,
    load_answer_prompt,
)
from gigamind.tasks.answers.checklist import GATE_ROLE, check_answer
from gigamind.tasks.answers.items import stored_verdict
from gigamind.tasks.answers.prepared import EvalCase, PreparedAnswers

JUDGE_ROLE = "judge"
ANSWER_ROLE = "answer"
_ANSWER_TEMPERATURE = 0.0
_SHORTER_ROW = _(
    "in the answer's dataset row, shorten `context_notes` to the relevant parts of notes"
)
_SHORTER_REPLY = _(
    "let the system return as `contexts` only the parts of notes that it used for its answer"
)


@dataclass(frozen=True, slots=True)
class _Asker:
    """Answers, judges and checks one item with models."""

    judge: Judge[AnswerCase, Any]
    gate: QualityGate | None
    prompts: Mapping[Language, Prompt]  # prompts of the model that answers; empty without one
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
            models[GATE_ROLE if key.part == GATE_ROLE else JUDGE_ROLE],
            case.id,
            self.fence_key,
            shorter=self.shorter,
            store=self.store,
            repeat=case.repeat,
        )
        if self.gate and key.part == GATE_ROLE:
            quality = await check_answer(self.gate, answered, asking, twice=twice)
            return {"answer": answer, "quality": quality, "unread": dict(asking.unread)}
        value: dict[str, Any] = {"answer": answer, "evaluation": None, "flipped": None}
        try:
            verdict = await self.judge.judge(answered, asking)
        except LlmError as error:
            if case.answer is not None or outcome_of(error.code) not in FINAL:
                raise
            # The answer was paid for, so it is kept although its evaluation failed permanently.
            return {**value, "code": error.code, "message": str(error)}
        value |= stored_verdict(verdict, answered) | {"unread": dict(asking.unread)}
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
            (model,) = models[ANSWER_ROLE].values()
            language = case.prompt_language
            answer = answer_from(
                model,
                self.prompts[language],
                language,
                case.question,
                list(case.sources),
                item_id=case.id,
                fence_key=self.fence_key,
                repeat=case.repeat,
            )
            self.answers[case.id] = asyncio.ensure_future(answer)
        return await self.answers[case.id]


def begin(prepared: PreparedAnswers, out: Path, progress: Progress) -> Mapping[str, str]:
    """Start or resume a run without any request, so that its models are opened; return its identity."""
    identity = _identity(prepared)
    resume = prepared.options.resume is not None
    ask_all({}, _nothing, _connecting(prepared, out, progress, None), identity, out, resume=resume)
    return identity


async def _nothing(models: Models, key: ItemKey, item: object) -> None:
    del models, key, item


def ask_about(
    prepared: PreparedAnswers, out: Path, progress: Progress, shard: Shard | None, *, begun: bool
) -> ModelRun:
    """Judge every answer of the run or shard with models; `begun` if `begin` was called. Checks are separate."""
    options, cases = prepared.options, prepared.cases
    if shard is not None:
        cases = dict(shard.of(list(cases.items())))
    fresh = judged_twice(prepared)
    folders = folders_of(unfinished_folder(out), shard) if options.answer_model else ()
    stored = results_in(folders).values()
    asker = _Asker(
        prepared.judge.judge,
        prepared.gate.judge if prepared.gate else None,
        {name: load_answer_prompt(name) for name in ("ko", "en")} if options.answer_model else {},
        fence_key(options.replies, options.store_mode),
        fresh,
        {result.item_id: result.value["answer"] for result in stored if result.value},
        _SHORTER_REPLY
        if prepared.system
        else SHORTER_CONTEXT
        if options.answer_model
        else _SHORTER_ROW,
        Store(options.replies, options.store_mode),
    )
    if prepared.system:  # questions without an answer cannot be judged
        cases = {name: case for name, case in cases.items() if case.answer is not None}
    items = {ItemKey(name): case for name, case in cases.items()}
    if prepared.gate:  # last, because evaluations come first if the budget is too small for all
        items |= {ItemKey(name, GATE_ROLE): case for name, case in cases.items()}
    run = ask_all(
        items,
        asker.ask,
        _connecting(prepared, out, progress, shard),
        _identity(prepared),
        out,
        resume=begun or options.resume is not None,
        allow_none=options.allow_partial,
        progress=progress,
        stage=lambda key: "Checking" if key.part == GATE_ROLE else "Judging",
        needs=partial(_needs, prepared, fresh),
        shard=shard,
    )
    return replace(run, results={key: _failed(result) for key, result in run.results.items()})


def judged_twice(prepared: PreparedAnswers) -> frozenset[str]:
    """Return the answers that are judged and checked a second time, to measure consistency."""
    options = prepared.options
    return judged_again(list(prepared.cases), options.fresh_fraction, options.seed)


def least_calls(prepared: PreparedAnswers) -> int:
    """Return the number of requests that judge the first answer completely; 0 without a model."""
    first = next(iter(prepared.cases.values()))
    return _needs(prepared, judged_twice(prepared), ItemKey(first.id), first)


def _needs(prepared: PreparedAnswers, fresh: Container[str], key: ItemKey, case: EvalCase) -> int:
    """Return the calls of an item if none fails."""
    judge, answering = prepared.judge.judge, 0
    if prepared.gate and key.part == GATE_ROLE:
        judge = prepared.gate.judge
    elif prepared.options.answer_model and case.notes:
        answering = 1
    calls = judge.calls(case.typical(by_system=prepared.system is not None))
    return answering + (2 if case.id in fresh else 1) * calls


def _connecting(
    prepared: PreparedAnswers, out: Path, progress: Progress, shard: Shard | None
) -> Callable[[Ledger], Models]:
    options = prepared.options
    return lambda ledger: _open_models(prepared, Account.of(options, ledger, out, progress, shard))


def _open_models(prepared: PreparedAnswers, account: Account) -> Models:
    """Open the models of the judge, of answering if a model answers, and of the quality gate if there is one."""
    options, judge = prepared.options, prepared.judge.judge
    names = judge.models(options)
    models = {JUDGE_ROLE: account.open(JUDGE_ROLE, names, options, judge.settings)}
    if options.answer_model:
        models[ANSWER_ROLE] = account.open(
            ANSWER_ROLE,
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
    if prepared.system:
        own["system"] = prepared.system.identity
    return prepared.identity(prepared.judge.report, own, named)


_MIN_ANSWER = 40  # tokens


def estimate_answers(prepared: PreparedAnswers) -> list[Estimate]:
    """Return estimates (see `asking`) of a prepared run: answering if a model answers, judging, checking."""
    options, judge = prepared.options, prepared.judge.judge
    works: list[Estimate] = []
    limiters = Limiters()

    def add(
        what: Text,
        model: str,
        calls: Sequence[PlannedCall],
        reached: ModelRunOptions = options,
    ) -> None:
        work = _("{work} {count:,} answers", work=what, count=len(prepared.cases))
        works.append(asking(work, model, calls, reached, limiters=limiters))

    if options.answer_model:
        calls = [call for case in prepared.cases.values() for call in _answering(prepared, case)]
        add(_("generating"), options.answer_model, calls, reached=options.for_answering())
    models = judge.models(options)
    by_what: dict[str, list[PlannedCall]] = {}
    for call in _planned(prepared, judge):
        by_what.setdefault(call.what, []).append(call)
    for what, group in by_what.items():
        add(what, group[0].model or models[0], with_fresh(group, options))
    if gate := prepared.gate:
        checks = with_fresh(_planned(prepared, gate.judge), options)
        add(_("applying the checklist to"), options.settings().model, checks)
    return works


def _planned(prepared: PreparedAnswers, judge: Judge[AnswerCase, Any]) -> list[PlannedCall]:
    by_system = prepared.system is not None
    answers = (case.typical(by_system=by_system) for case in prepared.cases.values())
    return [call for answer in answers for call in judge.planned(answer)]


def _answering(prepared: PreparedAnswers, case: EvalCase) -> Iterator[PlannedCall]:
    if case.notes:
        prompt = load_answer_prompt(case.prompt_language)
        messages = answer_messages(prompt, case.question, list(case.sources), KEY)
        request = counted(messages, AnswerReply)
        yield PlannedCall(request, _MIN_ANSWER, prepared.options.answer_max_tokens)
