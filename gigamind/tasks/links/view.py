"""The page of a link run: its result, worst notes, sections and charts."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from gigamind.choices import SHOWN_CONFIDENCE
from gigamind.formats import between, share
from gigamind.i18n import Message, Text, Translator, _, n_, translator
from gigamind.linking.suggest import LEAST_CONFIDENCE
from gigamind.metrics.spec import blocks_of
from gigamind.metrics.table import keys_in, label, label_text
from gigamind.release.comparison import Comparison
from gigamind.reports import charts
from gigamind.reports.comparison import EXAMPLES, main_figures
from gigamind.reports.document import (
    Block,
    Column,
    Count,
    Example,
    Examples,
    Group,
    Listing,
    Plot,
    Proportion,
    Prose,
    Section,
    Side,
    SideLine,
    Step,
    Table,
    filled,
    more_text,
    table,
)
from gigamind.reports.figures import figure_of
from gigamind.reports.labels import CAUSES
from gigamind.reports.views import View
from gigamind.tasks.links.compare import LinkSnapshot
from gigamind.tasks.links.listing import notes_json
from gigamind.tasks.links.schema import (
    LinkItemReport,
    LinkRunRecord,
    LinkSliceReport,
    LinkSummaryReport,
    MissCause,
)

_FEW_NOTES = 30  # below it, a slice is unreliable
_MISSES_SHOWN = 3  # for each cause
_LINES = 5  # links in an example


class LinkView(View[LinkSummaryReport, LinkItemReport, LinkSnapshot]):
    """Describes link runs."""

    def result(self, record: LinkRunRecord) -> Text:
        topk = _topk(record)
        recalled, expected = _sums(record, f"recall_at_{topk}")
        right, suggested = _sums(record, f"precision_at_{topk}")
        if not expected:
            return _("No notes were evaluated.")
        if not suggested:
            return _(
                "No links were suggested, so none of {expected:,} removed links was found.",
                expected=expected,
            )
        return _(
            "{recalled:,} of {expected:,} removed links were suggested again. {right:,} of {suggested:,} suggestions"
            " are right.",
            recalled=recalled,
            expected=expected,
            right=right,
            suggested=suggested,
        )

    def steps(self, record: LinkRunRecord) -> Iterator[Step]:
        if shown := default_view(record.summary):
            yield Step(shown)

    def warnings(self, record: LinkRunRecord) -> Iterator[Text]:
        if misfit := record.summary.counts.ranges_misfit:
            yield n_(
                "The range of {n} dataset row does not match its note; span accuracy leaves it out. Run generate-links"
                " again.",
                "The ranges of {n:,} dataset rows do not match their notes; span accuracy leaves them out. Run"
                " generate-links again.",
                n=misfit,
            )

    def examples(self, record: LinkRunRecord) -> Examples:
        missing = (item for item in record.items if item.missed)
        worst = sorted(missing, key=lambda item: (-len(item.missed), len(item.expected)))
        title = _("Notes with the most missed links")
        return Examples(title, tuple(map(_example, worst[:EXAMPLES])), len(worst))

    def sections(self, record: LinkRunRecord, say: Translator) -> Iterator[Section]:
        parts = (_misses(record), _thresholds(record))
        yield from filter(None, (*parts, _languages(record, say), _method(record)))

    def listing(
        self,
        record: LinkRunRecord,
        say: Translator,
        comparison: Comparison | None,
        baseline: LinkSnapshot | None,
    ) -> Section | None:
        if not record.items:
            return None
        data = notes_json(record.items, say, comparison, baseline)
        no_script = _(
            "The list of notes needs JavaScript, which is disabled. per_item.jsonl has the same data."
        )
        return Section("list", _("Notes"), (Listing("link_item.js", data, no_script),))

    def charts(self, record: LinkRunRecord) -> Mapping[str, charts.Chart]:
        if not record.items:
            return {}
        say, overall = translator("en"), record.summary.overall
        shown = {figure.label("en"): figure for figure in main_figures(overall)}
        return charts.drawn(
            metrics=charts.forest(say(_("Metrics with 95% CIs")), shown),
            slices=_slices(record, say),
        )

    def not_run(self, summary: LinkSummaryReport) -> int:
        return summary.counts.notes_not_run


def _topk(record: LinkRunRecord) -> int:
    return int(str(record.run.options["topk"]))


def _min_confidence(record: LinkRunRecord) -> float:
    least = 0.0 if record.run.options.get("system") else LEAST_CONFIDENCE
    return max(float(str(record.run.options["min_confidence"])), least)


def _sums(record: LinkRunRecord, name: str) -> tuple[int, int]:
    """Return the sums of a metric's numerators and denominators over all notes."""
    terms = [item.terms.get(name, (0, 0)) for item in record.items]
    return sum(over for over, _under in terms), sum(under for _over, under in terms)


