"""The verdict on a run in one sentence.

The policy decides and significance explains: the sentence names the rule that decided, and its statistics beside it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gigamind.formats import points, share
from gigamind.i18n import Message, Text, _, joined, n_
from gigamind.metrics.spec import units_of
from gigamind.metrics.table import use_of
from gigamind.release import policy
from gigamind.release.comparison import Comparison, MetricChange
from gigamind.reports.document import STATES, State, Verdict, listed
from gigamind.stats.special import beta_quantile

_BAD = 0.5
_OTHERS = 5  # rules with the same result as the one in the verdict

NO_RELEASE = _("This page gives no release verdict.")

TASKS: Mapping[str, Message] = {
    "search": _("Search evaluation"),
    "links": _("Link evaluation"),
    "answers": _("Answer evaluation"),
}
_ALSO: Mapping[policy.Status, Message] = {
    "failed": _("Also failed"),
    "warned": _("Also a warning"),
    "inconclusive": _("Also inconclusive"),
    "not-comparable": _("Also not comparable"),
}


def shown_state(status: policy.Status) -> State:
    """Return the state of a rule, or of a gate verdict."""
    return "warning" if status == "warned" else status


def state_of(release: policy.Release) -> policy.GateVerdict:
    """Return the verdict for readers.

    It is "warned" if the gates passed but an ungated metric got significantly worse. A comparison for information does
    not warn about a metric that was at its worst value before.
    """
    verdict = release.gate.verdict
    if verdict == "warned" and release.informational:
        warned = (rule for rule in release.gate.rules if rule.status == "warned")
        verdict = "passed" if all(rule.why == "worst" for rule in warned) else verdict
    return "warned" if verdict == "passed" and _ungated(release) else verdict


def _ungated(release: policy.Release) -> list[MetricChange]:
    """Return the ungated metrics that got significantly worse, if the gates passed."""
    comparison, gate = release.comparison, release.gate
    if gate.verdict not in {"passed", "warned"}:
        return []
    gated = {rule.metric for rule in gate.rules}
    return [x for x in comparison.metrics if x.is_better is False and x.metric not in gated]


def release_verdict(release: policy.Release) -> Verdict:
    """Return the verdict on a comparison: what happened, the worst thing, its size, and how many items."""
    verdict = _verdict(release)
    if release.waiver:
        sentence = joined([waiver_text(release.waiver), verdict.sentence], " ")
        return Verdict("waived", sentence, verdict.leads)
    attempts = [x for x in release.attempts if x.verdict != "not-comparable"]
    if not attempts or release.informational:
        return verdict
    states = [STATES[shown_state(attempt.verdict)] for attempt in attempts]
    values = {"count": len(attempts) + 1, "states": states}
    names = dict.fromkeys(x for at in attempts if at.verdict == "failed" for x in at.metrics)
    if verdict.state in {"passed", "warning"} and names:
        retried = _(
            "Passed on retry (attempt {count} with the same settings). Earlier results: {states}; failed on {metrics}."
            " If the system did not change, treat the result as noisy.",
            metrics=list(map(policy.rule_label, names)),
            **values,
        )
        return Verdict(verdict.state, retried, (verdict.sentence, *verdict.leads))
    lead = _("Attempt {count} with the same settings. Earlier results: {states}.", **values)
    return Verdict(verdict.state, verdict.sentence, (*verdict.leads, lead))


def waiver_text(waiver: policy.Waiver) -> Message:
    """Return who accepted the failed gates, why and until when."""
    return _(
        "Waived until {until} by {by}: “{reason}”.",
        until=waiver.until.isoformat(),
        by=waiver.by,
        reason=waiver.reason,
    )


def _verdict(release: policy.Release) -> Verdict:  # noqa: PLR0911  one case a verdict
    comparison, gate = release.comparison, release.gate
    match state_of(release):
        case "not-comparable" if gate.is_refused:
            what = [x.shown() for x in comparison.mismatches if x.meaning in gate.reasons]
            sentence = _("Not comparable: the runs differ in {what}.", what=what)
            if not what:
                sentence = _("Not comparable: {reason}", reason=gate.reasons[0])
            texts = (sentence, items_text(comparison), _("No release verdict."))
            return Verdict("not-comparable", joined(texts, " "))
        case "failed":
            return _decided(_("Failed"), release, "failed")
        case "not-comparable":
            return _decided(_("Not comparable"), release, "not-comparable")
        case "inconclusive":
            verdict = _decided(_("Inconclusive"), release, "inconclusive")
            undecided = _("No release verdict: do not release on this result alone.")
            return replace(verdict, leads=(*verdict.leads, _for(release, undecided)))
        case "warned":
            if any(rule.status == "warned" for rule in gate.rules):
                verdict = _decided(_("Passed with a warning"), release, "warned")
                return replace(verdict, leads=(*verdict.leads, _for(release, _MAY)))
            sentence = _(
                "Passed with a warning: no gate failed, but {metrics} got significantly worse and no gate covers it.",
                metrics=[moved(change.metric, comparison) for change in _ungated(release)[:2]],
            )
            return Verdict("warning", joined([sentence, items_text(comparison)], " "))
        case _passed:
            return _without_failure(release)


_MAY = _("You may release: no gate failed.")


def _for(release: policy.Release, decision: Message) -> Message:
    """Return what a verdict means for a release; a comparison for information means nothing for it."""
    return _("Compared for information: nothing to release.") if release.informational else decision


def _without_failure(release: policy.Release) -> Verdict:
    """Return the verdict on a run that passed, and what is still bad."""
    comparison = release.comparison
    values = {"shared": comparison.shared, "units": units_of(comparison.task)}
    texts = [_("Passed: all {shared:,} {units} have the same result.", **values)]
    if comparison.changes or comparison.lost or comparison.unjudged:
        texts = [_passed_sentence(release), items_text(comparison)]
    if release.informational or not (bad := bad_metric(release)):
        return Verdict("passed", joined(texts, " "), (_for(release, _MAY),))
    still = _("Passed, but as bad as the baseline: {what}.", what=_bad_text(bad))
    may = _("You may release: the gates only look for drops from the baseline.")
    return Verdict("warning", still, (joined(texts, " "), may))


def changed_text(comparison: Comparison) -> Iterator[Message]:
    """Yield what differs between two runs apart from the results, if anything does."""
    if comparison.mismatches:
        yield _("changed: {what}", what=[x.shown() for x in comparison.mismatches])


def _decided(word: Message, release: policy.Release, status: policy.Status) -> Verdict:
    """Return the verdict with the worst rule of a status, and how many others there are."""
    comparison = release.comparison
    worst, *others = (rule for rule in release.worst_first if rule.status == status)
    text = rule_text(worst, comparison)
    if worst.why == "worst":  # of several such metrics, none is the worst one
        alike = [rule for rule in (worst, *others) if rule.why == "worst"]
        others = [rule for rule in others if rule.why != "worst"]
        changes = {rule.metric: comparison.metric(rule.metric) for rule in alike}
        sizes = [_bad_text(x) for x in (changes.get(FALSE_ANSWERS), *changes.values()) if x]
        text = _(
            "{metrics}: at the worst value, so a gate cannot detect a drop ({size}, as in the baseline).",
            metrics=[policy.rule_label(rule.metric) for rule in alike],
            size=sizes[0],
        )
    reason = joined([text, items_text(comparison, worst.metric)], " ")
    sentence = _("{verdict}: {reason}", verdict=word, reason=reason)
    if not others:
        return Verdict(shown_state(status), sentence)
    metrics = listed([moved(rule.metric, comparison) for rule in others], _OTHERS)
    lead = _("{also}: {metrics}.", also=_ALSO[status], metrics=metrics)
    return Verdict(shown_state(status), sentence, (lead,))


def rule_text(rule: policy.RuleResult, comparison: Comparison) -> Text:
    """Return what a rule found, with its limit; `rule.explanation` adds how to fix it."""
    change = comparison.metric(rule.metric)
    if rule.why != "drop" or not change or change.difference is None or rule.limit is None:
        return rule.reason
    values: dict[str, object] = {
        "metric": policy.rule_label(rule.metric),
        "size": points(abs(change.difference), signed=False),
        "limit": points(rule.limit, signed=False),
    }
    if rule.status == "inconclusive":
        values["size"] = points(change.difference)
        return joined(_undecided(rule, change, comparison, values), " ")
    if change.difference > 0:
        return _("{metric} rose by {size} (limit {limit}).", **values)
    return _("{metric} fell by {size} (limit {limit}).", **values)


def _undecided(
    rule: policy.RuleResult,
    change: MetricChange,
    comparison: Comparison,
    values: Mapping[str, object],
) -> Iterator[Message]:
    """Yield a drop that no limit decides on, and how many items would."""
    counted = {"n": change.n, "units": units_of(comparison.task)}
    yield _("{metric} changed by {size} (limit {limit}).", **values)
    if "untested" in rule.remarks:
        return
    if change.interval is None:
        yield _("{n:,} {units} are too few to decide.", **counted)
        return
    low, high = map(points, change.interval)
    yield _("95% CI {low} to {high}.", low=low, high=high)
    if needed := rule.values.get("needed") if "needs" in rule.remarks else None:
        yield _(
            "About {needed:,} {units} would be enough to decide.", needed=int(needed), **counted
        )


def moved(metric: str, comparison: Comparison) -> Text:
    """Return a metric with its difference, if it has any."""
    change = comparison.metric(metric)
    if not change or not change.difference:
        return policy.rule_label(metric)
    return joined([policy.rule_label(metric), points(change.difference)], " ")


def _passed_sentence(release: policy.Release) -> Message:
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
    if max(bounds) <= limit:
        return n_(
            "Passed: a drop of more than {limit} is ruled out for the gated metric (95% confidence).",
            "Passed: a drop of more than {limit} is ruled out for all {n} gated metrics (95% confidence).",
            n=len(known),
            limit=points(limit, signed=False),
        )
    return _(
        "Passed: no gated metric dropped by more than {limit}. With {n:,} {units}, drops up to {most} could go"
        " unnoticed.",
        limit=points(limit, signed=False),
        n=comparison.shared,
        units=units_of(comparison.task),
        most=points(max(bounds), signed=False),
    )


REFUSALS, FALSE_ANSWERS = "unanswerable.false_refusals", "unanswerable.far"


def bad_metric(release: policy.Release) -> MetricChange | None:
    """Return the worst gated metric of a run that passed, if it is nearer to its worst value than to its best one.

    If items changed, only an error rate of the judge counts: another metric is low because a dataset is hard.
    """
    comparison = release.comparison
    if release.gate.verdict != "passed":
        return None
    changes = (comparison.metric(rule.metric) for rule in release.gate.rules)
    known = (change for change in changes if change and change.n)
    errors = {REFUSALS, FALSE_ANSWERS}
    counted = [x for x in known if x.metric in errors or not comparison.changes]
    worst = max(counted, key=_badness, default=None)
    return worst if worst and _badness(worst) > _BAD else None


def _bad_text(change: MetricChange) -> Message:
    """Return a bad metric as a number of queries, or with its value."""
    counts = {"count": round((change.current or 0.0) * change.n), "n": change.n}
    texts = {
        REFUSALS: _("{count:,} of {n:,} answerable queries are refused", **counts),
        FALSE_ANSWERS: _("{count:,} of {n:,} unanswerable queries are judged answerable", **counts),
    }
    value = joined([policy.rule_label(change.metric), share(change.current)], " ")
    return texts.get(change.metric, value)


def _badness(change: MetricChange) -> float:
    value = change.current or 0.0
    return value if use_of(change.metric).lower else 1 - value


def _largest_drop(change: MetricChange, comparison: Comparison) -> float:
    """Return the largest drop that the data do not rule out (95 %).

    Without an interval (fewer than six changed items), it is the one-sided limit of the rate of worse items of
    Clopper and Pearson (Biometrika 26(4), 1934): 0.21 for 0 of 13 items.
    """
    if change.interval:
        low, high = change.interval
        return max(0.0, high if use_of(change.metric).lower else -low)
    n, worse = change.n or comparison.shared, change.worse
    return beta_quantile(0.95, worse + 1, n - worse) if worse < n else 1.0


def items_text(comparison: Comparison, decided: str = "") -> Message:
    """Return how many items are lost, worse and better, and their slice; the rule `decided` named lost ones."""
    worse, improved = len(comparison.changed("worse")), len(comparison.changed("improved"))
    silent, gone = len(comparison.unjudged), len(comparison.lost)
    unchanged = not worse and not improved
    values = {
        "shared": comparison.shared - (silent if unchanged else 0),
        "units": units_of(comparison.task),
        "worse": worse,
        "improved": improved,
    }
    if not unchanged:
        changed = _("{worse:,} of {shared:,} {units} got worse, {improved:,} better.", **values)
    elif gone or silent:
        changed = _("The other {shared:,} {units} have the same result.", **values)
    else:
        changed = _("All {shared:,} {units} have the same result.", **values)
    texts = [changed]
    if comparison.worse_in is not None:
        part = slice_name(*comparison.worse_in)
        texts.append(_("All worse ones are in one slice: {part}.", part=part))
    if gone and decided != policy.COVERAGE:
        lost = _("{count:,} {units} of the baseline could not be evaluated.", count=gone, **values)
        texts.insert(0, lost)
    if silent and decided != policy.VERDICTS:
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


def worst_value_text(worst: Sequence[str]) -> Message:
    """Return the warning that these gated metrics of a baseline are at their worst value, and how to fix it."""
    return _(
        "warning: the baseline already has the worst possible value of {metrics}, so the gate cannot detect a"
        " regression. A later run that is no better passes with a warning only in phases where `at_worst` in"
        " gates.toml allows this. In other phases, such runs are not comparable. Make a better run the baseline (with"
        " another `--unanswerable-mode` for metrics of unanswerable queries), or set a limit under [floors] or"
        " [ceilings] in gates.toml.",
        metrics=[policy.rule_label(name) for name in worst],
    )
