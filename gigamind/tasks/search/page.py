"""report.html of a search run: its figures, and its queries as compact JSON. 5 000 queries must load in under 2 s.

Tables hold each text, note and tag once; items refer to them by index. templates/report.js unpacks the arrays in the
order in which this module builds them. Offsets are UTF-16 code units of the note's file.
"""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gigamind.formats import percent, share
from gigamind.i18n import Text, Translator, _, n_
from gigamind.metrics.spans import Unplaced, holds, matches
from gigamind.metrics.spec import blocks_of
from gigamind.metrics.table import about, keys_in, label
from gigamind.records.judged import JudgementReport
from gigamind.records.schema import PassageReport
from gigamind.release.comparison import Comparison
from gigamind.reports.figures import metric_name
from gigamind.reports.page import layout
from gigamind.reports.page.headline import Card, against, card
from gigamind.reports.release import slice_name
from gigamind.reports.text import unjudged
from gigamind.spans import Passage, Span
from gigamind.tasks.search import figures, markdown
from gigamind.tasks.search.compare import SearchItem, SearchSnapshot
from gigamind.tasks.search.schema import HitReport, ItemReport, RunRecord, SliceReport

# Bits of an item's flags; report.js has the same bits.
_ANSWERABLE, _REFUSED, _CROSS_LINGUAL, _FAILURE, _WORSE, _BETTER, _UNJUDGED = (
    1 << bit for bit in range(7)
)
_CHANGED = _WORSE | _BETTER  # only these also show the baseline's ranking


def items_json(
    items: Sequence[ItemReport],
    say: Translator,
    comparison: Comparison | None = None,
    baseline: SearchSnapshot | None = None,
) -> str:
    """Return the queries as JSON that is safe inside a script element."""
    tables = _Tables()
    flags = _flags(items, comparison)
    before = {item.id: item for item in baseline.items} if baseline else {}
    rows = [_item(item, flags[item.id], before.get(item.id), tables) for item in items]
    return layout.items_script(
        say,
        comparison,
        rows,
        notes=list(tables.notes),
        titles=[tables.titles.get(note, "") for note in tables.notes],
        texts=list(tables.texts),
        tags=list(tables.tags),
    )


@dataclass(frozen=True, slots=True)
class _Tables:
    """Maps texts to their index, in order of first use."""

    notes: dict[str, int] = field(default_factory=dict[str, int])
    titles: dict[str, str] = field(default_factory=dict[str, str])
    texts: dict[str, int] = field(default_factory=dict[str, int])
    tags: dict[str, int] = field(default_factory=dict[str, int])

    def note(self, path: str) -> int:
        return self.notes.setdefault(path, len(self.notes))

    def text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def tag(self, tag: str) -> int:
        return self.tags.setdefault(tag, len(self.tags))


def _flags(items: Sequence[ItemReport], comparison: Comparison | None) -> dict[str, int]:
    failed = {item.id for item in markdown.failed_items(items)}
    changes = layout.changes_by_id(comparison)
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


def _item(item: ItemReport, flags: int, before: SearchItem | None, tables: _Tables) -> list[object]:
    spans = [_passage(span) for span in item.expected_spans]
    return [
        item.id,
        item.query,
        item.language or "",
        [tables.tag(tag) for tag in item.tags],
        flags,
        [tables.note(note) for note in item.expected_notes],
        [[tables.note(s.note), s.utf16_start, tables.text(s.text)] for s in item.expected_spans],
        [_hit(hit, spans, tables) for hit in item.ranking],
        _rank(item.metrics.get("mrr")),
        item.top_base_score,
        None if item.latency_ms is None else round(item.latency_ms, 2),
        [
            _rank(before.metrics.get("mrr")),
            int(bool(before.judged_unanswerable)),
            [[tables.note(hit.note), hit.base_score] for hit in before.ranking]
            if flags & _CHANGED
            else [],
        ]
        if before
        else None,
        _judgement(item.judgement, tables) if item.judgement else None,
    ]


def _judgement(judgement: JudgementReport, tables: _Tables) -> list[object]:
    """Return a model's judgement with its quotes and votes."""
    return [
        judgement.outcome,
        judgement.code,
        judgement.reported_unanswerable,
        judgement.verified,
        judgement.answer,
        judgement.confidence,
        [
            [None if q.note is None else tables.note(q.note), q.text, q.match, q.trusted]
            for q in judgement.quotes
        ],
        [tables.note(note) for note in judgement.flagged],
        _votes(judgement),
        judgement.conflict,
        list(judgement.unread),
    ]


