"""The judges that cost nothing, side by side on each query: what each decides, and what that costs those who ask.

A judge that refuses every question takes none for answerable, so neither kind of error says enough without the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from gigamind.choices import FreeJudge
from gigamind.judges.calibrated import CalibratedJudge, judge_by_calibration
from gigamind.judges.spec import Chosen
from gigamind.judges.threshold import Scored, ThresholdJudge, judge_by_threshold
from gigamind.judges.unanswerable import (
    RuleJudge,
    UnanswerableJudge,
    judge_path,
    load_question_judge,
)
from gigamind.metrics.answerability import confusion
from gigamind.retrieval.retriever import Retriever as Engine
from gigamind.retrieval.signals import signals_of
from gigamind.tasks.search.schema import FreeVerdict, ItemReport, JudgeRates


@dataclass(frozen=True, slots=True)
class FreeJudges:
    """Judges by their kind, and the engine whose signals they read; None where another system searches."""

    by_kind: Mapping[FreeJudge, RuleJudge]
    engine: Engine | None


def free_judges(run: Chosen[UnanswerableJudge] | None, engine: Engine | None) -> FreeJudges:
    """Those that come with gigamind and can judge this search; that of the run in the place of its kind.

    Of another system nothing is known but its scores, so none can judge it but a threshold that was set for it.

    Raises:
        InputError: a judge file cannot be used.
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
        judge = (
            chosen if chosen.kind == kind else load_question_judge(judge_path(kind), "en", embedder)
        )
        if isinstance(judge, RuleJudge):
            judges[kind] = judge
    return FreeJudges(judges, engine)


def judge_freely(
    judges: FreeJudges, query: str, ranking: Sequence[Scored]
) -> dict[str, FreeVerdict]:
    """What each says of a query, by kind; nothing where the system tells no score of its first note."""
    if judges.engine is None and ranking and ranking[0].base_score is None:
        return {}
    decided = {
        kind: _decide(judge, judges.engine, query, ranking)
        for kind, judge in judges.by_kind.items()
    }
    return {kind: verdict for kind, verdict in decided.items() if verdict}


def _decide(
    judge: RuleJudge,
    engine: Engine | None,
    query: str,
    ranking: Sequence[Scored],
) -> FreeVerdict | None:
    if judge.kind == "threshold":
        decided = judge_by_threshold(ranking, judge.min_score)
        return FreeVerdict(unanswerable=decided.unanswerable, score=decided.top_base_score)
    if engine is None:
        return None
    if isinstance(judge, CalibratedJudge):
        verdict = judge_by_calibration(signals_of(engine, query), judge)
        return FreeVerdict(
            unanswerable=verdict.unanswerable,
            score=verdict.answerable_probability,
            across_languages=verdict.cross_lingual,
        )
    score = engine.answer_score(query) or 0.0
    return FreeVerdict(unanswerable=not ranking or score < judge.min_score, score=score)


def setting_of(judge: RuleJudge) -> float:
    """The score below which a query is unanswerable."""
    return judge.file.min_probability if isinstance(judge, CalibratedJudge) else judge.min_score


def free_rates(
    judges: FreeJudges, chosen: str, items: Sequence[ItemReport]
) -> tuple[JudgeRates, ...]:
    """How right each was; `chosen`: the kind of the run's own judge."""
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
                setting=setting_of(judge),
                missed=counts.fn,
                unanswerable=counts.tp + counts.fn,
                refused=counts.fp,
                answerable=counts.fp + counts.tn,
            )
        )
    return tuple(rates)
