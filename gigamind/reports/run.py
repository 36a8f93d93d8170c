"""The document of one run, with or without a baseline: what all tasks share; each task adds its own sections."""

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gigamind.errors import InputError, NotesError
from gigamind.formats import moment, percent
from gigamind.i18n import Message, Text, Translator, _, joined, n_
from gigamind.metrics.spec import units_of
from gigamind.metrics.table import about
from gigamind.records.card import CheckedCard
from gigamind.records.folder import PastRun
from gigamind.records.judged import CoverageReport, LlmReport, UsageReport
from gigamind.records.schema import ErrorReport, Record, RunReport, by_item
from gigamind.release.comparison import Comparison
from gigamind.release.model import Snapshot
from gigamind.release.policy import GateResult, Release, rule_label
from gigamind.release.shortfall import scale_name, with_interval
from gigamind.reports import document as doc
from gigamind.reports import verdict as verdicts
from gigamind.reports.card import certified
from gigamind.reports.charts import Course, Trend
from gigamind.reports.comparison import (
    gate_conditions,
    main_keys,
    metric_table,
    next_steps,
    noise_text,
    trust_warnings,
    worst_examples,
)
from gigamind.reports.views import Figure, View, measured
from gigamind.retrieval.settings import IN_BATCHES
from gigamind.version import build_name

MOST_RUNS = 20
_PANELS = 4
_ERRORS = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """Facts about a finished run that its record lacks.

    Attributes:
        release: the comparison with the baseline and its gates; None without a baseline.
        baseline: the snapshot that `release` compares with.
        bounds: the result of floors and ceilings of a run without a baseline.
        refused: why the run is no result, and how to fix it.
        past: runs of its history including this one, oldest first.
        out: its folder, for commands.
    """

    release: Release | None = None
    baseline: Snapshot | None = None
    bounds: GateResult | None = None
    refused: Text = ""
    past: Sequence[PastRun] = ()
    out: Path | None = None


def run_document(
    view: View[Any, Any, Any],
    record: Record[Any, Any],
    outcome: Outcome,
    say: Translator,
    *,
    items: bool = True,
) -> doc.Document:
    """Return the page of a finished run; `say` gives the texts inside charts and lists, `items` adds the list."""
    release, run = outcome.release, record.run
    comparison = release.comparison if release else None
    llm = view.llm(record.summary)
    verdict = _verdict(view, record, outcome, llm)
    bad = verdicts.bad_metric(release) if release and not release.informational else None
    if isinstance(verdict, doc.Verdict) and verdict.state == "passed" and release and not bad:
        verdict = replace(verdict, leads=(view.result(record), *verdict.leads))
    return doc.shaped(
        verdicts.TASKS[run.task],
        _subject(record, comparison),
        verdict=verdict,
        warnings=(_corrected_text(record.card), *_warnings(view, record, outcome, verdict)),
        steps=()
        if isinstance(verdict, doc.Banner)
        or outcome.out is None
        or outcome.refused
        or (outcome.bounds and outcome.bounds.failed)
        else next_steps(
            release,
            shlex.quote(str(outcome.out)),
            waivable=shlex.quote(str(outcome.out)),
            items="#list" if items else "",
            errors="#errors" if record.errors else "",
            baseline=shlex.quote(str(run.options.get("compare") or "BASELINE")),
            before=tuple(view.steps(record, bad.metric if bad else "")),
        ),
        figures=None if release else _main_figures(view.figures(record.summary), say),
        table=metric_table(release) if release and not release.gate.is_refused else None,
        examples=worst_examples(comparison) if comparison else view.examples(record),
        conditions=gate_conditions(release) if release else None,
        noise=noise_text(release) if release else "",
        sections=(
            _trend(outcome),
            *view.sections(record, say),
            _all_metrics(view.figures(record.summary), release, say),
            view.listing(record, say, comparison, outcome.baseline) if items else None,
            doc.Section.closed("cost", _("Model and cost"), *_model_blocks(llm)) if llm else None,
            _errors(record.errors),
            _details(record),
        ),
        version=run.environment.app_version,
    )