def default_view(summary: LinkSummaryReport) -> Text:
    """Return what `suggest-links` shows by default; "" if it shows all suggestions, or another tool made them."""
    points = {point.min_confidence: point for point in summary.sweep}
    unfiltered, shown = points.get(0.0), points.get(SHOWN_CONFIDENCE)
    if summary.system or not unfiltered or not shown or shown.suggested == unfiltered.suggested:
        return ""
    return _(
        "Evaluate again with `--min-confidence {floor:g}`, which suggest-links uses by default: precision {precision}"
        " (95% CI {interval}), recall {recall}",
        floor=SHOWN_CONFIDENCE,
        precision=share(shown.precision),
        interval=between(shown),
        recall=share(shown.recall),
    )


def _link(anchor: str, target: str) -> str:
    return f"“{anchor}” → {target}"


def _example(item: LinkItemReport) -> Example:
    """Return a note with its missed links beside its suggestions."""
    causes = {row.id: CAUSES[miss.cause] for row, miss in item.explained}
    missed = [
        SideLine(_link(row.anchor, ", ".join(row.targets)), causes.get(row.id, ""))
        for row in item.missed
    ]
    suggested = [
        SideLine(
            _link(s.anchor.text if s.anchor else "–", s.target),
            "" if s.confidence is None else Proportion(s.confidence),
            "expected" if s.hit else "",
        )
        for s in item.suggestions
    ]
    what = _(
        "{missed} of {expected} removed links missed",
        missed=len(missed),
        expected=sum(row.wanted for row in item.expected),
    )
    return Example(
        item.note,
        PurePosixPath(item.note).stem,
        what,
        sides=(
            Side(_("missed"), tuple(missed[:_LINES])),
            Side(_("suggested"), tuple(suggested[:_LINES])),
        ),
    )


def _misses(record: LinkRunRecord) -> Section | None:
    """Return the missed links by cause, each cause with its count and its first links."""
    misses = [(item.note, row, miss) for item in record.items for row, miss in item.explained]
    groups: list[Group] = []
    for cause, (count, meaning) in miss_causes(record).items():
        shown = [entry for entry in misses if entry[2].cause == cause][:_MISSES_SHOWN]
        title = _(
            "{cause} ({count}). {meaning}",
            cause=CAUSES[cause],
            count=more_text(len(shown), count),
            meaning=meaning,
        )
        rows = (
            (
                note,
                _link(row.anchor, ", ".join(row.targets)),
                Count(miss.own.place if miss.own else None),
                Proportion(miss.own.confidence if miss.own else None),
                miss.instead
                and _(
                    "{link} (rank {place})",
                    link=_link(miss.instead.anchor, miss.instead.target),
                    place=miss.instead.place,
                ),
            )
            for note, row, miss in shown
        )
        groups.append(Group(tuple(rows), title))
    if not groups:
        return None
    names = _("note"), _("missed link"), _("rank"), _("confidence"), _("suggested instead")
    blocks = (
        Prose(
            _(
                "Removed links that were not suggested. The list of notes below can show all links with one cause."
            ),
            faint=True,
        ),
        filled(Table(tuple(map(Column, names)), tuple(groups))),
    )
    return Section("misses", _("Missed links by cause"), blocks, folded=True)


