"""Selects and orders the slices of a search report, sweeps its threshold, and draws its charts."""

from collections.abc import Iterator
from dataclasses import dataclass

from gigamind.i18n import Text, Translator, _
from gigamind.metrics import answerability
from gigamind.release.policy import rule_label
from gigamind.reports.charts import Chart, drawn, forest
from gigamind.reports.comparison import main_figures
from gigamind.reports.figures import figure_of
from gigamind.reports.verdict import slice_name
from gigamind.tasks.search.schema import ItemReport, RunRecord, SliceReport, SummaryReport

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


def search_figures(record: RunRecord, say: Translator) -> dict[str, Chart]:
    """Return the charts of a search run: metrics and slices."""
    summary = record.summary
    metrics = {say(rule_label(figure.key)): figure for figure in main_figures(summary.overall)}
    sliced = {say(name): figure_of(part, "search.mrr") for name, part in slices(summary, _TAGS)}
    return drawn(
        metrics=forest(say(_("Metrics with 95% CIs")), metrics),
        slices=forest(say(_("MRR by slice")), sliced),
    )
