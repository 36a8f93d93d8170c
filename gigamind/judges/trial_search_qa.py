"""The judge of answers as it goes on trial; see `trial_judges`."""

from dataclasses import dataclass

from gigamind.judges.search_qa.asking import AnswerCase
from gigamind.judges.search_qa.judge import Judgement, judge_answer
from gigamind.judges.search_qa.reply import SearchQAJudge
from gigamind.judges.trial import Case, JudgeOnTrial, Kind, Observed, Reading
from gigamind.llm.ask import LanguageModel
from gigamind.llm.settings import ModelSettings


@dataclass(frozen=True, slots=True)
class SearchQAOnTrial:
    """The judge of `search_qa`, with its model."""

    loaded: SearchQAJudge
    model: LanguageModel
    fence_key: bytes

    @property
    def kind(self) -> Kind:
        return "search_qa"

    @property
    def fingerprint(self) -> str:
        return self.loaded.fingerprint

    @property
    def model_name(self) -> str:
        return self.model.settings.model

    @property
    def instructions(self) -> str:
        blank = dict.fromkeys(("nonce", "notes", "question", "answer", "ids", "part"), "")
        return str(self.loaded.prompt.render(**blank)[0]["content"])

    async def judge(self, case: Case) -> Observed:
        found = await judge_answer(
            self.model,
            self.loaded,
            AnswerCase(case.question, case.answer, case.notes),
            item_id=case.id,
            fence_key=self.fence_key,
        )
        return Observed(Reading()) if found is None else _seen(found)


@dataclass(frozen=True, slots=True)
class LoadedSearchQA:
    """A judge file of kind `search_qa`, read."""

    loaded: SearchQAJudge

    def settings(self, settings: ModelSettings) -> ModelSettings:
        return self.loaded.settings(settings)

    def on_trial(self, model: LanguageModel, fence_key: bytes) -> JudgeOnTrial:
        return SearchQAOnTrial(self.loaded, model, fence_key)


def _seen(found: Judgement) -> Observed:
    return Observed(
        verdict=Reading(correctness=found.correctness, utility=found.utility),
        told=Reading(correctness=found.reported_correctness, utility=found.reported_utility),
        proven=frozenset(one.note for one in found.claims if one.note is not None),
        text="\n".join((found.summary, found.utility_reason, *found.reported_issues)),
        flagged=bool(found.flagged),
    )
