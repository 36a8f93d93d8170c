"""Texts about a link run that summary.md, report.html and the terminal share."""

from gigamind.choices import SHOWN_CONFIDENCE
from gigamind.formats import between, share
from gigamind.i18n import Message, Text, Translator, _
from gigamind.linking.suggest import LEAST_CONFIDENCE
from gigamind.tasks.links.schema import LinkRunRecord, LinkSummaryReport, MissCause


def sums_of(record: LinkRunRecord, name: str) -> tuple[int, int]:
    """Return the sums of a figure's numerators and denominators over all notes."""
    terms = [item.terms.get(name, (0, 0)) for item in record.items]
    return sum(over for over, _under in terms), sum(under for _over, under in terms)


def subject_values(record: LinkRunRecord) -> dict[str, object]:
    """Return the sizes of a run. Figures count links of one note to the same targets `once`."""
    counts, topk = record.summary.counts, record.run.options["topk"]
    expected = sums_of(record, f"recall_at_{topk}")[1]
    return {
        "links": counts.links_total,
        "once": _(
            " ({count:,} if several links from one note to the same target count as one)",
            count=expected,
        )
        if expected < counts.links_total
        else "",
        "sources": counts.source_notes,
        "notes": counts.notes,
        "topk": topk,
    }


def default_view(summary: LinkSummaryReport) -> Text:
    """Return what `suggest-links` shows by default; "" if it shows all suggestions, or another tool made them."""
    points = {point.min_confidence: point for point in summary.sweep}
    unfiltered, shown = points.get(0.0), points.get(SHOWN_CONFIDENCE)
    if summary.system or not unfiltered or not shown or shown.suggested == unfiltered.suggested:
        return ""
    return _(
        "With its default confidence threshold ({floor:g}), suggest-links shows {suggested:,} of these suggestions:"
        " precision {precision} (95% CI {interval}), recall {recall}. Measured on {sources:,} of the vault's"
        " {notes:,} notes.",
        floor=SHOWN_CONFIDENCE,
        suggested=shown.suggested,
        precision=share(shown.precision),
        interval=between(shown),
        recall=share(shown.recall),
        sources=summary.overall.notes,
        notes=summary.counts.notes,
    )


def miss_causes(record: LinkRunRecord, say: Translator) -> list[tuple[MissCause, int, str]]:
    """Return the causes of misses, the number of links lost to each, and its meaning in this run."""
    options, misses = record.run.options, record.summary.overall.misses
    own = 0.0 if options.get("system") else LEAST_CONFIDENCE
    floor = max(float(str(options["min_confidence"])), own)
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
    return [(cause, count, say(meanings[cause])) for cause, count in misses.items() if count]
