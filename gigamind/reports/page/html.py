"""report.html: one file that needs nothing else, for people who decide on a release.

Its policy forbids the network, inline handlers and every script but the one that is named by its hash.  Texts of notes,
queries and errors reach the page escaped (jinja) or as JSON that the script puts in as text, never as markup.
"""

import base64
import functools
import hashlib
import json
import re
from collections.abc import Iterator
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gigamind.metrics.answerability import Confusion
from gigamind.reports.page.headline import (
    cards,
    change_interval,
    headline,
    moment,
    notices,
    share,
    signed,
    sure,
)
from gigamind.reports.page.item_data import items_json
from gigamind.reports.page.judging import judging, seed_of
from gigamind.reports.page.plots import Baseline, as_snapshot, figures
from gigamind.reports.page.slices import all_metrics, figure_of, slices
from gigamind.reports.page.svg import inline_svg
from gigamind.reports.page.wording import Language, Words, words
from gigamind.reports.release.compare import Comparison, compare
from gigamind.reports.release.gates import GateResult
from gigamind.reports.release.search import SearchSnapshot
from gigamind.reports.release.snapshot import take_snapshot
from gigamind.reports.schema import RunRecord, SliceCounts

_TAGS = 15
_SLICE_METRICS = ("search.hit_at_1", "search.mrr", "unanswerable.f1", "unanswerable.far")
_SURROGATE = re.compile("[\ud800-\udfff]")


def render_html(
    record: RunRecord,
    *,
    lang: Language = "en",
    baseline: Baseline | None = None,
    gate: GateResult | None = None,
) -> str:
    """The report of a run, beside a baseline when there is one; `gate` is the verdict on the release, shown first.

    Raises:
        InputError: the baseline cannot be compared at all; see `compare`.
    """
    told = words(lang)
    before = as_snapshot(baseline)
    comparison = _compared(record, before)
    drawn = figures(record, before, lang=lang)
    page = (
        _templates()
        .get_template("report.html.jinja")
        .render(
            told=told,
            run=record.run,
            summary=record.summary,
            errors=record.errors,
            comparison=comparison,
            gate=gate,
            headline=headline(record, comparison, told),
            notices=list(notices(record, comparison, told)),
            cards=cards(record, comparison, told),
            metric_rows=list(_metric_rows(record, comparison, told)),
            judged=_judged(record, told),
            speed_rows=list(_speed_rows(record, told)),
            slice_metrics=[told.metric(key.partition(".")[2]) for key in _SLICE_METRICS],
            slice_rows=list(_slice_rows(record, told)),
            tags_left_out=max(0, len(record.summary.by_tag) - _TAGS),
            run_rows=list(_run_rows(record, told)),
            figures={
                name: Markup(inline_svg(figure, name, told(f"figure.{name}")))  # noqa: S704  made by us, from escaped text
                for name, figure in drawn.items()
            },
            data=Markup(items_json(record.items, told.tables["script"], comparison, before)),  # noqa: S704  escaped there
            style=Markup(_asset("report.css")),  # noqa: S704  ours
            script=Markup(_script()),  # noqa: S704  ours
            policy=_policy(),
        )
    )
    return _SURROGATE.sub("\ufffd", page)


def _compared(record: RunRecord, before: SearchSnapshot | None) -> Comparison | None:
    return compare(before, take_snapshot(record), seed=seed_of(record.run)) if before else None


def _metric_rows(
    record: RunRecord, comparison: Comparison | None, told: Words
) -> Iterator[dict[str, object]]:
    """Every metric with its interval, and what it was in the baseline on the shared queries."""
    for figure in all_metrics(record.summary.overall):
        low, high = figure.interval.low, figure.interval.high
        change = comparison.metric(figure.key) if comparison else None
        name = told.metric(figure.name)
        apart = figure.block == "unanswerable"
        yield {
            "label": told("figure.unanswerable_metric", metric=name) if apart else name,
            "value": share(figure.value),
            "interval": "–" if low is None else f"{share(low)} – {share(high)}",
            "n": figure.interval.n,
            "before": share(change.baseline if change else None),
            "difference": signed(change.difference if change else None),
            "change_interval": change_interval(change) or "–",
            "better": sure(change) if change else None,
        }


