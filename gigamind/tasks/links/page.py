"""report.html of a link run: its figures, and its notes as compact JSON, their texts split into pieces.

templates/link_item.js unpacks the arrays in the order in which this module builds them.
"""

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from gigamind.i18n import Language, Translator, _, translator
from gigamind.metrics.links import CEILING
from gigamind.metrics.spec import blocks_of
from gigamind.metrics.table import keys_in, label
from gigamind.records.schema import PassageReport
from gigamind.release.comparison import Comparison
from gigamind.reports import charts
from gigamind.reports.figures import Figure, figure_of, figures_of, measured
from gigamind.reports.page.headline import Card, against, card
from gigamind.reports.page.layout import Content, changes_by_id, items_script, render_page
from gigamind.spans import Span, Utf16
from gigamind.tasks.links.compare import LinkItem, LinkSnapshot
from gigamind.tasks.links.schema import (
    ExpectedLinkReport,
    LinkItemReport,
    LinkRunRecord,
    LinkSliceReport,
    LinkSummaryReport,
    MissReport,
    RankedReport,
    SuggestionReport,
)
from gigamind.tasks.links.texts import default_view, miss_causes, subject_values, sums_of

_CONTEXT = 240  # code points shown before and after a link; text farther from any link is omitted
_MISS_CONTEXT = 160  # code points shown before and after a missed link in the list of misses
_KINDS = ("linked", "novel", "miss", "hit")  # where links overlap, the later kind is shown

Piece = tuple[str, str, str]
"""Text, kind of link ("" for plain text) and target. Kind "gap" holds the number of omitted code points as text."""


def notes_json(
    items: Sequence[LinkItemReport],
    say: Translator,
    comparison: Comparison | None = None,
    baseline: LinkSnapshot | None = None,
) -> str:
    """Return the notes as JSON that is safe inside a script element."""
    changes = changes_by_id(comparison)
    before = {item.id: item for item in baseline.items} if baseline else {}
    rows = [_item(item, changes.get(item.note, ""), before.get(item.note)) for item in items]
    return items_script(say, comparison, rows, tags=())


def kind_of(suggestion: SuggestionReport) -> str:
    """Classify a suggestion: expected ("hit"), new to the note ("novel") or already linked there ("linked")."""
    return "hit" if suggestion.hit else "novel" if suggestion.novel else "linked"


def pieces(item: LinkItemReport) -> list[Piece]:
    """Split the note's text into plain pieces and links. Apart from gaps, the pieces add up to the text."""
    marks = [
        (suggestion.anchor, kind_of(suggestion), suggestion.target)
        for suggestion in item.suggestions
        if suggestion.anchor
    ]
    marks += [(row.passage, "miss", ", ".join(row.targets)) for row in item.missed if row.passage]
    units = Utf16(item.text)
    spans = [(_span(units, passage), kind, target) for passage, kind, target in marks]
    spans.sort(key=lambda mark: _KINDS.index(mark[1]))
    cuts = sorted(
        {
            0,
            len(item.text),
            *(edge for span, _kind, _target in spans for edge in (span.start, span.end)),
        }
    )
    parts: list[Piece] = []
    for start, end in itertools.pairwise(cuts):
        own = [mark for mark in spans if mark[0].start <= start and end <= mark[0].end]
        if own:
            targets = ", ".join(dict.fromkeys(target for _span, _kind, target in own))
            parts.append((item.text[start:end], own[-1][1], targets))
        else:
            parts += _plain(item.text[start:end], first=not start, last=end == len(item.text))
    return parts


def _plain(text: str, *, first: bool, last: bool) -> list[Piece]:
    """Return text without links; the middle of a long text becomes a gap."""
    head, tail = (0 if first else _CONTEXT), (0 if last else _CONTEXT)
    if len(text) <= head + tail + _CONTEXT:
        return [(text, "", "")]
    cut = len(text) - tail
    shown = [(text[:head], "", ""), (str(cut - head), "gap", ""), (text[cut:], "", "")]
    return [piece for piece in shown if piece[0]]


def _span(units: Utf16, passage: PassageReport) -> Span:
    return units.span_to_code_points(passage.utf16_start, passage.utf16_end)


