"""The parts of a comparison of two runs that each page and comment shows: what to do next, metrics, items, gates."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Protocol

from gigamind.formats import points
from gigamind.i18n import Message, Text, _, joined, n_
from gigamind.metrics.spec import units_of
from gigamind.metrics.table import in_order, metric_of, use_of
from gigamind.release.comparison import ComparedItem, Comparison, ItemChange, MetricChange
from gigamind.release.policy import LOST, WEAK, Release, RuleResult, rule_label
from gigamind.release.shortfall import METRIC as CARD
from gigamind.reports import document as doc
from gigamind.reports.verdict import (
    TASKS,
    bad_metric,
    moved,
    release_verdict,
    rule_text,
    shown_state,
    state_of,
)

_HITS = 3
_LISTED = 20
_NAMED = 3  # missing notes or items in a step
_TIMES = frozenset({"search_p95", "cold_start"})


def next_steps(
    release: Release | None,
    run: str,
    *,
    items: str = "",
    errors: str = "",
    baseline: str = "BASELINE",
    waivable: str = "",
    before: Sequence[doc.Step] = (),
) -> Iterator[doc.Step]:
    """Yield what to do next: repair first, then what accepts the result.

    Args:
        release: None for a run without a baseline.
        before: what improves the run, if it has no baseline or passes although it is bad.
        run, baseline: the folders of the current run and the baseline.
        items, errors: URLs of the lists of all items and errors; "" if there is none.
        waivable: the folder with the failed gate; "" if it is in none.
    """
    if release is None:
        yield from before
        label = _("Make this run the baseline of later runs")
        yield doc.Step(label, f"gigamind baseline promote {run}")
        return
    comparison, gate, waiver = release.comparison, release.gate, release.waiver
    if waiver:
        until = _(
            "You may release until {until}. Fix {metrics} by then; keep the old baseline.",
            until=waiver.until.isoformat(),
            metrics=[rule_label(x.metric) for x in release.worst_first if x.status == "failed"],
        )
        yield doc.Step(until)
    lost = comparison.lost
    stops = bool(gate.failed and not waiver and not release.informational)
    if stops and not (lost and release.worst_first[0].metric in LOST):
        repair = _("Do not release. Fix what got worse and run again.")
        yield doc.Step(repair, url=items if comparison.changed("worse") else "")
    if lost:
        yield doc.Step(_restoring(comparison, stops=stops), url=errors)
    if comparison.gone:
        yield doc.Step(_("Restore the lost passages in their notes, or label these items again."))
    if (bad := bad_metric(release)) and not release.informational:
        improve = _(
            "Improve {metric}. The report of the run compares judges and thresholds.",
            metric=rule_label(bad.metric),
        )
        yield from before or (doc.Step(improve),)
    if items and comparison.changes and not stops:
        yield doc.Step(_("See every changed item."), url=items)
    if waiver is None and not release.informational:
        detect = before or ((_DETECT,) if comparison.task == "search" else ())
        yield from _accepting(release, run, baseline, waivable, detect)


def _restoring(comparison: Comparison, *, stops: bool) -> Message:
    """Return how to evaluate the lost items again; if notes changed, a search lost the items of missing notes."""
    found = {hit.note for change in comparison.changes for hit in change.current_ranking or ()}
    expected = (note for item in comparison.lost for note in item.expected_notes)
    missing = dict.fromkeys(note for note in expected if note not in found)
    ids = doc.listed((item.id for item in comparison.lost), _NAMED)
    fix = _("Correct the items that could not be evaluated ({items}), and run again.", items=ids)
    notes_differ = any(mismatch.what == "notes" for mismatch in comparison.mismatches)
    if comparison.task == "search" and missing and notes_differ:
        notes = doc.listed(missing, _NAMED)
        fix = _(
            "Restore the missing notes ({notes}) or correct the questions, and run again.",
            notes=notes,
        )
    return joined([_("Do not release."), fix], " ") if stops else fix


def _accepting(
    release: Release, run: str, baseline: str, waivable: str, detect: Sequence[doc.Step]
) -> Iterator[doc.Step]:
    comparison, gate, promote = release.comparison, release.gate, f"gigamind baseline promote {run}"
    if gate.is_refused:
        known = comparison.mismatches
        keys = [m.relaxed_by for m in known if m.severity == "no-verdict" and m.relaxed_by]
        refused = any(m.severity == "refuse" for m in known)
        if keys and not refused:
            changed = " ".join(f"--changed {key}" for key in dict.fromkeys(keys))
            label = _("If the change is intentional, allow it and compare again")
            if gate.then:
                failing = release.ordered(gate.then)
                metrics = doc.listed((moved(x.metric, comparison) for x in failing), _NAMED)
                would = _("If the change is allowed, gates fail: {metrics}.", metrics=metrics)
                label = joined((would, label), " ")
            yield doc.Step(label, f"gigamind compare {baseline} {run} {changed}")
        else:
            yield doc.Step(_ACCEPT, f"{promote} --force")
    elif gate.verdict in {"failed", "inconclusive", "not-comparable"}:
        if gate.verdict == "inconclusive":
            more = {
                _("To decide, evaluate again with more passes (`--speed-passes`).")
                if rule.metric in _TIMES or rule.why == "normalised"
                else _("To decide, evaluate again with more items.")
                for rule in gate.rules
                if rule.status == "inconclusive"
            }
            yield from map(doc.Step, sorted(more))
            yield doc.Step(_ACCEPT, promote)
            return
        if gate.failed and waivable:
            waive = f'gigamind gate waive {waivable} --reason "..." --until YYYY-MM-DD --by NAME'
            yield doc.Step(_("To release anyway, record who accepts it"), waive)
        if gate.failed and all(rule.metric == CARD for rule in gate.failed):
            certify = f"gigamind judge certify {run} --labels LABELS --out card"
            yield doc.Step(_("Compare the judge with human labels"), certify)
            return
        yield doc.Step(_ACCEPT, f"{promote} --force")
    elif any(rule.why == "worst" for rule in gate.rules):
        yield from detect
    elif bad_metric(release):
        yield doc.Step(_ACCEPT, promote)
    else:
        yield doc.Step(_("Optional: make this run the new baseline"), promote)


_ACCEPT = _("If the change is intentional, make this run the new baseline")
_DETECT = doc.Step(
    _("To detect unanswerable queries, choose another judge by its errors in report.html")
)


def gate_conditions(release: Release) -> doc.Conditions:
    """Return the rules of the policy that decided, then the allowed differences; passed rules are in the table."""
    comparison, gate = release.comparison, release.gate
    if gate.is_refused:  # the verdict names the differences, and the steps what allows them
        open_to = {mismatch.meaning for mismatch in comparison.mismatches if mismatch.relaxed_by}
        return doc.Conditions(
            tuple(("not-comparable", text) for text in gate.reasons if text not in open_to)
        )

    def found(rule: RuleResult) -> Text:
        known = rule.why in {"drop", "worst"}
        return rule_text(rule, comparison) if known else rule.explanation

    quiet = {"passed", "skipped"}
    shown = [x for x in release.worst_first if x.status not in quiet and not _is_known(x, release)]
    decided: dict[tuple[doc.State, Text], None] = dict.fromkeys(
        (shown_state(x.status), found(x)) for x in shown
    )
    explained = {rule.explanation for rule in gate.rules}
    codes = [(rule, code) for rule in shown for code in (rule.why, *rule.remarks)]
    weak = dict.fromkeys(rule.remark(code) for rule, code in codes if code in {"worst", WEAK})
    others = (*weak, *(text for text in gate.reasons if text not in explained))
    return doc.Conditions((*decided, *(("informational", text) for text in others)))


def metric_table(release: Release, *, every: bool = False) -> doc.Table:
    """Return the gated metrics, worst result first, then the other main metrics that changed.

    `every` adds all others.
    """
    comparison = release.comparison
    rules = [x for x in release.worst_first if not (x.baseline is x.current is None)]
    gated = [rule.metric for rule in rules]
    keys = in_order([change.metric for change in comparison.metrics])
    differing = {change.metric for change in comparison.metrics if change.changed}
    wanted = keys if every else [key for key in main_keys(keys) if key in differing]
    sizes = Counter(change.n for change in comparison.metrics)
    usual = sizes.most_common(1)[0][0] if sizes else 0
    heads = (_("metric"), _("baseline"), _("current"), _("difference (95% CI)"))
    changes = tuple(
        (rule_label(key), *_cells(change, usual, failed=None), None, doc.Result("informational"))
        for key in wanted
        if key not in gated and (change := comparison.metric(key))
    )
    if not rules:  # the runs are not comparable: there are no limits and no results
        return doc.Table.of(heads, (row[:4] for row in changes)).explained()
    rows = [(WEAK in rule.remarks, _rule_row(rule, release, usual)) for rule in rules]
    gates, weak = (tuple(row for is_weak, row in rows if is_weak is kind) for kind in (False, True))
    groups = doc.Group(gates, _("Gated")), doc.Group((*weak, *changes), _("Informational"))
    caption = "" if every else _limit_text(release)
    table = doc.Table((*heads, _("limit"), _("result")), groups, caption, minor=(4,))
    return table.explained()


def _limit_text(release: Release) -> Text:
    """Return where the limit of drops comes from."""
    drops = [rule for rule in release.gate.rules if rule.why == "drop"]
    if not drops:
        return ""
    values = {
        "limit": points(drops[0].limit or 0.0, signed=False),
        "phase": release.gate.phase,
        "units": units_of(release.comparison.task),
    }
    if below := drops[0].values.get("below"):
        return _(
            "Metrics may drop by {limit}, because the run has fewer than {below} {units} (small_sample in gates.toml).",
            below=below,
            **values,
        )
    return _("Metrics may drop by {limit} (phase {phase} in gates.toml).", **values)


def _is_known(rule: RuleResult, release: Release) -> bool:
    """Return whether a comparison for information shows a metric that was at its worst value before."""
    return release.informational and rule.why == "worst"


def _rule_row(rule: RuleResult, release: Release, usual: int) -> tuple[doc.Cell, ...]:
    comparison = release.comparison
    change, label = comparison.metric(rule.metric), rule_label(rule.metric)
    cells: tuple[doc.Cell, doc.Cell, doc.Cell]
    if change is not None and rule.metric not in LOST:
        limit = rule.limit if rule.why == "drop" else None
        cells = _cells(change, usual, limit, failed=rule.status == "failed")
    elif rule.why == "normalised":
        label = _("query time, relative to the baseline")
        cells = "1.00", rule.values["ratio"], None
    elif rule.metric not in _TIMES:
        before, after = rule.baseline, rule.current
        lost = doc.Difference((after or 0.0) - (before or 0.0), limit=-(rule.limit or 0.0))
        cells = doc.Proportion(before), doc.Proportion(after), lost if rule.metric in LOST else None
    else:
        before, after = rule.baseline, None if rule.why == "speed_gone" else rule.current
        difference = None
        if before is not None and after is not None:
            difference = f"{after - before:+,.0f} ms".replace("-", "−")
        cells = doc.Time(before), doc.Time(after), difference
    state = "informational" if _is_known(rule, release) else shown_state(rule.status)
    return label, *cells, _limit(rule), doc.Result(state)


def _cells(
    change: MetricChange, usual: int, limit: float | None = None, *, failed: bool | None
) -> tuple[doc.Cell, doc.Cell, doc.Cell]:
    """Return both values and the difference; only a `failed` rule marks it as worse."""
    before, after = change.items
    n = before if before != usual else None
    signed = None if limit is None else (limit if use_of(change.metric).lower else -limit)
    better = False if failed else change.is_better or None
    difference = replace(difference_of(change, signed), better=better)
    own = after if after not in {before, 0} else None
    return doc.Proportion(change.baseline, n), doc.Proportion(change.current, own), difference


def difference_of(change: MetricChange, limit: float | None = None) -> doc.Difference:
    """Return the difference of a metric for a table; without an interval, the number of changed items."""
    low, high = change.interval or (None, None)
    few = change.changed and change.interval is None
    note = n_("{n} item changed", "{n} items changed", n=change.changed) if few else ""
    return doc.Difference(change.difference, low, high, limit, change.is_better, note)


def _limit(rule: RuleResult) -> doc.Cell:
    if rule.limit is None:
        return None
    if rule.why == "normalised":
        return f"≤ {rule.limit:.2f}"
    if rule.metric in _TIMES:
        return f"≤ {rule.limit:,.0f} ms"
    if rule.metric == CARD or rule.why.startswith("floor"):
        return f"≥ {rule.limit:.3f}"
    if rule.why.startswith("ceiling"):
        return f"≤ {rule.limit:.3f}"
    sign = 1 if use_of(rule.metric).lower and rule.metric not in LOST else -1
    return points(sign * rule.limit) if rule.limit else points(0.0, signed=False)


_SIDES = _("baseline"), _("current")


def worst_examples(comparison: Comparison, *, sides: tuple[Text, Text] = _SIDES) -> doc.Examples:
    """Return the items that got worse, worst first, with both rankings; lost items come first."""
    worse = comparison.changed("worse")
    if not worse and not comparison.lost:
        better = comparison.changed("improved")[::-1]
        shown = tuple(example_of(change, sides) for change in better[: doc.EXAMPLES])
        return doc.Examples(_("Improved"), shown, len(better))
    lost = [_gone_example(item, _("not evaluated")) for item in comparison.lost]
    items = [*lost, *(example_of(change, sides) for change in worse)]
    title = _("Not evaluated or worse") if lost else _("Got worse")
    return doc.Examples(title, tuple(items[: doc.EXAMPLES]), len(items))


def _title(item: ComparedItem | ItemChange) -> str:
    """Return the text of an item; for a note, whose text is its path, its file name."""
    return PurePosixPath(item.id).stem if item.text == item.id else item.text


def example_of(change: ItemChange, sides: tuple[Text, Text] = _SIDES) -> doc.Example:
    """Return a changed item with both rankings; `sides` names the runs."""
    shown: tuple[doc.Side, ...] = ()
    if change.baseline_ranking is not None and change.current_ranking is not None:
        expected = set(change.expected_notes)
        shown = (
            doc.Side(sides[0], ranking_lines(change.baseline_ranking, expected)),
            doc.Side(sides[1], ranking_lines(change.current_ranking, expected)),
        )
    named = change.id, _title(change), change.what, change.expected_notes
    return doc.Example(*named, shown, better=change.change == "improved")


class _Hit(Protocol):
    """A note of a ranking."""

    @property
    def note(self) -> str: ...
    @property
    def base_score(self) -> float | None: ...
    @property
    def final_score(self) -> float | None: ...


def _score(hit: _Hit) -> doc.Cell:
    """Return the score that ordered a hit; "" if its system gives none."""
    score = hit.base_score if hit.final_score is None else hit.final_score
    return "" if score is None else doc.Proportion(score)


def ranking_lines(hits: Sequence[_Hit], expected: set[str]) -> tuple[doc.SideLine, ...]:
    """Return the first results, and the first expected note if it comes later."""
    shown = list(enumerate(hits[:_HITS], start=1))
    later = next(((at, hit) for at, hit in enumerate(hits, 1) if hit.note in expected), None)
    if later and later[0] > _HITS:
        shown.append(later)
    return tuple(
        doc.SideLine(f"{at}. {hit.note}", _score(hit), "expected" if hit.note in expected else "")
        for at, hit in shown
    )


def noise_text(release: Release) -> Text:
    """Return the smallest difference of the verdict's metric that these items usually show; "" if it is unknown."""
    comparison, rules = release.comparison, release.worst_first
    change = comparison.metric(rules[0].metric) if rules else None
    if state_of(release) == "passed" or not change or not change.changed or not change.detectable:
        return ""
    return _(
        "With {n:,} shared {units}, changes of “{metric}” smaller than about {size} usually go unnoticed.",
        n=comparison.shared,
        units=units_of(comparison.task),
        metric=rule_label(change.metric),
        size=points(change.detectable, signed=False),
    )


