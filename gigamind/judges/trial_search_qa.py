"""The judge of answers as it goes on trial; see `trial_judges`."""

from collections.abc import Sequence

from gigamind.judges.localised import LocalisedJudge
from gigamind.judges.search_qa.asking import AnswerCase
from gigamind.judges.search_qa.judge import Judgement
from gigamind.judges.search_qa.panel import judge_answer_by_panel
from gigamind.judges.search_qa.reply import SearchQAJudge
from gigamind.judges.search_qa.rules import correctness
from gigamind.judges.trial import Case, JudgeOnTrial, Kind, Observed, Reading
from gigamind.judges.trial_models import AskingModels, why_unscored
from gigamind.llm.ask import LanguageModel
from gigamind.vault.language import text_language


class SearchQAOnTrial(AskingModels[SearchQAJudge]):
    """The judge of `search_qa`, with its model or its panel."""

    __slots__ = ()

    @property
    def kind(self) -> Kind:
        return "search_qa"

    async def judge(self, case: Case) -> Observed:
        found = await judge_answer_by_panel(
            self.by_name,
            self.loaded.judge_in(text_language(case.question)),
            AnswerCase(case.question, case.answer, case.notes),
            item_id=case.id,
            fence_key=self.fence_key,
        )
        if found.judgement is not None:
            return _seen(found.judgement, case.counted_chars)
        if found.panel is not None:
            raise why_unscored(found.errors, "the panel gave no verdict")
        return Observed(Reading())


class LoadedSearchQA(LocalisedJudge[SearchQAJudge]):
    """A judge file of kind `search_qa`, read."""

    __slots__ = ()

    def on_trial(self, models: Sequence[LanguageModel], fence_key: bytes) -> JudgeOnTrial:
        return SearchQAOnTrial(self, models, fence_key)


def _seen(found: Judgement, counted_chars: int | None) -> Observed:
    counted = [
        one
        for one in found.claims
        if counted_chars is None or one.claim.piece.span.end <= counted_chars
    ]
    told = _share([one.told == "supported" for one in counted])
    return Observed(
        verdict=Reading(correctness=correctness(counted), utility=found.utility),
        told=Reading(correctness=told, utility=found.reported_utility),
        proven=frozenset(one.note for one in found.claims if one.note is not None),
        text="\n".join((found.summary, found.utility_reason, *found.reported_issues)),
        flagged=bool(found.flagged),
    )


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None
