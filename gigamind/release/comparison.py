"""What a comparison of two runs says, as `compare.py` finds it and gates and reports read it (seed 6.2 and 7)."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gigamind.choices import Relaxable
from gigamind.metrics.table import has_no_direction, is_lower_better
from gigamind.records.judged import Report
from gigamind.release.model import Checks, EvalSnapshot, SliceName, SnapshotHit, Speed
from gigamind.stats.paired import ALPHA, MIN_PAIRS
from gigamind.wording import Words

Snapshot = EvalSnapshot[Any, Any]
COMPARE_VERSION = (
    "1.2"  # 1.1 told no figure that one run lacks, and gave verdicts over changed notes
)
Severity = Literal["refuse", "no-verdict", "no-checks", "warn"]


class Mismatch(BaseModel):
    """One thing in which two runs differ beside what is measured.

    Attributes:
        severity: "refuse": the figures are of different things; "no-verdict": they are compared, but the gates say
            nothing of them; "no-checks": all but the checks by a checklist may be compared; "warn": all may, with this
            in mind.
        detail: what differs, with both values; part of the meaning.
        relaxed_by: what `relax` of gates.toml names to have a verdict in spite of it; None where nothing does.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: str
    severity: Severity
    meaning: str
    relaxed_by: Relaxable | None = None
    detail: str = ""


def relaxation(mismatch: Mismatch, say: Words) -> str:
    """That the runs differ, in what, and are compared all the same."""
    changed = mismatch.detail if say.language == "en" else mismatch.detail.replace(" -> ", " → ")
    key, detail = mismatch.relaxed_by, f" ({changed})" if changed else ""
    return say(_("Relaxed: {what}, as --changed {key} or [comparable] in gates.toml allows.", key=key, what=f"{say(f'relaxed.{key}')}{detail}"))


class MetricChange(Report):
    """One metric over the items that both runs measured; where there is none, over those of the run that did.

    Attributes:
        n: items that both measured.
        difference: current - baseline.
        low, high: its interval (BCa bootstrap), of 95 % where nothing else is said; null for a ratio that is no mean
            over items.  A bootstrap of fewer than six changed items is too narrow: pages show `interval`.
        p_value: of the paired test; null where none fits.
        p_adjusted: after Holm, over all metrics of this comparison.
        same_as: an earlier metric that differs by as much on each of the same items, as recall@1 does from hit@1 where
            one note is expected, or two that did not change: one test under two names, which Holm counts once.
        detectable: the smallest difference that so many items show in 80 of 100 cases; null of a graded figure where
            fewer than six items changed, which say too little about the size of changes.
        improved, worse: items on which the current run is better, worse.
        changed: items that differ; of a ratio more than those, for an item's own quotient may stay the same.
        baseline_n, current_n: items that each run measured, of those that both have.
    """

    metric: str
    n: int
    baseline: float | None
    current: float | None
    difference: float | None
    low: float | None = None
    high: float | None = None
    test: str | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    same_as: str | None = Field(default=None, exclude_if=lambda name: name is None)
    detectable: float | None = None
    improved: int = 0
    worse: int = 0
    changed: int = 0
    baseline_n: int = 0
    current_n: int = 0

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its interval, where as many items changed as the test needs to tell a difference from chance."""
        if self.low is None or self.high is None or self.changed < MIN_PAIRS:
            return None
        return self.low, self.high

    @property
    def told_p(self) -> float | None:
        """The adjusted p-value, where the interval beside it is told: else no test could tell anything."""
        return self.p_adjusted if self.interval else None

    @property
    def is_better(self) -> bool | None:
        """Whether it is surely better (True) or worse (False): the one place that decides what pages call so.

        None where chance may explain it: the interval holds 0, or the adjusted p-value is not below 0.05; and of what
        is neither better nor worse when it rises.
        """
        if self.interval is None or self.p_adjusted is None or self.p_adjusted >= ALPHA:
            return None
        if has_no_direction(self.metric):
            return None
        low, high = self.interval
        if low <= 0 <= high:
            return None
        return (low > 0) is not is_lower_better(self.metric)

    @property
    def drop(self) -> float | None:
        """By how much it got worse, negative when it got better; rounded, so that 0.9 - 0.88 is 0.02."""
        if self.difference is None:
            return None
        return round(self.difference if is_lower_better(self.metric) else -self.difference, 12)


class ComparedItem(Report):
    """Which item this is: a query, a note, a question."""

    id: str
    text: str
    expected_notes: tuple[str, ...]


class ItemChange(ComparedItem):
    """One item that ended otherwise than in the baseline.

    Attributes:
        baseline_ranking, current_ranking: null for a task that ranks nothing.
    """

    change: Literal["improved", "worse"]
    what: str
    baseline_ranking: tuple[SnapshotHit, ...] | None
    current_ranking: tuple[SnapshotHit, ...] | None


class LostItem(ComparedItem):
    """An item that could not be evaluated any more; the current run's errors.jsonl says why."""