WORDS_BLIND = _(
    "The judge compares words, not meaning. It counts a claim as not found if it is paraphrased or in another"
    " language than the note. It may miss a negation, an opposite, or another word order, tense, obligation or limit."
)


def trust_warnings(release: Release) -> Iterator[Text]:
    """Yield what a reader must know before trusting a comparison, without what the verdict already says."""
    comparison, gate = release.comparison, release.gate
    for mismatch in comparison.mismatches:
        if mismatch.meaning not in gate.reasons and mismatch.relaxed_by not in gate.relaxed:
            yield mismatch.meaning
    if comparison.by_words:
        yield WORDS_BLIND


def main_keys(keys: Sequence[str]) -> list[str]:
    """Return the main metrics among these names, in the table's order; all of them if none is a main one."""
    ordered = in_order(keys)
    chosen: dict[str, str] = {}
    for key in ordered:
        metric = metric_of(key)
        if metric and metric.use.main and not (metric.use.first and metric.key in chosen):
            chosen[metric.key] = key
    return list(chosen.values()) or ordered


def release_document(
    release: Release, run: str = "RUN", *, baseline: str = "BASELINE", waivable: str = ""
) -> doc.Document:
    """Return compare.md: a run and its baseline; for the folders in commands, see `next_steps`."""
    comparison = release.comparison
    subject = _(
        "{current} vs {baseline}, {shared:,} shared {units}",
        current=comparison.current.run_id,
        baseline=comparison.baseline.run_id,
        shared=comparison.shared,
        units=units_of(comparison.task),
    )
    return doc.shaped(
        TASKS[comparison.task],
        subject,
        verdict=release_verdict(release),
        warnings=trust_warnings(release),
        steps=next_steps(release, run, baseline=baseline, waivable=waivable),
        table=metric_table(release),
        examples=worst_examples(comparison),
        conditions=gate_conditions(release),
        noise=noise_text(release),
        sections=_changed_items(comparison),
        version=comparison.current.app_version,
    )


def _changed_items(comparison: Comparison) -> Iterator[doc.Section]:
    worse = [example_of(change) for change in comparison.changed("worse")]
    lost = [_gone_example(item, _("not evaluated")) for item in comparison.lost]
    gone = [_gone_example(item) for item in comparison.gone]
    silent = [_gone_example(item) for item in (*comparison.unjudged, *comparison.unchecked)]
    reasons = doc.Prose(_("The errors.jsonl of the current run has the reasons."))
    kinds = (
        (_("Got worse"), worse[doc.EXAMPLES :] and worse, None),
        (_("Items that could not be evaluated"), lost, reasons),
        (_("Items whose expected passage is no longer in its note"), gone, None),
        (_("Items without a verdict or checklist result in this run"), silent, reasons),
    )
    for place, (title, items, lead) in enumerate(kinds):
        if items:
            shown = doc.Examples(title, tuple(items[:_LISTED]), len(items))
            yield doc.Section.closed(f"items-{place}", title, lead, shown)


def _gone_example(item: ComparedItem, what: Text = "") -> doc.Example:
    return doc.Example(item.id, _title(item), what, item.expected_notes)
