"""What the pages of all tasks share: one file that needs nothing else, with its policy, style and scripts.

The policy forbids the network, inline handlers and every script but the one that is named by its hash.  Texts of notes,
queries and errors reach a page escaped (jinja) or as JSON that the script puts in as text, never as markup.
"""

import base64
import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, TypedDict

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from gigamind.messages import warning_in
from gigamind.metrics.table import label
from gigamind.records.judged import LlmReport, SeatReport
from gigamind.records.schema import Record, RunReport, by_item
from gigamind.release.compare import compare
from gigamind.release.comparison import Comparison, Snapshot
from gigamind.release.policy import GateResult
from gigamind.reports.cards.line import certified
from gigamind.reports.figures import Figure, Part, values_of
from gigamind.reports.page.charts import Chart
from gigamind.reports.page.headline import Card, change_interval, notices, seed_of
from gigamind.reports.page.model_costs import few_judged, model_block
from gigamind.reports.page.svg import inline_svg
from gigamind.reports.release import (
    Release,
    bounds_decision,
    missed_bounds,
    decision_text,
    plain_verdict,
    reason_texts,
    relaxed_texts,
    verdict_text,
)
from gigamind.reports.text import embedder_text, judge_text, notes_text, told, upright
from gigamind.wording import (
    Language,
    Words,
    between,
    change_in,
    moment,
    share,
    signed,
    words,
)

_SURROGATE = re.compile("[\ud800-\udfff]")
_COMMON = "common.js"
_LIST = "report.js"


@dataclass(frozen=True, slots=True)
class Content:
    """What a task says on its page.

    Attributes:
        template: extends layout.html.jinja, and asks for `values` beside what is given here.
        item_script: shows one item in the list; see report.js.
        charts: by name.
        captions: what the phrases that say what a chart shows, for those who cannot see it, begin with.
        data: JSON for the scripts, safe in an element; see `items_script`.
        figures: the table of all metrics; `called` names one, where not by its label.
        slices: name, counts of items and figures of each part, which are compared by `columns`.
        not_run: items that an interrupted run left.
        unjudged: items that were to get a verdict and have none.
        generated: items that were made of the notes.
        llm: what asking models gave.
    """

    template: str
    item_script: str
    charts: Mapping[str, Chart]
    captions: str
    data: str
    headline: str
    cards: Iterable[Card]
    figures: Sequence[Figure]
    slices: Iterable[tuple[str, tuple[int, ...], Part]]
    columns: Sequence[str]
    called: Callable[[Figure], str] | None = None
    not_run: int = 0
    unjudged: int = 0
    generated: int = 0
    llm: LlmReport | None = None
    values: Mapping[str, object] = field(default_factory=dict[str, object])


Tell = Callable[[Any, Words, Comparison | None, Any], Content]
"""What makes the content, from the record, the phrases, and what changed since which baseline."""


def render_page(
    tell: Tell,
    record: Record[Any, Any],
    *,
    lang: Language = "en",
    baseline: Snapshot | None = None,
    gate: GateResult | None = None,
) -> str:
    """The report of a run, beside a baseline when there is one; `gate` is the verdict on the release, shown first.

    Without a baseline it is what the run's floors and ceilings say.

    Raises:
        InputError: the baseline is of another task.
    """
    say = words(lang)
    comparison = compared_with(baseline, record)
    release = Release(comparison, gate) if comparison and gate else None
    content = tell(record, say, comparison, baseline)
    noticed = notices(
        record,
        comparison,
        say,
        not_run=content.not_run,
        unjudged=content.unjudged,
        generated=content.generated,
    )
    decided = _decided(release, None if release else gate, say)
    said = {*decided["reasons"], *relaxed_texts(release, say)}
    return rendered(
        content.template,
        say,
        script=listing_script(content.item_script),
        data=content.data,
        run=record.run,
        summary=record.summary,
        errors=by_item(record.errors),
        comparison=comparison,
        gate=gate,
        **decided,
        worse=list(_worse(comparison, say)) if comparison else [],
        headline=content.headline,
        notices=[
            *few_judged(content.llm, say),
            *(notice for notice in noticed if notice not in said),
        ],
        warnings=[warning_in(say.language, warning) for warning in record.run.warnings],
        cards=list(content.cards),
        metric_rows=list(_metric_rows(content, comparison, say)),
        slice_metrics=[label(key, say.language) for key in content.columns],
        slice_rows=[
            (name, (*counts, *values_of(part, content.columns)))
            for name, counts, part in content.slices
            if content.figures
        ],
        certified=certified(record.card, record.run.judge, say.language),
        model=model_block(content.llm, say),
        run_rows=list(_run_rows(record.run, say)),
        figures={
            name: drawn(chart, say(content.captions + name))
            for name, chart in content.charts.items()
            if name != "metrics"  # which stand in cards and table
        },
        **content.values,
    )


