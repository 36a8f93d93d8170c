"""The page of a search run: blocks of a document (see `View`), and the list of its queries as compact JSON.

5 000 queries must load in under 2 s. Tables hold each text, note and tag once; items refer to them by index.
templates/report.js unpacks the arrays in the order in which this module builds them. Offsets are UTF-16 code units of
the note's file.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from functools import partial
from itertools import count

from gigamind.evaluation.options import eval_command, given_options
from gigamind.formats import percent, share
from gigamind.i18n import Message, Text, Translator, _, joined, n_
from gigamind.metrics.answerability import Confusion, SweepPoint, best_f1, sweep
from gigamind.metrics.spans import Unplaced, holds, matches
from gigamind.metrics.spec import blocks_of
from gigamind.metrics.table import keys_in, label_text
from gigamind.records.judged import JudgementReport
from gigamind.records.schema import PassageReport
from gigamind.release.comparison import Comparison
from gigamind.reports import document as doc
from gigamind.reports.comparison import ranking_lines
from gigamind.reports.html import items_script
from gigamind.reports.verdict import slice_name
from gigamind.reports.views import View, figure_of, measured, slice_table
from gigamind.spans import Passage, Span
from gigamind.stats.selection import Selection
from gigamind.tasks.options import SearchEvalOptions
from gigamind.tasks.search import schema
from gigamind.tasks.search.free_judges import ENOUGH_LABELS, KnownErrors, is_usable

# Bits of an item's flags; report.js has the same bits.
_ANSWERABLE, _REFUSED, _CROSS_LINGUAL, _FAILURE, _WORSE, _BETTER, _UNJUDGED = (
    1 << bit for bit in range(7)
)
_CHANGED = _WORSE | _BETTER  # only these also show the baseline's ranking


def _items_json(
    record: schema.RunRecord,
    say: Translator,
    comparison: Comparison | None = None,
    baseline: schema.SearchSnapshot | None = None,
) -> str:
    """Return the queries as JSON that is safe inside a script element."""
    tables, items = _Tables(), record.items
    flags = _flags(items, comparison)
    before = {item.id: item for item in baseline.items} if baseline else {}
    rows = [_item(item, flags[item.id], before.get(item.id), tables) for item in items]
    return items_script(
        say,
        rows,
        compared=comparison is not None,
        notes=list(tables.notes),
        titles=[tables.titles.get(note, "") for note in tables.notes],
        texts=list(tables.texts),
        tags=list(tables.tags),
    )


def _index() -> defaultdict[str, int]:
    """Return a map of texts to their index, in order of first use."""
    return defaultdict(count().__next__)


class _Tables:
    def __init__(self) -> None:
        self.notes, self.texts, self.tags = _index(), _index(), _index()
        self.titles: dict[str, str] = {}


def _flags(items: Sequence[schema.ItemReport], comparison: Comparison | None) -> dict[str, int]:
    failed = {item.id for item in _failed_items(items)}
    changes = {change.id: change.change for change in comparison.changes} if comparison else {}
    return {
        item.id: (_ANSWERABLE * item.answerable)
        | (_REFUSED * bool(item.judged_unanswerable))
        | (_CROSS_LINGUAL * item.cross_lingual)
        | (_FAILURE * (item.id in failed))
        | (_WORSE * (changes.get(item.id) == "worse"))
        | (_UNJUDGED * (item.judged_unanswerable is None))
        | (_BETTER * (changes.get(item.id) == "improved"))
        for item in items
    }


def _item(
    item: schema.ItemReport, flags: int, before: schema.SearchItem | None, tables: _Tables
) -> list[object]:
    spans = [_passage(span) for span in item.expected_spans]
    return [
        item.id,
        item.query,
        item.language or "",
        [tables.tags[tag] for tag in item.tags],
        flags,
        [tables.notes[note] for note in item.expected_notes],
        [[tables.notes[s.note], s.utf16_start, tables.texts[s.text]] for s in item.expected_spans],
        [_hit(hit, spans, tables) for hit in item.ranking],
        _rank(item.metrics.get("mrr")),
        _rounded(item.top_base_score),
        None if item.latency_ms is None else round(item.latency_ms, 2),
        [
            _rank(before.metrics.get("mrr")),
            int(bool(before.judged_unanswerable)),
            [[tables.notes[hit.note], _rounded(hit.base_score)] for hit in before.ranking]
            if flags & _CHANGED
            else [],
        ]
        if before
        else None,
        _judgement(item.judgement, tables) if item.judgement else None,
    ]


def _judgement(judgement: JudgementReport, tables: _Tables) -> list[object]:
    return [
        judgement.outcome,
        judgement.code,
        judgement.reported_unanswerable,
        judgement.verified,
        judgement.answer,
        judgement.confidence,
        [
            [None if q.note is None else tables.notes[q.note], q.text, q.match, q.trusted]
            for q in judgement.quotes
        ],
        [tables.notes[note] for note in judgement.flagged],
        judgement.conflict,
        list(judgement.unread),
    ]


def _rank(reciprocal: float | None) -> int | None:
    return round(1 / reciprocal) if reciprocal else None


def _rounded(score: float | None) -> float | None:
    """Return a score with the digits that the page needs: browsers read half the text twice as fast."""
    return None if score is None else round(score, 5)


def _hit(hit: schema.HitReport, spans: Sequence[Passage], tables: _Tables) -> list[object]:
    shown = hit.evidence or PassageReport(
        note=hit.note, utf16_start=0, utf16_end=_units(hit.text), text=hit.text
    )
    whole = hit.chunk if hit.chunk and _holds(hit.chunk, shown) else shown
    tables.titles[hit.note] = hit.title
    piece = Unplaced(hit.note, hit.text) if hit.text else _passage(shown)
    return [
        tables.notes[hit.note],
        *map(_rounded, (hit.base_score, hit.final_score, hit.semantic_score, hit.keyword_score)),
        tables.texts[whole.text],
        whole.utf16_start,
        shown.utf16_start,
        shown.utf16_end,
        any(matches(piece, span) for span in spans) + 2 * any(holds(piece, span) for span in spans),
        [at - shown.utf16_start for ends in hit.highlights for at in ends],
    ]


def _holds(chunk: PassageReport, shown: PassageReport) -> bool:
    return (
        _units(chunk.text) == chunk.utf16_end - chunk.utf16_start
        and chunk.utf16_start <= shown.utf16_start
        and shown.utf16_end <= chunk.utf16_end
    )


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _passage(report: PassageReport) -> Passage:
    """Convert for `matches` and `holds`; offsets stay in UTF-16 units, which does not change overlaps."""
    return Passage(report.note, report.text, Span(report.utf16_start, report.utf16_end))


def _failed_items(items: Sequence[schema.ItemReport]) -> list[schema.ItemReport]:
    """Return the queries without a relevant note at rank 1, or with a wrong verdict, the worst first.

    Severity is 1 - reciprocal rank if answerable; the Top-1 base score in [0, 1] if unanswerable but judged answerable;
    1 - that score if found but refused.
    """
    tops = [0.0, 1.0, *(score for item in items if (score := item.top_base_score) is not None)]
    low, high = min(tops), max(tops)

    def missed(item: schema.ItemReport) -> float:
        return 1 - (item.metrics.get("mrr") or 0.0)

    def severity(item: schema.ItemReport) -> float:
        top = ((item.top_base_score or 0.0) - low) / (high - low)
        if not item.answerable:
            return top
        return max(missed(item), 1 - top if item.judged_unanswerable else 0.0)

    def is_failed(item: schema.ItemReport) -> bool:
        if not item.answerable:
            return item.judged_unanswerable is False
        return missed(item) > 0 or bool(item.judged_unanswerable)

    return sorted(filter(is_failed, items), key=severity, reverse=True)


def _failure_text(item: schema.ItemReport) -> Message:
    """Return what went wrong with a query."""
    if not item.answerable:
        return _("unanswerable, but judged answerable")
    if reciprocal := item.metrics.get("mrr"):
        position = _("expected note found at rank {rank}", rank=round(1 / reciprocal))
    elif not item.ranking:
        position = _("no note found")
    else:
        position = n_(
            "expected note not found; the only result is another note",
            "expected note not among the {n:,} results",
            n=len(item.ranking),
        )
    if item.judged_unanswerable:
        return _("{position}; wrongly judged unanswerable", position=position)
    return position


_TAGS = 15
_FAILURES = 10  # of spec 6: summary.md lists the ten worst
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
        again = partial(given_options, SearchEvalOptions, record.run.options, ())
        options = again(unanswerable_mode="llm", min_score=None, judge=None)
        by_model = eval_command("search", options | {"model": "MODEL"})
        if not bad:
            known = KnownErrors(record.summary.judges, record.summary.forecast)
            if known.advice:
                best = known.best
                mode = best.kind if best else "llm"
                label = _(
                    "To detect unanswerable queries, evaluate with `--unanswerable-mode {mode}` and make that run the"
                    " baseline",
                    mode=mode,
                )
                options = again(unanswerable_mode=mode, min_score=None, judge=None)
                yield doc.Step(label, eval_command("search", options) if best else by_model)
            if _may_tune(record):
                label = _("See whether balanced fusion finds more on these queries")
                yield doc.Step(label, eval_command("search", again(), "tune"))
        elif point := _usable_point(record):
            counts, threshold = point.counts, float(f"{point.middle:.4g}")
            label = _(
                "Change `--min-score` from {now} to {best:g}. On these queries, {refused:,} of {answerable:,} are then"
                " wrongly refused, and {missed:,} of {unanswerable:,} wrongly judged answerable",
                now=share(setting),
                best=threshold,
                refused=counts.fp,
                answerable=counts.fp + counts.tn,
                missed=counts.fn,
                unanswerable=counts.tp + counts.fn,
            )
            yield doc.Step(label, eval_command("search", again(min_score=threshold)))
        else:
            text = _(
                "No threshold separates these queries (this run: {now}). Judge with an LLM",
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
        known = KnownErrors(record.summary.judges, record.summary.forecast)
        if known.is_unchecked:
            yield _(
                "It is not known whether the judge can detect unanswerable queries, so gates use its metrics. A check"
                " needs {n} labelled queries of each kind, or a forecast of a larger vault (`--judge-forecast`).",
                n=ENOUGH_LABELS,
            )
        if weak and weak.near_misses and not known.none_tells:  # else that advice is there already
            yield n_(
                "{n} of {unanswerable:,} unanswerable queries scores at least as high as the median answerable query"
                " (near miss). Judges that use scores cannot detect it; use --unanswerable-mode llm.",
                "{n:,} of {unanswerable:,} unanswerable queries score at least as high as the median answerable query"
                " (near misses). Judges that use scores cannot detect them; use --unanswerable-mode llm.",
                n=weak.near_misses,
                unanswerable=weak.unanswerable,
            )

    def examples(self, record: schema.RunRecord) -> doc.Examples:
        failed, shown = _failed_items(record.items), list[doc.Example]()
        for item in failed[: doc.EXAMPLES]:
            lines = ranking_lines(item.ranking, set(item.expected_notes))
            side = doc.Side(_("first results"), lines)
            what = _failure_text(item)
            shown.append(doc.Example(item.id, item.query, what, item.expected_notes, (side,)))
        return doc.Examples(_("Worst failures"), tuple(shown), len(failed))

    def sections(self, record: schema.RunRecord, say: Translator) -> Iterator[doc.Section]:
        del say
        failed = _failed_items(record.items)
        rows = [
            (item.query, doc.Code(item.id), _failure_text(item), ", ".join(item.expected_notes))
            for item in failed[:_FAILURES]
        ]
        heads = (_("query"), _("id"), _("what happened"), _("expected note"))
        listed = doc.Table.of(heads, rows, doc.more_text(len(rows), len(failed)))
        unlabelled = _("Search results without a relevance label")
        yield doc.Section.closed("failures", _("Worst failures"), listed if rows else None)
        yield doc.Section.closed("judge", _("Unanswerable queries"), *_judged(record))
        yield doc.Section.closed("unjudged", unlabelled, *_unjudged(record.summary))
        yield doc.Section.closed("slices", _("Results by slice"), *_by_slice(record.summary))
        yield doc.Section.closed("latency", _("Latency"), *_latency(record))

    list_title = _("Queries")
    list_script = "report_item.js"
    list_data = staticmethod(_items_json)

    def not_run(self, summary: schema.SummaryReport) -> int:
        return summary.counts.queries_not_run


def _may_tune(record: schema.RunRecord) -> bool:
    """Return whether this is a first report whose setting `tune search` could compare with balanced fusion."""
    options, counts = record.run.options, record.summary.counts
    is_default = (options.get("mode"), options.get("fusion")) == ("hybrid", "weighted")
    is_last = options.get("compare") or options.get("unanswerable_mode") == "llm"
    return is_default and not is_last and counts.queries_answerable >= Selection.MIN_ITEMS


def _usable_point(record: schema.RunRecord) -> SweepPoint | None:
    """Return the usable threshold with the lowest sum of both error rates."""
    judge = record.run.judge
    if judge is None or judge.kind not in {"threshold", "answer_score"}:
        return None

    def both_rates(point: SweepPoint) -> float:
        return (point.counts.false_refusals or 0) + (point.counts.far or 0)

    points = filter(lambda x: is_usable(x.counts), sweep(_scored(record)))
    return min(points, key=both_rates, default=None)


def _errors(part: schema.SliceReport, name: str, count: int) -> tuple[int, int, str]:
    """Return the wrong verdicts of a kind, the queries with a verdict, and their ratio."""
    rate, interval = part.unanswerable.get(name), part.intervals.get(f"unanswerable.{name}")
    judged = interval.n if interval else count
    return round((rate or 0.0) * judged), judged, percent(rate)


def _judged(record: schema.RunRecord) -> Iterator[doc.Block]:
    """Yield the errors of the judge, and of other judges and thresholds on the same queries."""
    judge, judged = record.run.judge, _judged_items(record)
    counts = Confusion.of((not item.answerable, bool(item.judged_unanswerable)) for item in judged)
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
    if best := best_f1(_scored(record), seed=record.run.seed):
        name = _("{judge} (best F1 on these queries)", judge=judge.kind)
        rows.append(_errors_row(name, best.min_score, best.point.counts))
    others = (rates for rates in record.summary.judges if not rates.chosen)
    rows += [_errors_row(rates.kind, rates.setting, rates.counts) for rates in others]
    if both_kinds:
        rows.append(_errors_row(_("all queries refused"), None, counts.all_refused))
    heads = (_("judge"), *_ERROR_HEADS)
    yield doc.Table.of(heads, rows, _("Results of other judges and thresholds on the same queries"))
    if record.summary.forecast:
        yield _expected(record.summary.forecast)
    if both_kinds and (known := _scored(record)):
        points = sweep(known)
        apart = max(1, len(points) // _THRESHOLDS)
        rows = [_errors_row("", p.middle, p.counts)[1:] for p in points[::apart]]
        caption = _(
            "Results on these queries if the judge used another threshold. Check a threshold on other queries before"
            " you use it."
        )
        calibrated = judge.kind == "calibrated"
        name = _("minimum probability of an answer") if calibrated else _("min_score")
        yield doc.Table.of((name, *_ERROR_HEADS[1:]), rows, caption)


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
    return doc.Table.of((_("judge"), *heads), rows, caption)


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
    parts = list(_slices(summary, _TAGS))
    if len(parts) == 1:
        return
    blocks = blocks_of("search") if summary.counts.queries_unanswerable else ("search",)
    keys = keys_in("summary", blocks, summary.overall.deepest)
    figures = measured(filter(None, (figure_of(summary.overall, key) for key in keys)))
    counts: dict[Text, Callable[[schema.SliceReport], int]] = {
        _("answerable"): lambda part: part.counts.answerable,
        _("unanswerable"): lambda part: part.counts.unanswerable,
    }
    caption = _(
        "Ranking metrics are means over the answerable queries. F1 and FAR measure how well the judge recognises"
        " unanswerable queries."
    )
    yield slice_table(parts, counts, [figure.key for figure in figures], caption)


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
    yield doc.Table.of((_("time"), _("value")), shown)
    yield doc.Prose(performance.latency_method, faint=True)


def _slices(summary: schema.SummaryReport, tags: int) -> Iterator[tuple[Text, schema.SliceReport]]:
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


def _scored(record: schema.RunRecord) -> list[tuple[bool, float | None]]:
    """Return whether each judged query is unanswerable, and its score; empty for a judge without a threshold."""
    judge = record.run.judge
    judged = _judged_items(record) if judge and judge.setting is not None else ()
    return [(not item.answerable, item.answerable_score) for item in judged]
