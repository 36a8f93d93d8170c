"""The verdict on a run in one sentence, and the first screen of every comparison.

The policy decides and significance explains: the sentence names the rule that decided, and its statistics beside it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Protocol

from gigamind.formats import points
from gigamind.i18n import Message, Text, _, joined, n_
from gigamind.metrics.spec import units_of
from gigamind.metrics.table import in_order, is_lower_better, metric_of
from gigamind.release.comparison import ComparedItem, Comparison, ItemChange, MetricChange, Mismatch
from gigamind.release.mismatch import WHAT
from gigamind.release.policy import (
    COVERAGE,
    LOST,
    VERDICTS,
    GateResult,
    GateVerdict,
    RuleResult,
    Status,
    rule_label,
)
from gigamind.release.shortfall import METRIC as CARD
from gigamind.release.waiver import Release, Waiver
from gigamind.reports.document import (
    STATES,
    Cell,
    Column,
    Condition,
    Conditions,
    Difference,
    Document,
    Example,
    Examples,
    Group,
    Moment,
    Proportion,
    Prose,
    Result,
    Section,
    Side,
    SideLine,
    State,
    Step,
    Table,
    Time,
    Verdict,
    listed,
    shaped,
    table,
)
from gigamind.reports.figures import Figure, Part, figures_of, measured
from gigamind.stats.special import beta_quantile

EXAMPLES = 3
_HITS = 3
_DETAIL = 80  # characters
_ALSO = 5  # rules with the same result as the one in the verdict
_LISTED = 20
_TIMES = frozenset({"search_p95", "cold_start"})


TASKS: Mapping[str, Message] = {
    "search": _("Search evaluation"),
    "links": _("Link evaluation"),
    "answers": _("Answer evaluation"),
}
STATE_OF: Mapping[Status, State] = {
    "passed": "passed",
    "failed": "failed",
    "warned": "warning",
    "skipped": "skipped",
    "inconclusive": "inconclusive",
    "not-comparable": "not-comparable",
}
"""States by the status of a rule; gate verdicts have the same names."""
_ORDER: Sequence[Status] = (
    "failed", "not-comparable", "inconclusive", "warned", "skipped", "passed",
)  # fmt: skip


def state_of(release: Release) -> GateVerdict:
    """Return the verdict for readers: "warned" if the gates passed but an ungated metric got significantly worse."""
    verdict = release.gate.verdict
    return "warned" if verdict == "passed" and ungated(release) else verdict


def ungated(release: Release) -> list[MetricChange]:
    """Return the ungated metrics that got significantly worse, if the gates passed."""
    comparison, gate = release.comparison, release.gate
    if gate.verdict not in {"passed", "warned"}:
        return []
    gated = {rule.metric for rule in gate.rules}
    changes = comparison.metrics
    return [entry for entry in changes if entry.is_better is False and entry.metric not in gated]


def release_verdict(release: Release) -> Verdict:
    """Return the verdict on a comparison: what happened, the worst thing, its size, and how many items."""
    verdict = _verdict(release)
    if release.waiver:
        sentence = joined([waiver_text(release.waiver), verdict.sentence], " ")
        return Verdict("waived", sentence, verdict.leads)
    if not release.attempts:
        return verdict
    count = len(release.attempts) + 1
    failed = [at for at, attempt in enumerate(release.attempts, 1) if attempt.verdict == "failed"]
    if verdict.state in {"passed", "warning"} and failed:
        first = release.attempts[failed[0] - 1]
        retried = _(
            "Passed on retry {count} of {count}. Attempt {failed} failed on {metrics}. Treat the result as noisy.",
            count=count,
            failed=failed[0],
            metrics=list(map(rule_label, first.metrics)),
        )
        return Verdict(verdict.state, retried, (verdict.sentence, *verdict.leads))
    states = [STATES[STATE_OF[attempt.verdict]] for attempt in release.attempts]
    lead = _(
        "Attempt {count} with the same candidate. Earlier results: {states}.",
        count=count,
        states=states,
    )
    return Verdict(verdict.state, verdict.sentence, (*verdict.leads, lead))


def waiver_text(waiver: Waiver) -> Message:
    """Return who accepted the failed gates, why and until when."""
    return _(
        "Waived until {until} by {by}: “{reason}”.",
        until=waiver.until.isoformat(),
        by=waiver.by,
        reason=waiver.reason,
    )


def _verdict(release: Release) -> Verdict:  # noqa: PLR0911  one case a verdict
    comparison, gate = release.comparison, release.gate
    items = items_text(comparison)
    match state_of(release):
        case "not-comparable" if gate.is_refused:
            what = [
                _detailed(mismatch)
                for mismatch in comparison.mismatches
                if mismatch.meaning in gate.reasons
            ]
            sentence = _("Not comparable: the runs differ in {what}.", what=what)
            if not what:
                sentence = _("Not comparable: {reason}", reason=gate.reasons[0])
            if worse := sum(change.change == "worse" for change in comparison.changes):
                aside = _(
                    "For information: {worse:,} of {shared:,} {units} got worse.",
                    worse=worse,
                    shared=comparison.shared,
                    units=units_of(comparison.task),
                )
                sentence = joined([sentence, aside], " ")
            return Verdict("not-comparable", sentence)
        case "failed":
            return _decided(_("Failed"), release, "failed")
        case "not-comparable":
            return _decided(_("Not comparable"), release, "not-comparable")
        case "inconclusive":
            return _decided(_("Inconclusive"), release, "inconclusive")
        case "warned":
            if any(rule.status == "warned" for rule in gate.rules):
                return _decided(_("Warning"), release, "warned")
            sentence = _(
                "Warning: all gates passed, but {metrics} got significantly worse and no gate covers it.",
                metrics=[_moved(change) for change in ungated(release)[:2]],
            )
            return Verdict("warning", joined([sentence, items], " "))
        case _passed:
            return Verdict("passed", joined([_passed_sentence(release), items], " "))


def _detailed(mismatch: Mismatch) -> Text:
    """Return what differs between two runs, with both values if they are short."""
    what = WHAT.get(mismatch.what, mismatch.what)
    if not mismatch.detail or len(mismatch.detail) > _DETAIL:
        return what
    return _("{what} ({detail})", what=what, detail=mismatch.detail)


def _decided(word: Message, release: Release, status: Status) -> Verdict:
    """Return the verdict with the worst rule of a status, and how many others there are."""
    comparison = release.comparison
    worst, *others = (rule for rule in _worst_first(release) if rule.status == status)
    reason = joined([_rule_text(worst, comparison), items_text(comparison, worst.metric)], " ")
    sentence = _("{verdict}: {reason}", verdict=word, reason=reason)
    if not others:
        return Verdict(STATE_OF[status], sentence)
    labels = listed([rule_label(rule.metric) for rule in others], _ALSO)
    return Verdict(STATE_OF[status], sentence, (_("Same result: {metrics}.", metrics=labels),))


def _worst_first(release: Release) -> list[RuleResult]:
    """Return the rules by result, worst first: lost items, then drops beyond the limit, then others."""

    def order(rule: RuleResult) -> tuple[int, int, float]:
        place, change = _ORDER.index(rule.status), release.comparison.metric(rule.metric)
        if rule.status in {"passed", "skipped"}:
            return place, 0, 0.0
        if rule.metric in LOST:
            return place, 0, rule.current or 0.0
        if rule.why == "drop" and change and change.drop is not None:
            return place, 1, (rule.limit or 0.0) - change.drop
        return place, 2, rule.current or 0.0

    return sorted(release.gate.rules, key=order)


def _rule_text(rule: RuleResult, comparison: Comparison) -> Text:  # noqa: C901  one case a reason
    """Return what a rule found, with its limit; `rule.explanation` adds how to fix it."""
    change, label = comparison.metric(rule.metric), rule_label(rule.metric)
    given = {**rule.values, "metric": label, "units": units_of(comparison.task)}
    match rule.why:
        case "drop" if change and change.difference is not None and rule.limit is not None:
            text = _drop_text(rule, change, rule.limit, comparison)
        case "worst":
            text = _(
                "{metric} is already at its worst value in both runs, so the gate cannot detect a regression.",
                **given,
            )
        case "gone" | "speed_gone":
            text = _("{metric} was measured in the baseline, but not in this run.", **given)
        case "slower":
            text = _("{metric} rose from {before} ms to {after} ms (limit {limit} ms).", **given)
        case "normalised":
            text = _(
                "a query takes {ratio} times as long as in the baseline (99% CI {low} to {high}, limit {limit}).",
                **given,
            )
        case "lost_coverage":
            text = _("{count} of {total} {units} could not be evaluated.", **given)
        case "lost_passages":
            text = _("{count} of {total} {units} lost their expected passage.", **given)
        case "lost_verdicts":
            text = _("{count} of {total} {units} lost their verdict.", **given)
        case "lost_checks":
            text = _("{count} of {total} {units} lost their checklist result.", **given)
        case _other:
            return rule.explanation
    if rule.status == "warned" and "soft" in rule.remarks:
        soft = _("The phase {phase} only reports it.", phase=rule.values.get("phase", ""))
        return joined([text, soft], " ")
    return text


def _drop_text(
    rule: RuleResult, change: MetricChange, limit: float, comparison: Comparison
) -> Message:
    difference = change.difference or 0.0
    values: dict[str, object] = {
        "metric": rule_label(rule.metric),
        "n": change.n,
        "units": units_of(comparison.task),
        "size": points(abs(difference), signed=False),
        "limit": points(limit, signed=False),
    }
    if rule.status != "inconclusive":
        if difference > 0:
            return _("{metric} rose by {size} (limit {limit}).", **values)
        return _("{metric} fell by {size} (limit {limit}).", **values)
    values["size"] = points(difference)
    if "untested" in rule.remarks:
        return _("{metric} changed by {size} (limit {limit}).", **values)
    if change.interval is None:
        return _(
            "{metric} changed by {size} (limit {limit}); {n:,} {units} are too few to decide.",
            **values,
        )
    values["low"], values["high"] = map(points, change.interval)
    changed = _("{metric} changed by {size} (95% CI {low} to {high}), limit {limit}.", **values)
    if "needs" not in rule.remarks:
        return changed
    values["needed"] = int(rule.values.get("needed") or 0)
    return joined(
        [changed, _("About {needed:,} {units} would be enough to decide.", **values)], " "
    )


def _moved(change: MetricChange) -> Message:
    return _(
        "{metric} ({size})",
        metric=rule_label(change.metric),
        size=points(change.difference or 0.0),
    )


def _passed_sentence(release: Release) -> Message:
    """Return whether a drop beyond the limit is ruled out, or was only not seen."""
    comparison, gate = release.comparison, release.gate
    rules = [rule for rule in gate.rules if rule.why == "drop" and rule.status == "passed"]
    known = [
        (rule, change)
        for rule in rules
        if (change := comparison.metric(rule.metric)) and rule.limit is not None
    ]
    if not known:
        return _("Passed: no gate failed.")
    limit = max(rule.limit or 0.0 for rule, _change in known)
    bounds = [_largest_drop(change, comparison) for _rule, change in known]
    if all(most is not None and most <= limit for most in bounds):
        return n_(
            "Passed: a drop of more than {limit} is ruled out for the gated metric (95% confidence).",
            "Passed: a drop of more than {limit} is ruled out for all {n} gated metrics (95% confidence).",
            n=len(known),
            limit=points(limit, signed=False),
        )
    most = max(bound for bound in bounds if bound is not None)
    return _(
        "Passed: no gated metric dropped by more than {limit}. With {n:,} {units}, drops up to {most} could go"
        " unnoticed.",
        limit=points(limit, signed=False),
        n=comparison.shared,
        units=units_of(comparison.task),
        most=points(most, signed=False),
    )


def _largest_drop(change: MetricChange, comparison: Comparison) -> float | None:
    """Return the largest drop that the data do not rule out (95 %).

    Without an interval (fewer than six changed items), it is the one-sided limit of the rate of worse items of
    Clopper and Pearson (Biometrika 26(4), 1934): 0.21 for 0 of 13 items.
    """
    if change.interval:
        low, high = change.interval
        return max(0.0, high if is_lower_better(change.metric) else -low)
    n, worse = change.n or comparison.shared, change.worse
    return beta_quantile(0.95, worse + 1, n - worse) if worse < n else 1.0


def items_text(comparison: Comparison, decided: str = "") -> Message:
    """Return how many items are lost, worse and better, and their slice; the rule `decided` named lost ones."""
    counts = Counter(change.change for change in comparison.changes)
    silent, gone = len(comparison.unjudged), len(comparison.lost)
    unchanged = not counts["worse"] and not counts["improved"]
    values = {
        "shared": comparison.shared - (silent if unchanged else 0),
        "units": units_of(comparison.task),
        "worse": counts["worse"],
        "improved": counts["improved"],
    }
    if unchanged and (gone or silent):
        changed = _("The other {shared:,} {units} have the same result.", **values)
    elif unchanged:
        changed = _("All {shared:,} {units} have the same result.", **values)
    elif not counts["worse"]:
        changed = _("{improved:,} of {shared:,} {units} got better, none worse.", **values)
    elif not counts["improved"]:
        changed = _("{worse:,} of {shared:,} {units} got worse, none better.", **values)
    else:
        changed = _("{worse:,} of {shared:,} {units} got worse, {improved:,} better.", **values)
    texts = [changed]
    if comparison.worse_in is not None:
        part = slice_name(*comparison.worse_in)
        texts.append(_("All worse ones are in one slice: {part}.", part=part))
    if gone and decided != COVERAGE:
        lost = _("{count:,} {units} of the baseline could not be evaluated.", count=gone, **values)
        texts.insert(0, lost)
    if silent and decided != VERDICTS:
        texts.append(_("{count:,} {units} lost their verdict.", count=silent, **values))
    return joined(texts, " ")


def slice_name(kind: str, key: str) -> Message:
    """Return the label of a slice of the items."""
    names = {
        "language": _("language: {key}", key=key),
        "cross_lingual": _("cross-lingual (query and note in different languages)"),
        "difficulty": _("difficulty: {key}", key=key),
        "tag": _("tag: {key}", key=key),
    }
    return names.get(kind, _("all queries"))


def bounds_verdict(bounds: GateResult) -> Verdict:
    """Return the verdict on a run without a baseline, from its floors and ceilings."""
    rules, count = bounds.rules, len(bounds.rules)
    missed = [rule.explanation for rule in rules if rule.status in {"failed", "warned"}]
    if not missed:
        text = n_(
            "Passed: the floor or ceiling is met.",
            "Passed: all {n} floors and ceilings are met.",
            n=count,
        )
        return Verdict("passed", text)
    values = {"missed": len(missed), "count": count, "first": missed[0]}
    if bounds.verdict == "failed":
        text = _("Failed: {missed} of {count} floors and ceilings are not met. {first}", **values)
        return Verdict("failed", text)
    text = _("Warning: {missed} of {count} floors and ceilings are not met. {first}", **values)
    return Verdict("warning", text)


def next_steps(
    release: Release | None, run: str, *, report: str = "", baseline: str = "BASELINE"
) -> Iterator[Step]:
    """Yield what to do next, as commands.

    Args:
        release: None for a run without a baseline.
        run, baseline: the folders of the current run and the baseline.
        report: URL of the page with all items; "" if the reader is on it.
    """
    if report:
        yield Step(_("See every changed item"), url=report)
    if release and release.comparison.gone:
        yield Step(
            n_(
                "Restore the expected passage of {n} item in its note, or label it again",
                "Restore the expected passages of {n:,} items in their notes, or label them again",
                n=len(release.comparison.gone),
            )
        )
    promote = f"gigamind baseline promote {run}"
    if release is None:
        yield Step(_("Make this run the baseline of later runs"), promote)
        return
    comparison, gate = release.comparison, release.gate
    if gate.is_refused:
        known = comparison.mismatches
        keys = [m.relaxed_by for m in known if m.severity == "no-verdict" and m.relaxed_by]
        refused = any(m.severity == "refuse" for m in known)
        if keys and not refused:
            changed = " ".join(f"--changed {key}" for key in dict.fromkeys(keys))
            yield Step(
                _("If the change is intentional, allow it and compare again"),
                f"gigamind compare {baseline} {run} {changed}",
            )
        yield Step(_("Or make this run the new baseline"), promote)
    elif gate.verdict in {"failed", "inconclusive", "not-comparable"} and not release.waiver:
        if gate.verdict == "inconclusive":
            yield Step(
                _(
                    "To decide, evaluate again with more items; for the speed, with more passes (`--speed-passes`)"
                )
            )
            yield Step(_("To accept the result, make this run the new baseline"), promote)
            return
        if gate.failed:
            waive = f'gigamind gate waive {run} --reason "..." --until YYYY-MM-DD --by NAME'
            yield Step(_("To release anyway, record who accepts it"), waive)
        if gate.failed and all(rule.metric == CARD for rule in gate.failed):
            certify = f"gigamind judge certify {run} --labels LABELS --out card"
            yield Step(_("Compare the judge with human labels"), certify)
            return
        yield Step(
            _("If the change is intentional, make this run the new baseline"), f"{promote} --force"
        )
    else:
        yield Step(_("Make this run the new baseline"), promote)


_WORST = _(
    "A gated metric is at its worst value in both runs, so its gate cannot detect a regression. Promote a better"
    " baseline, or set a limit under [floors] or [ceilings] in a file for --gates."
)


def gate_conditions(release: Release) -> Conditions:
    """Return the rules of the policy that decided, then the allowed differences; passed rules are in the table."""
    comparison, gate = release.comparison, release.gate
    if gate.is_refused:
        reasons = (Condition("not-comparable", reason) for reason in gate.reasons)
        return Conditions(tuple(reasons))
    shown = [rule for rule in _worst_first(release) if rule.status not in {"passed", "skipped"}]
    texts: dict[tuple[State, Text], None] = dict.fromkeys(
        (
            STATE_OF[rule.status],
            _WORST
            if rule.why == "worst"
            else _rule_text(rule, comparison)
            if rule.why == "drop"
            else rule.explanation,
        )
        for rule in shown
    )
    explained = {rule.explanation for rule in gate.rules}
    decided = [Condition(state, text) for state, text in texts]
    allowed = [Condition("informational", text) for text in gate.reasons if text not in explained]
    return Conditions((*decided, *allowed))


def metric_table(release: Release, *, every: bool = False) -> Table:
    """Return the gated metrics, worst result first, then the other main metrics that changed.

    `every` adds all others.
    """
    comparison = release.comparison
    rules = [
        rule
        for rule in _worst_first(release)
        if rule.baseline is not None or rule.current is not None
    ]
    gated = [rule.metric for rule in rules]
    keys = in_order([change.metric for change in comparison.metrics])
    moved = {change.metric for change in comparison.metrics if change.changed}
    wanted = keys if every else [key for key in main_keys(keys) if key in moved]
    shown = [key for key in distinct([*gated, *wanted], comparison) if key not in gated]
    sizes = Counter(change.n for change in comparison.metrics)
    usual = sizes.most_common(1)[0][0] if sizes else 0
    columns = (
        Column(_("metric")),
        Column(_("baseline")),
        Column(_("current")),
        Column(_("difference (95% CI)")),
        Column(_("limit"), minor=True),
        Column(_("result")),
    )
    changes = tuple(
        (rule_label(key), *_cells(change, usual), None, Result("informational"))
        for key in shown
        if (change := comparison.metric(key))
    )
    if not rules:  # the runs are not comparable: there are no limits and no results
        return Table(columns[:4], (Group(tuple(row[:4] for row in changes)),))
    gates = tuple(_rule_row(rule, comparison, usual) for rule in rules)
    return Table(columns, (Group(gates, _("Gated")), Group(changes, _("Informational"))))


def distinct(keys: Iterable[str], *comparisons: Comparison) -> list[str]:
    """Return the metrics without those that coincide with an earlier one on these items, as hit@1 and recall@1 may."""
    seen: dict[tuple[object, ...], str] = {}
    for key in keys:
        changes = [comparison.metric(key) for comparison in comparisons]
        values = [(c.n, c.baseline, c.current, c.worse, c.improved) for c in changes if c]
        if values:
            seen.setdefault((key.partition(".")[0], *values), key)
    return list(seen.values())


def _rule_row(rule: RuleResult, comparison: Comparison, usual: int) -> tuple[Cell, ...]:
    change, label = comparison.metric(rule.metric), rule_label(rule.metric)
    cells: tuple[Cell, Cell, Cell]
    if change is not None and rule.metric not in LOST:
        cells = _cells(change, usual, rule.limit if rule.why == "drop" else None)
    elif rule.why == "normalised":
        label = _("query time, relative to the baseline")
        cells = "1.00", rule.values["ratio"], None
    elif rule.metric not in _TIMES:
        before, after = rule.baseline, rule.current
        lost = Difference((after or 0.0) - (before or 0.0), limit=-(rule.limit or 0.0))
        cells = Proportion(before), Proportion(after), lost if rule.metric in LOST else None
    else:
        before, after = rule.baseline, None if rule.why == "speed_gone" else rule.current
        difference = None
        if before is not None and after is not None:
            difference = f"{after - before:+,.0f} ms".replace("-", "−")
        cells = Time(before), Time(after), difference
    return label, *cells, _limit(rule), Result(STATE_OF[rule.status])


def _cells(change: MetricChange, usual: int, limit: float | None = None) -> tuple[Cell, Cell, Cell]:
    n = change.n if change.n != usual else None
    signed = None if limit is None else (limit if is_lower_better(change.metric) else -limit)
    return (
        Proportion(change.baseline, n),
        Proportion(change.current),
        difference_of(change, signed),
    )


def difference_of(change: MetricChange, limit: float | None = None) -> Difference:
    """Return the difference of a metric for a table; without an interval, the number of changed items."""
    low, high = change.interval or (None, None)
    few = change.low is not None and change.changed and change.interval is None
    note = n_("{n} item changed", "{n} items changed", n=change.changed) if few else ""
    return Difference(change.difference, low, high, limit, change.is_better, note)


def _limit(rule: RuleResult) -> Cell:
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
    sign = 1 if is_lower_better(rule.metric) and rule.metric not in LOST else -1
    return points(sign * rule.limit) if rule.limit else points(0.0, signed=False)


SIDES = _("baseline"), _("current")


def worst_examples(comparison: Comparison, *, sides: tuple[Text, Text] = SIDES) -> Examples:
    """Return the items that got worse, worst first, with both rankings; lost items come first."""
    worse = [change for change in comparison.changes if change.change == "worse"]
    if not worse and not comparison.lost:
        better = [change for change in comparison.changes[::-1] if change.change == "improved"]
        shown = tuple(example_of(change, sides) for change in better[:EXAMPLES])
        return Examples(_("Improved"), shown, len(better))
    lost = [_gone_example(item, _("not evaluated")) for item in comparison.lost]
    items = [*lost, *(example_of(change, sides) for change in worse)]
    return Examples(_("Got worse"), tuple(items[:EXAMPLES]), len(items))


def _title(item: ComparedItem | ItemChange) -> str:
    """Return the text of an item; for a note, whose text is its path, its file name."""
    return PurePosixPath(item.id).stem if item.text == item.id else item.text


def example_of(change: ItemChange, sides: tuple[Text, Text] = SIDES) -> Example:
    """Return a changed item with both rankings; `sides` names the runs."""
    shown: tuple[Side, ...] = ()
    if change.baseline_ranking is not None and change.current_ranking is not None:
        expected = set(change.expected_notes)
        shown = (
            Side(sides[0], ranking_lines(change.baseline_ranking, expected)),
            Side(sides[1], ranking_lines(change.current_ranking, expected)),
        )
    is_better = change.change == "improved"
    return Example(change.id, _title(change), change.what, change.expected_notes, shown, is_better)


class Hit(Protocol):
    """A note of a ranking."""

    @property
    def note(self) -> str: ...
    @property
    def base_score(self) -> float | None: ...
    @property
    def final_score(self) -> float | None: ...


def _score(hit: Hit) -> Cell:
    """Return the score that ordered a hit; "" if its system gives none."""
    score = hit.base_score if hit.final_score is None else hit.final_score
    return "" if score is None else Proportion(score)


def ranking_lines(hits: Sequence[Hit], expected: set[str]) -> tuple[SideLine, ...]:
    """Return the first results, and the first expected note if it comes later."""
    shown = list(enumerate(hits[:_HITS], start=1))
    later = next(((at, hit) for at, hit in enumerate(hits, 1) if hit.note in expected), None)
    if later and later[0] > _HITS:
        shown.append(later)
    return tuple(
        SideLine(
            f"{at}. {hit.note}",
            _score(hit),
            "expected" if hit.note in expected else "",
        )
        for at, hit in shown
    )


def noise_text(release: Release) -> Text:
    """Return the smallest difference that this number of items usually shows; "" if unknown, or the verdict says it."""
    comparison = release.comparison
    if state_of(release) == "passed":
        return ""
    known = [change.detectable for change in comparison.metrics if change.detectable is not None]
    if not known:
        return ""
    size = min(known)
    text = _(
        "With {n:,} shared {units}, changes smaller than about {size} usually go unnoticed.",
        n=comparison.shared,
        units=units_of(comparison.task),
        size=points(size, signed=False),
    )
    limits = [rule.limit for rule in release.gate.rules if rule.why == "drop" and rule.limit]
    if not limits or min(limits) >= size:
        return text
    limit = _(
        "The limit is {limit}, so a real regression may go unnoticed.",
        limit=points(min(limits), signed=False),
    )
    return joined([text, limit], " ")


WORDS_BLIND = _(
    "The judge compares words, not meaning. It counts a claim as not found if it is paraphrased or in another"
    " language than the note. It may miss changes of word order, tense, obligation or limit."
)


def trust_warnings(release: Release) -> Iterator[Text]:
    """Yield what a reader must know before trusting a comparison, without what the verdict already says."""
    comparison, gate = release.comparison, release.gate
    for mismatch in comparison.mismatches:
        if mismatch.meaning not in gate.reasons and mismatch.relaxed_by not in gate.relaxed:
            yield mismatch.meaning
    if comparison.by_words:
        yield WORDS_BLIND


def main_figures(part: Part) -> list[Figure]:
    """Return the measured main metrics of a run at the deepest cut-off; all metrics of a team's own judge."""
    figures = measured(figures_of(part, in_order(list(part.intervals))))
    main = main_keys([figure.key for figure in figures])
    return [figure for figure in figures if figure.key in main]


