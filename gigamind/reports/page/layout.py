"""What the pages of all tasks share: one file that needs nothing else, with its policy, style and scripts.

The policy forbids the network, inline handlers and every script but the one that is named by its hash.  Texts of notes,
queries and errors reach a page escaped (jinja) or as JSON that the script puts in as text, never as markup.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gigamind.reports.escape import upright
from gigamind.reports.page.headline import change_interval, moment, share, signed, sure
from gigamind.reports.page.judging import seed_of
from gigamind.reports.page.slices import Figure as Metric
from gigamind.reports.page.svg import inline_svg
from gigamind.reports.page.wording import Words
from gigamind.reports.release.compare import Comparison, Snapshot, compare
from gigamind.reports.release.gates import GateResult
from gigamind.reports.release.snapshot import take_snapshot
from gigamind.reports.schema import Record, RunReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SURROGATE = re.compile("[\ud800-\udfff]")
_COMMON = "common.js"
_LIST = "report.js"


def render_page(
    template: str,
    item_script: str,
    record: Record[Any, Any],
    told: Words,
    *,
    comparison: Comparison | None,
    gate: GateResult | None,
    drawn: Mapping[str, Figure],
    captions: str,
    data: str,
    **values: object,
) -> str:
    """A page of a task.

    Args:
        template: extends layout.html.jinja, and asks for `values` beside what is given here.
        item_script: shows one item in the list; see report.js.
        drawn: figures by name.
        captions: what the phrases that say what a figure shows, for those who cannot see it, begin with.
        data: JSON for the scripts, safe in an element; see `in_script`.
    """
    script = _asset(_COMMON) + _asset(item_script) + _asset(_LIST)
    page = (
        _templates()
        .get_template(template)
        .render(
            told=told,
            run=record.run,
            summary=record.summary,
            errors=record.errors,
            comparison=comparison,
            gate=gate,
            run_rows=list(_run_rows(record.run, told)),
            figures={
                name: Markup(inline_svg(figure, name, told(captions + name)))  # noqa: S704  made by us, from escaped text
                for name, figure in drawn.items()
            },
            data=Markup(data),  # noqa: S704  escaped by its maker
            style=Markup(_asset("report.css")),  # noqa: S704  ours
            script=Markup(script),  # noqa: S704  ours
            policy=_policy(script),
            **values,
        )
    )
    return _SURROGATE.sub("\ufffd", page)


def held_against(baseline: Snapshot | None, record: Record[Any, Any]) -> Comparison | None:
    """What changed since a baseline, by the seed of the run's own intervals; None without one.

    Raises:
        InputError: the two cannot be compared at all; see `compare`.
    """
    if baseline is None:
        return None
    return compare(baseline, take_snapshot(record), seed=seed_of(record.run))


def in_script(content: object) -> str:
    """JSON that can stand in a script element, whatever the texts hold."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A script element ends at "</script", and "<!--" opens a comment that hides that end: neither can be written so.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def metric_rows(
    metrics: Sequence[Metric], comparison: Comparison | None, called: Callable[[Metric], str]
) -> Iterator[dict[str, object]]:
    """Every metric with its interval, and what it was in the baseline on the shared items."""
    for figure in metrics:
        low, high = figure.interval.low, figure.interval.high
        change = comparison.metric(figure.key) if comparison else None
        yield {
            "label": called(figure),
            "value": share(figure.value),
            "interval": "–" if low is None else f"{share(low)} – {share(high)}",
            "n": figure.interval.n,
            "before": share(change.baseline if change else None),
            "difference": signed(change.difference if change else None),
            "change_interval": change_interval(change) or "–",
            "better": sure(change) if change else None,
        }


def _run_rows(run: RunReport, told: Words) -> Iterator[tuple[str, str]]:
    environment = run.environment
    hardware = run.hardware
    yield told("page.run_id"), run.run_id
    yield told("page.created"), moment(run.created_at)
    yield told("page.dataset"), f"{run.dataset} (sha256 {run.dataset_hash[:12]})"
    yield told("page.notes"), f"{run.notes} ({run.notes_hash_mode} {run.notes_hash[:12]})"
    if run.judge:
        yield told("page.judge"), run.judge.describe()
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


def _policy(script: str) -> str:
    """The content security policy: nothing but this very script and this very style."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(_asset('report.css'))}';"
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
        finalize=upright,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["moment"] = moment
    return templates
