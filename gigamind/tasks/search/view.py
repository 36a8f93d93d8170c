"""Describes search runs as blocks of a document; see `View`."""

from collections.abc import Callable, Iterator
from dataclasses import astuple

from gigamind.evaluation.options import eval_command, given_options
from gigamind.formats import percent, share
from gigamind.i18n import Text, Translator, _, joined, n_
from gigamind.metrics.answerability import Confusion, SweepPoint, best_f1, confusion, sweep
from gigamind.metrics.spec import blocks_of
from gigamind.metrics.table import keys_in, label_text
from gigamind.reports import document as doc
from gigamind.reports.comparison import DETECT, ranking_lines
from gigamind.reports.verdict import slice_name
from gigamind.reports.views import View, distinct, figure_of, measured, slice_table
from gigamind.stats.selection import MIN_ITEMS
from gigamind.tasks.options import SearchEvalOptions
from gigamind.tasks.search import schema
from gigamind.tasks.search.free_judges import advice, is_usable, none_tells, usable
from gigamind.tasks.search.page import failed_items, failure_text, items_json

_TAGS = 15
_FAILURES = 10  # of seed 6: summary.md lists the ten worst
_THRESHOLDS = 8  # rows of other thresholds
_ORDER = {"easy": 0, "mid": 1, "hard": 2}
_PERCENTILES = ("p50", "p95", "p99")