def _corrected_text(checked: CheckedCard | None) -> Text:
    """Return the means that labels by people correct; "" without any."""
    means = [
        _(
            "{scale}: {corrected}, judged {judged:.3f}",
            scale=scale_name(scale.name),
            corrected=with_interval(scale.headline.corrected),
            judged=scale.headline.judged,
        )
        for scale in (checked.card.scales if checked else ())
        if scale.headline
    ]
    return _("Corrected by labels: {means}.", means=joined(means, "; ")) if means else ""


def _subject(record: Record[Any, Any], comparison: Comparison | None) -> Message:
    run = record.run
    searched = run.task != "answers" or run.options.get("answer_model")
    mode, judge = run.options.get("mode"), run.judge.kind if run.judge else None
    parts: list[Text] = [
        Path(run.notes).name if run.notes else "",
        mode if isinstance(mode, str) and searched else "",
        _("judge {judge}", judge=judge) if judge else "",
        _("run {run}", run=run.run_id),
        moment(run.created_at),
    ]
    if comparison:
        compared = Path(str(run.options.get("compare") or comparison.baseline.run_id)).name
        parts += [_("baseline {baseline}", baseline=compared), *verdicts.changed_text(comparison)]
    return joined(filter(None, parts), " · ")


def _verdict(  # noqa: PLR0911  one case a kind of end
    view: View[Any, Any, Any], record: Record[Any, Any], outcome: Outcome, llm: LlmReport | None
) -> doc.Verdict | doc.Banner:
    release = outcome.release
    is_failed = release is not None and release.gate.verdict == "failed"
    if release and is_failed and not (outcome.refused and release.gate.lacks_verdicts):
        return verdicts.release_verdict(release)  # a regression stays one, whatever else is missing
    if record.run.status == "interrupted":
        unjudged = (error for error in record.errors if error.kind == "verdict")
        left = view.not_run(record.summary) + len(by_item(unjudged))
        sentence = n_(
            "Interrupted: {n} of the {units} was not evaluated. The figures cover the others.",
            "Interrupted: {n:,} of the {units} were not evaluated. The figures cover the others.",
            n=left,
            units=units_of(record.run.task),
        )
        if llm is None:  # nothing was paid for, so nothing is kept
            return doc.Banner(joined([sentence, _("Run the evaluation again.")], " "))
        return _resumed(sentence, outcome)
    if outcome.refused and not (outcome.bounds and outcome.bounds.failed):
        return doc.Banner(_("Do not read the figures yet: {reason}", reason=outcome.refused))
    if llm and (sentence := _coverage_banner(llm)):
        return _resumed(sentence, outcome)
    if release:
        return verdicts.release_verdict(release)
    result = view.result(record)
    if outcome.bounds:
        verdict = _bounds_verdict(outcome.bounds)
        return doc.Verdict(verdict.state, verdict.sentence, (*verdict.leads, result))
    return doc.Verdict("measured", result, (_("No baseline, so no release verdict."),))


def _bounds_verdict(bounds: GateResult) -> doc.Verdict:
    """Return the verdict on a run without a baseline, from its floors and ceilings."""
    count = len(bounds.rules)
    missed = [x.explanation for x in bounds.rules if x.status in {"failed", "warned"}]
    if not missed:
        return doc.Verdict(
            "passed", _("Passed: all floors and ceilings are met ({count}).", count=count)
        )
    values = {"missed": len(missed), "count": count, "first": missed[0]}
    reason = _("{missed} of {count} floors and ceilings are not met. {first}", **values)
    word = _("Failed") if bounds.verdict == "failed" else _("Passed with a warning")
    sentence = _("{verdict}: {reason}", verdict=word, reason=reason)
    return doc.Verdict(verdicts.shown_state(bounds.verdict), sentence)


def _resumed(sentence: Text, outcome: Outcome) -> doc.Banner:
    if outcome.out is None:
        return doc.Banner(sentence)
    resume = _("Repeat the command with `--resume {folder}`.", folder=outcome.out)
    return doc.Banner(joined([sentence, resume], " "))


