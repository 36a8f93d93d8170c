"""The page for a release manager, as Markdown for Prefect's UI (no links to files), and a short form for CI."""

import base64
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from gigamind.errors import GigamindError
from gigamind.formats import between, moment, share, signed
from gigamind.i18n import Message, Translator, _, n_
from gigamind.metrics.table import is_lower_better, label, metric_of
from gigamind.records.history import PastRun
from gigamind.records.judged import LlmReport
from gigamind.records.schema import ErrorReport, Record, by_item
from gigamind.release.comparison import ComparedItem, Comparison, ItemChange, RunName
from gigamind.release.model import SnapshotHit
from gigamind.release.policy import LOST, GateResult, GateVerdict, RuleResult, Status
from gigamind.release.shortfall import METRIC as CARD
from gigamind.reports.charts import Course, Trend
from gigamind.reports.figures import Figure, Part, rule_name
from gigamind.reports.page.headline import change_interval, notices
from gigamind.reports.page.model_costs import cost, role_text
from gigamind.reports.release import (
    DECISIONS,
    GATES,
    TASKS,
    Release,
    items_by_kind,
    items_text,
    main_figures,
    main_keys,
    missed_bounds,
    plain_verdict,
    reason_texts,
    relaxed_texts,
    ungated_text,
)
from gigamind.reports.svg import svg_file
from gigamind.reports.text import inline, render
from gigamind.reports.views import View

MOST_RUNS = 20
_WORST = 5
_HITS = 3
_REASONS = 8
_REASONS_UNFOLDED = 3  # in the short form
_PANELS = 4
_ERRORS = 5
_TEXT_CHARS = 160
_REASON_CHARS = 320
_HEADLINE_CHARS = 120
_TIMES = frozenset({"search_p95", "cold_start"})
_MENTION = re.compile(r"(?<!\w)@(?=\w)")

End: TypeAlias = (
    GateVerdict
    | Literal["measured", "interrupted", "no-result", "notes-inaccessible", "invalid-input"]
)
_ICONS: dict[End, str] = {
    "passed": "✅",
    "failed": "❌",
    "warned": "⚠️",
    "inconclusive": "❓",
    "not-comparable": "❓",
    "measured": "☑️",
    "interrupted": "⏸️",
    "no-result": "❌",
    "notes-inaccessible": "❌",
    "invalid-input": "❌",
}
_ENDS: Mapping[End, Message] = {
    **DECISIONS,
    "measured": _("Measured, but not compared: the run has no baseline"),
    "interrupted": _("Run interrupted: the results are partial"),
    "no-result": _("The run ended without a result"),
    "notes-inaccessible": _("Not run: the notes or their index cannot be read"),
    "invalid-input": _("Not run: invalid input"),
}
_ENDS_OF_ERRORS: dict[int, End] = {1: "invalid-input", 2: "notes-inaccessible", 3: "no-result"}
_MARKS: dict[Status, str] = {
    "passed": "✅",
    "failed": "❌",
    "warned": "⚠️",
    "skipped": "–",
    "inconclusive": "❓",
    "not-comparable": "❓",
}
# The most important first; passed rules are only counted, except those on main metrics.
_ORDER: Sequence[Status] = ("failed", "not-comparable", "inconclusive", "warned", "passed")


class Place(NamedTuple):
    """Where the record of a run is: its folder, and the URLs of its pages by name, if something serves them."""

    out: Path | None = None
    links: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Decision:
    """A page as Markdown, headline first; `headline` is the result and its main reason in a line of plain text."""

    headline: str
    markdown: str


def decide(
    record: Record[Any, Any],
    view: View[Any, Any, Any],
    say: Translator,
    *,
    release: Release | None,
    refused: str | None,
    past: Sequence[PastRun],
    place: Place,
    bounds: GateResult | None = None,
) -> Decision:
    """Return the page of a finished run; `past` are the runs of its history including this one, oldest first.

    `release` is None without a baseline. `refused` says why the run is no result.
    """
    end = _end_of(record.run.status, release, refused, bounds)
    kinds = items_by_kind(release.comparison) if release else []
    rules = _ranked(release.gate) if release else []
    reasons = [*missed_bounds(bounds, say), *_reasons(release, refused, say)]
    llm = view.llm(record.summary)
    main = main_figures(record.summary.overall)
    keys = [figure.key for figure in main]
    notes = notices(
        record,
        release.comparison if release else None,
        say,
        not_run=view.not_run(record.summary),
        section=False,
    )
    remaining = [note for note in notes if note not in {*reasons, *relaxed_texts(release, say)}]
    return _page(
        end,
        reasons,
        say,
        place,
        run=_subject(record, say),
        figures=_figures(main, rules, release, say),
        compared=release is not None,
        passed=_passed(rules, keys),
        trend=_trend(past, _trended(rules, keys), release, say),
        notices=remaining,
        costs=list(_costs(llm, say)) if llm else [],
        lost=list(_lost(record.errors, say)),
        worst=_worst(release.comparison, say) if release else [],
        worse=sum(len(items) for _kind, items in kinds[:2]),
    )