class SearchView(View[schema.SummaryReport, schema.ItemReport, schema.SearchSnapshot]):
    """Describes search runs."""

    def result(self, record: schema.RunRecord) -> Text:
        part = record.summary.overall
        counts, texts = part.counts, list[Text]()
        first = part.search.get("hit_at_1")
        if counts.answerable:
            found = _(
                "An expected note ranks first for {hits:,} of {queries:,} answerable queries ({share}).",
                hits=round((first or 0.0) * counts.answerable),
                queries=counts.answerable,
                share=percent(first),
            )
            texts.append(found)
        if counts.unanswerable and record.run.judge:
            missed, unanswerable, far = _errors(part, "far", counts.unanswerable)
            refused, answerable, refusals = _errors(part, "false_refusals", counts.answerable)
            values = {"missed": missed, "unanswerable": unanswerable, "far": far}
            refusal = {"refused": refused, "answerable": answerable, "refusals": refusals}
            wrong = _(
                "Wrongly judged answerable: {missed:,} of {unanswerable:,} unanswerable queries ({far}).",
                **values,
            )
            never = _(
                "Unanswerable queries are never detected ({missed:,} of {unanswerable:,} missed).",
                **values,
            )
            errors = _("Wrongly refused: {refused:,} of {answerable:,} ({refusals}).", **refusal)
            texts += [errors] if counts.answerable else []
            # The worst comes first.
            texts = [never, *texts] if missed == unanswerable else [*texts, wrong]
        return joined(texts, " ") if texts else _("No queries were evaluated.")

    def steps(self, record: schema.RunRecord, bad: str = "") -> Iterator[doc.Step]:
        setting = record.run.judge.setting if record.run.judge else None
        changes = {"unanswerable_mode": "llm", "min_score": None, "judge": None}
        options = given_options(SearchEvalOptions, record.run.options, **changes)
        by_model = eval_command("search", options | {"model": "MODEL"})
        if not bad:
            judges, forecast = record.summary.judges, record.summary.forecast
            if advice(judges, forecast) and not usable(judges, forecast):
                yield doc.Step(DETECT.label, by_model)
            if _may_tune(record):
                options = given_options(SearchEvalOptions, record.run.options)
                label = _("See whether balanced fusion finds more on these queries")
                yield doc.Step(label, eval_command("search", options, "tune"))
        elif point := _usable_point(record):
            counts, threshold = point.counts, float(f"{point.middle:.4g}")
            label = _(
                "Change `--min-score` from {now} to {best:g}: on these queries, {refused:,} of {answerable:,} are then"
                " wrongly refused, and {missed:,} of {unanswerable:,} wrongly judged answerable",
                now=share(setting),
                best=threshold,
                refused=counts.fp,
                answerable=counts.fp + counts.tn,
                missed=counts.fn,
                unanswerable=counts.tp + counts.fn,
            )
            options = given_options(SearchEvalOptions, record.run.options, min_score=threshold)
            yield doc.Step(label, eval_command("search", options))
        else:
            text = _(
                "Judge with an LLM: no threshold separates these queries (this run: {now})",
                now=share(setting),
            )
            yield doc.Step(text, by_model)

    def warnings(self, record: schema.RunRecord) -> Iterator[Text]:
        counts = record.summary.counts
        if counts.queries_generated:
            yield _(
                "{generated} of {total} queries were generated from the notes. They are easier than real queries, so"
                " the metrics look better than in real use.",
                generated=counts.queries_generated,
                total=counts.queries_total,
            )
        weak = record.summary.weak_verdicts
        if weak and weak.across_languages:
            yield n_(
                "{n} query is in another language than its nearest note, so its verdict is unreliable.",
                "{n:,} queries are in another language than their nearest note, so their verdicts are unreliable.",
                n=weak.across_languages,
            )
        known = none_tells(record.summary.judges, record.summary.forecast)
        if weak and weak.near_misses and not known:  # else the same advice stands there already
            yield n_(
                "{n} of {unanswerable:,} unanswerable queries scores at least as high as the median answerable query"
                " (near miss). Judges that use scores cannot detect it; use --unanswerable-mode llm.",
                "{n:,} of {unanswerable:,} unanswerable queries score at least as high as the median answerable query"
                " (near misses). Judges that use scores cannot detect them; use --unanswerable-mode llm.",
                n=weak.near_misses,
                unanswerable=weak.unanswerable,
            )

    def examples(self, record: schema.RunRecord) -> doc.Examples:
        failed = failed_items(record.items)
        shown = tuple(map(_example, failed[: doc.EXAMPLES]))
        return doc.Examples(_("Worst failures"), shown, len(failed))

    def sections(self, record: schema.RunRecord, say: Translator) -> Iterator[doc.Section]:
        del say
        failed = failed_items(record.items)
        rows = [
            (item.query, doc.Code(item.id), failure_text(item), ", ".join(item.expected_notes))
            for item in failed[:_FAILURES]
        ]
        heads = (_("query"), _("id"), _("what happened"), _("expected note"))
        listed = doc.table(heads, rows, doc.more_text(len(rows), len(failed)))
        unlabelled = _("Search results without a relevance label")
        yield doc.folded("failures", _("Worst failures"), listed if rows else None)
        yield doc.folded("judge", _("Unanswerable queries"), *_judged(record))
        yield doc.folded("unjudged", unlabelled, *_unjudged(record.summary))
        yield doc.folded("slices", _("Results by slice"), *_by_slice(record.summary))
        yield doc.folded("latency", _("Latency"), *_latency(record))

    list_title = _("Queries")
    list_script = "report_item.js"
    list_data = staticmethod(items_json)

    def not_run(self, summary: schema.SummaryReport) -> int:
        return summary.counts.queries_not_run


def _may_tune(record: schema.RunRecord) -> bool:
    """Return whether this is a first report whose setting `tune search` could compare with balanced fusion."""
    options, counts = record.run.options, record.summary.counts
    is_default = (options.get("mode"), options.get("fusion")) == ("hybrid", "weighted")
    is_last = options.get("compare") or options.get("unanswerable_mode") == "llm"
    return is_default and not is_last and counts.queries_answerable >= MIN_ITEMS


def _usable_point(record: schema.RunRecord) -> SweepPoint | None:
    """Return the usable threshold with the lowest sum of both error rates."""
    judge = record.run.judge
    if judge is None or judge.kind not in {"threshold", "answer_score"}:
        return None

    def both_rates(point: SweepPoint) -> float:
        return (point.counts.false_refusals or 0) + (point.counts.far or 0)

    points = filter(lambda x: is_usable(x.counts), sweep(scored(record)))
    return min(points, key=both_rates, default=None)