def _votes(judgement: JudgementReport) -> list[list[object]]:
    """Return panel member, vote, whether a claimed answer is unproven, and the error code of a missing vote."""
    names = layout.member_names(judgement.votes)
    return [
        [
            names[layout.member_of(vote)],
            vote.unanswerable,
            vote.reported_unanswerable is False and not vote.verified,
            vote.code,
        ]
        for vote in judgement.votes
    ]


def _rank(reciprocal: float | None) -> int | None:
    return round(1 / reciprocal) if reciprocal else None


def _hit(hit: HitReport, spans: Sequence[Passage], tables: _Tables) -> list[object]:
    shown = hit.evidence or PassageReport(
        note=hit.note, utf16_start=0, utf16_end=_units(hit.text), text=hit.text
    )
    whole = hit.chunk if hit.chunk and _holds(hit.chunk, shown) else shown
    tables.titles[hit.note] = hit.title
    piece = Unplaced(hit.note, hit.text) if hit.text else _passage(shown)
    return [
        tables.note(hit.note),
        hit.base_score,
        hit.final_score,
        hit.semantic_score,
        hit.keyword_score,
        tables.text(whole.text),
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


_TAGS = 15


def search_content(
    record: RunRecord,
    say: Translator,
    comparison: Comparison | None,
    baseline: SearchSnapshot | None,
) -> layout.Content:
    """Return the content of a run's page, compared with a baseline if there is one."""
    judged = _judged(record, say)
    blocks = blocks_of("search") if judged["any"] else ("search",)
    return layout.Content(
        template="report.html.jinja",
        item_script="report_item.js",
        charts=figures.search_figures(record, baseline, lang=say.language),
        captions={
            "threshold": _("Verdicts at other thresholds"),
            "scores": _("Score distribution"),
            "latency": _("Latency"),
            "slices": _("MRR by slice"),
        },
        data=items_json(record.items, say, comparison, baseline),
        headline=headline(record, comparison, say),
        cards=cards(record, comparison, say),
        figures=figures.all_metrics(record.summary.overall),
        called=lambda metric: metric_name(metric.key, say),
        columns=keys_in("page", blocks, record.summary.overall.deepest),
        slices=[
            (
                say(slice_name(part.kind, part.key)),
                (part.part.counts.answerable, part.part.counts.unanswerable),
                part.part,
            )
            for part in figures.slices(record.summary, _TAGS)
        ],
        not_run=record.summary.counts.queries_not_run,
        unjudged=unjudged(record.summary.llm),
        generated=record.summary.counts.queries_generated,
        llm=record.summary.llm,
        values={
            "judged": judged,
            "subject": _subject(record, say),
            "holes": say(markdown.unjudged_line(record.summary)),
            "hole_rows": markdown.unjudged_rows(record.summary),
            "latency_method": say(record.summary.performance.latency_method),
            "speed_rows": list(_speed_rows(record, say)),
            "tags_left_out": max(0, len(record.summary.by_tag) - _TAGS),
        },
    )


render_html = functools.partial(layout.render_page, search_content)
"""report.html; see `render_page`."""


def _subject(record: RunRecord, say: Translator) -> str:
    """Return what was evaluated, in one line."""
    counts, environment = record.summary.counts, record.run.environment
    search, queries = markdown.searched_by(record.run), counts.queries_total
    subject = (
        n_("{n} query, {search}", "{n:,} queries, {search}", n=queries, search=search)
        if counts.notes is None
        else n_(
            "{n} query over {notes:,} notes, {search}",
            "{n:,} queries over {notes:,} notes, {search}",
            n=queries,
            notes=counts.notes,
            search=search,
        )
    )
    if environment.system:
        return say(subject)
    embedder = environment.embedding_model or say(_("no embedding model"))
    return f"{say(subject)} · {embedder}"


_OF_SETTINGS = ("precision", "recall", "f1", "far", "false_refusals")


def _judged(record: RunRecord, say: Translator) -> dict[str, object]:
    """Return the section on unanswerable queries; `best` is None if the dataset has only one kind of query."""
    judged = figures.judging(record)
    now = "–" if judged.setting is None else f"{judged.setting:.3f}"
    settings = [(say(_("current")), now, judged.counts)]
    if judged.best:
        best = judged.best
        settings.append(
            (say(_("threshold with the best F1")), f"{best.min_score:.3f}", best.point.counts)
        )
    if judged.both_kinds:
        settings.append((say(_("all queries refused")), "–", judged.counts.all_refused))
    return {
        "lead": say(markdown.judged_by(record.run)),
        "setting": say(figures.THRESHOLD_NAMES[judged.kind]) if judged.setting is not None else "–",
        "weak": markdown.weak_lines(record.summary.weak_verdicts, say),
        "counts": judged.counts,
        "any": any(dataclasses.astuple(judged.counts)),
        "settings": []
        if judged.setting is None
        else [
            (name, setting, [share(getattr(c, n)) for n in _OF_SETTINGS])
            for name, setting, c in settings
        ],
        "figures": [label(f"unanswerable.{n}", say.language) for n in _OF_SETTINGS],
        "best": judged.best,
        "free": [
            (
                rates.kind,
                rates.chosen,
                f"{rates.setting:.3f}",
                [share(getattr(rates, n)) for n in _OF_SETTINGS],
                say(markdown.cost_line(rates)),
            )
            for rates in record.summary.judges
        ],
    }


def _speed_rows(record: RunRecord, say: Translator) -> Iterator[tuple[str, str]]:
    for name in ("latency_p50_ms", "latency_p95_ms", "latency_p99_ms"):
        value = record.summary.overall.search.get(name)
        yield label(f"search.{name}", say.language), "–" if value is None else f"{value:.1f}"
    performance = record.summary.performance
    if performance.cold_start_ms is not None:
        yield say(_("cold start")), f"{performance.cold_start_ms:,.0f}"
    if record.run.environment.system is None:
        yield say(_("indexing")), f"{performance.indexing_ms:,.0f}"
    yield say(_("all queries")), f"{performance.eval_runtime_ms:,.0f}"


_LEADING = (
    "search.hit_at_1",
    "search.mrr",
    "search.ndcg",
    "search.recall",
    "unanswerable.far",
    "unanswerable.false_refusals",
)


def headline(record: RunRecord, comparison: Comparison | None, say: Translator) -> str:
    """Return the result in one sentence; with a comparable baseline, the significant changes."""
    main = [figure.key for figure in figures.main_metrics(record.summary.overall)]
    changed = against(comparison, say, _LEADING, main)
    return say(_result(record)) if changed is None else changed


def cards(record: RunRecord, comparison: Comparison | None, say: Translator) -> list[Card]:
    """Return the main metrics, the p95 latency last."""
    main = figures.main_metrics(record.summary.overall)
    shown = (card(figure, comparison, say) for figure in main)
    return [*(metric for metric in shown if metric.about), *_latency(record, comparison, say)]


def _result(record: RunRecord) -> Text:
    overall, counts = record.summary.overall, record.summary.overall.counts
    missed, unanswerable, far = _errors(overall, "far", counts.unanswerable)
    refused, answerable, refusals = _errors(overall, "false_refusals", counts.answerable)
    errors = {"missed": missed, "unanswerable": unanswerable, "far": far}
    has_verdicts = counts.unanswerable and record.run.judge
    if not counts.answerable and has_verdicts:
        return _(
            "Wrongly judged answerable: {missed:,} of {unanswerable:,} unanswerable queries ({far}).",
            **errors,
        )
    if not counts.answerable:
        return _("No queries were evaluated.")
    first = overall.search.get("hit_at_1")
    values = {
        "hits": round((first or 0.0) * counts.answerable),
        "queries": counts.answerable,
        "share": percent(first),
    }
    if not has_verdicts:
        return _(
            "An expected note ranks first for {hits:,} of {queries:,} answerable queries ({share}).",
            **values,
        )
    return _(
        "An expected note ranks first for {hits:,} of {queries:,} answerable queries ({share}). Wrongly refused:"
        " {refused:,} of {answerable:,} answerable queries ({refusals}). Wrongly judged answerable: {missed:,} of"
        " {unanswerable:,} unanswerable queries ({far}).",
        **values,
        **errors,
        refused=refused,
        answerable=answerable,
        refusals=refusals,
    )


def _errors(part: SliceReport, name: str, count: int) -> tuple[int, int, str]:
    rate, decided = part.unanswerable.get(name), part.intervals.get(f"unanswerable.{name}")
    judged = decided.n if decided else count
    return round((rate or 0.0) * judged), judged, percent(rate)


_P95 = "search.latency_p95_ms"


def _latency(record: RunRecord, comparison: Comparison | None, say: Translator) -> Iterator[Card]:
    p95 = record.summary.overall.search.get("latency_p95_ms")
    if p95 is None:
        return
    speeds = {speed.name: speed for speed in comparison.speed} if comparison else {}
    before = speeds["search_p95"].baseline_ms if speeds else None
    same_hardware = comparison is not None and comparison.same_hardware
    baseline = say(_("baseline {value:.1f} ms", value=before)) if before and same_hardware else ""
    yield Card(
        label=label(_P95, say.language),
        about=about(_P95, say.language),
        value=f"{p95:.1f} ms",
        interval="",
        n=record.summary.overall.counts.queries,
        at=None,
        low=None,
        high=None,
        difference=baseline,
        difference_interval="",
        better=None,
    )