def failed_page(message: str, exit_code: int, subject: str, say: Translator) -> Decision:
    """Return the page of a run that ended without results; `subject` names the planned evaluation."""
    end = _ENDS_OF_ERRORS.get(exit_code, "no-result")
    reasons = say(message).splitlines()
    return _page(end, reasons, say, Place(), run=inline(subject))


def brief(
    task: str,
    release: Release | None,
    say: Translator,
    *,
    part: Part | None = None,
    refused: str | None = None,
    status: str = "complete",
    bounds: GateResult | None = None,
) -> str:
    """Return a run for CI: the verdict, the main metrics and the worse items; the rest is folded.

    `part` has all items of the run, None if two finished runs are compared. `refused` says why the run is no result.
    """
    end = _end_of(status, release, refused, bounds)
    reasons = [*missed_bounds(bounds, say), *_reasons(release, refused, say)]
    if release is None:
        figures = _figures(main_figures(part), [], None, say) if part else []
        return _brief(end, task, reasons, say, figures=figures)
    comparison, gate = release
    *worse, better = items_by_kind(comparison)
    rules = _ranked(gate)
    main = main_keys([change.metric for change in comparison.metrics])
    rows = _compared(main, rules, comparison, say)
    return _brief(
        end,
        task,
        reasons,
        say,
        shown_reasons=_REASONS_UNFOLDED,
        verdict=f"**{say(GATES[gate.verdict])}** ({gate.phase.upper()}). {items_text(comparison, say)}",
        figures=rows if gate.is_refused else [row for row in rows if row[0]],
        aside=[] if gate.is_refused else [row for row in rows if not row[0]],
        compared=True,
        passed=_passed(rules, main),
        worse=worse,
        better=[better],
        runs=[_run_name(run) for run in (comparison.baseline, comparison.current)],
    )


def failed_brief(error: GigamindError, task: str, say: Translator) -> str:
    """Return the short form of a run that ended without results."""
    end = _ENDS_OF_ERRORS.get(error.exit_code, "no-result")
    return _brief(end, task, say(error.message).splitlines(), say)


def _brief(
    end: End,
    task: str,
    reasons: Sequence[str],
    say: Translator,
    shown_reasons: int = _REASONS,
    **parts: object,
) -> str:
    empty: Mapping[str, object] = {
        **dict.fromkeys(("figures", "aside", "worse", "better", "runs"), ()),
        "verdict": "",
        "compared": False,
        "passed": 0,
    }

    def shown_change(what: str) -> str:
        return _cut(_arrowed(say(what)))

    text = render(
        "brief.md.jinja",
        say=say,
        title=f"{_ICONS[end]} {say(TASKS[task])} · {say(_ENDS[end])}",
        reasons=[_cut(_arrowed(reason), _REASON_CHARS) for reason in reasons[:_REASONS]],
        shown_reasons=shown_reasons,
        more=max(0, len(reasons) - _REASONS),
        shown=_WORST,
        what=shown_change,
        **{**empty, **parts},
    )
    unmentioned = _MENTION.sub("@\u200b", text)  # a name in a question must not notify anybody
    return re.sub(r"\n{3,}", "\n\n", unmentioned)


def _run_name(run: RunName) -> str:
    commit = (run.git_commit or "")[:12]
    return f"{run.run_id} (gigamind {run.app_version} {commit}".rstrip() + ")"


def _page(
    end: End, reasons: Sequence[str], say: Translator, place: Place, run: str, **parts: object
) -> Decision:
    first, *others = [_arrowed(reason) for reason in reasons] or [""]
    sentence = re.split(r"(?<=[\])])\.? |[.,;] (?!\d)", first, maxsplit=1)[0]
    if len(first) > _HEADLINE_CHARS and len(sentence) < len(first):
        first, others = sentence, [first, *others]
    title = say(_ENDS[end])
    headline = f"{_ICONS[end]} {title}: {first}" if first else f"{_ICONS[end]} {title}"
    empty: Mapping[str, object] = {
        **dict.fromkeys(("figures", "notices", "costs", "lost", "worst"), ()),
        "compared": False,
        "passed": 0,
        "trend": None,
        "worse": 0,
    }
    markdown = render(
        "decision.md.jinja",
        say=say,
        headline=inline(headline),
        reasons=others[: _REASONS - 1],
        more=max(0, len(others) - _REASONS + 1),
        run=run,
        place=place,
        **{**empty, **parts},
    )
    return Decision(headline, markdown)


