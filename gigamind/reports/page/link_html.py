"""report.html of a link evaluation; see `layout`."""

from collections.abc import Iterator

from gigamind.reports.link_schema import LinkRunRecord, LinkSummaryReport
from gigamind.reports.page.headline import Card, against, card, notices, share
from gigamind.reports.page.layout import held_against, metric_rows, render_page
from gigamind.reports.page.link_data import notes_json
from gigamind.reports.page.link_metrics import (
    about,
    all_links,
    bounded,
    called,
    ceiling_of,
    link_slices,
    main_links,
)
from gigamind.reports.page.link_plots import link_figures
from gigamind.reports.page.wording import Language, Words, words
from gigamind.reports.release.compare import Comparison
from gigamind.reports.release.gates import GateResult
from gigamind.reports.release.links import LinkSnapshot


def render_link_html(
    record: LinkRunRecord,
    *,
    lang: Language = "en",
    baseline: LinkSnapshot | None = None,
    gate: GateResult | None = None,
) -> str:
    """The report of a run, beside a baseline when there is one; `gate` is the verdict on the release, shown first.

    Raises:
        InputError: the baseline cannot be compared at all; see `compare`.
    """
    told = words(lang)
    comparison = held_against(baseline, record)
    drawn = link_figures(record, baseline, lang=lang)
    summary, topk = record.summary, int(str(record.run.options["topk"]))
    return render_page(
        "links.html.jinja",
        "link_item.js",
        record,
        told,
        comparison=comparison,
        gate=gate,
        drawn=drawn,
        captions="link.figure_",
        data=notes_json(record.items, told.script("link_script"), comparison, baseline),
        headline=link_headline(record, comparison, told),
        notices=list(notices(record, comparison, told, not_run=summary.counts.notes_not_run)),
        cards=list(_cards(record, comparison, told)),
        metric_rows=list(
            metric_rows(
                all_links(summary.overall),
                comparison,
                lambda found: bounded(found.name, summary.overall, told),
            )
        ),
        **_confidence_rows(summary),
        slice_metrics=[called(name, told) for name in _slice_names(topk)],
        slice_rows=[
            (label, part.notes, [share(part.links.get(name)) for name in _slice_names(topk)])
            for label, part in link_slices(summary, told)
        ],
    )


def link_headline(record: LinkRunRecord, comparison: Comparison | None, told: Words) -> str:
    """The run in one sentence; with a comparable baseline, what surely changed."""
    topk = record.run.options["topk"]
    leading = (f"links.precision_at_{topk}", f"links.recall_at_{topk}")
    changed = against(comparison, told, leading, leading, lambda name: called(name, told))
    if changed is not None:
        return changed
    found, expected = _sums(record, f"recall_at_{topk}")
    right, suggested = _sums(record, f"precision_at_{topk}")
    if not expected:
        return told("link.nothing")
    key = "link.result" if suggested else "link.silent"
    return told(
        key,
        found=found,
        expected=expected,
        found_share=_percent(found, expected),
        right=right,
        suggested=suggested,
        right_share=_percent(right, suggested),
    )


def _confidence_rows(summary: LinkSummaryReport) -> dict[str, list[tuple[str | int, ...]]]:
    """Settings under which something is still suggested, and the bins of the confidence."""
    return {
        "sweep_rows": [
            (f"{p.min_confidence:.2f}", p.suggested, share(p.precision), share(p.recall))
            for p in summary.sweep
            if p.suggested
        ],
        "reliability_rows": [
            (f"{b.low:.1f} – {b.high:.1f}", b.n, share(b.mean_confidence), share(b.precision))
            for b in summary.reliability
        ],
    }


def _cards(record: LinkRunRecord, comparison: Comparison | None, told: Words) -> Iterator[Card]:
    overall = record.summary.overall
    for figure in main_links(overall, int(str(record.run.options["topk"]))):
        change = comparison.metric(figure.key) if comparison else None
        ceiling = ceiling_of(overall, figure.name)
        what = about(figure.name, told)
        if ceiling is not None:
            what = f"{what} · {told('link.ceiling_is', value=share(ceiling))}"
        yield card(figure, change, called(figure.name, told), what, ceiling)


def _slice_names(topk: int) -> tuple[str, ...]:
    return (f"precision_at_{topk}", f"recall_at_{topk}", f"span_accuracy_at_{topk}")


def _sums(record: LinkRunRecord, name: str) -> tuple[int, int]:
    """What all notes add to numerator and denominator."""
    terms = [item.terms.get(name, (0, 0)) for item in record.items]
    return sum(over for over, _ in terms), sum(under for _, under in terms)


def _percent(over: int, under: int) -> str:
    return f"{100 * over / under:.1f}\u00a0%" if under else "–"