class _Decided(TypedDict):
    """The first lines of a page: the verdict of the gates, and whether to release and why."""

    read_as: str
    verdict: str
    decision: str
    reasons: Sequence[str]


def _decided(release: Release | None, bounds: GateResult | None, say: Words) -> _Decided:
    if release:
        return {
            "read_as": plain_verdict(release),
            "verdict": verdict_text(release, say),
            "decision": decision_text(release, say),
            "reasons": reason_texts(release.gate, release.comparison, say),
        }
    return {
        "read_as": bounds.verdict if bounds else "",
        "verdict": say(f"gate.{bounds.verdict}") if bounds else "",
        "decision": bounds_decision(bounds, say) if bounds else "",
        "reasons": missed_bounds(bounds, say),
    }


def rendered(
    template: str, say: Words, *, script: str = "", data: str = "", **values: object
) -> str:
    """A page of one file: a template that begins with the macro `head`, its style, and the policy that names both.

    Args:
        template: of this package.
        say: the phrases.
        script: the only one that may run.
        data: JSON for it, safe in an element; see `items_script`.
        values: what the template asks for besides.
    """
    page = (
        page_templates()
        .get_template(template)
        .render(
            say=say,
            data=Markup(data),  # noqa: S704  escaped by its maker
            style=Markup(_asset("report.css")),  # noqa: S704  ours
            script=Markup(script),  # noqa: S704  ours
            policy=_policy(script),
            **values,
        )
    )
    return _SURROGATE.sub("\ufffd", page)


def listing_script(item_script: str) -> str:
    """The script of a list of items, which that file of the templates shows one by one."""
    return _asset(_COMMON) + _asset(item_script) + _asset(_LIST)


def drawn(chart: Chart, caption: str) -> Markup:
    """A chart in a page; the caption is for those who cannot see it."""
    return Markup(inline_svg(chart, caption))  # noqa: S704  made by us, from escaped text


def compared_with(baseline: Snapshot | None, record: Record[Any, Any]) -> Comparison | None:
    """What changed since a baseline, by the seed of the run's own intervals; None without one.

    Raises:
        InputError: they are of two tasks.
    """
    if baseline is None:
        return None
    return compare(baseline, baseline.kind.take_snapshot(record), seed=seed_of(record.run))


def _worse(comparison: Comparison, say: Words) -> Iterator[tuple[str, str, str]]:
    """The items that got worse, the worst of them first: id, text, and what became of it."""
    for change in comparison.changes:
        if change.change == "worse":
            outcome = change_in(say.language, change.what).replace("->", "→")
            yield change.id, change.text, outcome


def changes_by_id(comparison: Comparison | None) -> dict[str, str]:
    """How items ended otherwise than in the baseline."""
    return {change.id: change.change for change in comparison.changes} if comparison else {}