def _end_of(
    status: str, release: Release | None, refused: str | None, bounds: GateResult | None
) -> End:
    if status == "interrupted":
        return "interrupted"
    if bounds and bounds.failed:
        return "failed"
    if release and (refused is None or release.gate.verdict == "failed"):
        return plain_verdict(release)
    return "no-result" if refused else "measured"


def _reasons(release: Release | None, refused: str | None, say: Translator) -> list[str]:
    own = [say(refused)] if refused else []
    if release is None:
        return own
    comparison, gate = release
    decided = reason_texts(gate, comparison, say)
    decided += filter(None, [ungated_text(release, say)])
    return [*decided, *own] if gate.verdict == "failed" else [*own, *decided]


def _subject(record: Record[Any, Any], say: Translator) -> str:
    run = record.run
    mode = run.options.get("mode")
    judge = run.judge.kind if run.judge else None
    commit = (run.environment.git_commit or "")[:12]
    parts = [
        say(TASKS[run.task]),
        Path(run.notes).name if run.notes else None,
        mode if isinstance(mode, str) else None,
        say(_("judge {judge}", judge=judge)) if judge else None,
        say(_("run {run}", run=run.run_id)),
        moment(run.created_at),
        f"gigamind {run.environment.app_version} {commit}".strip(),
    ]
    return " · ".join(inline(part) for part in parts if part)


def _ranked(gate: GateResult) -> list[RuleResult]:
    known = [rule for rule in gate.rules if rule.status in _ORDER]
    return sorted(known, key=lambda rule: _ORDER.index(rule.status))


def _passed(rules: Sequence[RuleResult], main: Sequence[str]) -> int:
    return sum(rule.status == "passed" and rule.metric not in main for rule in rules)


def _figures(
    main: Sequence[Figure], rules: Sequence[RuleResult], release: Release | None, say: Translator
) -> list[tuple[str, ...]]:
    if release is None:
        return [
            (rule_name(figure.key, say), share(figure.value), between(figure.interval), str(figure.interval.n))
            for figure in main
        ]  # fmt: skip
    return _compared([figure.key for figure in main], rules, release.comparison, say)


def _compared(
    main: Sequence[str], rules: Sequence[RuleResult], comparison: Comparison, say: Translator
) -> list[tuple[str, ...]]:
    gated = {rule.metric for rule in rules}
    shown = [rule for rule in rules if rule.status != "passed" or rule.metric in main]
    rows = [_row(rule.metric, rule, comparison, say) for rule in shown]
    return rows + [_row(key, None, comparison, say) for key in main if key not in gated]


def _row(
    metric: str, rule: RuleResult | None, comparison: Comparison, say: Translator
) -> tuple[str, ...]:
    change = comparison.metric(metric)
    before = rule.baseline if rule else change.baseline if change else None
    after = rule.current if rule else change.current if change else None
    difference = signed(after - before) if before is not None and after is not None else "–"
    if metric in _TIMES:
        difference = f"{signed(after - before)[:-4]} ms" if after and before else "–"
    return (
        _MARKS[rule.status] if rule else "",
        rule_name(metric, say),
        _value(metric, before),
        _value(metric, after),
        difference,
        change_interval(change, say) or "–",
        _allowed(rule) if rule else "–",
    )


def _value(metric: str, value: float | None) -> str:
    return f"{value:,.0f} ms" if value is not None and metric in _TIMES else share(value)


def _allowed(rule: RuleResult) -> str:
    if rule.limit is None:
        return "–"
    if rule.why == "normalised":
        return f"≤ × {rule.limit:.2f}"
    if rule.metric in _TIMES:
        return f"≤ {rule.limit:,.0f} ms"
    if rule.metric == CARD or rule.why.startswith("floor"):
        return f"≥ {rule.limit:g}"
    if rule.why.startswith("ceiling"):
        return f"≤ {rule.limit:g}"
    sign = "+" if is_lower_better(rule.metric) and rule.metric not in LOST else "−"
    return f"{sign}{rule.limit:g}" if rule.limit else "0"


def _trended(rules: Sequence[RuleResult], main: Sequence[str]) -> list[str]:
    doubtful = [rule.metric for rule in rules if rule.status != "passed" and metric_of(rule.metric)]
    return list(dict.fromkeys([*doubtful, *main]))


