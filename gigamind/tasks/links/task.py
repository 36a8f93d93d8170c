"""The link task: precision and recall of suggestions against removed links; and the page of its runs.

The page has the result, the worst notes, sections and charts, and the list of notes as compact JSON.
"""

import itertools
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from gigamind.assurance.label_items import LabelSource, LabelTask, LabelUnit
from gigamind.choices import SHOWN_CONFIDENCE
from gigamind.evaluation.options import eval_command, given_options
from gigamind.evaluation.progress import Progress
from gigamind.evaluation.task import Checked, Evaluation, Task
from gigamind.formats import between, share
from gigamind.i18n import Text, Translator, _, joined, n_
from gigamind.linking.suggest import LEAST_CONFIDENCE
from gigamind.metrics.spec import blocks_of
from gigamind.metrics.table import keys_in
from gigamind.release.comparison import Comparison
from gigamind.reports import document as doc
from gigamind.reports.html import items_script
from gigamind.reports.labels import CAUSES
from gigamind.reports.verdict import slice_name
from gigamind.reports.views import View, slice_table
from gigamind.spans import Utf16
from gigamind.tasks.links import schema
from gigamind.tasks.options import LinkEvalOptions

_CONTEXT = 240  # code points shown before and after a link; text farther from any link is omitted
_KINDS = ("linked", "novel", "miss", "hit")  # where links overlap, the later kind is shown

_Piece = tuple[str, str, str]
"""Text, kind of link ("" for plain text) and target. Kind "gap" holds the number of omitted code points as text."""


def _notes_json(
    record: schema.LinkRunRecord,
    say: Translator,
    comparison: Comparison | None = None,
    baseline: schema.LinkSnapshot | None = None,
) -> str:
    """Return the notes as JSON that is safe inside a script element; templates/link_item.js has the same order."""
    changes = {c.id: c.change for c in comparison.changes} if comparison else {}
    before = {item.id: item for item in baseline.items} if baseline else {}
    rows = [_item(item, changes.get(item.note, ""), before.get(item.note)) for item in record.items]
    causes = {name: say(text) for name, text in CAUSES.items()}
    return items_script(say, rows, compared=comparison is not None, tags=(), causes=causes)


def _kind_of(suggestion: schema.SuggestionReport) -> str:
    """Classify a suggestion: expected ("hit"), new to the note ("novel") or already linked there ("linked")."""
    return "hit" if suggestion.hit else "novel" if suggestion.novel else "linked"


def _pieces(item: schema.LinkItemReport) -> list[_Piece]:
    """Split the note's text into plain pieces and links. Apart from gaps, the pieces add up to the text."""
    marks = [(s.anchor, _kind_of(s), s.target) for s in item.suggestions if s.anchor]
    marks += [(row.passage, "miss", ", ".join(row.targets)) for row in item.missed if row.passage]
    units = Utf16(item.text)
    spans = [
        (units.span_to_code_points(place.utf16_start, place.utf16_end), kind, target)
        for place, kind, target in marks
    ]
    spans.sort(key=lambda mark: _KINDS.index(mark[1]))
    edges = (edge for span, _kind, _target in spans for edge in (span.start, span.end))
    cuts = sorted({0, len(item.text), *edges})
    parts: list[_Piece] = []
    for start, end in itertools.pairwise(cuts):
        own = [mark for mark in spans if mark[0].start <= start and end <= mark[0].end]
        if own:
            targets = ", ".join(dict.fromkeys(target for _span, _kind, target in own))
            parts.append((item.text[start:end], own[-1][1], targets))
        else:
            parts += _plain(item.text[start:end], first=not start, last=end == len(item.text))
    return parts


def _plain(text: str, *, first: bool, last: bool) -> list[_Piece]:
    """Return text without links; the middle of a long text becomes a gap."""
    head, tail = (0 if first else _CONTEXT), (0 if last else _CONTEXT)
    if len(text) <= head + tail + _CONTEXT:
        return [(text, "", "")]
    cut = len(text) - tail
    shown = [(text[:head], "", ""), (str(cut - head), "gap", ""), (text[cut:], "", "")]
    return [piece for piece in shown if piece[0]]


