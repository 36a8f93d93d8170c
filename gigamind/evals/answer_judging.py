"""Asks about every answer of a run; what was paid for survives Ctrl-C, kill, budget and faults (see `model_run`)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gigamind.datasets.sample import sample
from gigamind.errors import LlmError
from gigamind.evals.answer_case import EvalCase
from gigamind.evals.answer_evaluation import evaluation_of
from gigamind.evals.answer_judge import AnswerJudge
from gigamind.evals.answer_prepare import PreparedAnswers
from gigamind.evals.model_run import ModelRun, ask_all
from gigamind.evals.progress import Progress
from gigamind.judges.search_answer import answer_from, load_answer_prompt
from gigamind.judges.search_qa.asking import AnswerCase
from gigamind.judges.search_qa.judge import judge_answer
from gigamind.judges.spec import Language
from gigamind.llm.ask import LanguageModel
from gigamind.llm.fences import Source, fence_key
from gigamind.llm.ledger import Ledger, totals
from gigamind.llm.options import budget_of, open_model
from gigamind.llm.prompts import Prompt
from gigamind.llm.settings import ModelSettings
from gigamind.reports.search_qa import SearchQAEvaluation
from gigamind.runs.resume import outcome_of
from gigamind.runs.store import FINAL, ItemResult

JUDGE_ROLE = "judge"
ANSWER_ROLE = "answer"
_ANSWER_TEMPERATURE = 0.0


@dataclass(frozen=True, slots=True)
class _Asker:
    """What asking about one answer needs beside the models: the judge, and one that answers where there is one.

    Attributes:
        prompts: of the model that answers; empty where none does.
        fresh: items that are judged a second time.
    """

    judge: AnswerJudge
    prompts: Mapping[Language, Prompt]
    fence_key: bytes
    fresh: frozenset[str]

    async def ask(self, models: Sequence[LanguageModel], item_id: str, case: EvalCase) -> Any:  # noqa: ANN401  JSON values
        answer = case.answer if case.answer is not None else await self._answer(models[1], case)
        value: dict[str, Any] = {"answer": answer, "evaluation": None, "flipped": None}
        try:
            told = await self._judge(models[0], case, answer, fresh=False)
        except LlmError as error:
            if case.answer is not None or outcome_of(error.code) not in FINAL:
                raise
            # The answer stands, and was paid for: an evaluation that failed for good must not take it away.
            return {**value, "code": error.code, "message": str(error)}
        if told is None:
            return value
        value["evaluation"] = told.model_dump(mode="json")
        if item_id in self.fresh:
            again = await self._judge(models[0], case, answer, fresh=True)
            value["flipped"] = again is None or _figures(again) != _figures(told)
        return value

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
        self, model: LanguageModel, case: EvalCase, answer: str, *, fresh: bool
    ) -> SearchQAEvaluation | None:
        notes = tuple(Source(note.title, note.text) for note in case.notes)
        asked = AnswerCase(case.question, answer, notes)
        language = case.prompt_language
        found = await judge_answer(
            model,
            self.judge.judge_in(language),
            asked,
            item_id=case.id,
            fence_key=self.fence_key,
            fresh=fresh,
        )
        return None if found is None else evaluation_of(found, asked, language)


def ask_about(prepared: PreparedAnswers, out: Path, progress: Progress | None = None) -> ModelRun:
    """What the models say of every answer.

    Raises:
        GigamindError: see `ask_all`.
    """
    options, judge = prepared.options, prepared.judge
    asker = _Asker(
        judge,
        {name: load_answer_prompt(name) for name in ("ko", "en")} if options.answer_model else {},
        fence_key(options.replies / "fence.key"),
        _again(prepared),
    )

    def connect(ledger: Ledger) -> list[LanguageModel]:
        def as_judge(settings: ModelSettings) -> ModelSettings:
            return replace(
                next(iter(judge.by_language.values())).settings(settings), role=JUDGE_ROLE
            )

        def as_answerer(settings: ModelSettings) -> ModelSettings:
            return replace(
                settings,
                role=ANSWER_ROLE,
                temperature=_ANSWER_TEMPERATURE,
                max_tokens=options.answer_max_tokens,
            )

        budget = budget_of(options, totals(ledger.rows) if options.resume else None)
        models = [open_model(options, ledger, options.replies, as_judge, budget)]
        if options.answer_model:
            answering = options.for_answering()
            models.append(open_model(answering, ledger, options.replies, as_answerer, budget))
        return models

    run = ask_all(
        prepared.cases,
        asker.ask,
        connect,
        _identity(prepared),
        out,
        resume=options.resume is not None,
        progress=progress,
    )
    return replace(run, results={name: _told(found) for name, found in run.results.items()})


def _told(found: ItemResult) -> ItemResult:
    """A result whose answer stands and whose evaluation failed, as the failure that it is."""
    value: dict[str, Any] = found.value or {}
    code = value.get("code")
    if not code:
        return found
    return replace(found, outcome=outcome_of(code), code=code, message=value["message"])


def _figures(evaluation: SearchQAEvaluation) -> tuple[float | None, float]:
    return evaluation.correctness, evaluation.utility


def _again(prepared: PreparedAnswers) -> frozenset[str]:
    """The items to judge a second time; the same with equal seeds."""
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
        **{f"--{name.replace('_', '-')}": str(getattr(options, name)) for name in named},
    }
