"""summary.md of a link evaluation."""

from collections.abc import Iterator, Sequence

from gigamind.reports.link_schema import LinkItemReport, LinkRunRecord, LinkSliceReport
from gigamind.reports.markdown import figure
from gigamind.reports.templating import render

_MISSES_SHOWN = 10


def link_figure_rows(part: LinkSliceReport) -> Iterator[tuple[str, dict[str, str | int]]]:
    """Label, and value, interval and n as text, of each figure, in the order of the summary."""
    for name, value in part.links.items():
        found = part.intervals[f"links.{name}"]
        known = found.low is not None
        interval = f"{figure(found.low)} – {figure(found.high)}" if known else "–"
        yield link_label(name), {"value": figure(value), "interval": interval, "n": found.n}


def link_label(name: str) -> str:
    """A figure's name for people: `recall_at_5_ceiling` is "recall@5 ceiling"."""
    return name.replace("_at_", "@").replace("_", " ")


def render_link_summary(record: LinkRunRecord) -> str:
    """The summary as Markdown; text of notes is escaped, so that it cannot break a table or a list."""
    summary, topk = record.summary, record.run.options["topk"]
    return render(
        "links.md.jinja",
        run=record.run,
        errors=record.errors,
        counts=summary.counts,
        topk=topk,
        rows=list(link_figure_rows(summary.overall)),
        languages=[
            {
                "name": name,
                "notes": part.notes,
                "precision": figure(part.links.get(f"precision_at_{topk}")),
                "recall": figure(part.links.get(f"recall_at_{topk}")),
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
        misses_total=sum(len(item.missed) for item in record.items),
        indexing=f"{summary.performance.indexing_ms:.0f}",
        runtime=f"{summary.performance.eval_runtime_ms:.0f}",
    )


def _misses(items: Sequence[LinkItemReport]) -> list[dict[str, str]]:
    missed = [
        {"note": item.note, "anchor": row.anchor, "targets": ", ".join(row.targets)}
        for item in items
        for row in item.missed
    ]
    return missed[:_MISSES_SHOWN]
