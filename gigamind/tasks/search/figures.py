"""Selects and orders the slices of a search report, sweeps its threshold, and draws its charts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gigamind.i18n import Text, Translator, _
from gigamind.metrics import answerability
from gigamind.metrics.table import label
from gigamind.release.policy import rule_label
from gigamind.reports.charts import Chart, Line, Mark, Pen, Shown, Steps, drawn, forest
from gigamind.reports.comparison import main_figures
from gigamind.reports.figures import Figure, figure_of, figures_of
from gigamind.reports.verdict import slice_name
from gigamind.tasks.search.compare import SearchSnapshot
from gigamind.tasks.search.schema import ItemReport, RunRecord, SliceReport, SummaryReport

_THRESHOLD_NAMES = {
    "threshold": _("min_score"),
    "answer_score": _("min_score"),
    "calibrated": _("minimum probability of an answer"),
}
"""Names of the judges' thresholds, by kind of judge."""
_SCORE_NAMES = {
    "threshold": _("base score of the top note (before link reranking)"),
    "answer_score": _("answer_score of the best note (confidence that it has the answer)"),
    "calibrated": _("probability that the vault has the answer"),
}
_ORDER = {"easy": 0, "mid": 1, "hard": 2}


def slices(summary: SummaryReport, tags: int) -> Iterator[tuple[Text, SliceReport]]:
    """Yield all queries, then languages, cross-lingual, difficulties, and the `tags` largest tags, with labels."""
    yield slice_name("overall", ""), summary.overall
    for key, part in summary.by_language.items():
        yield slice_name("language", key), part
    if summary.cross_lingual:
        yield slice_name("cross_lingual", ""), summary.cross_lingual
    for key in sorted(summary.by_difficulty, key=lambda key: (_ORDER.get(key, len(_ORDER)), key)):
        yield slice_name("difficulty", key), summary.by_difficulty[key]
    # The tag that marks cross-lingual items would repeat that slice.
    others = (pair for pair in summary.by_tag.items() if pair[1] != summary.cross_lingual)
    largest = sorted(others, key=lambda pair: -pair[1].counts.queries)
    for key, part in largest[:tags]:
        yield slice_name("tag", key), part


@dataclass(frozen=True, slots=True)
class Judging:
    """The verdicts of a run, and the effect of other thresholds."""

    kind: str  # kind of the judge
    counts: answerability.Confusion
    setting: float | None  # the threshold; None for a judge without one
    # Results at every threshold, ascending; empty for a judge without one.
    points: list[answerability.SweepPoint]
    # Threshold with the best F1; None without both kinds of queries, or if no threshold detects any unanswerable one.
    best: answerability.BestThreshold | None

    @property
    def both_kinds(self) -> bool:
        counts = self.counts
        return bool(counts.tp + counts.fn and counts.fp + counts.tn)


def judging(record: RunRecord) -> Judging:
    """Count the verdicts, and sweep the threshold over the run's queries."""
    counts = answerability.confusion(
        (not item.answerable, bool(item.judged_unanswerable)) for item in judged_items(record)
    )
    judge = record.run.judge
    if judge is None or judge.setting is None:
        return Judging(judge.kind if judge else "none", counts, None, [], None)
    scored = [(not item.answerable, item.answerable_score) for item in judged_items(record)]
    best = answerability.best_f1(scored, seed=record.run.seed)
    return Judging(judge.kind, counts, judge.setting, answerability.sweep(scored), best)


def judged_items(record: RunRecord) -> list[ItemReport]:
    """Return the queries with a verdict."""
    return [item for item in record.items if item.judged_unanswerable is not None]


_TAGS = 8
_BINS = 28
_CURVE_POINTS = 200
_CLOCK_MS = 0.01  # resolution of a clock; a log scale has no 0
_PERCENTILES = ("p50", "p95", "p99")


def search_figures(
    record: RunRecord, judged: Judging, baseline: SearchSnapshot | None, say: Translator
) -> dict[str, Chart]:
    """Return the charts of a search run: metrics, threshold, scores, latency, slices. Baselines are hollow marks."""
    old = baseline.metrics if baseline else None

    def named(metrics: Iterable[Figure]) -> Shown:
        return {say(rule_label(metric.key)): metric for metric in metrics}

    def parts(summary: SummaryReport, tags: int) -> Shown:
        return {say(name): figure_of(part, "search.mrr") for name, part in slices(summary, tags)}

    metrics = named(main_figures(record.summary.overall))
    known = named(figures_of(old.overall, old.overall.intervals)) if old else None
    sliced = parts(record.summary, _TAGS)
    known_parts = parts(old, len(old.by_tag)) if old else None
    return drawn(
        metrics=forest(say(_("Metrics with 95% CIs")), say, metrics, known),
        **_judged(record, judged, say),
        latency=_latency(record, baseline, say),
        slices=forest(say(_("MRR by slice")), say, sliced, known_parts),
    )


