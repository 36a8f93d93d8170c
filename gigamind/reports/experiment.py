"""The page of a comparison: any runs over one dataset side by side, and for two runs the verdict of the gates."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gigamind.formats import moment
from gigamind.i18n import Message, Text, Translator, _, joined
from gigamind.metrics.spec import blocks_of, units_of
from gigamind.metrics.table import in_order
from gigamind.release.comparison import WHAT, Comparison, Experiment, MetricChange
from gigamind.release.model import Snapshot
from gigamind.release.policy import Release, rule_label
from gigamind.reports import document as doc
from gigamind.reports.charts import shortened
from gigamind.reports.comparison import (
    WORDS_BLIND,
    difference_of,
    gate_conditions,
    main_keys,
    metric_table,
    next_steps,
    noise_text,
    trust_warnings,
    worst_examples,
)
from gigamind.reports.html import items_script
from gigamind.reports.verdict import (
    NO_RELEASE,
    TASKS,
    changed_text,
    items_text,
    moved,
    release_verdict,
    slice_name,
)

_HITS = 10
_IDS = 5
_LABEL_COLUMNS = 32  # of a run
# Differences of runs that raise doubts about the metrics; the settings of an experiment differ on purpose.
_DOUBTFUL = frozenset({"judge", "notes", "model version", "checklist"})


def experiment_document(
    experiment: Experiment,
    runs: Sequence[Snapshot],
    say: Translator,
    *,
    release: Release | None = None,
    paths: Sequence[object] = (),
    items: str = "",
    report: str = "",
    waivable: str = "",
) -> doc.Document:
    """Return the page of a comparison; `runs` are the same runs, with their items.

    Args:
        release: the result of the gates, if two runs are compared.
        paths: of the runs, for commands; by default their labels.
        items: URL of the list of changed items.
        report: URL of the last run's report, compared with the first run; "" if there is none.
        waivable: the output folder of this comparison, for commands; "" if there is none.
    """
    names = [shlex.quote(str(path)) for path in paths or [run.label for run in experiment.runs]]
    labelled = (
        run.model_copy(update={"label": shortened(run.label, _LABEL_COLUMNS)})
        for run in experiment.runs
    )
    experiment = experiment.model_copy(update={"runs": tuple(labelled)})
    keys = in_order(experiment.metrics)
    changing = {c.metric for entry in experiment.comparisons for c in entry.metrics if c.changed}
    main = [key for key in main_keys(keys) if key in changing]
    others = [key for key in keys if key not in main]
    # The rankings of a search, for example, choose the best run.
    block = blocks_of(experiment.task)[0]
    goals = [key for key in main if key.startswith(f"{block}.")] or main
    best = _best(experiment, goals)
    better, lost = _significant(experiment.comparisons[best], goals)
    ahead = best if len(better) > len(lost) or not lost else None
    subject = _(
        "{others} vs {reference}, on {shared:,} {units} that all runs evaluated",
        reference=experiment.reference.label,
        others=[run.label for run in experiment.runs[1:]],
        shared=experiment.shared,
        units=units_of(experiment.task),
    )
    counts = [len(entry.changed("worse")) for entry in experiment.comparisons]
    worst = counts.index(max(counts))
    comparison = release.comparison if release else experiment.comparisons[worst]
    changed = changed_text(comparison) if len(counts) == 1 else ()
    more = metric_table(release, every=True) if release else _metric_table(experiment, others)
    title = _("All metrics") if release else _("Other metrics")
    items = items if any(entry.changes for entry in experiment.comparisons) else ""
    return doc.shaped(
        _("Comparison of runs"),
        joined([TASKS[experiment.task], subject, *changed], " · "),
        verdict=release_verdict(release) if release else _ranking(experiment, main, goals, best),
        warnings=_warnings(experiment, release),
        steps=next_steps(release, names[-1], baseline=names[0], items=items, waivable=waivable)
        if release
        else _steps(experiment, names, ahead, items),
        table=metric_table(release) if release else _metric_table(experiment, main),
        examples=worst_examples(
            comparison, sides=(experiment.reference.label, experiment.runs[worst + 1].label)
        ),
        conditions=gate_conditions(release) if release else None,
        noise=noise_text(release) if release else "",
        sections=(
            doc.Section.closed("metrics", title, more) if any(more.rows) else None,
            _settings(experiment, report),
            _slices(experiment, main),
            _listing(experiment, runs, say),
        ),
        version=experiment.runs[-1].run.app_version,
    )


def _ranking(
    experiment: Experiment, main: Sequence[str], goals: Sequence[str], place: int
) -> doc.Verdict:
    """Return which run is best by its significant changes of main metrics, and the worst change of any run."""
    comparison, reference = experiment.comparisons[place], experiment.reference.label
    better, worse = _significant(comparison, goals)
    significant = [_significant(other, main) for other in experiment.comparisons]
    if not any(map(any, significant)):
        text = _(
            "No run differs significantly from {reference} in a main metric.", reference=reference
        )
        return doc.Verdict("measured", text, (NO_RELEASE,))
    best = _("Best: {reference}. No other run is better on balance.", reference=reference)
    if len(better) > len(worse):
        most = max(better, key=lambda change: -(change.drop or 0.0))
        best = _(
            "Best: {run}, of {metrics} main metrics significantly better than {reference} in {better} and worse in"
            " {worse} ({change}).",
            run=experiment.runs[place + 1].label,
            reference=reference,
            better=len(better),
            worse=len(worse),
            metrics=len(goals),
            change=moved(most.metric, comparison),
        )
    drops = [
        (change.drop or 0.0, at, change.metric)
        for at, (_better, lost) in enumerate(significant)
        for change in lost
    ]
    if not drops:
        worst = _("No main metric of any run got significantly worse.")
    else:
        _drop, at, metric = max(drops, key=lambda entry: entry[0])
        other = experiment.comparisons[at]
        run, change = experiment.runs[at + 1].label, moved(metric, other)
        named = _("Worst: {run} ({change}).", run=run, change=change)
        worst = joined((named, items_text(other)), " ")
    return doc.Verdict("measured", joined((best, worst), " "), (NO_RELEASE,))


def _best(experiment: Experiment, goals: Sequence[str]) -> int:
    """Return the comparison with the most significant gains over losses; the first one decides ties."""

    def balance(place: int) -> tuple[int, float]:
        comparison = experiment.comparisons[place]
        better, worse = _significant(comparison, goals)
        first = comparison.metric(goals[0]) if goals else None
        return len(better) - len(worse), -(first.drop or 0.0) if first else 0.0

    return max(range(len(experiment.comparisons)), key=balance)


def _significant(
    comparison: Comparison, main: Sequence[str]
) -> tuple[list[MetricChange], list[MetricChange]]:
    """Return the main metrics that are significantly better, and those that are worse."""
    changes = [change for key in main if (change := comparison.metric(key))]
    better = [change for change in changes if change.is_better is True]
    return better, [change for change in changes if change.is_better is False]


def _steps(
    experiment: Experiment, names: Sequence[str], best: int | None, items: str
) -> Iterator[doc.Step]:
    if best is None:
        yield doc.Step(_("Keep {reference}.", reference=experiment.reference.label))
    else:
        label = _("For a release verdict, compare one run with the reference")
        command = f"gigamind compare {names[0]} {names[best + 1]} --fail-on-regression"
        yield doc.Step(label, command)
    if items:
        yield doc.Step(_("See every changed item."), url=items)


def _warnings(experiment: Experiment, release: Release | None) -> Iterator[Text]:
    named = len(release.comparison.lost) if release else 0  # the verdict has them
    if len(experiment.partial) > named:
        yield _(
            "Items that only some runs evaluated, which no metric includes: {n:,} ({ids}). Missing items by run:"
            " {counts}.",
            n=len(experiment.partial),
            counts=[f"{run.label} {run.lacks}" for run in experiment.runs if run.lacks],
            ids=doc.listed(experiment.partial, _IDS),
        )
    if release:
        yield from trust_warnings(release)
        return
    for run, comparison in zip(experiment.runs[1:], experiment.comparisons, strict=True):
        if comparison.unjudged:
            n = len(comparison.unjudged)
            yield _("{run}: items that lost their verdict: {n:,}.", run=run.label, n=n)
        doubtful = [x.shown() for x in comparison.mismatches if x.what in _DOUBTFUL]
        if doubtful:
            values = {"run": run.label, "reference": experiment.reference.label, "what": doubtful}
            yield _(
                "{run} and {reference} differ in {what}. A change of a metric may come from that.",
                **values,
            )
    if any(comparison.by_words for comparison in experiment.comparisons):
        yield WORDS_BLIND


def _metric_table(experiment: Experiment, keys: Sequence[str]) -> doc.Table:
    """Return metrics by run; values are over the items that all runs measured, or a cell has its own values and N."""
    columns: list[Text] = [_("metric"), experiment.reference.label]
    for run in experiment.runs[1:]:
        columns += [run.label, _minus_reference(experiment, run.label)]
    rows: list[tuple[doc.Cell, ...]] = []
    sizes = Counter(change.n for c in experiment.comparisons for change in c.metrics)
    usual = sizes.most_common(1)[0][0] if sizes else 0
    for key in keys:
        changes = [comparison.metric(key) for comparison in experiment.comparisons]
        before, *after = (run.figures.get(key) for run in experiment.runs)
        known = [change for change in changes if change and change.difference is not None]
        n = max((change.baseline_n or change.n for change in known), default=usual)
        if len({(change.items[0], change.baseline) for change in known}) == 1:
            n, before = known[0].items[0], known[0].baseline
        row: list[doc.Cell] = [rule_label(key), doc.Proportion(before, n if n != usual else None)]
        for value, change in zip(after, changes, strict=True):
            if change is None or change.difference is None:
                row += [doc.Proportion(value), None]
            elif (change.items[0], change.baseline) == (n, before):
                own = change.items[1] if change.items[1] != n else None
                row += [doc.Proportion(change.current, own), difference_of(change)]
            else:
                own = _(
                    "{before:.3f} → {after:.3f} (N = {n:,})",
                    before=change.baseline or 0.0,
                    after=change.current or 0.0,
                    n=change.n,
                )
                row += [own, difference_of(change)]
        rows.append(tuple(row))
    caption = _(
        '"better" and "worse" mean a significant difference: its 95% confidence interval excludes 0, and its p-value,'
        " adjusted for all metrics and runs (Holm), is below 0.05. The intervals are adjusted for {runs} comparisons"
        " (Bonferroni).",
        runs=len(experiment.comparisons),
    )
    table = replace(doc.Table.of(columns, rows, caption), minor=tuple(range(2, len(columns), 2)))
    return table.explained()


def _minus_reference(experiment: Experiment, run: str) -> Message:
    return _("{run} − {reference}", run=run, reference=experiment.reference.label)


_SETTINGS = {**WHAT, "gigamind": _("gigamind version"), "mode": _("search mode")}


def setting_name(name: str) -> Text:
    """Return the label of a setting; options keep their names."""
    return _SETTINGS.get(name, name)


def value_text(value: str) -> Text:
    """Return the value of a setting."""
    return {"none": _("none"), "builtin": _("built-in")}.get(value, value)


def _settings(experiment: Experiment, report: str) -> doc.Section:
    names = experiment.reference.setup
    heads = (_("run"), *map(setting_name, names), _("items"), _("created"))
    rows: list[tuple[doc.Cell, ...]] = [
        (
            run.label,
            *map(value_text, run.setup.values()),
            doc.Count(run.items),
            moment(run.run.created_at),
        )
        for run in experiment.runs
    ]
    same = None if names else doc.Prose(_("All runs used the same settings."), faint=True)
    link = doc.Link(_("Report of the last run, compared with the first"), report)
    linked = doc.Facts(((_("report"), link),)) if report else None
    return doc.Section.closed(
        "runs", _("Settings of the runs"), doc.Table.of(heads, rows), same, linked
    )


def _slices(experiment: Experiment, main: Sequence[str]) -> doc.Section | None:
    if not experiment.slices or not main:
        return None
    tables: list[doc.Table] = []
    for place, run in enumerate(experiment.runs[1:]):
        rows: list[tuple[doc.Cell, ...]] = []
        for part in experiment.slices:
            by_name = {change.metric: change for change in part.metrics[place] if change.n}
            cells = [_slice_cell(by_name.get(key), part.items) for key in main]
            rows.append((slice_name(part.kind, part.key), doc.Count(part.items), *cells))
        heads = (_("slice"), _("items"), *map(rule_label, main))
        tables.append(doc.Table.of(heads, rows, _minus_reference(experiment, run.label)))
    lead = _(
        "Use slices to find problems, not to decide: with many slices, some differ by chance. Slices in which"
        " fewer than 6 items changed have no CI."
    )
    left_out = _("Smaller tags that are not shown: {n:,}.", n=experiment.tags_left_out)
    note = doc.Prose(left_out, faint=True) if experiment.tags_left_out else None
    lead = doc.Prose(lead, faint=True)
    return doc.Section.closed("slices", _("Results by slice"), lead, *tables, note)


def _slice_cell(change: MetricChange | None, items: int) -> doc.Cell:
    if change is None:
        return None
    difference = difference_of(change)
    if change.n == items or difference.low is not None:
        return difference
    return replace(difference, note=_("N = {n}", n=change.n))


_WAYS = {"improved": 1, "worse": -1}


def _listing(
    experiment: Experiment, runs: Sequence[Snapshot], say: Translator
) -> doc.Section | None:
    """Return all items that changed in some run: worse ones first, the worst at the top."""
    ranked = sorted(
        (change.change == "improved", place, change.id)
        for comparison in experiment.comparisons
        for place, change in enumerate(comparison.changes)
    )
    if not ranked:
        return None
    notes: dict[str, int] = {}
    tags: dict[str, int] = {}
    by_id = [{item.id: item for item in run.items} for run in runs]
    changes = [{c.id: c for c in entry.changes} for entry in experiment.comparisons]
    kind = runs[0].kind
    rows: list[list[object]] = []
    for name in dict.fromkeys(name for _improved, _place, name in ranked):
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
                    [_WAYS[change.change], say(change.what)] if change else None
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
    data = items_script(
        say,
        rows,
        compared=True,
        notes=list(notes),
        tags=list(tags),
        runs=[run.label for run in experiment.runs],
    )
    title = _("Changed items ({n:,})", n=len(rows))
    return doc.Section.closed("list", title, doc.Listing("experiment_item.js", data))
