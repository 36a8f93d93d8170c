"""The judge of answers as it goes on trial; see `trial_judges`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gigamind.judges.search_qa.asking import AnswerCase
from gigamind.judges.search_qa.judge import Judgement, judge_answer
from gigamind.judges.search_qa.reply import SearchQAJudge
from gigamind.judges.spec import Language, fingerprint_of_run
from gigamind.judges.trial import Case, JudgeOnTrial, Kind, Observed, Reading
from gigamind.llm.ask import LanguageModel
from gigamind.llm.options import ModelOptions
from gigamind.llm.settings import ModelSettings
from gigamind.vault.language import text_language


@dataclass(frozen=True, slots=True)
class SearchQAOnTrial:
    """The judge of `search_qa`, with its model."""

    by_language: Mapping[Language, SearchQAJudge]
    model: LanguageModel
    fence_key: bytes

    @property
    def kind(self) -> Kind:
        return "search_qa"

    @property
    def fingerprint(self) -> str:
        return fingerprint_of_run(list(self.by_language.values()), self.model_name)

    @property
    def model_name(self) -> str:
        return self.model.settings.model

    @property
    def instructions(self) -> str:
        blank = dict.fromkeys(("nonce", "notes", "question", "answer", "ids", "part"), "")
        prompts = (judge.prompt for judge in self.by_language.values())
        return "\n\n".join(str(prompt.render(**blank)[0]["content"]) for prompt in prompts)

    async def judge(self, case: Case) -> Observed:
        language: Language = "ko" if text_language(case.question) == "ko" else "en"
        found = await judge_answer(
            self.model,
            self.by_language.get(language) or next(iter(self.by_language.values())),
            AnswerCase(case.question, case.answer, case.notes),
            item_id=case.id,
            fence_key=self.fence_key,
        )
        return Observed(Reading()) if found is None else _seen(found)


@dataclass(frozen=True, slots=True)
class LoadedSearchQA:
    """A judge file of kind `search_qa`, read."""

    by_language: Mapping[Language, SearchQAJudge]

    def models(self, options: ModelOptions) -> tuple[str, ...]:
        return (options.settings().model,)

    def settings(self, settings: ModelSettings) -> ModelSettings:
        return next(iter(self.by_language.values())).settings(settings)

    def on_trial(self, models: Sequence[LanguageModel], fence_key: bytes) -> JudgeOnTrial:
        return SearchQAOnTrial(self.by_language, models[0], fence_key)


def _seen(found: Judgement) -> Observed:
    return Observed(
        verdict=Reading(correctness=found.correctness, utility=found.utility),
        told=Reading(correctness=found.reported_correctness, utility=found.reported_utility),
        proven=frozenset(one.note for one in found.claims if one.note is not None),
        text="\n".join((found.summary, found.utility_reason, *found.reported_issues)),
        flagged=bool(found.flagged),
    )
