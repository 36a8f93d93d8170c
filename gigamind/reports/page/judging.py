"""How the setting of `min_score` that a run was judged by compares with the other settings."""

from dataclasses import dataclass

from gigamind.metrics.sweep import BestThreshold, SweepPoint, best_f1, point_at, sweep
from gigamind.reports.schema import RunRecord, RunReport


@dataclass(frozen=True, slots=True)
class Judging:
    """The run's setting among all of them.

    Attributes:
        points: every setting, ascending.
        best: None without both kinds of queries, or when no setting catches an unanswerable one.
    """

    min_score: float
    points: list[SweepPoint]
    now: SweepPoint
    best: BestThreshold | None

    @property
    def both_kinds(self) -> bool:
        """Whether there are unanswerable and answerable queries to tell apart."""
        counts = self.now.counts
        return bool(counts.tp + counts.fn and counts.fp + counts.tn)

    def at(self, min_score: float) -> SweepPoint:
        """What another setting in [0, 1] would have given."""
        return point_at(self.points, min_score)


def judging(record: RunRecord) -> Judging:
    """Sweep the settings over the run's queries."""
    scored = [(not item.answerable, item.top_base_score) for item in record.items]
    points = sweep(scored)
    min_score = _option(record.run, "min_score")
    return Judging(
        min_score=min_score,
        points=points,
        now=point_at(points, min_score),
        best=best_f1(scored, seed=seed_of(record.run)),
    )


def seed_of(run: RunReport) -> int:
    """The seed of the run's intervals, which those of its report share."""
    return int(_option(run, "seed"))


def _option(run: RunReport, name: str) -> float:
    value = run.options[name]
    if isinstance(value, int | float):
        return value
    raise TypeError(f"run.json: options.{name} is not a number: {value!r}")
