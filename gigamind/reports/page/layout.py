"""The parts that the pages of all tasks share: one self-contained file with its policy, style and scripts.

The content security policy forbids the network, inline handlers and all other scripts. Third-party texts are escaped.
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

from gigamind.formats import between, moment, share, signed
from gigamind.i18n import Language, Message, Translator, _, script_messages, translator
from gigamind.metrics.table import label
from gigamind.records.judged import LlmReport
from gigamind.records.schema import Record, RunReport, by_item
from gigamind.release.compare import compare
from gigamind.release.comparison import Comparison, Snapshot
from gigamind.release.policy import GateResult
from gigamind.reports.cards.line import certified
from gigamind.reports.charts import Chart, inline_svg
from gigamind.reports.figures import Figure, Part, values_of
from gigamind.reports.model import PanelMember, member_names, member_of  # noqa: F401  for tasks
from gigamind.reports.page.headline import Card, change_interval, notices, seed_of
from gigamind.reports.page.model_costs import few_judged, model_block
from gigamind.reports.release import (
    GATES,
    Release,
    bounds_decision,
    decision_text,
    missed_bounds,
    plain_verdict,
    reason_texts,
    relaxed_texts,
    verdict_text,
)
from gigamind.reports.text import embedder_text, judge_text, notes_text, template_globals, upright

_SURROGATE = re.compile("[\ud800-\udfff]")
_COMMON = ("messages.js", "common.js")
_LIST = "report.js"


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a task's page.

    Attributes:
        template: extends layout.html.jinja; it also uses `values`.
        item_script: shows one item in the list; see report.js.
        captions: text alternatives of the charts, by name.
        data: JSON for the scripts, safe in an element; see `items_script`.
        figures: the metrics of the table; `called` gives their names if these are not the labels.
        slices: name, counts of items and metrics of each slice; `columns` are the metrics shown.
        not_run, unjudged, generated: see `notices`.
    """

    template: str
    item_script: str
    charts: Mapping[str, Chart]
    captions: Mapping[str, Message]
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


Tell = Callable[[Any, Translator, Comparison | None, Any], Content]
"""Makes the content from the record, the translator, the comparison with the baseline, and the baseline."""


def render_page(
    tell: Tell,
    record: Record[Any, Any],
    *,
    lang: Language = "en",
    baseline: Snapshot | None = None,
    gate: GateResult | None = None,
) -> str:
    """Return the report of a run; `gate` is the verdict on the release, without a baseline that of the bounds.

    Raises:
        InputError: the baseline belongs to another task.
    """
    say = translator(lang)
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
    shown = {*decided["reasons"], *relaxed_texts(release, say)}
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
            *(entry for entry in noticed if entry not in shown),
        ],
        warnings=list(map(say, record.run.warnings)),
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
            name: drawn(chart, say(content.captions[name]))
            for name, chart in content.charts.items()
            if name != "metrics"  # which stand in cards and table
        },
        **content.values,
    )


class _Decided(TypedDict):
    """The first lines of a page: the verdict of the gates, whether to release, and why."""

    read_as: str
    verdict: str
    decision: str
    reasons: Sequence[str]


def _decided(release: Release | None, bounds: GateResult | None, say: Translator) -> _Decided:
    if release:
        return {
            "read_as": plain_verdict(release),
            "verdict": verdict_text(release, say),
            "decision": decision_text(release, say),
            "reasons": reason_texts(release.gate, release.comparison, say),
        }
    return {
        "read_as": bounds.verdict if bounds else "",
        "verdict": say(GATES[bounds.verdict]) if bounds else "",
        "decision": bounds_decision(bounds, say) if bounds else "",
        "reasons": missed_bounds(bounds, say),
    }


def rendered(
    template: str, say: Translator, *, script: str = "", data: str = "", **values: object
) -> str:
    """Return a page of one file, with its style and only this script; `data` is JSON as from `items_script`."""
    page = (
        page_templates(say.language)
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
    """Return the script of a list of items; the file `item_script` shows one item."""
    return "".join(map(_asset, (*_COMMON, item_script, _LIST)))


def drawn(chart: Chart, caption: str) -> Markup:
    """Return a chart for a page, with its text alternative."""
    return Markup(inline_svg(chart, caption))  # noqa: S704  made by us, from escaped text


def compared_with(baseline: Snapshot | None, record: Record[Any, Any]) -> Comparison | None:
    """Return the comparison with a baseline, with the seed of the run's own intervals; None without a baseline.

    Raises:
        InputError: the tasks differ.
    """
    if baseline is None:
        return None
    return compare(baseline, baseline.kind.take_snapshot(record), seed=seed_of(record.run))


def _worse(comparison: Comparison, say: Translator) -> Iterator[tuple[str, str, str]]:
    for change in comparison.changes:
        if change.change == "worse":
            yield change.id, change.text, say(change.what).replace("->", "→")


def changes_by_id(comparison: Comparison | None) -> dict[str, str]:
    """Return the direction of each changed item, by id."""
    return {change.id: change.change for change in comparison.changes} if comparison else {}


def items_script(
    say: Translator, comparison: Comparison | None, items: Sequence[object], **tables: object
) -> str:
    """Return the items, `tables` they refer to by index, and messages as JSON that is safe in a script element."""
    compared = comparison is not None
    words = script_messages(say.language)
    content = {"words": words, **tables, "compared": compared, "items": items}
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Escaped, no text can end the script element ("</script") or open a comment ("<!--").
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _metric_rows(
    content: Content, comparison: Comparison | None, say: Translator
) -> Iterator[dict[str, object]]:
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


def _run_rows(run: RunReport, say: Translator) -> Iterator[tuple[str, str]]:
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
    yield say(_("gigamind version")), f"{environment.app_version} {commit}".strip()
    yield "Python", environment.python_version
    yield (
        say(_("hardware")),
        f"{hardware.cpu}, {hardware.cores} × CPU, {hardware.memory_gib} GiB, {hardware.system}",
    )
    yield say(_("package versions")), ", ".join(f"{n} {v}" for n, v in environment.packages.items())
    yield say(_("run options")), json.dumps(run.options, ensure_ascii=False)


@functools.cache
def _asset(name: str) -> str:
    """Return a file of the page, with the line ends that a browser sees: its hash depends on them."""
    return (resources.files("gigamind.reports.page") / "templates" / name).read_text(
        encoding="utf-8"
    )


def _policy(script: str) -> str:
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(_asset('report.css'))}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@functools.cache
def page_templates(language: Language, package: str = "gigamind.reports.page") -> Environment:
    """Return the page templates of a package in a language; third-party text is escaped."""
    templates = Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=upright,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {"moment": moment, "share": share, "coded": coded}
    templates.filters.update(filters)
    templates.globals |= template_globals(language)
    return templates


_CODE = re.compile("`([^`]+)`")


def coded(text: str) -> Markup:
    """Return a message as markup: text in backticks as code, "->" as an arrow."""
    escaped = str(escape(upright(text))).replace(" -&gt; ", " → ")
    return Markup(_CODE.sub(r"<code>\1</code>", escaped))  # noqa: S704  escaped before