def _errors(part: schema.SliceReport, name: str, count: int) -> tuple[int, int, str]:
    """Return the wrong verdicts of a kind, the queries with a verdict, and their ratio."""
    rate, interval = part.unanswerable.get(name), part.intervals.get(f"unanswerable.{name}")
    judged = interval.n if interval else count
    return round((rate or 0.0) * judged), judged, percent(rate)


def _example(item: schema.ItemReport) -> doc.Example:
    first = doc.Side(_("first results"), ranking_lines(item.ranking, set(item.expected_notes)))
    return doc.Example(item.id, item.query, failure_text(item), item.expected_notes, (first,))


def _judged(record: schema.RunRecord) -> Iterator[doc.Block]:
    """Yield the errors of the judge, and of other judges and thresholds on the same queries."""
    judge, judged = record.run.judge, _judged_items(record)
    counts = confusion((not item.answerable, bool(item.judged_unanswerable)) for item in judged)
    both_kinds = bool(counts.tp + counts.fn and counts.fp + counts.tn)
    if judge is None or judge.kind == "none":
        text = _(
            "No query was judged answerable or unanswerable: this system's scores have their own scale, and no"
            " --min-score was set for that scale."
        )
        yield doc.Prose(text)
    if judge is None or not any(astuple(counts)):
        return
    used = _("{judge} (used in this run)", judge=judge.kind)
    rows = [_errors_row(used, judge.setting, counts)]
    if best := best_f1(scored(record), seed=record.run.seed):
        name = _("{judge} (best F1 on these queries)", judge=judge.kind)
        rows.append(_errors_row(name, best.min_score, best.point.counts))
    others = (rates for rates in record.summary.judges if not rates.chosen)
    rows += [_errors_row(rates.kind, rates.setting, rates.counts) for rates in others]
    if both_kinds:
        rows.append(_errors_row(_("all queries refused"), None, counts.all_refused))
    heads = (_("judge"), *_ERROR_HEADS)
    yield doc.table(heads, rows, _("Results of other judges and thresholds on the same queries"))
    if record.summary.forecast:
        yield _expected(record.summary.forecast)
    if both_kinds and (known := scored(record)):
        points = sweep(known)
        apart = max(1, len(points) // _THRESHOLDS)
        rows = [_errors_row("", p.middle, p.counts)[1:] for p in points[::apart]]
        caption = _(
            "Results on these queries if the judge used another threshold. Check a threshold on other queries before"
            " you use it."
        )
        calibrated = judge.kind == "calibrated"
        name = _("minimum probability of an answer") if calibrated else _("min_score")
        yield doc.table((name, *_ERROR_HEADS[1:]), rows, caption)


def _expected(forecast: schema.ForecastReport) -> doc.Block:
    heads = (_("accepted, note left out"), _("accepted, folder left out"), _("refused, note kept"))
    rows = [
        (judge.kind, *(rate.describe() if rate else "–" for rate in judge.rates))
        for judge in forecast.judges
    ]
    caption = _(
        "Forecast for this vault (95% CI): the judges were asked {asked} of the notes, without that text in the index"
        " ({seconds:.0f} s, then cached). Labelled queries are better evidence.",
        asked=_("headings") if forecast.probes == "headings" else _("first sentences"),
        seconds=forecast.runtime_ms / 1000,
    )
    return doc.table((_("judge"), *heads), rows, caption)


_ERROR_HEADS = (
    _("threshold"),
    _("wrongly refused"),
    _("wrongly judged answerable"),
    label_text("unanswerable.precision"),
    label_text("unanswerable.f1"),
)


def _errors_row(name: Text, setting: float | None, counts: Confusion) -> tuple[doc.Cell, ...]:
    return (
        name,
        doc.Proportion(setting),
        doc.Count(counts.fp, counts.fp + counts.tn),
        doc.Count(counts.fn, counts.tp + counts.fn),
        doc.Proportion(counts.precision),
        doc.Proportion(counts.f1),
    )


def _unjudged(summary: schema.SummaryReport) -> Iterator[doc.Block]:
    """Yield the number of unlabelled results, the possible range of nDCG, and which ones to label first."""
    report = summary.holes
    if report is None:
        return
    values: dict[str, object] = {"unjudged": report.unjudged, "hits": report.hits, "k": report.k}
    text = _("All {hits:,} results in the top {k} have a relevance label.", **values)
    if report.unjudged:
        for name, figure in (("low", "ndcg_low"), ("current", "ndcg"), ("high", "ndcg_high")):
            values[name] = share(summary.overall.search.get(f"{figure}_at_{report.k}"))
        text = _(
            "{unjudged:,} of {hits:,} results in the top {k} have no relevance label and count as irrelevant. If some"
            " of them were relevant, nDCG@{k} would be between {low} and {high} (current value: {current}). Label"
            " them with `gigamind label`.",
            **values,
        )
    yield doc.Prose(text)


def _by_slice(summary: schema.SummaryReport) -> Iterator[doc.Block]:
    parts = list(slices(summary, _TAGS))
    if len(parts) == 1:
        return
    blocks = blocks_of("search") if summary.counts.queries_unanswerable else ("search",)
    columns: dict[str, tuple[float | None, ...]] = {}
    for key in keys_in("summary", blocks, summary.overall.deepest):
        figures = [figure_of(part, key) for _name, part in parts]
        if any(measured(filter(None, figures))):
            columns[key] = tuple(figure and figure.value for figure in figures)
    counts: dict[Text, Callable[[schema.SliceReport], int]] = {
        _("answerable"): lambda part: part.counts.answerable,
        _("unanswerable"): lambda part: part.counts.unanswerable,
    }
    caption = _(
        "Ranking metrics are means over the answerable queries. F1 and FAR measure how well the judge recognises"
        " unanswerable queries."
    )
    yield slice_table(parts, counts, distinct(columns), caption)


def _latency(record: schema.RunRecord) -> Iterator[doc.Block]:
    performance, search = record.summary.performance, record.summary.overall.search
    percentiles = ((f"search.latency_{p}_ms", search.get(f"latency_{p}_ms")) for p in _PERCENTILES)
    rows: list[tuple[Text, float | None, int]] = [
        *((label_text(key), value, 1) for key, value in percentiles),
        (_("cold start"), performance.cold_start_ms, 0),
        (_("indexing"), None if record.run.environment.system else performance.indexing_ms, 0),
        (_("all queries"), performance.eval_runtime_ms, 0),
    ]
    shown = [(name, doc.Time(value, digits)) for name, value, digits in rows if value is not None]
    yield doc.table((_("time"), _("value")), shown)
    yield doc.Prose(performance.latency_method, faint=True)


def slices(summary: schema.SummaryReport, tags: int) -> Iterator[tuple[Text, schema.SliceReport]]:
    """Yield all queries, then languages, cross-lingual, difficulties, and the `tags` largest tags, with labels."""
    yield slice_name("overall", ""), summary.overall
    for key, part in summary.by_language.items():
        yield slice_name("language", key), part
    if summary.cross_lingual:
        yield slice_name("cross_lingual", ""), summary.cross_lingual
    for key in sorted(summary.by_difficulty, key=lambda key: (_ORDER.get(key, len(_ORDER)), key)):
        yield slice_name("difficulty", key), summary.by_difficulty[key]
    # The tag that marks cross-lingual items would repeat that slice.
    others = (pair for pair in summary.by_tag.items() if pair[1] != summary.cross_lingual)
    largest = sorted(others, key=lambda pair: -pair[1].counts.queries)
    for key, part in largest[:tags]:
        yield slice_name("tag", key), part


def _judged_items(record: schema.RunRecord) -> list[schema.ItemReport]:
    return [item for item in record.items if item.judged_unanswerable is not None]


def scored(record: schema.RunRecord) -> list[tuple[bool, float | None]]:
    """Return whether each judged query is unanswerable, and its score; empty for a judge without a threshold."""
    judge = record.run.judge
    judged = _judged_items(record) if judge and judge.setting is not None else ()
    return [(not item.answerable, item.answerable_score) for item in judged]