def main_keys(keys: Sequence[str]) -> list[str]:
    """Return the main metrics among these names, in the table's order; all of them if none is a main one."""
    ordered = in_order(keys)
    chosen: dict[str, str] = {}
    for key in ordered:
        metric = metric_of(key)
        if metric and metric.use.main and not (metric.use.first and metric.key in chosen):
            chosen[metric.key] = key
    return list(chosen.values()) or ordered


def release_document(release: Release, run: str = "RUN", *, baseline: str = "BASELINE") -> Document:
    """Return compare.md: a run and its baseline; `run` and `baseline` are their folders, for commands."""
    comparison = release.comparison
    subject = _(
        "{current} vs {baseline}, {shared:,} shared {units}",
        current=comparison.current.run_id,
        baseline=comparison.baseline.run_id,
        shared=comparison.shared,
        units=units_of(comparison.task),
    )
    return shaped(
        TASKS[comparison.task],
        subject,
        verdict=release_verdict(release),
        warnings=trust_warnings(release),
        steps=next_steps(release, run, baseline=baseline),
        table=metric_table(release),
        examples=worst_examples(comparison),
        conditions=gate_conditions(release),
        noise=noise_text(release),
        sections=(*_changed_items(comparison), _compared_runs(comparison)),
        version=comparison.current.app_version,
    )