def _trend(
    past: Sequence[PastRun], keys: Sequence[str], release: Release | None, say: Translator
) -> str | None:
    if len(past) < 2:  # noqa: PLR2004
        return None

    def before(key: str) -> float | None:
        change = release.comparison.metric(key) if release else None
        return change.baseline if change else None

    courses = [
        Course(label(key, say.language), [run.figures.get(key) for run in past], before(key))
        for key in keys
        if past[-1].figures.get(key) is not None
    ][:_PANELS]
    if not courses:
        return None
    chart = Trend(
        say(n_("Last {n} run", "Last {n} runs", n=len(past))),
        courses,
        [run.measure == past[-1].measure for run in past],
        (moment(past[0].run.created_at), moment(past[-1].run.created_at)),
        (say(_("run")), say(_("run with another dataset or judge")), say(_("baseline"))),
    )
    drawn = base64.b64encode(svg_file(chart).encode()).decode()
    return f"data:image/svg+xml;base64,{drawn}"


def _costs(llm: LlmReport, say: Translator) -> Iterator[tuple[str, ...]]:
    parts = [*llm.by_role.items()]
    if len(parts) > 1:
        parts.append((say(_("total")), llm))
    for name, part in parts:
        yield role_text(name, say), f"{part.calls:,}", f"{part.cache_hits:,}", cost(part)


def _lost(errors: Sequence[ErrorReport], say: Translator) -> Iterator[tuple[str, str, str]]:
    """Yield what could not be evaluated: the count with its kind, the reason, and the first message."""
    firsts: dict[tuple[str, str], ErrorReport] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for item in by_item(errors):
        reasons = {(error.kind, error.error): error for error in reversed(item)}
        counts.update(reasons.keys())
        firsts = reasons | firsts
    for (kind, why), count in counts.most_common(_ERRORS):
        first = firsts[kind, why]
        yield say(_lost_kind(kind, count)), why, _cut(say(first.message))
    if rest := sum(count for _kind, count in counts.most_common()[_ERRORS:]):
        yield say(n_("{n} other error", "{n:,} other errors", n=rest)), "errors.jsonl", ""


def _lost_kind(kind: str, n: int) -> Message:
    match kind:
        case "row":
            return n_("{n} invalid row of the dataset", "{n:,} invalid rows of the dataset", n=n)
        case "verdict":
            return n_("{n} item without a verdict", "{n:,} items without a verdict", n=n)
        case "check":
            return n_(
                "{n} item without a checklist result",
                "{n:,} items without a checklist result",
                n=n,
            )
        case _item:
            return n_("{n} item could not be evaluated", "{n:,} items could not be evaluated", n=n)


def _worst(comparison: Comparison, say: Translator) -> list[tuple[str, str, str, str]]:
    worse = [change for change in comparison.changes if change.change == "worse"][:_WORST]
    rows = [(_item(change), _expected(change), *_rankings(change, say)) for change in worse]
    gone = say(_("not evaluated"))
    rows += [(_item(item), _expected(item), "–", gone) for item in comparison.lost]
    return rows[:_WORST]


def _item(item: ComparedItem) -> str:
    return f"{inline(_cut(item.text))} ({inline(item.id)})"


def _expected(item: ComparedItem) -> str:
    return ", ".join(map(inline, item.expected_notes)) or "–"


def _rankings(change: ItemChange, say: Translator) -> tuple[str, str]:
    what = _arrowed(say(change.what))
    if change.baseline_ranking is None or change.current_ranking is None:
        return "–", inline(what)
    wanted = {*change.expected_notes}
    before, after = (
        _ranking(hits, wanted, say)
        for hits in (change.baseline_ranking, change.current_ranking)
    )  # fmt: skip
    return before, f"{after} ({inline(what)})"


def _ranking(hits: Sequence[SnapshotHit], wanted: set[str], say: Translator) -> str:
    """Return the first results, expected notes in bold; also a later rank of the first expected note."""
    notes = [hit.note for hit in hits]
    shown = [
        f"{place}. {f'**{inline(note)}**' if note in wanted else inline(note)}"
        for place, note in enumerate(notes[:_HITS], start=1)
    ]
    later = next((place for place, note in enumerate(notes, 1) if note in wanted), 0)
    if later > _HITS:
        shown.append(f"… {later}. **{inline(notes[later - 1])}**")
    return " · ".join(shown) or say(_("nothing found"))


def _arrowed(text: str) -> str:
    return text.replace("->", "→")


def _cut(text: str, most: int = _TEXT_CHARS) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
