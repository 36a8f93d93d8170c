"""The judges that cost nothing, side by side on each query: what each decides, and what that costs those who ask.

A judge that refuses every question takes none for answerable, so neither kind of error says enough without the other.
"""

from collections.abc import Mapping, Sequence
from typing import get_args

from gigamind.choices import FreeJudge
from gigamind.judges.calibrated import CalibratedJudge, judge_by_calibration
from gigamind.judges.threshold import ThresholdJudge, judge_by_threshold
from gigamind.judges.unanswerable import UnanswerableJudge, judge_path, load_question_judge
from gigamind.metrics.answerability import confusion
from gigamind.retrieval.hit import Hit
from gigamind.retrieval.retriever import Retriever
from gigamind.retrieval.signals import signals_of
from gigamind.tasks.search.schema import FreeVerdict, ItemReport, JudgeRates
from gigamind.wording import Words

RuleJudge = ThresholdJudge | CalibratedJudge
FreeJudges = Mapping[FreeJudge, RuleJudge]


def free_judges(chosen: UnanswerableJudge, retriever: Retriever) -> FreeJudges:
    """Those that come with gigamind and can judge this search; the chosen one in the place of its kind.

    Raises:
        InputError: a judge file cannot be used.
    """
    embedder = retriever.semantic.embedder.name if retriever.semantic else None
    judges: dict[FreeJudge, RuleJudge] = {}
    for kind in get_args(FreeJudge):
        if kind == "answer_score" and retriever.balance is None:
            continue
        judge = (
            chosen if chosen.kind == kind else load_question_judge(judge_path(kind), "en", embedder)
        )
        if isinstance(judge, RuleJudge):
            judges[kind] = judge
    return judges


def judge_freely(
    judges: FreeJudges, retriever: Retriever, query: str, ranking: Sequence[Hit]
) -> dict[str, FreeVerdict]:
    """What each says of a query, by kind."""
    return {kind: _decide(judge, retriever, query, ranking) for kind, judge in judges.items()}


def _decide(
    judge: RuleJudge, retriever: Retriever, query: str, ranking: Sequence[Hit]
) -> FreeVerdict:
    if isinstance(judge, CalibratedJudge):
        verdict = judge_by_calibration(signals_of(retriever, query), judge)
        return FreeVerdict(
            unanswerable=verdict.unanswerable,
            score=verdict.answerable_probability,
            across_languages=verdict.cross_lingual,
        )
    if judge.kind == "threshold":
        decided = judge_by_threshold(ranking, judge.min_score)
        return FreeVerdict(unanswerable=decided.unanswerable, score=decided.top_base_score)
    score = retriever.answer_score(query) or 0.0
    return FreeVerdict(unanswerable=not ranking or score < judge.min_score, score=score)


def setting_of(judge: RuleJudge) -> float:
    """The score below which a query is unanswerable."""
    return judge.file.min_probability if isinstance(judge, CalibratedJudge) else judge.min_score


def free_rates(
    judges: FreeJudges, chosen: str, items: Sequence[ItemReport]
) -> tuple[JudgeRates, ...]:
    """How right each was; `chosen`: the kind of the run's own judge."""
    rates: list[JudgeRates] = []
    for kind, judge in judges.items():
        counts = confusion((not item.answerable, item.judges[kind].unanswerable) for item in items)
        rates.append(
            JudgeRates.like(
                counts,
                kind=kind,
                chosen=kind == chosen,
                setting=setting_of(judge),
                missed=counts.fn,
                unanswerable=counts.tp + counts.fn,
                refused=counts.fp,
                answerable=counts.fp + counts.tn,
            )
        )
    return tuple(rates)


def cost_line(rates: JudgeRates, say: Words) -> str:
    """What a judge would cost those who ask, in a sentence."""
    return say("page.judge_costs", **rates.model_dump())
