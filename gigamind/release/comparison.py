"""The result of comparing two runs: `compare.py` makes it, gates and reports read it (spec 6.2 and 7)."""

from collections.abc import Mapping
from math import inf
from typing import Literal, Self

from pydantic import BaseModel, Field

from gigamind.choices import Relaxable
from gigamind.i18n import Message, Text, _
from gigamind.metrics.table import is_mean, use_of
from gigamind.records.judged import Finite, Report
from gigamind.stats.paired import ALPHA, MIN_PAIRS

_COMPARE_VERSION = "1.2"  # 1.1 lacked metrics of one run, and gave verdicts over changed notes
_DETAIL = 80  # characters
SliceKind = Literal["language", "cross_lingual", "difficulty", "tag"]
SliceName = tuple[SliceKind, str]
"""A part of the items, such as ("language", "ko"); the key of "cross_lingual" is ""."""
Speed = Literal["search_p95", "cold_start"]
Checks = Literal["none", "compared", "other", "dropped", "new"]
"""Checks of two runs: in neither; of one checklist; of two; only in the baseline; only in the current run."""
Severity = Literal["refuse", "no-verdict", "no-checks", "warn"]


class Mismatch(BaseModel, frozen=True, extra="forbid"):
    """One difference between two runs, other than the measured values.

    Attributes:
        severity: "refuse": metrics measure different things; "no-verdict": gates do not apply; "no-checks": the
            checklist is not compared; "warn": everything is compared.
        meaning: what differs, what follows and how to fix it.
        detail: what differs, with both values.
        relaxed_by: the key of `relax` in gates.toml that allows this difference; None if nothing does.
    """

    what: str
    severity: Severity
    meaning: Text
    relaxed_by: Relaxable | None = None
    detail: Text = ""

    def shown(self, most: float = _DETAIL) -> Text:
        """Return what differs, with both values if they have at most so many characters."""
        what = WHAT.get(self.what, self.what)
        if not self.detail or len(self.detail) > most:
            return what
        return _("{what} ({detail})", what=what, detail=self.detail)

    @property
    def relaxation(self) -> Message:
        """Return the note that the policy allows this difference."""
        return _(
            "Allowed difference between the runs: {what}. --changed {key} or [comparable] in gates.toml allows it.",
            what=self.shown(inf),
            key=self.relaxed_by,
        )


WHAT: Mapping[str, Message] = {
    "dataset": _("dataset"),
    "recorded answers": _("recorded answers"),
    "judge": _("judge"),
    "checklist": _("checklist"),
    "index schema": _("index schema"),
    "suggesting settings": _("suggestion settings"),
    "retrieval settings": _("retrieval settings"),
    "answering settings": _("answering settings"),
    "model version": _("model version"),
    "sample": _("sample"),
    "notes": _("notes"),
    "hardware": _("hardware"),
    "embedding model": _("embedding model"),
    "system": _("system"),
}
"""Labels of `Mismatch.what`."""


class MetricChange(Report):
    """One metric over the items that both runs measured; if only one run measured it, over that run's items.

    Attributes:
        n: number of items that both runs measured; of a ratio, the items that either run counts.
        difference: current - baseline.
        low, high: its interval (BCa bootstrap), 95 % by default; null with fewer than six changed items, for which it
            would be too narrow (gates still use it).
        p_value: of the paired test; null if no test fits.
        p_adjusted: Holm-adjusted over all metrics of this comparison.
        same_as: an earlier metric with the same difference on each item; Holm counts the two as one test.
        detectable: the smallest difference that this number of items shows with 80 % power; null if unknown.
        improved, worse: items on which the current run is better, worse.
        changed: items that differ; for a ratio perhaps more than `improved` and `worse` together.
        baseline_n, current_n: items that each run measured, among the shared items.
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
        """Return the interval if enough items changed for the test to find a difference, else None."""
        if self.low is None or self.high is None or self.changed < MIN_PAIRS:
            return None
        return self.low, self.high

    @property
    def items(self) -> tuple[int, int]:
        """Return the number of items behind each value: shared ones, or what each run counts for a ratio."""
        paired = self.n and is_mean(self.metric)
        return (self.n, self.n) if paired else (self.baseline_n, self.current_n)

    def published(self) -> Self:
        """Return the change as files and callers see it, without an interval that is too narrow."""
        return self if self.interval else self.model_copy(update={"low": None, "high": None})

    @property
    def is_better(self) -> bool | None:
        """Return whether the metric is significantly better (True) or worse (False); None if neither or undirected."""
        use, p_value = use_of(self.metric), self.p_adjusted
        if use.undirected or self.interval is None or p_value is None or p_value >= ALPHA:
            return None
        low, high = self.interval
        return None if low <= 0 <= high else (low > 0) is not use.lower

    @property
    def drop(self) -> float | None:
        """Return by how much it got worse; negative if it got better.  Rounded, so that 0.9 - 0.88 is 0.02."""
        if self.difference is None:
            return None
        return round(self.difference if use_of(self.metric).lower else -self.difference, 12)


class SnapshotHit(Report):
    """One note of a ranking; scores are null if its system gives none."""

    note: str
    base_score: Finite | None
    final_score: Finite | None


class ComparedItem(Report):
    """An item: a query, a note or a question."""

    id: str
    text: str
    expected_notes: tuple[str, ...]


class ItemChange(ComparedItem):
    """One item whose result differs from the baseline; rankings are null for a task without them."""

    change: Literal["improved", "worse"]
    what: Text
    baseline_ranking: tuple[SnapshotHit, ...] | None
    current_ranking: tuple[SnapshotHit, ...] | None


class LostItem(ComparedItem):
    """An item that this run could not evaluate; its errors.jsonl has the reason."""


class SpeedChange(Report):
    """A time in milliseconds; null if a run did not measure it.

    Attributes:
        ratio: current / baseline, in units of the load; null unless both have it.  `low`, `high`: its 99 % interval.
        query_ms: mean time of the baseline's timed queries.
        of_system: the time is that of another system, called over a network or in its own process.
        of_file: the other system is known from a run file, which has no times.
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
    """Identifies a run."""

    run_id: str
    created_at: str
    app_version: str
    git_commit: str | None