def _warnings(
    view: View[Any, Any, Any],
    record: Record[Any, Any],
    outcome: Outcome,
    verdict: doc.Verdict | doc.Banner,
) -> Iterator[Text]:
    """Yield warnings, the most important first, without what the verdict says."""
    named = len(by_item(record.errors)) if isinstance(verdict, doc.Banner) else 0
    if outcome.refused and isinstance(verdict, doc.Verdict):
        yield outcome.refused
    if outcome.release:
        comparison = outcome.release.comparison
        named = named or len(comparison.lost) + len(comparison.unjudged)
        yield from trust_warnings(outcome.release)
    if len(by_item(record.errors)) > named:
        yield n_(
            "{n} row or item could not be evaluated. See {file}.",
            "{n:,} rows or items could not be evaluated. See {file}.",
            n=len(by_item(record.errors)),
            file=(outcome.out or Path()) / "errors.jsonl",
        )
    yield from view.warnings(record)
    yield from record.run.warnings


def _main_figures(figures: Sequence[Figure], say: Translator) -> doc.KeyFigures:
    """Return the main metrics of a run; all metrics of a team's own judge."""
    main = main_keys([figure.key for figure in measured(figures)])
    shown = [figure for figure in figures if figure.key in main]
    return doc.KeyFigures(tuple(_key_figures(shown, say)))


def _key_figures(figures: Iterable[Figure], say: Translator) -> Iterator[doc.KeyFigure]:
    for figure in measured(figures):
        yield doc.KeyFigure(
            rule_label(figure.key),
            doc.Proportion(figure.value, ceiling=figure.ceiling),
            doc.Interval(figure.interval.low, figure.interval.high),
            figure.interval.n,
            about(figure.key, say.language),
        )


def _all_metrics(
    figures: Sequence[Figure], release: Release | None, say: Translator
) -> doc.Section | None:
    """Return every metric; metrics without a value are named in one sentence."""
    if release and not release.gate.is_refused:
        return doc.Section.closed("metrics", _("All metrics"), metric_table(release, every=True))
    rows = [
        (x.label, x.value, x.interval, doc.Count(x.n), x.about) for x in _key_figures(figures, say)
    ]
    if not rows:
        return None
    heads = (_("metric"), _("value"), _("95% CI"), _("number of items"), _("meaning"))
    missing = [rule_label(figure.key) for figure in figures if figure.value is None]
    text = _("Not defined for these items: {metrics}.", metrics=missing)
    note = doc.Prose(text, faint=True) if missing else None
    return doc.Section.closed("metrics", _("All metrics"), doc.Table.of(heads, rows), note)


def _trend(outcome: Outcome) -> doc.Section | None:
    """Return the main metrics over the last runs; None with fewer than two."""
    past, release = outcome.past, outcome.release
    if len(past) < 2:  # noqa: PLR2004
        return None

    def before(key: str) -> float | None:
        change = release.comparison.metric(key) if release else None
        return change.baseline if change else None

    rules = release.gate.rules if release else ()
    doubtful = [rule.metric for rule in rules if rule.status not in {"passed", "skipped"}]
    keys = dict.fromkeys([*doubtful, *main_keys(list(past[-1].figures))])
    courses = [
        Course(rule_label(key), [run.figures.get(key) for run in past], before(key))
        for key in keys
        if past[-1].figures.get(key) is not None
    ][:_PANELS]
    if not courses:
        return None
    chart = Trend(
        _("Last {n} runs", n=len(past)),
        courses,
        [run.measure == past[-1].measure for run in past],
        (moment(past[0].run.created_at), moment(past[-1].run.created_at)),
    )
    plot = doc.Plot(chart, _("Main metrics of the last runs."))
    return doc.Section.closed("trend", _("Metrics of the recent runs"), plot)


def _errors(errors: Sequence[ErrorReport]) -> doc.Section | None:
    """Return what could not be evaluated: counts by reason, then each row or item."""
    if not (items := by_item(errors)):
        return None
    firsts: dict[tuple[str, str], ErrorReport] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for item in items:
        reasons = {(error.kind, error.error): error for error in reversed(item)}
        counts.update(reasons.keys())
        firsts = reasons | firsts
    kinds = [
        _(
            "{kind} ({reason}): {count:,}, such as {example}",
            kind=_KINDS[kind],
            reason=why,
            count=count,
            example=firsts[kind, why].message,
        )
        for (kind, why), count in counts.most_common(_ERRORS)
    ]
    rows = [
        (
            _("line {line}", line=item[0].line) if item[0].line else item[0].id or "",
            joined([error.message for error in item], "; "),
        )
        for item in items
    ]
    each = doc.Table.of((_("place"), _("message")), rows)
    return doc.Section.closed("errors", _("Errors"), doc.Bullets(tuple(kinds)), each)