def _changed_items(comparison: Comparison) -> Iterator[Section]:
    worse, better = (
        [change for change in comparison.changes if change.change == way]
        for way in ("worse", "improved")
    )
    kinds = (
        (_("Got worse"), [example_of(change) for change in worse], ""),
        (_("Got better"), [example_of(change) for change in better], ""),
        (
            _("Items that could not be evaluated"),
            [_gone_example(item, _("not evaluated")) for item in comparison.lost],
            NOT_EVALUATED,
        ),
        (
            _("Items whose expected passage is no longer in its note"),
            [_gone_example(item) for item in comparison.gone],
            PASSAGE_GONE,
        ),
        (
            _("Items without a verdict in this run"),
            [_gone_example(item) for item in comparison.unjudged],
            VERDICT_LOST,
        ),
        (
            _("Items without a checklist result in this run"),
            [_gone_example(item) for item in comparison.unchecked],
            VERDICT_LOST,
        ),
    )
    for place, (title, items, why) in enumerate(kinds):
        if len(items) > (EXAMPLES if not why else 0):
            lead = (Prose(why),) if why else ()
            listed = Examples(title, tuple(items[:_LISTED]), len(items))
            yield Section(f"items-{place}", title, (*lead, listed), folded=True)


NOT_EVALUATED = _(
    "The baseline evaluated these items, and the current run could not. The errors.jsonl of the current run has the"
    " reasons."
)
PASSAGE_GONE = _(
    "The expected passage was in its note in the baseline and is gone. No search can show it. Restore the passage, or"
    " label these questions again."
)
VERDICT_LOST = _(
    "The baseline has a result for these items and the current run has none, so no metric includes them. The"
    " errors.jsonl of the current run has the reasons."
)


