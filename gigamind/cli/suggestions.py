"""Suggested links as text: of one note, as a summary of a vault, and as JSON for editors."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from gigamind.cli.documents import NoteDocument, RangeDocument, SuggestionDocument
from gigamind.i18n import Message, Translator, _, n_
from gigamind.linking.link_text import LinkWriter
from gigamind.linking.suggest import LinkSuggestion
from gigamind.records.folder import as_json as text_of
from gigamind.spans import Utf16
from gigamind.text import printable
from gigamind.vault.notes import Note

_MAX_SUGGESTIONS, _MAX_TARGETS = 20, 10
_SCORES = {"mention": _("mention"), "context": _("context"), "centrality": _("centrality")}


class Suggested(NamedTuple):
    """The suggestions of one note, the most confident first."""

    note: Note
    suggestions: list[LinkSuggestion]


def note_text(suggested: Suggested, writer: LinkWriter, say: Translator) -> str:
    """Return the suggestions of one note as in example 10.4 of the seed."""
    note, suggestions = suggested
    if not suggestions:
        return say(_("No link suggestions."))
    count = _suggestion_count(len(suggestions))
    parts = [say(_("Found {suggestions}:", suggestions=count))]
    for number, suggestion in enumerate(suggestions, start=1):
        place, confidence = place_of(suggestion, note), suggestion.confidence_text
        lines = (
            f"{number}. {_arrow(suggestion, note, writer)}",
            say(
                _("Position: {place}, Confidence: {confidence}", place=place, confidence=confidence)
            ),
            printable(say(_("Reason: {reason}", reason=suggestion.reason))),
            say(_("Scores: {scores}", scores=_scores(suggestion, say))),
        )
        parts.append("\n   ".join(lines))
    return "\n\n".join(parts)


def place_of(suggestion: LinkSuggestion, note: Note) -> str:
    """Return file and line of a suggestion, in the form that terminals and editors open."""
    line = note.text.count("\n", 0, suggestion.span.start) + 1
    return f"{printable(note.path)}:{line}"


def _scores(suggestion: LinkSuggestion, say: Translator) -> str:
    scores = suggestion.scores._asdict().items()
    return ", ".join(f"{say(_SCORES[name])} {value:.2f}" for name, value in scores)


def vault_text(every: Sequence[Suggested], writer: LinkWriter, say: Translator) -> str:
    """Return all suggestions, note by note."""
    parts = (
        f"# {printable(suggested.note.path)}\n{note_text(suggested, writer, say)}"
        for suggested in _with_suggestions(every)
    )
    return "\n\n".join((_headline(every, say), *parts))


def summary(
    every: Sequence[Suggested], writer: LinkWriter, say: Translator, *, names_first: bool = False
) -> str:
    """Return the number of suggestions, those with the highest confidence, and the most suggested notes.

    With `names_first`, names come before phrases, because the confidence of phrases is not calibrated.
    """
    rows = [(note, suggestion) for note, suggestions in every for suggestion in suggestions]
    rows.sort(key=lambda row: (-row[1].confidence, row[0].path, row[1].span))
    rows.sort(key=lambda row: names_first and row[1].is_phrase)  # stable
    lines = [_headline(every, say)]
    if rows:
        lines += ["", say(_("Suggestions with the highest confidence:"))]
    for note, suggestion in rows[:_MAX_SUGGESTIONS]:
        place = place_of(suggestion, note)
        lines += [
            f"  {suggestion.confidence_text}  {place}: {_arrow(suggestion, note, writer)}",
            f"        {printable(say(suggestion.reason))}",
        ]
    targets = Counter(suggestion.target for _note, suggestion in rows)
    often = [(target, number) for target, number in targets.most_common(_MAX_TARGETS) if number > 1]
    if often:
        lines += ["", say(_("Notes suggested most often as a link target:"))]
        lines += [
            f"  {number:4}  {printable(writer.place(target, ''))}" for target, number in often
        ]
    return "\n".join(lines)


def as_json(every: Sequence[Suggested]) -> list[str]:
    """Return one line of JSON for each note with suggestions."""
    return [text_of(note_document(suggested)) for suggested in _with_suggestions(every)]


def note_document(suggested: Suggested) -> NoteDocument:
    """Return the suggestions of a note; ranges count UTF-16 code units."""
    note, suggestions = suggested
    units = Utf16(note.text)
    rows: list[SuggestionDocument] = []
    for suggestion in suggestions:
        start, end = units.span_from_code_points(suggestion.span)
        rows.append(
            SuggestionDocument.like(
                suggestion,
                anchor_range=RangeDocument(start=start, end=end),
                suggested_target=suggestion.target,
                scores=suggestion.scores._asdict(),
            )
        )
    return NoteDocument(note=note.path, suggestions=tuple(rows))


def _with_suggestions(every: Sequence[Suggested]) -> list[Suggested]:
    return [suggested for suggested in every if suggested.suggestions]


def _headline(every: Sequence[Suggested], say: Translator) -> str:
    total = sum(len(suggested.suggestions) for suggested in every)
    suggestions, having = _suggestion_count(total), len(_with_suggestions(every))
    notes = n_("{n} note", "{n:,} notes", n=len(every))
    return say(
        _(
            "{suggestions} in {having:,} of {notes}.",
            suggestions=suggestions,
            having=having,
            notes=notes,
        )
    )


def _suggestion_count(count: int) -> Message:
    return n_("{n} link suggestion", "{n:,} link suggestions", n=count)


def _arrow(suggestion: LinkSuggestion, note: Note, writer: LinkWriter) -> str:
    place = writer.place(suggestion.target, note.path)
    return f'"{printable(suggestion.anchor)}" → {printable(place)}'
