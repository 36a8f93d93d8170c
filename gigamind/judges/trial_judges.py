"""Judges as they go on trial: each kind of judge file with what can be seen of its verdicts.

Name and fingerprint are those that run.json has of the same judge, so that a trial can stand on its card.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gigamind.errors import InputError, LlmError
from gigamind.judges.search_qa.reply import load_search_qa_judge
from gigamind.judges.spec import LANGUAGES, JudgeFile, PromptLanguage, read_judge_file
from gigamind.judges.trial import OF_THE_REPLY, Case, JudgeOnTrial, Kind, Observed, Reading
from gigamind.judges.trial_search_qa import LoadedSearchQA
from gigamind.judges.unanswerable import ModelJudge, load_model_judge, named
from gigamind.judges.unanswerable_llm import LlmVerdict
from gigamind.judges.unanswerable_panel import PanelJudgement, judge_by_panel
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


@dataclass(frozen=True, slots=True)
class UnanswerableOnTrial:
    """The judge of `unanswerable_llm.py`, with its model or its panel."""

    loaded: ModelJudge
    asked: Sequence[LanguageModel]
    fence_key: bytes

    @property
    def kind(self) -> Kind:
        return "unanswerable"

    @property
    def fingerprint(self) -> str:
        return self.loaded.fingerprint(self.model_name)

    @property
    def model_name(self) -> str:
        return named([model.settings.model for model in self.asked])

    @property
    def instructions(self) -> str:
        prompts = (judge.prompt for judge in self.loaded.by_language.values())
        systems = (prompt.render(nonce="", notes="", question="")[0] for prompt in prompts)
        return "\n\n".join(str(system["content"]) for system in systems)

    async def judge(self, case: Case) -> Observed:
        found = await judge_by_panel(
            {model.settings.model: model for model in self.asked},
            self.loaded.judge_in(text_language(case.question)),
            case.question,
            case.notes,
            item_id=case.id,
            fence_key=self.fence_key,
        )
        if found.verdict is None:
            raise _why(found)
        return _seen(found.verdict)


def _why(found: PanelJudgement) -> LlmError:
    """A seat that could not be asked says nothing of the case, so it comes before one whose reply was none."""
    errors = sorted(found.errors.values(), key=lambda error: error.code in OF_THE_REPLY)
    return errors[0] if errors else LlmError(found.why, "panel_tied")


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

    loaded: ModelJudge

    def models(self, options: ModelOptions) -> tuple[str, ...]:
        return self.loaded.models(options)

    def settings(self, settings: ModelSettings) -> ModelSettings:
        return self.loaded.judge_in("").settings(settings)

    def on_trial(self, models: Sequence[LanguageModel], fence_key: bytes) -> JudgeOnTrial:
        return UnanswerableOnTrial(self.loaded, models, fence_key)


class _AnyJudgeFile(JudgeFile, extra="ignore"):
    kind: str


def load_judge(path: Path, language: PromptLanguage) -> LoadedJudge:
    """The judge of a file of any kind that can go on trial.

    Raises:
        InputError: the file or its prompt cannot be read, says something unknown, or is of another kind.
    """
    kind = read_judge_file(path, _AnyJudgeFile).kind
    if kind == "llm":
        return LoadedUnanswerable(load_model_judge(path, language))
    if kind == "search_qa":
        return LoadedSearchQA(
            {name: load_search_qa_judge(path, name) for name in LANGUAGES[language]}
        )
    raise InputError(
        f"{path}: kind: {kind!r} cannot go on trial; the kinds that can are llm and search_qa"
    )