def _item(item: schema.LinkItemReport, change: str, before: schema.LinkItem | None) -> list[object]:
    wanted = {row.targets for row in item.expected if row.wanted}
    missed = {row.targets for row in item.missed}
    return [
        item.note,
        PurePosixPath(item.note).stem,
        item.language,
        change,
        _pieces(item),
        [
            (row.anchor, ", ".join(row.targets), x.cause, _ranked(x.own), _ranked(x.instead))
            for row, x in item.explained
        ],
        [
            (
                *(s.anchor.text if s.anchor else "–", s.target, s.confidence, _kind_of(s)),
                int(s.hit and s.span_exact is False),
                s.reason,
            )
            for s in item.suggestions
        ],
        len(wanted),
        len(wanted - missed),
        sum(suggestion.hit for suggestion in item.suggestions),
        _before(before) if before else None,
    ]


def _ranked(ranked: schema.RankedReport | None) -> tuple[object, ...] | None:
    if ranked is None:
        return None
    features = (
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in ranked.features.items()
    )
    shown = ranked.place, ranked.anchor, ranked.target, ranked.confidence, ranked.reason
    return (*shown, " · ".join(features))


def _before(item: schema.LinkItem) -> tuple[str, str]:
    right = [suggestion.target for suggestion in item.suggestions if suggestion.hit]
    recalled = set(right) & set(item.expected)
    return f"{len(recalled)} / {len(item.expected)}", f"{len(right)} / {len(item.suggestions)}"


_FEW_NOTES = 30  # below it, a slice is unreliable
_MISSES_SHOWN = 3  # for each cause
_LINES = 5  # links in an example


class _LinkView(View[schema.LinkSummaryReport, schema.LinkItemReport, schema.LinkSnapshot]):
    """Describes link runs."""

    def result(self, record: schema.LinkRunRecord) -> Text:
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
        values = {"missed": missed, "expected": expected, "wrong": wrong, "suggested": suggested}
        failures = [
            _("{wrong:,} of {suggested:,} suggestions match no removed link.", **values),
            _("Missed: {missed:,} of {expected:,} removed links.", **values),
        ]
        if missed / expected > wrong / suggested:
            failures.reverse()
        if floor := _min_confidence(record):
            failures.append(_("Confidence threshold: {floor:g}.", floor=floor))
        return joined(failures, " ")

    def steps(self, record: schema.LinkRunRecord, bad: str = "") -> Iterator[doc.Step]:
        """Yield the confidence threshold that `suggest-links` uses by default, if it changes the result."""
        del bad
        points = {point.min_confidence: point for point in record.summary.sweep}
        old, new = points.get(0.0), points.get(SHOWN_CONFIDENCE)
        if old and new and new.suggested != old.suggested and not record.summary.system:
            label = _(
                "Evaluate again with the default threshold of suggest-links, {floor:g}: precision {before} →"
                " {precision} (95% CI {interval}), recall {recall_before} → {recall}",
                floor=SHOWN_CONFIDENCE,
                before=share(old.precision),
                precision=share(new.precision),
                interval=between(new),
                recall_before=share(old.recall),
                recall=share(new.recall),
            )
            changes = {"min_confidence": SHOWN_CONFIDENCE}
            options = given_options(LinkEvalOptions, record.run.options, **changes)
            yield doc.Step(label, eval_command("links", options))

    def warnings(self, record: schema.LinkRunRecord) -> Iterator[Text]:
        if misfit := record.summary.counts.ranges_misfit:
            yield n_(
                "The range of {n} dataset row does not match its note; span accuracy leaves it out. Run generate-links"
                " again.",
                "The ranges of {n:,} dataset rows do not match their notes; span accuracy leaves them out. Run"
                " generate-links again.",
                n=misfit,
            )

    def examples(self, record: schema.LinkRunRecord) -> doc.Examples:
        missing = (item for item in record.items if item.missed)
        worst = sorted(missing, key=lambda item: (-len(item.missed), len(item.expected)))
        title = _("Notes with the most missed links")
        return doc.Examples(title, tuple(map(_example, worst[: doc.EXAMPLES])), len(worst))

    def sections(self, record: schema.LinkRunRecord, say: Translator) -> Iterator[doc.Section]:
        del say
        yield from filter(None, (_misses(record), _thresholds(record), _languages(record)))

    list_title = _("Notes")
    list_script = "link_item.js"
    list_data = staticmethod(_notes_json)

    def not_run(self, summary: schema.LinkSummaryReport) -> int:
        return summary.counts.notes_not_run


