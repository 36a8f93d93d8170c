"""tune.json, a grid of search settings over the same queries with the recommended one, and its page."""

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from gigamind.formats import points
from gigamind.i18n import Message, Text, _, joined
from gigamind.records.judged import Report
from gigamind.release.comparison import Comparison
from gigamind.release.policy import rule_label
from gigamind.reports import document as doc
from gigamind.reports.comparison import example_of, main_keys
from gigamind.reports.verdict import NO_RELEASE, items_text
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


_WORSE_SHOWN = 3


def tuning_document(
    tuning: Tuning,
    *,
    comparison: Comparison | None = None,
    warnings: Iterable[Text] = (),
    report: str = "",
    current: str = "",
    lines: str = "",
    run: str = "RUN",
) -> doc.Document:
    """Return the page.

    Args:
        comparison: of the run with the recommended setting with that of the current one; None if it is kept.
        warnings: what is known about judges.
        report, current: URLs of the page of that comparison, and of the report of the current setting; "" if missing.
        lines: the recommended options as lines of gigamind.toml.
        run: the folder of a run with these options, for commands.
    """
    steps = (
        doc.Step(_("Evaluate with this setting"), tuning.command),
        doc.Step(_("Make it the baseline"), f"gigamind baseline promote {shlex.quote(run)}"),
        doc.Step(_("For daily use, put these lines into `gigamind.toml`"), lines)
        if lines and comparison
        else None,
        doc.Step(_("See every query that changes."), url=report) if report else None,
        doc.Step(_("Report of the current setting"), url=current) if current else None,
    )
    return doc.shaped(
        _("Comparison of search settings"),
        joined((Path(tuning.dataset).name, Path(tuning.notes).name), " · "),
        verdict=_verdict(tuning, comparison),
        warnings=(*_warnings(tuning), *warnings),
        steps=filter(None, steps),
        table=_before_and_after(tuning, comparison) if comparison else None,
        examples=_examples(comparison) if comparison else None,
        sections=(_settings(tuning),),
        version=tuning.app_version,
    )


def _verdict(tuning: Tuning, comparison: Comparison | None) -> doc.Verdict:
    gain = _change_text(tuning.metric, tuning.gain, tuning.low, tuning.high)
    if tuning.is_switch:
        name = _setting_name(tuning.reported.setting, tuning)
        switch = _("Switch to {setting}: {gain}, cross-validated.", setting=name, gain=gain)
        counts = (items_text(comparison),) if comparison else ()
        if not tuning.worse:
            return doc.Verdict("measured", switch, (*counts, NO_RELEASE))
        worst = tuning.worse[0]
        cost = _(
            "In return, {metric} gets worse ({size}).",
            metric=rule_label(worst.metric),
            size=points(worst.difference),
        )
        return doc.Verdict("warning", joined((switch, cost), " "), (*counts, NO_RELEASE))
    keep = _(
        "Keep the current setting ({kept}): none of the {others} others is significantly better.",
        kept=_setting_name(tuning.as_is.setting, tuning),
        others=len(tuning.settings) - 1,
    )
    if tuning.best:
        keep = joined((keep, _("Best in cross-validation: {gain}.", gain=gain)), " ")
    if tuning.detectable is None:
        return doc.Verdict("measured", keep, (NO_RELEASE,))
    detectable = _(
        "With {queries} queries, this comparison detects a true gain of {detectable} or more in at least 80% of"
        " cases.",
        queries=tuning.queries,
        detectable=points(tuning.detectable, signed=False),
    )
    return doc.Verdict("measured", keep, (detectable, NO_RELEASE))


def _change_text(metric: str, size: float, low: float, high: float) -> Message:
    ends = {"low": points(low), "high": points(high)}
    values = {"metric": rule_label(metric), "size": points(size), **ends}
    return _("{metric} {size} (95% CI {low} to {high})", **values)


def _warnings(tuning: Tuning) -> Iterator[Text]:
    if tuning.worse:
        costs = [_change_text(x.metric, x.difference, x.low, x.high) for x in tuning.worse]
        yield _(
            "Significantly worse with the recommended setting: {costs}. Look at these queries before you switch.",
            costs=doc.listed(costs, _WORSE_SHOWN),
        )
    if tuning.left_out:
        values = {"n": tuning.left_out, "metric": rule_label(tuning.metric)}
        yield _("Answerable queries without a value of {metric}, left out: {n:,}.", **values)