def _gone_example(item: ComparedItem, what: Text = "") -> Example:
    return Example(item.id, _title(item), what, item.expected_notes)


def _compared_runs(comparison: Comparison) -> Section:
    rows: list[tuple[Cell, ...]] = [
        (
            label,
            run.run_id,
            Moment(run.created_at),
            f"{run.app_version} {(run.git_commit or '')[:12]}".strip(),
        )
        for label, run in ((_("baseline"), comparison.baseline), (_("current"), comparison.current))
    ]
    counts = [_("Unchanged items: {count:,}.", count=comparison.unchanged)]
    if n := comparison.only_baseline:
        counts.append(_("Only in the baseline: {count:,}.", count=n))
    if n := comparison.only_current:
        counts.append(_("Only in the current run: {count:,}.", count=n))
    method = _(
        "All values cover the items that both runs measured. CIs are 95% (paired bootstrap); a change is significant"
        " if its CI excludes 0 and its Holm-adjusted p-value is below 0.05."
    )
    heads = ("", _("run"), _("created"), "gigamind")
    return Section(
        "runs",
        _("Compared runs"),
        (table(heads, rows), Prose(joined(counts, " ")), Prose(method, faint=True)),
        folded=True,
    )


def worst_value_text(worst: Sequence[str]) -> Message:
    """Return the warning that these gated metrics of a baseline are at their worst value, and how to fix it."""
    if all(name.startswith("unanswerable.") for name in worst):
        fix = _(
            "Choose another `--unanswerable-mode` by its errors in report.html, evaluate again, and make that run the"
            " baseline."
        )
    else:
        fix = _(
            "Make a better run the baseline, or set an absolute limit in gates.toml: a minimum under [floors] or a"
            " maximum under [ceilings]."
        )
    return _(
        "warning: the baseline already has the worst possible value of {metrics}, so the gate cannot detect a"
        " regression. A later run that is no better passes with a warning only in phases where `at_worst` in"
        " gates.toml allows this. In other phases, such runs are not comparable. {fix}",
        metrics=[rule_label(name) for name in worst],
        fix=fix,
    )