def miss_causes(record: LinkRunRecord) -> dict[MissCause, tuple[int, Message]]:
    """Return the causes of misses, the number of links lost to each, and its meaning in this run."""
    options, misses = record.run.options, record.summary.overall.misses
    floor = _min_confidence(record)
    meanings: dict[MissCause, Message] = {
        "no_candidate": _("No suggestion links to this target."),
        "ranked_too_low": _(
            "The target is suggested, but not among the first {topk} suggestions.",
            topk=options["topk"],
        ),
        "below_confidence": _(
            "The target was found, but below the confidence threshold ({floor:g}, --min-confidence).",
            floor=floor,
        ),
        "namesake": _(
            "No suggestion links to this target. A suggestion links the same words to another note."
        ),
        "already_linked": _(
            "The note already links to the target at another place, so --exclude-linked left the target out."
        ),
    }
    return {cause: (count, meanings[cause]) for cause, count in misses.items() if count}


def _thresholds(record: LinkRunRecord) -> Section | None:
    """Return precision and recall at each threshold that leaves out more suggestions than the one before."""
    own = _min_confidence(record)
    points = {p.suggested: p for p in reversed(record.summary.sweep) if p.suggested}
    if not points:
        return None
    rows = (
        (
            f"{max(own, p.min_confidence):.2f}",
            Count(p.suggested),
            Proportion(p.precision),
            Proportion(p.recall),
        )
        for p in reversed(points.values())
    )
    names = _("confidence threshold"), _("number of suggestions"), _("precision"), _("recall")
    caption = _(
        "Results with other values of `--min-confidence`, measured on the same links. Before you use another value,"
        " check it on other links."
    )
    text = _(
        "Expected calibration error (mean gap between confidence and precision): {value}.",
        value=share(record.summary.calibration_error),
    )
    blocks = table(names, rows, caption), Prose(text, faint=True)
    return Section("thresholds", _("Results by threshold"), blocks, folded=True)


def _parts(summary: LinkSummaryReport) -> dict[Text, LinkSliceReport]:
    """Return all notes, then each language, by label."""
    languages = {
        _("language: {language}", language=language): part
        for language, part in summary.by_language.items()
    }
    return {_("all notes"): summary.overall, **languages}


def _languages(record: LinkRunRecord, say: Translator) -> Section | None:
    """Return the metrics by language; None for one language, which is all notes."""
    parts = _parts(record.summary)
    if len(record.summary.by_language) < 2:  # noqa: PLR2004
        return None
    keys = keys_in("page", blocks_of("links"), _topk(record))
    rows = (
        (
            name,
            Count(part.notes),
            *(
                figure and Proportion(figure.value, ceiling=figure.ceiling)
                for figure in (figure_of(part, key) for key in keys)
            ),
        )
        for name, part in parts.items()
    )
    few = any(part.notes < _FEW_NOTES for part in parts.values())
    unreliable = _("Slices with fewer than {n} notes are unreliable.", n=_FEW_NOTES)
    heads = (_("slice"), _("notes"), *map(label_text, keys))
    blocks: list[Block] = [filled(table(heads, rows, unreliable if few else ""))]
    if chart := _slices(record, say):
        blocks.append(Plot(chart, _("Dots are the values, lines their 95% CIs.")))
    return Section("slices", _("Results by language"), tuple(blocks), folded=True)


def _slices(record: LinkRunRecord, say: Translator) -> charts.Forest | None:
    key = f"links.recall_at_{_topk(record)}"
    title = say(_("{metric} by language", metric=label(key, say.language)))
    shown = {say(name): figure_of(part, key) for name, part in _parts(record.summary).items()}
    return charts.forest(title, shown)


def _method(record: LinkRunRecord) -> Section:
    """Return what was measured and how."""
    counts, topk = record.summary.counts, _topk(record)
    expected = _sums(record, f"recall_at_{topk}")[1]
    once = _(
        " ({count:,} if several links from one note to the same target count as one)",
        count=expected,
    )
    sizes = _(
        "For the test, {links} links{once} were removed from {sources} of {notes} notes. Each note gets up to {topk}"
        " suggestions.",
        links=counts.links_total,
        once=once if expected < counts.links_total else "",
        sources=counts.source_notes,
        notes=counts.notes,
        topk=topk,
    )
    reading = _(
        "Each metric is a ratio of two sums over all notes. CIs are computed by resampling whole notes. Only links"
        " removed for the test count as right, so every other good suggestion counts as wrong."
    )
    return Section("method", _("How links are scored"), (Prose(sizes), Prose(reading)), folded=True)