def _item(item: LinkItemReport, change: str, before: LinkItem | None) -> list[object]:
    wanted = {row.targets for row in item.expected if row.wanted}
    missed = {row.targets for row in item.missed}
    return [
        item.note,
        PurePosixPath(item.note).stem,
        item.language,
        change,
        pieces(item),
        [_missed(item, row, miss) for row, miss in item.explained],
        [
            (
                suggestion.anchor.text if suggestion.anchor else "–",
                suggestion.target,
                suggestion.confidence,
                kind_of(suggestion),
                int(suggestion.hit and suggestion.span_exact is False),
                suggestion.reason,
            )
            for suggestion in item.suggestions
        ],
        len(wanted),
        len(wanted - missed),
        sum(suggestion.hit for suggestion in item.suggestions),
        _before(before) if before else None,
    ]


def _missed(item: LinkItemReport, row: ExpectedLinkReport, miss: MissReport) -> tuple[object, ...]:
    before = after = ""
    if row.passage is not None:
        span = _span(Utf16(item.text), row.passage)
        before = _nearest(item.text[: span.start].rsplit("\n\n", 1)[-1][::-1])[::-1]
        after = _nearest(item.text[span.end :].split("\n\n", 1)[0])
    ranked = _ranked(miss.own), _ranked(miss.instead)
    return (row.anchor, ", ".join(row.targets), before, after, miss.cause, *ranked)


def _nearest(text: str) -> str:
    return text if len(text) <= _MISS_CONTEXT else text[:_MISS_CONTEXT] + "…"


def _ranked(ranked: RankedReport | None) -> tuple[object, ...] | None:
    if ranked is None:
        return None
    features = (
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in ranked.features.items()
    )
    return (
        ranked.place,
        ranked.anchor,
        ranked.target,
        ranked.confidence,
        ranked.reason,
        " · ".join(features),
    )


def _before(item: LinkItem) -> tuple[str, str]:
    recalled = {suggestion.target for suggestion in item.suggestions if suggestion.hit} & set(
        item.expected
    )
    right = sum(suggestion.hit for suggestion in item.suggestions)
    return f"{len(recalled)} / {len(item.expected)}", f"{right} / {len(item.suggestions)}"


def main_links(part: LinkSliceReport, topk: int) -> list[Figure]:
    """Return the main metrics at rank `topk`."""
    return measured(figures_of(part, keys_in("main", blocks_of("links"), topk)))


def all_links(part: LinkSliceReport) -> list[Figure]:
    """Return every metric except the ceilings, in the order of the summary."""
    return measured(figures_of(part, (key for key in part.intervals if not key.endswith(CEILING))))


def ceiling_of(part: LinkSliceReport, name: str) -> float | None:
    """Return the highest value that the dataset allows for a figure; None if that is 1 or unknown."""
    ceiling = part.links.get(name + CEILING)
    return ceiling if ceiling is not None and ceiling < 1 else None


def bounded(figure: Figure, part: LinkSliceReport, say: Translator) -> str:
    """Return the label of a figure, with its ceiling if it has one."""
    ceiling, name = ceiling_of(part, figure.name), figure.label(say.language)
    return name if ceiling is None else f"{name} (≤ {ceiling:.3f})"


def link_slices(
    summary: LinkSummaryReport, say: Translator
) -> Iterator[tuple[str, LinkSliceReport]]:
    """Yield all notes, then each language, with their labels."""
    yield say(_("all notes")), summary.overall
    for language, part in summary.by_language.items():
        yield say(_("language: {language}", language=language)), part


def link_figures(
    record: LinkRunRecord, baseline: LinkSnapshot | None = None, *, lang: Language = "en"
) -> dict[str, charts.Chart]:
    """Return the charts of a link run: metrics, sweep, reliability and slices; see `search_figures`."""
    if not record.items:
        return {}
    say = translator(lang)
    old = baseline.metrics if baseline else None
    topk = int(str(record.run.options["topk"]))
    sliced = f"links.recall_at_{topk}"

    def named(metrics: Iterable[Figure]) -> charts.Shown:
        return {metric.label(lang): metric for metric in metrics}

    def parts(summary: LinkSummaryReport) -> charts.Shown:
        slices = link_slices(summary, say)
        return {name: figure_of(part, sliced) for name, part in slices}

    metrics = named(main_links(record.summary.overall, topk))
    known = named(all_links(old.overall)) if old else None
    by_slice = say(_("{metric} by language", metric=label(sliced, lang)))
    return charts.drawn(
        metrics=charts.forest(say(_("Metrics with 95% CIs")), say, metrics, known),
        sweep=_sweep(record, say),
        reliability=_reliability(record, say),
        slices=charts.forest(by_slice, say, parts(record.summary), parts(old) if old else None),
    )