def _topk(record: schema.LinkRunRecord) -> int:
    return int(str(record.run.options["topk"]))


def _min_confidence(record: schema.LinkRunRecord) -> float:
    least = 0.0 if record.run.options.get("system") else LEAST_CONFIDENCE
    return max(float(str(record.run.options["min_confidence"])), least)


def _sums(record: schema.LinkRunRecord, name: str) -> tuple[int, int]:
    """Return the sums of a metric's numerators and denominators over all notes."""
    terms = [item.terms.get(name, (0, 0)) for item in record.items]
    return sum(over for over, _under in terms), sum(under for _over, under in terms)


def _link(anchor: str, target: str) -> str:
    return f"“{anchor}” → {target}"


def _example(item: schema.LinkItemReport) -> doc.Example:
    causes = {row.id: CAUSES[miss.cause] for row, miss in item.explained}
    missed = [
        doc.SideLine(_link(row.anchor, ", ".join(row.targets)), causes.get(row.id, ""))
        for row in item.missed
    ]
    suggested = [
        doc.SideLine(
            _link(s.anchor.text if s.anchor else "–", s.target),
            "" if s.confidence is None else doc.Proportion(s.confidence),
            "expected" if s.hit else "",
        )
        for s in item.suggestions
    ]
    expected = sum(row.wanted for row in item.expected)
    what = _("{missed} of {expected} removed links missed", missed=len(missed), expected=expected)
    sides = (
        doc.Side(_("missed"), tuple(missed[:_LINES])),
        doc.Side(_("suggested"), tuple(suggested[:_LINES])),
    )
    return doc.Example(item.note, PurePosixPath(item.note).stem, what, sides=sides)


def _misses(record: schema.LinkRunRecord) -> doc.Section | None:
    """Return the missed links by cause, each cause with its count and its first links."""
    misses = [(item.note, row, miss) for item in record.items for row, miss in item.explained]
    groups: list[doc.Group] = []
    for cause, count in record.summary.overall.misses.items():
        shown = [entry for entry in misses if entry[2].cause == cause][:_MISSES_SHOWN]
        title = _("{cause} ({count})", cause=CAUSES[cause], count=doc.more_text(len(shown), count))
        rows = (
            (
                note,
                _link(row.anchor, ", ".join(row.targets)),
                doc.Count(miss.own.place if miss.own else None),
                doc.Proportion(miss.own.confidence if miss.own else None),
                miss.instead
                and _(
                    "{link} (rank {place})",
                    link=_link(miss.instead.anchor, miss.instead.target),
                    place=miss.instead.place,
                ),
            )
            for note, row, miss in shown
        )
        groups += [doc.Group(tuple(rows), title)] if count else []
    if not groups:
        return None
    names = _("note"), _("missed link"), _("rank"), _("confidence"), _("suggested instead")
    lead = _(
        "Removed links that were not suggested. The list of notes below can show all links with one cause."
    )
    shown = doc.Table(names, tuple(groups)).filled()
    return doc.Section.closed(
        "misses", _("Missed links by cause"), doc.Prose(lead, faint=True), shown
    )


