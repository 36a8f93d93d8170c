"""Judges as they go on trial: each kind of judge file with what can be seen of its verdicts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gigamind.errors import InputError
from gigamind.judges.search_qa.reply import load_search_qa_judge
from gigamind.judges.spec import JudgeFile, Language, LlmJudge, read_judge_file
from gigamind.judges.trial import Case, JudgeOnTrial, Kind, Observed, Reading
from gigamind.judges.trial_search_qa import LoadedSearchQA
from gigamind.judges.unanswerable_llm import (
    LlmVerdict,
    UnanswerableJudgeFile,
    judge_by_model,
    load_unanswerable_judge,
)
from gigamind.llm.ask import LanguageModel
from gigamind.llm.settings import ModelSettings


class LoadedJudge(Protocol):
    """A judge that has been read, and can be given a model."""

    def settings(self, settings: ModelSettings) -> ModelSettings:
        """The same model, called with the parameters of the judge file."""
        ...

    def on_trial(self, model: LanguageModel, fence_key: bytes) -> JudgeOnTrial:
        """The judge with the model that it asks."""
        ...


@dataclass(frozen=True, slots=True)
class UnanswerableOnTrial:
    """The judge of `unanswerable_llm.py`, with its model."""

    loaded: LlmJudge[UnanswerableJudgeFile]
    model: LanguageModel
    fence_key: bytes

    @property
    def kind(self) -> Kind:
        return "unanswerable"

    @property
    def fingerprint(self) -> str:
        return self.loaded.fingerprint

    @property
    def model_name(self) -> str:
        return self.model.settings.model

    @property
    def instructions(self) -> str:
        system = self.loaded.prompt.render(nonce="", notes="", question="")[0]
        return str(system["content"])

    async def judge(self, case: Case) -> Observed:
        verdict = await judge_by_model(
            self.model,
            self.loaded,
            case.question,
            case.notes,
            item_id=case.id,
            fence_key=self.fence_key,
        )
        return _seen(verdict)


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


@dataclass(frozen=True, slots=True)
class LoadedUnanswerable:
    """A judge file of kind `llm`, read."""

    loaded: LlmJudge[UnanswerableJudgeFile]

    def settings(self, settings: ModelSettings) -> ModelSettings:
        return self.loaded.settings(settings)

    def on_trial(self, model: LanguageModel, fence_key: bytes) -> JudgeOnTrial:
        return UnanswerableOnTrial(self.loaded, model, fence_key)


class _AnyJudgeFile(JudgeFile, extra="ignore"):
    kind: str


def load_judge(path: Path, language: Language) -> LoadedJudge:
    """The judge of a file of any kind that can go on trial.

    Raises:
        InputError: the file or its prompt cannot be read, says something unknown, or is of another kind.
    """
    kind = read_judge_file(path, _AnyJudgeFile).kind
    if kind == "llm":
        return LoadedUnanswerable(load_unanswerable_judge(path, language))
    if kind == "search_qa":
        return LoadedSearchQA(load_search_qa_judge(path, language))
    raise InputError(
        f"{path}: kind: {kind!r} cannot go on trial; the kinds that can are llm and search_qa"
    )
