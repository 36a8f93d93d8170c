"""Writes the out folder of a link evaluation: the files of seed section 6, all or none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from gigamind.reports.link_schema import LinkItemReport, LinkSliceReport, LinkSummaryReport
from gigamind.reports.markdown import figure
from gigamind.reports.schema import ErrorReport, RunReport
from gigamind.reports.templating import render
from gigamind.reports.write import Format, as_json, write_texts

_MISSES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class LinkRunRecord:
    """Everything that one out folder holds.

    Attributes:
        items: per_item.jsonl, in the vault's order.
        errors: errors.jsonl.
    """

    run: RunReport
    summary: LinkSummaryReport
    items: Sequence[LinkItemReport]
    errors: Sequence[ErrorReport]


def write_link_run(out: Path, record: LinkRunRecord, output: Format) -> None:
    """Write the run; `output` chooses between summary.json and summary.md.

    Raises:
        EvaluationError: the folder cannot be written.
    """
    files = {
        "run.json": as_json(record.run, indent=2) + "\n",
        "per_item.jsonl": _lines(record.items),
        "errors.jsonl": _lines(record.errors),
    }
    if output in {"json", "both"}:
        files["summary.json"] = as_json(record.summary, indent=2) + "\n"
    if output in {"md", "both"}:
        files["summary.md"] = render_link_summary(record)
    write_texts(out, files)


def link_figure_rows(part: LinkSliceReport) -> Iterator[dict[str, str]]:
    """Each figure with its interval, as text, in the order of the summary."""
    for name, value in part.links.items():
        interval = part.intervals[f"links.{name}"]
        spread = (
            "–" if interval.low is None else f"{figure(interval.low)} … {figure(interval.high)}"
        )
        label = name.replace("_at_", "@").replace("_", " ")
        yield {"name": label, "value": figure(value), "interval": spread, "n": str(interval.n)}


def render_link_summary(record: LinkRunRecord) -> str:
    """summary.md."""
    summary, topk = record.summary, record.run.options["topk"]
    return render(
        "links.md.jinja",
        run=record.run,
        counts=summary.counts,
        topk=topk,
        rows=list(link_figure_rows(summary.overall)),
        languages=[
            {
                "name": name,
                "notes": part.notes,
                "precision": figure(part.links[f"precision_at_{topk}"]),
                "recall": figure(part.links[f"recall_at_{topk}"]),
            }
            for name, part in summary.by_language.items()
        ],
        sweep=[
            {
                "floor": f"{point.min_confidence:.2f}",
                "suggested": point.suggested,
                "precision": figure(point.precision),
                "recall": figure(point.recall),
            }
            for point in summary.sweep
        ],
        bins=[
            {
                "range": f"{one.low:.1f} – {one.high:.1f}",
                "n": one.n,
                "mean": figure(one.mean_confidence),
                "precision": figure(one.precision),
            }
            for one in summary.reliability
        ],
        error=None if summary.calibration_error is None else figure(summary.calibration_error),
        misses=_misses(record.items),
        indexing=f"{summary.performance.indexing_ms:.0f}",
        runtime=f"{summary.performance.eval_runtime_ms:.0f}",
    )


def _misses(items: Sequence[LinkItemReport]) -> list[dict[str, str]]:
    missed = [
        {"note": item.note, "anchor": row.anchor, "targets": ", ".join(row.targets)}
        for item in items
        for row in item.expected
        if row.label != "reject"
        and not any(suggestion.target in row.targets for suggestion in item.suggestions)
    ]
    return missed[:_MISSES_SHOWN]


def _lines(reports: Sequence[BaseModel]) -> str:
    return "".join(as_json(report) + "\n" for report in reports)