_KINDS = {
    "row": _("invalid rows of the dataset"),
    "item": _("items that could not be evaluated"),
    "verdict": _("items without a verdict"),
    "check": _("items without a checklist result"),
}


def _details(record: Record[Any, Any]) -> doc.Section:
    rows, text = tuple(_run_rows(record.run)), certified(record.card, record.run.judge)
    note = doc.Prose(text) if text else None
    return doc.Section.closed("run", _("Run details"), doc.Facts(rows), note)


def _run_rows(run: RunReport) -> Iterator[tuple[Text, doc.Cell]]:
    environment, hardware = run.environment, run.hardware
    yield _("dataset"), f"{run.dataset} (sha256 {run.dataset_hash[:12]})"
    if run.notes:
        yield _("notes"), f"{run.notes} ({run.notes_hash_mode} hash {run.notes_hash[:12]})"
    if run.judge:
        named = ", ".join(filter(None, (run.judge.file, run.judge.model)))
        fingerprint = run.judge.fingerprint[:12]
        yield (
            _("judge"),
            _("{file} (fingerprint {fingerprint})", file=named, fingerprint=fingerprint),
        )
    if environment.system:
        yield _("system"), environment.system.name
    else:
        model = (environment.embedding_model or "").removesuffix(IN_BATCHES)  # for the cache
        yield _("embedding model"), model or _("no embedding model")
    yield _("gigamind version"), build_name(environment.app_version, environment.git_commit)
    machine = f"{hardware.cpu}, {hardware.cores} × CPU, {hardware.memory_gib} GiB"
    yield _("hardware"), f"{machine}, {hardware.system}"
    yield _("run options"), doc.Code(json.dumps(run.options, ensure_ascii=False))


def failed_document(task: str, message: Text, exit_code: int, subject: Text) -> doc.Document:
    """Return the page of a run that ended without results; `subject` names the planned evaluation."""
    sentence = _("Not run: {reason}", reason=message)
    if exit_code not in {InputError.exit_code, NotesError.exit_code}:
        sentence = _("No result: {reason}", reason=message)
    return doc.shaped(verdicts.TASKS[task], subject, verdict=doc.Banner(sentence))


_FEW = 0.8  # of the items, as --min-coverage has it


def _model_blocks(llm: LlmReport) -> tuple[doc.Block, ...]:
    """Return coverage, reliability, and metrics and cost as tables."""
    flagged = _(
        "Items with possible prompt injection or hidden characters in a note: {items}. Check these items"
        " yourself. Quotes from such text, not accepted as proof: {quotes}.",
        items=llm.flagged,
        quotes=llm.flagged_quotes,
    )
    texts = (
        *_coverage(llm),
        joined(_flips(llm), " "),
        flagged if llm.flagged else "",
        joined(_conflicts(llm), " "),
        _unread_text(llm),
        _repaired_text(llm),
    )
    return (*map(doc.Prose, filter(None, texts)), _cost_table(llm))


def _coverage_banner(llm: LlmReport) -> Text:
    """Return why the figures cannot be trusted yet: too few items were judged; "" if enough were."""
    for part in (llm, llm.checks):
        judged = part.outcomes.get("scored", 0) if part else 0
        if part and judged < _FEW * part.items:
            return _(
                "Do not read the figures yet: {missing:,} of {items:,} items were not judged ({reasons}).",
                missing=part.items - judged,
                items=part.items,
                reasons=_lost(part),
            )
    return ""


def _cost_table(llm: LlmReport) -> doc.Table:
    """Return requests, tokens and cost by role and model."""
    rows = [_usage(_role_text(name), part) for name, part in llm.by_role.items()]
    if len(rows) > 1:
        rows.append(_usage(_("total"), llm))
    heads = (
        _("role: model"),
        _("requests"),
        _("answered from the cache"),
        _("prompt tokens"),
        _("completion tokens"),
        _("reported cost"),
        _("reserved cost"),
    )
    return doc.Table.of(heads, rows, _("Cost"))