def _judged(record: RunRecord, told: Words) -> dict[str, object]:
    """The block about unanswerable queries; `best` is None when there are none to tell apart."""
    found = judging(record)
    settings = [(told("page.setting_current"), f"{found.min_score:.3f}", found.now.counts)]
    if found.best:
        best = found.best
        settings.append((told("page.setting_best"), f"{best.min_score:.3f}", best.point.counts))
    if found.both_kinds:
        settings.append((told("page.setting_all"), "–", _all_refused(found.now.counts)))
    return {
        "min_score": found.min_score,
        "counts": found.now.counts,
        "settings": [
            (label, setting, [share(v) for v in (c.precision, c.recall, c.f1, c.far)])
            for label, setting, c in settings
        ],
        "best": found.best,
    }


def _all_refused(counts: Confusion) -> Confusion:
    """What judging every query unanswerable gives: a setting that does no better knows nothing."""
    return Confusion(tp=counts.tp + counts.fn, fp=counts.fp + counts.tn, fn=0, tn=0)


def _speed_rows(record: RunRecord, told: Words) -> Iterator[tuple[str, str]]:
    for name in ("latency_p50_ms", "latency_p95_ms", "latency_p99_ms"):
        value = record.summary.overall.search.get(name)
        yield told.metric(name), "–" if value is None else f"{value:.1f}"
    performance = record.summary.performance
    if performance.cold_start_ms is not None:
        yield told("page.cold_start"), f"{performance.cold_start_ms:,.0f}"
    yield told("page.indexing"), f"{performance.indexing_ms:,.0f}"
    yield told("page.all_queries"), f"{performance.eval_runtime_ms:,.0f}"


def _slice_rows(record: RunRecord, told: Words) -> Iterator[tuple[str, SliceCounts, list[str]]]:
    for part in slices(record.summary, _TAGS):
        values = [figure_of(part.part, key) for key in _SLICE_METRICS]
        label = told(f"page.kind_{part.kind}", key=part.key)
        yield label, part.part.counts, [share(v.value if v else None) for v in values]


def _run_rows(record: RunRecord, told: Words) -> Iterator[tuple[str, str]]:
    run, environment = record.run, record.run.environment
    hardware = run.hardware
    yield told("page.run_id"), run.run_id
    yield told("page.created"), moment(run.created_at)
    yield told("page.dataset"), f"{run.dataset} (sha256 {run.dataset_hash[:12]})"
    yield told("page.notes"), f"{run.notes} ({run.notes_hash_mode} {run.notes_hash[:12]})"
    yield told("page.model"), environment.embedding_model or told("page.keyword_only")
    commit = (environment.git_commit or "")[:12]
    yield told("page.version"), f"{environment.app_version} {commit}".strip()
    yield "Python", environment.python_version
    yield (
        told("page.hardware"),
        f"{hardware.cpu}, {hardware.cores} × CPU, {hardware.memory_gib} GiB, {hardware.system}",
    )
    yield told("page.packages"), ", ".join(f"{n} {v}" for n, v in environment.packages.items())
    yield told("page.options"), json.dumps(run.options, ensure_ascii=False)


@functools.cache
def _asset(name: str) -> str:
    """A file of the page; line ends as a browser reads them, for its hash is of what it reads."""
    return (resources.files("gigamind.reports.page") / "templates" / name).read_text(
        encoding="utf-8"
    )


@functools.cache
def _script() -> str:
    return _asset("report_item.js") + _asset("report.js")


def _policy() -> str:
    """The content security policy: nothing but this very script and this very style."""
    return (
        f"default-src 'none'; script-src '{_hash(_script())}'; style-src '{_hash(_asset('report.css'))}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@functools.cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("gigamind.reports.page"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["moment"] = moment
    return templates