def _thresholds(record: schema.LinkRunRecord) -> doc.Section | None:
    """Return precision and recall at each threshold that leaves out more suggestions than the one before."""
    own = _min_confidence(record)
    points = {p.suggested: p for p in reversed(record.summary.sweep) if p.suggested}
    if not points:
        return None
    rows = (
        (
            f"{max(own, p.min_confidence):.2f}",
            doc.Count(p.suggested),
            doc.Proportion(p.precision),
            doc.Proportion(p.recall),
        )
        for p in reversed(points.values())
    )
    names = _("confidence threshold"), _("number of suggestions"), _("precision"), _("recall")
    caption = _(
        "Results with other values of `--min-confidence`, measured on the same links. Before you use another value,"
        " check it on other links. Only links removed for the test count as right, so every other good suggestion"
        " counts as wrong."
    )
    return doc.Section.closed(
        "thresholds", _("Results by threshold"), doc.Table.of(names, rows, caption)
    )


def _languages(record: schema.LinkRunRecord) -> doc.Section | None:
    """Return the metrics by language; None for one language, which is all notes."""
    summary = record.summary
    if len(summary.by_language) < 2:  # noqa: PLR2004
        return None
    languages = ((slice_name("language", key), part) for key, part in summary.by_language.items())
    parts = [(_("all notes"), summary.overall), *languages]
    few = any(part.notes < _FEW_NOTES for _name, part in parts)
    unreliable = _("Slices with fewer than {n} notes are unreliable.", n=_FEW_NOTES) if few else ""
    keys = keys_in("page", blocks_of("links"), _topk(record))
    shown = slice_table(parts, {_("notes"): lambda part: part.notes}, keys, unreliable)
    return doc.Section.closed("slices", _("Results by language"), shown.filled())


class LinkTask(Task[LinkEvalOptions, schema.LinkSummaryReport, schema.LinkItemReport]):
    """Evaluates link suggestions."""

    name = "links"
    options = LinkEvalOptions
    compared = schema.LinkComparison()
    view = _LinkView()

    def open(
        self, options: LinkEvalOptions, progress: Progress
    ) -> Evaluation[schema.LinkSummaryReport, schema.LinkItemReport, Any]:
        from gigamind.tasks.links.score import open_links

        return open_links(options, progress)

    def units(self, item: schema.LinkItemReport) -> list[LabelUnit]:
        """Return the suggested links of a note with a place in it; their confidence is the judged value."""
        source = (LabelSource(item.note, item.note, item.text),)
        units: list[LabelUnit] = []
        for suggestion in item.suggestions:
            anchor, confidence = suggestion.anchor, suggestion.confidence
            if anchor is None or confidence is None:
                continue
            name = f"{item.note}#{anchor.utf16_start}>{suggestion.target}"
            accepted = "accept" if confidence >= 1 / 2 else "reject"
            doubt, start, end = 1 - abs(2 * confidence - 1), anchor.utf16_start, anchor.utf16_end
            about = item.language, suggestion.target, suggestion.context
            task = LabelTask(
                name, "link", anchor.text, source, accepted, doubt, start=start, end=end
            )
            units.append(LabelUnit(name, *about, (task,), confidence, int(confidence >= 1 / 2)))
        return units

    def shortfall(self, record: schema.LinkRunRecord) -> Text | None:
        health = record.summary.system
        if health is None or not health.is_unreliable:
            return None
        return _(
            "the run file has no line for {count:,} notes ({share:.0%}). For notes without suggestions, add a line"
            " with an empty list.",
            count=health.failed,
            share=health.share,
        )

    def check(self, options: LinkEvalOptions) -> Checked:
        from gigamind.tasks.links.score import prepare_links

        prepared = prepare_links(options)
        ready = _(
            "{links:,} expected links ready to evaluate, in {notes:,} notes",
            links=sum(map(len, prepared.rows.values())),
            notes=len(prepared.rows),
        )
        hashes = prepared.dataset_hash, prepared.notes_hash
        return Checked(ready, ready, prepared.errors, prepared.checked.warnings, *hashes)