def _usage(name: Text, part: UsageReport) -> tuple[doc.Cell, ...]:
    counts = part.calls, part.cache_hits, part.prompt_tokens, part.completion_tokens
    reserved = part.reserved_usd  # the upper bound of what servers did not report
    reported = part.usd if part.usd is None or reserved is None else part.usd - reserved
    return name, *map(doc.Count, counts), doc.Money(reported), doc.Money(reserved)


def terminal_blocks(llm: LlmReport) -> tuple[doc.Block, ...]:
    """Return what the terminal shows: cost by model, consistency, and unreadable fields."""
    texts = (*_flips(llm), _repaired_text(llm), _unread_text(llm))
    return (_cost_table(llm), *map(doc.Prose, filter(None, texts)))


def _role_text(name: str) -> Text:
    """Return "role: model" with the role's label."""
    role, mark, model = name.partition(": ")
    return joined([_ROLES[role], model], mark) if mark and role in _ROLES else name


def _conflicts(llm: LlmReport) -> Iterator[Message]:
    if items := llm.conflicts.get("unproven"):
        yield _(
            "Items where the model says that the notes contain the answer, but gives no quote that proves it:"
            " {items}.",
            items=items,
        )
    if items := llm.conflicts.get("quoted"):
        yield _(
            "Items where the model says that the notes do not contain the answer, but still quotes the notes:"
            " {items}. Check these items yourself.",
            items=items,
        )


_ROLES: Mapping[str, Message] = {
    "judge": _("judge"),
    "answer": _("answer"),
    "quality_gate": _("checklist"),
    "unanswerable": _("unanswerable"),
    "probe": _("speed test"),
}
_OUTCOMES: Mapping[str, Message] = {
    "scored": _("judged"),
    "unscored": _("the model gave no usable reply"),
    "refused": _("the model refused the request"),
    "error": _("failed"),
    "skipped_budget": _("skipped: the budget is used up"),
}


def _repaired_text(llm: LlmReport) -> Text:
    """Return how many replies had JSON that was repaired; "" if none had."""
    if not llm.repaired:
        return ""
    return _("Replies with invalid JSON that was repaired: {n}.", n=llm.repaired)


def _unread_text(llm: LlmReport) -> Text:
    """Return which auxiliary fields of replies could not be read; "" if all could."""
    unread = llm.all_unread
    if not unread:
        return ""
    return _(
        "Optional fields of the model's replies that could not be read: {fields} ({names}). No verdict was"
        " lost.",
        fields=unread.total(),
        names=", ".join(f"{name}: {count}" for name, count in unread.most_common()),
    )


def _coverage(llm: LlmReport) -> Iterator[Message]:
    parts = (
        (_("Items with a verdict of the model"), llm),
        (_("Answers with a checklist result"), llm.checks),
    )
    for what, part in parts:
        if part:
            judged = part.outcomes.get("scored", 0)
            values = {"judged": judged, "items": part.items, "share": percent(part.coverage)}
            text = _("{what}: {judged} of {items} ({share}).", what=what, **values)
            lost = _lost(part)
            yield joined([text, _("Others: {reasons}.", reasons=lost)], " ") if lost else text


def _lost(part: LlmReport | CoverageReport) -> list[Message]:
    return [
        joined([_OUTCOMES[name], str(count)], ": ")
        for name, count in part.outcomes.items()
        if name != "scored" and count
    ]


def _flips(llm: LlmReport) -> Iterator[Message]:
    repeated = (
        (_("verdicts"), llm.flips),
        (_("checklist results"), llm.checks and llm.checks.flips),
    )
    for what, flips in repeated:
        if flips:
            shares = {"rate": flips.rate, "low": flips.low, "high": flips.high}
            yield _(
                "When the model judged items a second time, {flipped} of {n} {what} changed ({rate}; 95% CI {low} –"
                " {high}).",
                what=what,
                flipped=flips.flipped,
                n=flips.judged_again,
                **{name: percent(share) for name, share in shares.items()},
            )
    if any(flips for _what, flips in repeated):
        yield _("A difference of two runs up to this share is not evidence of a change.")