def _judged(record: RunRecord, judged: Judging, say: Translator) -> dict[str, Chart]:
    if not judged.both_kinds or judged.setting is None:
        return {}
    current = Mark(judged.setting, say(_("current threshold: {value:.3f}", value=judged.setting)))
    settings = [current]
    if judged.best:
        best = judged.best.min_score
        pen = Pen("muted", "dashed", 1.1)
        settings.append(
            Mark(best, say(_("threshold with the best F1: {value:.3f}", value=best)), pen)
        )
    return {
        "threshold": _threshold(record, judged, settings, say),
        "scores": _scores(record, judged.kind, current, say),
    }


def _threshold(record: RunRecord, judged: Judging, marks: Sequence[Mark], say: Translator) -> Steps:
    low, high = _score_range(judged_items(record), marks)
    settings: list[float] = np.linspace(low, high, _CURVE_POINTS).tolist()
    counts = [answerability.point_at(judged.points, setting).counts for setting in settings[1:]]
    precision, recall, f1, far = (
        label(f"unanswerable.{name}", say.language) for name in ("precision", "recall", "f1", "far")
    )
    lines = [
        Line(f1, [c.f1 for c in counts], Pen("ink", width=2.2)),
        Line(precision, [c.precision for c in counts], Pen("accent")),
        Line(recall, [c.recall for c in counts], Pen("accent", "dashed")),
        Line(far, [c.far for c in counts], Pen("warn", "dotted", 1.8)),
    ]
    x_label = say(_THRESHOLD_NAMES[judged.kind])
    return Steps(say(_("Verdicts at other thresholds")), x_label, settings, lines, marks)


def _scores(record: RunRecord, kind: str, current: Mark, say: Translator) -> Steps:
    items = judged_items(record)
    low, high = _score_range(items, [current])
    edges = np.linspace(low, high, _BINS + 1)
    pens = {True: Pen("accent"), False: Pen("warn", "dashed")}
    lines: list[Line] = []
    for name, answerable in ((_("answerable"), True), (_("unanswerable"), False)):
        raw_scores = [i.answerable_score for i in items if i.answerable is answerable]
        scores = [low if score is None else score for score in raw_scores]
        shares = 100 * np.histogram(scores, edges)[0] / len(scores)
        lines.append(Line(say(name), shares.tolist(), pens[answerable]))
    x_label, counted = say(_SCORE_NAMES[kind]), say(_("share of queries"))
    return Steps(
        say(_("Score distribution")), x_label, edges.tolist(), lines, [current], counted, "%"
    )


def _score_range(items: Sequence[ItemReport], marks: Sequence[Mark]) -> tuple[float, float]:
    scores = [0.0 if item.answerable_score is None else item.answerable_score for item in items]
    shown = scores + [mark.at for mark in marks]
    low, high = min(shown), max(shown)
    margin = max(0.02, 0.04 * (high - low))
    return (
        low - margin if low < 0 else max(0.0, low - margin),
        high + margin if high > 1 else min(1.0, high + margin),
    )


def _latency(record: RunRecord, baseline: SearchSnapshot | None, say: Translator) -> Steps | None:
    measured_ms = (item.latency_ms for item in record.items)
    times = [max(_CLOCK_MS, ms) for ms in measured_ms if ms is not None]
    if not times:
        return None
    percentiles = record.summary.overall.search
    marks = [
        Mark(max(_CLOCK_MS, ms), f"{name} {ms:.1f}")
        for name in _PERCENTILES
        if (ms := percentiles.get(f"latency_{name}_ms")) is not None
    ]
    if baseline and baseline.hardware.hash == record.run.hardware.hash:
        old = baseline.metrics.overall.search.get("latency_p95_ms")
        if old is not None:
            label = say(_("baseline p95 latency {value:.1f}", value=old))
            marks.append(Mark(max(_CLOCK_MS, old), label, Pen("muted", "dashed", 1.1)))
    shown = times + [mark.at for mark in marks]
    edges = np.geomspace(min(shown) * 0.9, max(shown) * 1.1, _BINS + 1)
    lines = [Line("", np.histogram(times, edges)[0].tolist(), Pen("accent"))]
    labels = say(_("Latency")), say(_("milliseconds (log scale)"))
    return Steps(*labels, edges.tolist(), lines, marks, say(_("queries")), log=True)