def items_script(
    phrases: Mapping[str, str],
    comparison: Comparison | None,
    items: Sequence[object],
    **tables: object,
) -> str:
    """The items of a page with the phrases of its scripts, as JSON that can stand in a script element.

    Args:
        tables: what the items name by index.
    """
    compared = comparison is not None
    content = {"words": phrases, **tables, "compared": compared, "items": items}
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A script element ends at "</script", and "<!--" opens a comment that hides that end: neither can be written so.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _metric_rows(
    content: Content, comparison: Comparison | None, say: Words
) -> Iterator[dict[str, object]]:
    """Every metric with its interval; beside a baseline what it is in both runs, on the items that both measured."""
    for figure in content.figures:
        change = comparison.metric(figure.key) if comparison else None
        paired = change if change and change.difference is not None else None
        compared = paired.n if paired else 0
        yield {
            "label": content.called(figure) if content.called else figure.label(say.language),
            "value": share(paired.current if paired else figure.value),
            "interval": between(figure.interval),
            "n": compared if comparison else figure.interval.n,
            "before": share(change.baseline if change else None),
            "difference": signed(change.difference if change else None),
            "change_interval": change_interval(change, say) or "–",
            "better": change.is_better if change else None,
        }


def _run_rows(run: RunReport, say: Words) -> Iterator[tuple[str, str]]:
    environment = run.environment
    hardware = run.hardware
    yield say(_("run")), run.run_id
    yield say(_("created")), moment(run.created_at)
    yield say(_("dataset")), f"{run.dataset} (sha256 {run.dataset_hash[:12]})"
    if run.notes:
        yield say(_("notes")), notes_text(run, say)
    if run.judge:
        yield say(_("judge")), judge_text(run.judge, say)
    if environment.system:
        yield say(_("system")), environment.system.name
    else:
        yield say(_("embedding model")), embedder_text(run, say)
    commit = (environment.git_commit or "")[:12]
    yield say(_("gigamind")), f"{environment.app_version} {commit}".strip()
    yield "Python", environment.python_version
    yield (
        say(_("hardware")),
        f"{hardware.cpu}, {hardware.cores} × CPU, {hardware.memory_gib} GiB, {hardware.system}",
    )
    yield say(_("packages")), ", ".join(f"{n} {v}" for n, v in environment.packages.items())
    yield say(_("options")), json.dumps(run.options, ensure_ascii=False)


@functools.cache
def _asset(name: str) -> str:
    """A file of the page; line ends as a browser reads them, for its hash is of what it reads."""
    return (resources.files("gigamind.reports.page") / "templates" / name).read_text(
        encoding="utf-8"
    )


def _policy(script: str) -> str:
    """The content security policy: nothing but this very script and this very style."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(_asset('report.css'))}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@functools.cache
def page_templates(package: str = "gigamind.reports.page") -> Environment:
    """The templates of pages of a package; what comes from outside is escaped."""
    templates = Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=upright,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {"moment": moment, "share": share, "told": told, "coded": coded}
    templates.filters.update(filters)
    return templates


_CODE = re.compile("`([^`]+)`")


def coded(text: str) -> Markup:
    """A sentence of ours, which the terminal tells, too: what is to be typed as code, and a change with an arrow."""
    escaped = str(escape(upright(text))).replace(" -&gt; ", " → ")
    return Markup(_CODE.sub(r"<code>\1</code>", escaped))  # noqa: S704  escaped before


Seat = tuple[str, int]


def seat_of(vote: SeatReport) -> Seat:
    """Its model, and the number of its repetition from 0."""
    return vote.model, vote.repeat


def seat_names(votes: Iterable[SeatReport]) -> dict[Seat, str]:
    """What each seat is called: its model, with the number from 1 where models vote several times; as first met."""
    seats = dict.fromkeys(map(seat_of, votes))
    repeated = any(repeat for _, repeat in seats)
    return {seat: f"{seat[0]} #{seat[1] + 1}" if repeated else seat[0] for seat in seats}
