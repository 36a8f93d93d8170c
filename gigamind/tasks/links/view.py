"""The page of a link run: its result, worst notes, sections and charts."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from gigamind.choices import SHOWN_CONFIDENCE
from gigamind.evaluation.options import eval_command, given_options
from gigamind.formats import between, share
from gigamind.i18n import Text, Translator, _, joined, n_
from gigamind.linking.suggest import LEAST_CONFIDENCE
from gigamind.metrics.spec import blocks_of
from gigamind.metrics.table import keys_in, label_text
from gigamind.release.comparison import Comparison
from gigamind.reports.comparison import EXAMPLES
from gigamind.reports.document import (
    Column,
    Count,
    Example,
    Examples,
    Group,
    Listing,
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
from gigamind.tasks.links.options import LinkEvalOptions
from gigamind.tasks.links.schema import (
    LinkItemReport,
    LinkRunRecord,
    LinkSliceReport,
    LinkSummaryReport,
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
        missed, wrong = expected - recalled, suggested - right
        failures = [
            _(
                "{wrong:,} of {suggested:,} suggestions match no removed link.",
                wrong=wrong,
                suggested=suggested,
            ),
            _(
                "Missed: {missed:,} of {expected:,} removed links.",
                missed=missed,
                expected=expected,
            ),
        ]
        if missed / expected > wrong / suggested:
            failures.reverse()
        if floor := _min_confidence(record):
            failures.append(_("Confidence threshold: {floor:g}.", floor=floor))
        return joined(failures, " ")

    def steps(self, record: LinkRunRecord, bad: str = "") -> Iterator[Step]:
        """Yield the confidence threshold that `suggest-links` uses by default, if it changes the result."""
        del bad
        points = {point.min_confidence: point for point in record.summary.sweep}
        unfiltered, shown = points.get(0.0), points.get(SHOWN_CONFIDENCE)
        if record.summary.system or not unfiltered or not shown:
            return
        if shown.suggested != unfiltered.suggested:
            label = _(
                "Evaluate again with the default threshold of suggest-links, {floor:g}: precision {before} →"
                " {precision} (95% CI {interval}), recall {recall_before} → {recall}",
                floor=SHOWN_CONFIDENCE,
                before=share(unfiltered.precision),
                precision=share(shown.precision),
                interval=between(shown),
                recall_before=share(unfiltered.recall),
                recall=share(shown.recall),
            )
            options = given_options(
                LinkEvalOptions, record.run.options, min_confidence=SHOWN_CONFIDENCE
            )
            yield Step(label, eval_command("links", options))

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
        del say
        yield from filter(None, (_misses(record), _thresholds(record), _languages(record)))

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
    for cause, count in record.summary.overall.misses.items():
        shown = [entry for entry in misses if entry[2].cause == cause][:_MISSES_SHOWN]
        title = _("{cause} ({count})", cause=CAUSES[cause], count=more_text(len(shown), count))
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
        groups += [Group(tuple(rows), title)] if count else []
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
        " check it on other links. Only links removed for the test count as right, so every other good suggestion"
        " counts as wrong."
    )
    blocks = (table(names, rows, caption),)
    return Section("thresholds", _("Results by threshold"), blocks, folded=True)


def _parts(summary: LinkSummaryReport) -> dict[Text, LinkSliceReport]:
    """Return all notes, then each language, by label."""
    languages = {
        _("language: {language}", language=language): part
        for language, part in summary.by_language.items()
    }
    return {_("all notes"): summary.overall, **languages}


def _languages(record: LinkRunRecord) -> Section | None:
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
    blocks = (filled(table(heads, rows, unreliable if few else "")),)
    return Section("slices", _("Results by language"), blocks, folded=True)