def _sweep(record: LinkRunRecord, say: Translator) -> charts.Steps | None:
    points = record.summary.sweep
    if not any(point.suggested for point in points):
        return None
    # Each value holds from its threshold up to the next one, as the run's own threshold may lie between two.
    lines = [
        charts.Line(say(_("precision")), [p.precision for p in points[:-1]], charts.Pen("accent")),
        charts.Line(
            say(_("recall")), [p.recall for p in points[:-1]], charts.Pen("warn", "dashed")
        ),
    ]
    current = float(str(record.run.options["min_confidence"]))
    marks = [charts.Mark(current, say(_("current min_confidence {value:.2f}", value=current)))]
    floors = [point.min_confidence for point in points]
    return charts.Steps(
        say(_("Results by min_confidence, the lowest confidence of a suggestion")),
        "min_confidence",
        floors,
        lines,
        marks,
    )


def _reliability(record: LinkRunRecord, say: Translator) -> charts.Scatter | None:
    points = [(b.mean_confidence, b.precision, b.n) for b in record.summary.reliability]
    labels = say(_("mean confidence")), say(_("precision"))
    return (
        charts.Scatter(say(_("Calibration of the suggestions' confidence")), *labels, points)
        if points
        else None
    )


def link_content(
    record: LinkRunRecord,
    say: Translator,
    comparison: Comparison | None,
    baseline: LinkSnapshot | None,
) -> Content:
    """Return the content of a run's page, compared with a baseline if there is one."""
    summary, topk = record.summary, int(str(record.run.options["topk"]))
    return Content(
        template="links.html.jinja",
        item_script="link_item.js",
        data=notes_json(record.items, say, comparison, baseline),
        charts=link_figures(record, baseline, lang=say.language),
        captions={
            "sweep": _("Precision and recall by min_confidence"),
            "reliability": _("Precision by confidence"),
            "slices": _("Recall by language"),
        },
        headline=link_headline(record, comparison, say),
        cards=_cards(record, comparison, say),
        figures=all_links(summary.overall),
        called=lambda figure: bounded(figure, summary.overall, say),
        columns=keys_in("page", blocks_of("links"), topk),
        slices=[(name, (part.notes,), part) for name, part in link_slices(summary, say)],
        not_run=summary.counts.notes_not_run,
        values={
            "causes": miss_causes(record, say),
            "subject": subject_values(record),
            "shown": say(default_view(summary)),
        },
    )


render_link_html = functools.partial(render_page, link_content)
"""report.html; see `render_page`."""


def link_headline(record: LinkRunRecord, comparison: Comparison | None, say: Translator) -> str:
    """Return the result in one sentence; with a comparable baseline, the significant changes."""
    topk = record.run.options["topk"]
    leading = (f"links.precision_at_{topk}", f"links.recall_at_{topk}")
    changed = against(comparison, say, leading, leading)
    if changed is not None:
        return changed
    recalled, expected = sums_of(record, f"recall_at_{topk}")
    right, suggested = sums_of(record, f"precision_at_{topk}")
    if not expected:
        return say(_("No notes were evaluated."))
    if not suggested:
        return say(
            _(
                "No links were suggested, so none of {expected:,} removed links was found.",
                expected=expected,
            )
        )
    return say(
        _(
            "{recalled:,} of {expected:,} removed links were suggested again ({recall:.1%}). {right:,} of {suggested:,}"
            " suggestions are correct ({precision:.1%}).",
            recalled=recalled,
            expected=expected,
            recall=recalled / expected,
            right=right,
            suggested=suggested,
            precision=right / suggested,
        )
    )


def _cards(record: LinkRunRecord, comparison: Comparison | None, say: Translator) -> Iterator[Card]:
    overall = record.summary.overall
    for figure in main_links(overall, int(str(record.run.options["topk"]))):
        yield card(figure, comparison, say, ceiling_of(overall, figure.name))
