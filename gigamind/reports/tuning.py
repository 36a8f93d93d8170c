"""tune.json: many search settings over the same queries, the recommended one, and its significance."""

from typing import Literal

from gigamind.records.judged import Report
from gigamind.retrieval.settings import FusionName, Mode


class SearchSetting(Report):
    """The options of a setting; those without effect in it have their default."""

    mode: Mode
    fusion: FusionName
    alpha: float
    title_weight: float
    chunk_chars: int
    graph_rerank: bool
    embedder: str
    rerank: str | None = None


class TunedSetting(Report):
    """One setting of the grid; `figures` are means over the queries, by name: "search.mrr".

    Attributes:
        gain: mean difference of the metric from the current setting on these queries.
        low, high: its interval; the lower bound is simultaneous over all settings, so it allows for picking the best.
        p_value: probability that some setting of the grid shows this gain if none is better.
        picked: share of folds for which it was the best setting on the other folds.
        out_of_fold: its gain on the folds that picked it; null if none did.
    """

    setting: SearchSetting
    figures: dict[str, float]
    gain: float
    low: float
    high: float
    p_value: float
    picked: float
    out_of_fold: float | None


class WorseMetric(Report):
    """A metric that the recommended setting makes significantly worse, with the 95 % interval of the difference."""

    metric: str
    baseline: float
    current: float
    difference: float
    low: float
    high: float


class Tuning(Report):
    """The result of a grid search.

    Attributes:
        queries: number of answerable queries, searched under every setting.
        left_out: number of answerable queries for which the metric is undefined.
        folds, partitions: of the nested cross-validation.
        level: probability of a switch if no setting is better.
        settings: the current setting first, then by the number of changed options.
        chosen: index of the recommended setting; 0 keeps the current one.
        best: index of the setting with the highest mean.
        gain, low, high: cross-validated gain of the recommended, else the best setting, and its 95 % interval.
        detectable: gain that is detected with 80 % power; null if no setting changes anything.
        min_score: threshold with no more false refusals than the current setting; null if it can stay or is unknown.
        worse: metrics that get significantly worse at that threshold, worst first; with false refusals and FAR.
    """

    version: Literal["1.0"] = "1.0"
    app_version: str
    dataset: str
    notes: str
    metric: str
    queries: int
    left_out: int
    seed: int
    folds: int
    partitions: int
    level: float
    settings: tuple[TunedSetting, ...]
    chosen: int
    best: int
    gain: float
    low: float
    high: float
    detectable: float | None
    min_score: float | None = None
    worse: tuple[WorseMetric, ...] = ()
    command: str

    @property
    def is_switch(self) -> bool:
        """Whether another setting is significantly better than the current one."""
        return self.chosen != 0

    @property
    def as_is(self) -> TunedSetting:
        """Return the current setting, which the others are compared with."""
        return self.settings[0]

    @property
    def reported(self) -> TunedSetting:
        """Return the setting of `gain`."""
        return self.settings[self.chosen or self.best]
