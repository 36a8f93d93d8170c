"""Free judges (without model calls), compared on each query by their two kinds of errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from gigamind.choices import FreeJudge
from gigamind.judges.spec import Chosen
from gigamind.judges.unanswerable import (
    CalibratedJudge,
    RuleJudge,
    Scored,
    ThresholdJudge,
    UnanswerableJudge,
    judge_by_calibration,
    judge_by_threshold,
    judge_path,
    load_question_judge,
)
from gigamind.metrics.answerability import confusion
from gigamind.retrieval.retriever import Retriever as Engine
from gigamind.retrieval.signals import signals_of
from gigamind.tasks.search.schema import FreeVerdict, ItemReport, JudgeRates


@dataclass(frozen=True, slots=True)
class FreeJudges:
    """Free judges by kind, and the engine whose signals they read; None if another system searches."""

    by_kind: Mapping[FreeJudge, RuleJudge]
    engine: Engine | None


def free_judges(run: Chosen[UnanswerableJudge] | None, engine: Engine | None) -> FreeJudges:
    """Return gigamind's free judges that can judge this search; the run's own judge replaces the one of its kind.

    Another system is judged only by a threshold that was set for it. An unusable judge file raises InputError.
    """
    if run is None:
        return FreeJudges({}, None)
    chosen = run.judge
    if engine is None:
        return FreeJudges({"threshold": chosen} if isinstance(chosen, ThresholdJudge) else {}, None)
    embedder = engine.semantic.embedder.name if engine.semantic else None
    judges: dict[FreeJudge, RuleJudge] = {}
    for kind in get_args(FreeJudge):
        if kind == "answer_score" and engine.balance is None:
            continue
        own = chosen.kind == kind
        judge = chosen if own else load_question_judge(judge_path(kind), "en", embedder)
        if isinstance(judge, RuleJudge):
            judges[kind] = judge
    return FreeJudges(judges, engine)


def judge_freely(
    judges: FreeJudges, query: str, ranking: Sequence[Scored]
) -> dict[str, FreeVerdict]:
    """Return each judge's verdict on a query, by kind; empty if the system returned no score for the first note."""
    if judges.engine is None and ranking and ranking[0].base_score is None:
        return {}
    return {
        kind: verdict
        for kind, judge in judges.by_kind.items()
        if (verdict := _decide(judge, judges.engine, query, ranking))
    }


def _decide(
    judge: RuleJudge, engine: Engine | None, query: str, ranking: Sequence[Scored]
) -> FreeVerdict | None:
    if judge.kind == "threshold":
        return FreeVerdict.like(judge_by_threshold(ranking, judge.min_score))
    if engine is None:
        return None
    if isinstance(judge, CalibratedJudge):
        return FreeVerdict.like(judge_by_calibration(signals_of(engine, query), judge))
    score = engine.answer_score(query) or 0.0
    return FreeVerdict(unanswerable=not ranking or score < judge.min_score, score=score)


def free_rates(
    judges: FreeJudges, chosen: str, items: Sequence[ItemReport]
) -> tuple[JudgeRates, ...]:
    """Return the accuracy of each judge; `chosen` is the kind of the run's own judge."""
    rates: list[JudgeRates] = []
    for kind, judge in judges.by_kind.items():
        counts = confusion(
            (not item.answerable, item.judges[kind].unanswerable)
            for item in items
            if kind in item.judges
        )
        rates.append(
            JudgeRates.like(
                counts,
                kind=kind,
                chosen=kind == chosen,
                setting=judge.file.min_probability
                if isinstance(judge, CalibratedJudge)
                else judge.min_score,
                missed=counts.fn,
                unanswerable=counts.tp + counts.fn,
                refused=counts.fp,
                answerable=counts.fp + counts.tn,
            )
        )
    return tuple(rates)