class Comparison(Report):
    """compare.json, without the verdict of the gates.

    Attributes:
        shared: number of items that both runs evaluated; all metrics are over these.
        lost: items that the baseline evaluated and the current run did not, although it drew the same sample.
        unjudged: shared items with a verdict in the baseline and none in the current run.
        gone: shared items whose expected passage was in its note in the baseline and no longer is.
        checks: whether checklist results are compared; "none" if neither run has any.
        unchecked: shared items that were checked in the baseline and not in the current run.
        unchanged: number of shared items with the same result.
        changes: items with another result, worst first.
        worse_in: a slice that contains all items that got worse, if chance does not explain that.
        figures: metrics of the current run over all its items.
        by_words: the judge of the current run compares words, not meaning, and calls no model.
    """

    version: Literal["1.2"] = _COMPARE_VERSION
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

    def published(self) -> Self:
        """Return the comparison as files and callers see it; see `MetricChange.published`."""
        return self.model_copy(update={"metrics": tuple(x.published() for x in self.metrics)})

    @property
    def items(self) -> int:
        """Return the number of items that the current run evaluated."""
        return self.shared + self.only_current

    def metric(self, name: str) -> MetricChange | None:
        """Return the metric with that name, such as `search.mrr`; None if there is none."""
        return next((change for change in self.metrics if change.metric == name), None)

    def changed(self, way: Literal["improved", "worse"]) -> list[ItemChange]:
        """Return the items that changed in this way, in the order of `changes`."""
        return [change for change in self.changes if change.change == way]


class ComparedRun(Report):
    """One run of an experiment; `label` is unique.

    Attributes:
        setup: settings that differ between the runs, by name; each run has the same names.
        lacks: number of items that another run evaluated and this one did not.
        figures: metrics over the items that all runs evaluated.
    """

    label: str
    run: RunName
    setup: dict[str, str]
    items: int
    lacks: int
    figures: dict[str, float]


class Correction(Report):
    """The correction for several comparisons.

    Attributes:
        intervals: "bonferroni" over the runs compared with the first, so that all intervals of a metric cover their
            true values in 95 % of experiments; "none" for a single comparison.
        p_values: "holm" over all metrics of all runs.
    """

    intervals: Literal["none", "bonferroni"]
    confidence: float
    p_values: Literal["holm"] = "holm"


class SliceChanges(Report):
    """One slice of the items; see `MetricChange.published` for their intervals."""

    kind: SliceKind
    key: str
    items: int
    metrics: tuple[tuple[MetricChange, ...], ...]


class Experiment(Report):
    """The `experiment` of compare.json; the first of the runs is the reference.

    Attributes:
        shared: number of items that all runs evaluated.
        partial: ids of the items that only some runs evaluated; no metric includes them.
        comparisons: of each other run with the first, over the shared items; `p_adjusted` is over all of them.
        slices: for exploration; their intervals are not corrected for the number of slices.
        tags_left_out: number of smaller tags that are not among the slices.
    """

    version: Literal["1.0"] = "1.0"
    task: str
    runs: tuple[ComparedRun, ...]
    shared: int
    partial: tuple[str, ...]
    correction: Correction
    comparisons: tuple[Comparison, ...]
    slices: tuple[SliceChanges, ...]
    tags_left_out: int

    @property
    def reference(self) -> ComparedRun:
        """Return the run that the others are compared with."""
        return self.runs[0]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the names of all metrics, in the task's order."""
        names = (change.metric for comparison in self.comparisons for change in comparison.metrics)
        return tuple(dict.fromkeys(names))
