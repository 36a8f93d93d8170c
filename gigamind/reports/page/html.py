"""report.html of a search evaluation, for people who decide on a release; see `layout`."""

from collections.abc import Iterator

from gigamind.metrics.answerability import Confusion
from gigamind.reports.cards.line import certified
from gigamind.reports.model_markdown import unjudged
from gigamind.reports.page.headline import cards, headline, notices, share
from gigamind.reports.page.item_data import items_json
from gigamind.reports.page.judging import judging
from gigamind.reports.page.layout import held_against, metric_rows, render_page
from gigamind.reports.page.model_costs import model_block
from gigamind.reports.page.plots import Baseline, as_snapshot, figures
from gigamind.reports.page.slices import Figure, all_metrics, figure_of, slices
from gigamind.reports.page.wording import Language, Words, words
from gigamind.reports.release.gates import GateResult
from gigamind.reports.schema import RunRecord, SliceCounts

_TAGS = 15
_SLICE_METRICS = ("search.hit_at_1", "search.mrr", "unanswerable.f1", "unanswerable.far")


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
    comparison = held_against(before, record)
    drawn = figures(record, before, lang=lang)
    return render_page(
        "report.html.jinja",
        "report_item.js",
        record,
        told,
        comparison=comparison,
        gate=gate,
        drawn=drawn,
        captions="figure.",
        data=items_json(record.items, told.script("panel_script"), comparison, before),
        headline=headline(record, comparison, told),
        notices=list(
            notices(
                record,
                comparison,
                told,
                not_run=record.summary.counts.queries_not_run,
                unjudged=unjudged(record.summary.llm),
            )
        ),
        cards=cards(record, comparison, told),
        metric_rows=list(
            metric_rows(
                all_metrics(record.summary.overall), comparison, lambda found: _called(found, told)
            )
        ),
        judged=_judged(record, told),
        certified=certified(record.card, record.run.judge, lang),
        model=model_block(record.summary.llm, told),
        speed_rows=list(_speed_rows(record, told)),
        slice_metrics=[told.metric(key.partition(".")[2]) for key in _SLICE_METRICS],
        slice_rows=list(_slice_rows(record, told)),
        tags_left_out=max(0, len(record.summary.by_tag) - _TAGS),
    )


def _called(found: Figure, told: Words) -> str:
    name = told.metric(found.name)
    apart = found.block == "unanswerable"
    return told("figure.unanswerable_metric", metric=name) if apart else name


def _judged(record: RunRecord, told: Words) -> dict[str, object]:
    """The block about unanswerable queries; `best` is None when there are none to tell apart."""
    found = judging(record)
    now = "–" if found.setting is None else f"{found.setting:.3f}"
    settings = [(told("page.setting_current"), now, found.counts)]
    if found.best:
        best = found.best
        settings.append((told("page.setting_best"), f"{best.min_score:.3f}", best.point.counts))
    if found.both_kinds:
        settings.append((told("page.setting_all"), "–", _all_refused(found.counts)))
    return {
        "lead": told(
            f"page.unanswerable_lead_{found.kind}",
            setting=now,
            classes=told("page.unanswerable_classes"),
        ),
        "setting": told(f"figure.setting_{found.kind}") if found.setting is not None else "–",
        "counts": found.counts,
        "settings": []
        if found.setting is None
        else [
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
