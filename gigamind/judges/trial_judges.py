"""Judges as they go on trial: each kind of judge file with what can be seen of its verdicts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from gigamind.errors import InputError
from gigamind.judges.localised import LocalisedJudge
from gigamind.judges.search_qa.reply import load_search_qa_judge
from gigamind.judges.spec import LANGUAGES, JudgeFile, LlmJudge, PromptLanguage, read_judge_file
from gigamind.judges.trial import Case, JudgeOnTrial, Kind, Observed, Reading
from gigamind.judges.trial_models import AskingModels, why_unscored
from gigamind.judges.trial_search_qa import LoadedSearchQA
from gigamind.judges.unanswerable import load_model_judge
from gigamind.judges.unanswerable_llm import LlmVerdict, UnanswerableJudgeFile
from gigamind.judges.unanswerable_panel import judge_by_panel
from gigamind.llm.ask import LanguageModel
from gigamind.llm.options import ModelOptions
from gigamind.llm.settings import ModelSettings
from gigamind.vault.language import text_language


class LoadedJudge(Protocol):
    """A judge that has been read, and can be given its models."""

    def models(self, options: ModelOptions) -> tuple[str, ...]:
        """The models that it asks.

        Raises:
            InputError: none is named.
        """
        ...

    def settings(self, settings: ModelSettings) -> ModelSettings:
        """The same model, called with the parameters of the judge file."""
        ...

    def on_trial(self, models: Sequence[LanguageModel], fence_key: bytes) -> JudgeOnTrial:
        """The judge with the models that it asks."""
        ...


class UnanswerableOnTrial(AskingModels[LlmJudge[UnanswerableJudgeFile]]):
    """The judge of `unanswerable_llm.py`, with its model or its panel."""

    __slots__ = ()

    @property
    def kind(self) -> Kind:
        return "unanswerable"

    async def judge(self, case: Case) -> Observed:
        found = await judge_by_panel(
            self.by_name,
            self.loaded.judge_in(text_language(case.question)),
            case.question,
            case.notes,
            item_id=case.id,
            fence_key=self.fence_key,
        )
        if found.verdict is None:
            raise why_unscored(found.errors, found.why)
        return _seen(found.verdict)


def _seen(verdict: LlmVerdict) -> Observed:
    proven = {
        found.quote.source_index + 1
        for place, found in enumerate(verdict.evidence)
        if verdict.proves(place)
    }
    return Observed(
        verdict=Reading(unanswerable=verdict.unanswerable),
        told=Reading(unanswerable=verdict.told),
        proven=frozenset(proven),
        text=verdict.answer,
        flagged=bool(verdict.flagged),
    )


class LoadedUnanswerable(LocalisedJudge[LlmJudge[UnanswerableJudgeFile]]):
    """A judge file of kind `llm`, read."""

    __slots__ = ()

    def on_trial(self, models: Sequence[LanguageModel], fence_key: bytes) -> JudgeOnTrial:
        return UnanswerableOnTrial(self, models, fence_key)


class _AnyJudgeFile(JudgeFile, extra="ignore"):
    kind: str


def load_judge(path: Path, language: PromptLanguage) -> LoadedJudge:
    """The judge of a file of any kind that can go on trial.

    Raises:
        InputError: the file or its prompt cannot be read, says something unknown, or is of another kind.
    """
    kind = read_judge_file(path, _AnyJudgeFile).kind
    if kind == "llm":
        return LoadedUnanswerable(load_model_judge(path, language).by_language)
    if kind == "search_qa":
        return LoadedSearchQA(
            {name: load_search_qa_judge(path, name) for name in LANGUAGES[language]}
        )
    raise InputError(
        f"{path}: kind: {kind!r} cannot go on trial; the kinds that can are llm and search_qa"
    )
