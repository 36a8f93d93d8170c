"""Asks about every answer of a run; what was paid for survives Ctrl-C, kill, budget and faults (see `model_run`)."""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gigamind.datasets.sample import sample
from gigamind.errors import LlmError
from gigamind.evals.answer_case import EvalCase
from gigamind.evals.answer_checklist import (
    GATE_ROLE,
    ChecklistGate,
    check_answer,
    check_key,
    checked_id,
)
from gigamind.evals.answer_evaluation import evaluation_of
from gigamind.evals.answer_judge import AnswerJudge
from gigamind.evals.answer_panel import votes_of
from gigamind.evals.answer_prepare import PreparedAnswers
from gigamind.evals.model_run import ModelRun, ask_all, unfinished_folder, unless_final
from gigamind.evals.progress import Progress
from gigamind.judges.panel import Seat
from gigamind.judges.search_answer import answer_from, load_answer_prompt
from gigamind.judges.search_qa.asking import AnswerCase
from gigamind.judges.search_qa.judge import Judgement
from gigamind.judges.search_qa.panel import PanelOfAnswer, judge_answer_by_panel
from gigamind.judges.spec import Language
from gigamind.llm.ask import LanguageModel
from gigamind.llm.fences import Source, fence_key
from gigamind.llm.ledger import Ledger, totals
from gigamind.llm.options import ModelOptions, budget_of, open_model
from gigamind.llm.prompts import Prompt
from gigamind.llm.settings import ModelSettings
from gigamind.reports.search_qa import SearchQAEvaluation
from gigamind.runs.resume import outcome_of
from gigamind.runs.store import FINAL, ItemResult, Unscored, read_results

JUDGE_ROLE = "judge"
ANSWER_ROLE = "answer"
_ANSWER_TEMPERATURE = 0.0


@dataclass(frozen=True, slots=True)
class _Asker:
    """What asking about one answer needs beside the models: the judge, and one that answers where there is one.

    Attributes:
        seats: how many models judge; they are the first ones.
        gate: of the checklists; asked by the last of the models.
        prompts: of the model that answers; empty where none does.
        fresh: items that are judged and checked a second time.
        given: answers of that model that the run has already, by id.
        answers: those that are being given: an answer is asked for once, then judged and checked.
    """

    judge: AnswerJudge
    seats: int
    gate: ChecklistGate | None
    prompts: Mapping[Language, Prompt]
    fence_key: bytes
    fresh: frozenset[str]
    given: Mapping[str, str]
    answers: dict[str, asyncio.Future[str]] = field(default_factory=dict[str, asyncio.Future[str]])

    async def ask(self, models: Sequence[LanguageModel], item_id: str, case: EvalCase) -> Any:  # noqa: ANN401  JSON values
        answer = await self._answer_of(models, case)
        twice = case.id in self.fresh
        if self.gate and checked_id(item_id) is not None:
            gate, key = self.gate, self.fence_key
            found = await check_answer(models[-1], gate, case, answer, key, twice=twice)
            return {"answer": answer, "quality": found}
        value: dict[str, Any] = {"answer": answer, "evaluation": None, "flipped": None}
        try:
            asked = await self._judge(models, case, answer, fresh=False)
        except LlmError as error:
            if case.answer is not None or outcome_of(error.code) not in FINAL:
                raise
            # The answer stands, and was paid for: an evaluation that failed for good must not take it away.
            return {**value, "code": error.code, "message": str(error)}
        value["votes"] = [vote.model_dump(mode="json") for vote in votes_of(asked)]
        if asked.panel and asked.judgement is None:
            passing = all(outcome_of(e.code) not in FINAL for e in asked.errors.values())
            why = "; ".join(f"{_named(seat)}: {error}" for seat, error in asked.errors.items())
            return Unscored(asked.panel.code or "", f"no vote of {why}", value, passing)
        if asked.judgement is None:
            return value
        told = self._evaluation(asked.judgement, case, answer)
        value["evaluation"] = told.model_dump(mode="json")
        if twice:
            value["flipped"] = await self._flips(models, case, answer, asked.judgement)
        return value

    async def _answer_of(self, models: Sequence[LanguageModel], case: EvalCase) -> str:
        known = case.answer if case.answer is not None else self.given.get(case.id)
        if known is not None:
            return known
        if case.id not in self.answers:
            self.answers[case.id] = asyncio.ensure_future(self._answer(models[self.seats], case))
        return await self.answers[case.id]

    async def _answer(self, model: LanguageModel, case: EvalCase) -> str:
        language = case.prompt_language
        return await answer_from(
            model,
            self.prompts[language],
            language,
            case.question,
            [Source(note.title, note.text) for note in case.notes],
            item_id=case.id,
            fence_key=self.fence_key,
        )

    async def _judge(
        self, models: Sequence[LanguageModel], case: EvalCase, answer: str, *, fresh: bool
    ) -> PanelOfAnswer:
        return await judge_answer_by_panel(
            {model.settings.model: model for model in models[: self.seats]},
            self.judge.asked.judge_in(case.prompt_language),
            _asked(case, answer),
            item_id=case.id,
            fence_key=self.fence_key,
            fresh=fresh,
        )

    async def _flips(
        self, models: Sequence[LanguageModel], case: EvalCase, answer: str, first: Judgement
    ) -> bool | None:
        """Whether a fresh judgment differs; None where there is none, for the first counts all the same."""
        again = await unless_final(self._judge(models, case, answer, fresh=True))
        if again is None or again.judgement is None:
            return None
        return _figures(again.judgement) != _figures(first)

    def _evaluation(self, found: Judgement, case: EvalCase, answer: str) -> SearchQAEvaluation:
        return evaluation_of(found, _asked(case, answer), case.prompt_language)


