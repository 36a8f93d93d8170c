"""tune.json: many settings of search over the same queries, which of them to take, and how sure that is."""

from typing import Literal

from gigamind.records.judged import Report
from gigamind.retrieval.settings import FusionName, Mode


class SearchSetting(Report):
    """What may differ; an option that has no part under the others is at its default."""

    mode: Mode
    fusion: FusionName
    alpha: float
    title_weight: float
    chunk_chars: int
    graph_rerank: bool
    embedder: str


class TunedSetting(Report):
    """One setting of the grid.

    Attributes:
        figures: means of the metrics over the queries, by name: "search.mrr".
        gain: mean difference of the metric from as-is on these queries.
        low, high: its interval; the lower end holds for all settings at once, so it bears that the best was picked.
        p_value: chance that any setting of the grid looks so much better though none is.
        picked: share of folds in which it was the best of the other folds.
        out_of_fold: what it gained in the folds that picked it; null where none did.
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
    """A metric that the chosen setting makes surely worse, with the 95 % interval of the difference."""

    metric: str
    baseline: float
    current: float
    difference: float
    low: float
    high: float


class Tuning(Report):
    """What a grid tells.

    Attributes:
        metric: what chose: "search.ndcg_at_10".
        queries: answerable ones that were searched under every setting.
        left_out: answerable ones for which the metric is not defined.
        folds, partitions: of the nested cross-validation.
        level: chance to switch where no setting is better.
        settings: as-is first, then by how much of it they change.
        chosen: its place; 0 means to keep.
        best: place of the highest mean.
        gain: of the chosen setting, or of the best where none is chosen: out of fold, without the flattery.
        low, high: its 95 % interval.
        detectable: the gain that would be found in 80 of 100 such samples; null where no setting changes anything.
        min_score: the threshold with which the chosen setting refuses no more answerable queries than are refused as it
            is; null where that may stay, or the runs were not made.
        worse: what the chosen setting makes surely worse, under that threshold, the worst first; false refusals and
            FAR are looked at as well.
        command: to type.
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
        """Whether another setting is surely better than as-is."""
        return self.chosen != 0

    @property
    def as_is(self) -> TunedSetting:
        """The setting that the others are held against."""
        return self.settings[0]

    @property
    def told(self) -> TunedSetting:
        """The setting that `gain` is of."""
        return self.settings[self.chosen or self.best]
