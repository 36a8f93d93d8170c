"""How a run was judged: the verdicts counted, and, for a judge with a setting, what other settings would have given."""

from dataclasses import dataclass

from gigamind.metrics.answerability import Confusion, confusion
from gigamind.metrics.sweep import BestThreshold, SweepPoint, best_f1, point_at, sweep
from gigamind.reports.schema import RunRecord, RunReport


@dataclass(frozen=True, slots=True)
class Judging:
    """The verdicts of a run, and its setting among all of them.

    Attributes:
        kind: of the judge.
        setting: the score below which a query is judged unanswerable; None for a judge without one.
        points: every setting, ascending; empty for a judge without one.
        best: None without both kinds of queries, or when no setting catches an unanswerable one.
    """

    kind: str
    counts: Confusion
    setting: float | None
    points: list[SweepPoint]
    best: BestThreshold | None

    @property
    def both_kinds(self) -> bool:
        """Whether there are unanswerable and answerable queries to tell apart."""
        counts = self.counts
        return bool(counts.tp + counts.fn and counts.fp + counts.tn)

    def at(self, setting: float) -> SweepPoint:
        """What another setting in [0, 1] would have given."""
        return point_at(self.points, setting)


def judging(record: RunRecord) -> Judging:
    """Count the verdicts, and sweep the settings over the run's queries."""
    counts = confusion(
        (not item.answerable, item.judged_unanswerable)
        for item in record.items
        if item.judged_unanswerable is not None
    )
    judge = record.run.judge
    if judge is None or judge.setting is None:
        return Judging(judge.kind if judge else "", counts, None, [], None)
    scored = [(not item.answerable, item.answerable_score) for item in record.items]
    best = best_f1(scored, seed=seed_of(record.run))
    return Judging(judge.kind, counts, judge.setting, sweep(scored), best)


def seed_of(run: RunReport) -> int:
    """The seed of the run's intervals, which those of its report share."""
    seed = run.options["seed"]
    if isinstance(seed, int):
        return seed
    raise TypeError(f"run.json: options.seed is not a number: {seed!r}")