class SpeedChange(Report):
    """A time in milliseconds; null where a run did not measure it.

    Attributes:
        ratio: current over baseline, each in units of the load that its passes were interleaved with; null where not
            both were so measured.  `low`, `high`: its 99 % interval.
        passes, baseline_passes: how many passes each run has.
        query_ms: time of one of the baseline's timed queries.
        of_system: it is another system's, asked over a network or in a process of its own.
        of_file: it is another system's that only a run file tells of, which has no times.
    """

    name: Speed
    baseline_ms: float | None
    current_ms: float | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    passes: int = 0
    baseline_passes: int = 0
    query_ms: float | None = None
    of_system: bool = False
    of_file: bool = False


class RunName(Report):
    """Which run this is."""

    run_id: str
    created_at: str
    app_version: str
    git_commit: str | None


class Comparison(Report):
    """compare.json, but for the gates' verdict.

    Attributes:
        shared: items that both runs evaluated; every figure is over these.
        lost: items that the baseline evaluated and the current run did not, though it drew the same sample.
        unjudged: shared items about which the judge decided in the baseline and not in the current run.
        gone: shared items whose expected passage stood in its note in the baseline, and is gone in the current run.
        checks: whether those of a checklist are compared; "none" where neither run has any.
        unchecked: shared items that were checked in the baseline and not in the current run, where they are.
        unchanged: shared items that ended alike.
        changes: the worse first, the worst of them first.
        worse_in: the slice that every item that got worse stands in, where chance would not put them there.
        figures: of the current run alone, over all its items.
        by_words: the current run's judge asks no model, and sees words and not meaning.
    """

    version: Literal["1.2"] = COMPARE_VERSION
    task: str
    baseline: RunName
    current: RunName
    mismatches: tuple[Mismatch, ...]
    shared: int
    only_baseline: int
    only_current: int
    lost: tuple[LostItem, ...]
    unjudged: tuple[LostItem, ...] = ()
    gone: tuple[LostItem, ...] = ()
    checks: Checks = "none"
    unchecked: tuple[LostItem, ...] = ()
    metrics: tuple[MetricChange, ...]
    speed: tuple[SpeedChange, ...]
    unchanged: int
    changes: tuple[ItemChange, ...]
    worse_in: SliceName | None = None
    figures: dict[str, float] = Field(default={})
    by_words: bool = Field(default=False, exclude_if=lambda by_words: not by_words)

    @property
    def items(self) -> int:
        """Items that the current run evaluated."""
        return self.shared + self.only_current

    @property
    def same_hardware(self) -> bool:
        """Whether times may be compared."""
        return all(mismatch.what != "hardware" for mismatch in self.mismatches)

    def metric(self, name: str) -> MetricChange | None:
        """The metric of that name, such as `search.mrr`."""
        return next((change for change in self.metrics if change.metric == name), None)