def _asked(case: EvalCase, answer: str) -> AnswerCase:
    notes = tuple(Source(note.title, note.text) for note in case.notes)
    return AnswerCase(case.question, answer, notes)


def ask_about(prepared: PreparedAnswers, out: Path, progress: Progress | None = None) -> ModelRun:
    """What the models say of every answer; its check stands beside its evaluation, under an id of its own.

    Raises:
        GigamindError: see `ask_all`.
    """
    options, cases = prepared.options, prepared.cases
    asker = _Asker(
        prepared.judge,
        len(prepared.judge.asked.models(options)),
        prepared.gate,
        {name: load_answer_prompt(name) for name in ("ko", "en")} if options.answer_model else {},
        fence_key(options.replies / "fence.key"),
        _again(prepared),
        _given(out) if options.resume else {},
    )
    # Checks come last: should the budget not do for all, evaluations are what a run is for.
    checks = {check_key(name): case for name, case in cases.items()} if prepared.gate else {}
    run = ask_all(
        {**cases, **checks},
        asker.ask,
        lambda ledger: _open_models(prepared, ledger),
        _identity(prepared),
        out,
        resume=options.resume is not None,
        progress=progress,
        stage=lambda item_id: "Judging" if checked_id(item_id) is None else "Checking",
    )
    return replace(run, results={name: _told(found) for name, found in run.results.items()})


def _open_models(prepared: PreparedAnswers, ledger: Ledger) -> list[LanguageModel]:
    """The judge; the model that answers, where one does; the gate, where there is one."""
    options = prepared.options
    judge = prepared.judge.asked
    asked: list[tuple[ModelOptions, ModelSettings, str]] = [
        (options, judge.settings(options.settings(model)), JUDGE_ROLE)
        for model in judge.models(options)
    ]
    if options.answer_model:
        answering = options.for_answering()
        settings = replace(
            answering.settings(),
            temperature=_ANSWER_TEMPERATURE,
            max_tokens=options.answer_max_tokens,
        )
        asked.append((answering, settings, ANSWER_ROLE))
    if prepared.gate:
        gate = next(iter(prepared.gate.by_language.values())).definition
        asked.append((options, gate.settings(options.settings()), GATE_ROLE))
    budget = budget_of(options, totals(ledger.rows) if options.resume else None)
    return [
        open_model(
            reached,
            ledger,
            options.replies,
            _always(replace(settings, role=role)),
            budget,
            model=settings.model,
        )
        for reached, settings, role in asked
    ]


def _always(settings: ModelSettings) -> Callable[[ModelSettings], ModelSettings]:
    return lambda _: settings


def _given(out: Path) -> dict[str, str]:
    """The answers that the run to be continued has from its model, by id."""
    found = read_results(unfinished_folder(out))
    return {
        checked_id(name) or name: one.value["answer"] for name, one in found.items() if one.value
    }


def _told(found: ItemResult) -> ItemResult:
    """A result whose answer stands and whose evaluation failed, as the failure that it is."""
    value: dict[str, Any] = found.value or {}
    code = value.get("code")
    if not code:
        return found
    return replace(found, outcome=outcome_of(code), code=code, message=value["message"])


def _named(seat: Seat) -> str:
    return f"{seat.model} (vote {seat.repeat + 1})" if seat.repeat else seat.model


def _figures(evaluation: Judgement) -> tuple[float | None, float]:
    return evaluation.correctness, evaluation.utility


def _again(prepared: PreparedAnswers) -> frozenset[str]:
    """The items to judge and check a second time; the same with equal seeds."""
    size = math.ceil(prepared.options.fresh_fraction * len(prepared.cases))
    return frozenset(sample(list(prepared.cases), size, prepared.options.seed))


def _identity(prepared: PreparedAnswers) -> dict[str, str]:
    """What must be the same for a run to be continued."""
    options = prepared.options
    settings = ("sample", "seed", "fresh_fraction", "answer_model", "answer_max_tokens")
    searched = ("mode", "embedder", "context_notes", "context_chars")
    named = (*settings, *searched) if options.answer_model else settings
    return {
        "task": "answers",
        "dataset": prepared.dataset_hash,
        "notes": prepared.notes_hash,
        "judge and model": prepared.judge.report.fingerprint,
        "checklist": prepared.gate.report.fingerprint if prepared.gate else "",
        **{f"--{name.replace('_', '-')}": str(getattr(options, name)) for name in named},
    }