def _before_and_after(tuning: Tuning, comparison: Comparison) -> doc.Table:
    """Return the chosen metric and those that change significantly."""
    main = main_keys([change.metric for change in comparison.metrics])
    keys = dict.fromkeys([tuning.metric, *(worse.metric for worse in tuning.worse), *main])
    rows: list[tuple[doc.Cell, ...]] = []
    for change in filter(None, map(comparison.metric, keys)):
        now, difference = change.current, doc.Difference(change.difference, better=change.is_better)
        if change.metric == tuning.metric:
            now = (change.baseline or 0.0) + tuning.gain
            difference = doc.Difference(tuning.gain, tuning.low, tuning.high, better=True)
        if difference.better is not None:
            values = doc.Proportion(change.baseline), doc.Proportion(now)
            rows.append((rule_label(change.metric), *values, difference))
    heads = (_("metric"), _("current setting"), _("recommended setting"), _("change"))
    caption = _(
        "{metric} is cross-validated: what to expect on new queries. Other metrics are measured on the queries"
        " that chose the setting, so they are too optimistic.",
        metric=rule_label(tuning.metric),
    )
    if tuning.min_score is not None:
        other = _(
            "The command sets --min-score {min_score:g}, because the scores are on a different scale. This"
            " threshold adds no false refusals on your queries. Gates need a new baseline.",
            min_score=tuning.min_score,
        )
        caption = joined((caption, other), " ")
    return doc.Table.of(heads, rows, caption)


def _examples(comparison: Comparison) -> doc.Examples:
    """Return two queries that get better and one that gets worse, or more of one kind."""
    better, worse = comparison.changed("improved"), comparison.changed("worse")
    shown = [*better[::-1][: 3 - bool(worse)], *worse][:3]
    labels = (_("current setting"), _("recommended setting"))
    items = tuple(example_of(change, labels) for change in shown)
    return doc.Examples(_("Queries that change"), items, len(comparison.changes))


def _setting_name(setting: SearchSetting, tuning: Tuning) -> Text:
    """Return a setting in words: its fusion, and the other options that vary in the grid."""
    match setting.mode, setting.fusion:
        case "keyword", _fusion:
            parts: list[Text] = [_("keyword")]
        case "semantic", _fusion:
            parts = [_("semantic")]
        case _hybrid, "balanced":
            parts = [_("balanced fusion")]
        case _:
            parts = [_("weighted fusion, alpha {alpha:g}", alpha=setting.alpha)]
    if setting.fusion == "balanced" and _varies(tuning, "title_weight"):
        parts.append(_("title weight {weight:g}", weight=setting.title_weight))
    if _varies(tuning, "chunk_chars"):
        parts.append(_("chunks of {chars} characters", chars=setting.chunk_chars))
    if setting.mode != "keyword" and _varies(tuning, "embedder"):
        parts.append(setting.embedder)
    if setting.graph_rerank:
        parts.append(_("graph rerank"))
    if setting.rerank:
        parts.append(_("reranked by {model}", model=setting.rerank))
    return joined(parts, ", ")


def _varies(tuning: Tuning, name: str) -> bool:
    own = [tuned.setting for tuned in tuning.settings]
    if name == "title_weight":
        own = [setting for setting in own if setting.fusion == "balanced"]
    return len({getattr(setting, name) for setting in own}) > 1


def _settings(tuning: Tuning) -> doc.Section:
    """Return all settings, the highest value first: the only place with gains on the queries that chose."""
    main = main_keys(list(tuning.as_is.figures))
    keys = [tuning.metric, *(key for key in main if key != tuning.metric)]
    order = sorted(enumerate(tuning.settings), key=lambda pair: -pair[1].figures[tuning.metric])
    rows: list[tuple[doc.Cell, ...]] = []
    for place, tuned in order:
        name = _setting_name(tuned.setting, tuning)
        if place == 0:
            name = _("{setting} (current setting)", setting=name)
        elif place == tuning.chosen:
            name = _("{setting} (recommended)", setting=name)
        rows.append((name, *(doc.Proportion(tuned.figures.get(key)) for key in keys)))
    heads = (_("setting"), *map(rule_label, keys))
    lead = _(
        "The same queries chose the best setting and measured it, so the highest value is too optimistic. The"
        " cross-validated gain ({folds} folds, repeated {partitions} times) corrects this. White's reality check across"
        " all settings, at the {level}% significance level, decides whether to switch.",
        folds=tuning.folds,
        partitions=tuning.partitions,
        level=f"{100 * tuning.level:g}",
    )
    title = _("All settings ({n:,})", n=len(rows))
    return doc.Section.closed(
        "settings", title, doc.Prose(lead, faint=True), doc.Table.of(heads, rows)
    )
