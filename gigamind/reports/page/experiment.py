"""compare.html: any runs over one dataset side by side, their differences with significance, and the changed items."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gigamind.formats import moment, share, signed
from gigamind.i18n import Language, Message, Translator, _, joined, n_, translator
from gigamind.metrics.spec import units_of
from gigamind.metrics.table import in_order
from gigamind.release.comparison import MetricChange, Snapshot
from gigamind.release.experiment import Experiment, SliceChanges
from gigamind.release.mismatch import WHAT
from gigamind.reports.charts import Difference, Differences
from gigamind.reports.figures import metric_name
from gigamind.reports.page.headline import change_interval, main_changes
from gigamind.reports.page.layout import drawn, items_script, listing_script, rendered
from gigamind.reports.release import (
    TASKS,
    Release,
    decision_text,
    judge_limits,
    main_keys,
    plain_verdict,
    reason_texts,
    slice_name,
    verdict_text,
)
from gigamind.reports.charts import shortened

_HITS = 10
_IDS = 5
_LABEL_COLUMNS = 24  # of a run in the title of a chart


def render_experiment(
    experiment: Experiment,
    runs: Sequence[Snapshot],
    *,
    lang: Language = "en",
    release: Release | None = None,
    report: str = "",
) -> str:
    """Return the page of a comparison; `runs` are the same runs, with their items.

    Args:
        release: the result of the gates, if two runs are compared.
        report: URL of the last run's report, compared with the first run; "" if there is none.
    """
    say = translator(lang)
    drawing = say(
        _("Chart: differences of the main metrics between two runs, with confidence intervals")
    )
    decided = release if release and not release.gate.is_refused else None
    rows = list(figure_rows(experiment, say))
    limits = [] if decided else judge_limits(experiment.comparisons[-1], say)
    return rendered(
        "experiment.html.jinja",
        say,
        script=listing_script("experiment_item.js"),
        data=_items(experiment, runs, say),
        experiment=experiment,
        task=say(TASKS[experiment.task]),
        version=experiment.runs[-1].run.app_version,
        headline=headline(experiment, say),
        gate=decided.gate if decided else None,
        read_as=plain_verdict(decided) if decided else "",
        verdict=verdict_text(decided, say) if decided else "",
        decision=decision_text(decided, say) if decided else "",
        reasons=reason_texts(decided.gate, decided.comparison, say) if decided else [],
        no_verdict="" if decided else why_no_verdict(release, say),
        findings=[finding(experiment, place, say) for place in _others(experiment)],
        notices=[*notices(experiment, say), *limits],
        setup_names=[setting_name(name, say) for name in experiment.reference.setup],
        run_rows=[
            (
                run.label,
                run.run.run_id,
                moment(run.run.created_at),
                [value_text(value, say) for value in run.setup.values()],
                run.items,
            )
            for run in experiment.runs
        ],
        charts=[
            drawn(_chart(experiment, place, say), drawing)
            for place in _others(experiment)
            if experiment.comparisons[place - 1].metrics
        ],
        figure_rows=rows,
        other_pairs=any(cell.pairs for *_row, cells in rows for cell in cells),
        slice_tables=[_slice_table(experiment, place, say) for place in _others(experiment)],
        certainty=certainty(experiment, say),
        changed=len(_changed(experiment)),
        report=report,
    )


def headline(experiment: Experiment, say: Translator) -> str:
    """Return which runs are compared, in a line."""
    values = {
        "reference": experiment.reference.label,
        "others": [run.label for run in experiment.runs[1:]],
        "shared": experiment.shared,
        "units": units_of(experiment.task),
    }
    return say(
        _("{others} vs {reference}, on {shared:,} {units} that all runs evaluated", **values)
    )


def finding(experiment: Experiment, place: int, say: Translator) -> str:
    """Return what differs significantly between a run and the first one, in a sentence."""
    comparison = experiment.comparisons[place - 1]
    moved = [change for change in comparison.metrics if change.is_better is not None]
    run = experiment.runs[place].label
    if not moved:
        if any((change.drop or 0.0) > 0 for change in comparison.metrics):
            return say(_("{run}: no metric changed significantly from the reference run.", run=run))
        return say(_("{run}: no significant difference from the reference run.", run=run))
    worse, better = main_changes(moved, main_keys([m.metric for m in comparison.metrics]), say)
    to = {"run": run, "worse": worse, "better": better}
    if worse and better:
        text = _("{run}: significantly worse in {worse}; significantly better in {better}.", **to)
    elif worse:
        text = _("{run}: significantly worse in {worse}. No metric got significantly better.", **to)
    else:
        text = _(
            "{run}: significantly better in {better}. No metric got significantly worse.", **to
        )
    return say(text)


def why_no_verdict(release: Release | None, say: Translator) -> str:
    """Return why there is no verdict, in a line; `release` is None if more than two runs were compared."""
    if release is None:
        text = _(
            "No release verdict: release gates compare one run with one baseline. For a verdict, name exactly two"
            " runs."
        )
        return say(text)
    first, *others = reason_texts(release.gate, release.comparison, say)
    if not others:
        return say(_("No verdict: {why}", why=first))
    return say(
        _("No release verdict: {why} (and {count} more reasons)", why=first, count=len(others))
    )


SIGNIFICANT = _(
    '"Significant" means that the 95% confidence interval (CI) of the difference excludes 0 and the Holm-adjusted'
    " p-value is below 0.05. No CI is shown if fewer than 6 items changed."
)


def certainty(experiment: Experiment, say: Translator) -> str:
    """Return what the intervals cover, and how they are corrected."""
    compared = len(experiment.comparisons)
    if compared == 1:
        text = _(
            "All differences are measured on the same items. Each 95% CI is valid for one metric alone. The"
            " p-values come from paired tests and are adjusted for testing all metrics (Holm)."
        )
    else:
        text = _(
            "All differences are measured on the same items. {compared} runs are compared with one reference run,"
            " so each CI has a confidence level of {each}% (Bonferroni). All {compared} CIs of a metric then"
            " contain the true differences in at least 95% of experiments, although the runs share the reference."
            " The p-values are adjusted for testing all metrics and runs (Holm).",
            compared=compared,
            each=f"{100 * experiment.correction.confidence:.4g}",
        )
    return say(joined([text, SIGNIFICANT], " "))


def notices(experiment: Experiment, say: Translator) -> Iterator[str]:
    """Yield what a reader must know before trusting the metrics."""
    if experiment.partial:
        ids = [*experiment.partial[:_IDS], *(["…"] if len(experiment.partial) > _IDS else [])]
        text = n_(
            "Only some runs evaluated {n} item, so no metric includes it: {ids}. Missing items by run: {counts}.",
            "Only some runs evaluated {n:,} items, so no metric includes them: {ids}. Missing items by run:"
            " {counts}.",
            n=len(experiment.partial),
            counts=[f"{run.label} {run.lacks}" for run in experiment.runs if run.lacks],
            ids=ids,
        )
        yield say(text)
    for run, comparison in zip(experiment.runs[1:], experiment.comparisons, strict=True):
        if comparison.unjudged:
            text = n_(
                "{run}: {n} item has a verdict in the reference run but none in this run. Verdict metrics leave"
                " this item out.",
                "{run}: {n:,} items have a verdict in the reference run but none in this run. Verdict metrics"
                " leave these items out.",
                run=run.label,
                n=len(comparison.unjudged),
            )
            yield say(text)
        for mismatch in comparison.mismatches:
            if notice := _differs(mismatch.what, run.label):
                yield say(notice)


def _differs(what: str, run: str) -> Message | None:
    match what:
        case "judge":
            return _(
                "{run}: the judge or its threshold differs from the reference run. Verdict metrics may therefore"
                " differ because of the judge.",
                run=run,
            )
        case "notes":
            return _(
                "{run}: the notes differ from the notes of the reference run. Metrics may therefore differ because of"
                " the notes.",
                run=run,
            )
        case "model version":
            return _(
                "{run}: the model has the same name as in the reference run, but another version.",
                run=run,
            )
        case "checklist":
            return _(
                "{run}: the checklist or its model differs from the reference run, so checklist results are not"
                " compared.",
                run=run,
            )
        case _other:
            return None


def _others(experiment: Experiment) -> range:
    return range(1, len(experiment.runs))


_SETTINGS = {**WHAT, "gigamind": _("gigamind version"), "mode": _("search mode")}


def setting_name(name: str, say: Translator) -> str:
    """Return the label of a setting; options keep their names."""
    return say(_SETTINGS.get(name, name))


def value_text(value: str, say: Translator) -> str:
    """Return the value of a setting."""
    return say({"none": _("none"), "builtin": _("built-in")}.get(value, value))


def _chart(experiment: Experiment, place: int, say: Translator) -> Differences:
    comparison = experiment.comparisons[place - 1]
    main = main_keys([change.metric for change in comparison.metrics])
    shown = [change for key in main if (change := comparison.metric(key))]
    rows = [
        Difference(
            metric_name(change.metric, say), change.difference, change.interval, change.is_better
        )
        for change in shown
        if change.difference is not None
    ]
    both = (experiment.runs[place].label, experiment.reference.label)
    run, reference = (shortened(label, _LABEL_COLUMNS) for label in both)
    return Differences(say(_("{run} − {reference}", run=run, reference=reference)), rows)


class Cell(NamedTuple):
    """A metric in a run; `better` is the direction of a significant change, `pairs` its own N and values."""

    value: str
    difference: str
    interval: str
    better: bool | None
    p: str
    moved: str
    pairs: str = ""


def _cell(
    value: float | None, change: MetricChange | None, say: Translator, pairs: str = ""
) -> Cell:
    if change is None:
        return Cell(share(value), "–", "", None, "–", "–")
    return Cell(
        share(value if change.difference is None else change.current),
        signed(change.difference),
        change_interval(change, say),
        change.is_better,
        _p(change.shown_p),
        f"{change.improved} / {change.worse}",
        pairs,
    )


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"  # noqa: PLR2004


def figure_rows(
    experiment: Experiment, say: Translator, *, main: bool = False
) -> Iterator[tuple[str, int, str, list[Cell]]]:
    """Yield all metrics, or the main ones: name, items, value in the first run, and cells of the other runs.

    A row's values are over the items that all runs measured; else each cell has the values of its own difference.
    """
    for key in main_keys(experiment.metrics) if main else in_order(experiment.metrics):
        changes = [comparison.metric(key) for comparison in experiment.comparisons]
        before, *after = (run.figures.get(key) for run in experiment.runs)
        compared = [change for change in changes if change and change.difference is not None]
        n = max((change.baseline_n or change.n for change in compared), default=0)
        if len({(change.n, change.baseline) for change in compared}) == 1:
            n, before = compared[0].n, compared[0].baseline
        cells = [
            _cell(value, change, say, _pairs(change, n, before, say))
            for value, change in zip(after, changes, strict=True)
        ]
        yield metric_name(key, say), n, share(before), cells


def _pairs(change: MetricChange | None, n: int, before: float | None, say: Translator) -> str:
    if change is None or change.difference is None or (change.n, change.baseline) == (n, before):
        return ""
    return f"{_count(change.n, say)}: {share(change.baseline)} → {share(change.current)}"


def _count(n: int, say: Translator) -> str:
    return say(_("N = {n}", n=n))


class SliceTable(NamedTuple):
    """One run compared with the first, by slice: names of metrics; name, items and cells of each slice."""

    run: str
    metrics: list[str]
    rows: list[tuple[str, int, list[Cell]]]


def _slice_table(experiment: Experiment, place: int, say: Translator) -> SliceTable:
    main = main_keys([change.metric for change in experiment.comparisons[place - 1].metrics])
    return SliceTable(
        experiment.runs[place].label,
        [metric_name(key, say) for key in main],
        [
            (say(slice_name(part.kind, part.key)), part.items, _slice_cells(part, place, main, say))
            for part in experiment.slices
        ],
    )


def _slice_cells(
    part: SliceChanges, place: int, main: Sequence[str], say: Translator
) -> list[Cell]:
    by_name = {change.metric: change for change in part.metrics[place - 1] if change.n}
    changes = [by_name.get(key) for key in main]
    return [
        _cell(None, change, say, _count(change.n, say) if change and change.n != part.items else "")
        for change in changes
    ]


def _changed(experiment: Experiment) -> list[str]:
    """Return the ids of the items that changed in some run: worse ones first, the worst at the top."""
    places: dict[str, tuple[bool, int]] = {}
    for comparison in experiment.comparisons:
        for place, change in enumerate(comparison.changes):
            here = change.change == "improved", place
            places[change.id] = min(here, places.get(change.id, here))
    return sorted(places, key=lambda name: places[name])


_WAYS = {"improved": 1, "worse": -1}


def _items(experiment: Experiment, runs: Sequence[Snapshot], say: Translator) -> str:
    notes: dict[str, int] = {}
    tags: dict[str, int] = {}
    by_id = [{item.id: item for item in run.items} for run in runs]
    changes = [{c.id: c for c in entry.changes} for entry in experiment.comparisons]
    kind = runs[0].kind
    rows: list[list[object]] = []
    for name in _changed(experiment):
        items = [items[name] for items in by_id]
        shown = [kind.shown(item) for item in items]
        known = next((item for item in items if item.slices), items[0])
        item_changes = [by_name.get(name) for by_name in changes]
        rows.append(
            [
                name,
                shown[0].text,
                known.language or "",
                [tags.setdefault(tag, len(tags)) for tag in known.tags],
                [
                    [_WAYS[change.change], say(change.what).replace("->", "→")] if change else None
                    for change in item_changes
                ],
                [notes.setdefault(note, len(notes)) for note in shown[0].expected_notes],
                [
                    None
                    if shown_item.ranking is None
                    else [
                        [notes.setdefault(hit.note, len(notes)), hit.base_score]
                        for hit in shown_item.ranking[:_HITS]
                    ]
                    for shown_item in shown
                ],
            ]
        )
    return items_script(
        say,
        experiment.comparisons[0],
        rows,
        notes=list(notes),
        tags=list(tags),
        runs=[run.label for run in experiment.runs],
    )
