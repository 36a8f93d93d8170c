"""How suggested links are shown: of one note, as a summary of a vault, and as JSON for editors."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from gigamind.cli.documents import NoteDocument, RangeDocument, SuggestionDocument
from gigamind.linking.insertion import line_of
from gigamind.linking.link_text import LinkWriter
from gigamind.linking.suggest import LinkSuggestion
from gigamind.records.folder import as_json as text_of
from gigamind.spans import Utf16
from gigamind.text import printable
from gigamind.vault.notes import Note

_SUREST, _TARGETS = 20, 10


class Suggested(NamedTuple):
    """The suggestions of one note, the most confident first."""

    note: Note
    suggestions: list[LinkSuggestion]


def count_of(number: int, what: str) -> str:
    """Such as "1 link", "2 links"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def note_text(suggested: Suggested, writer: LinkWriter) -> str:
    """The suggestions of one note, as the document's example 10.4 has them."""
    note, suggestions = suggested
    if not suggestions:
        return "No link suggestions."
    units = Utf16(note.text)
    parts = [f"Found {count_of(len(suggestions), 'link suggestion')}:"]
    for number, suggestion in enumerate(suggestions, start=1):
        start, end = units.span_from_code_points(suggestion.span)
        parts.append(
            f"{number}. {_arrow(suggestion, writer)}\n"
            f"   Position: {start}-{end}, Confidence: {suggestion.confidence:.2f}\n"
            f"   Reason: {printable(suggestion.reason)}\n"
            f"   Scores: {_scores(suggestion)}"
        )
    return "\n\n".join(parts)


def _scores(suggestion: LinkSuggestion) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in suggestion.scores._asdict().items())


def vault_text(every: Sequence[Suggested], writer: LinkWriter) -> str:
    """All suggestions, note by note."""
    parts = (f"# {printable(one.note.path)}\n{note_text(one, writer)}" for one in _having(every))
    return "\n\n".join((_headline(every), *parts))


def summary(every: Sequence[Suggested], writer: LinkWriter) -> str:
    """How many suggestions there are, the surest, and which notes are suggested most."""
    rows = [(note, suggestion) for note, suggestions in every for suggestion in suggestions]
    rows.sort(key=lambda row: (-row[1].confidence, row[0].path, row[1].span))
    lines = [_headline(every)]
    if rows:
        lines.append("\nThe surest:")
    for note, suggestion in rows[:_SUREST]:
        place = f"{printable(note.path)}:{line_of(note, suggestion.span)}"
        lines += [
            f"  {suggestion.confidence:.2f}  {place}: {_arrow(suggestion, writer)}",
            f"        {printable(suggestion.reason)}",
        ]
    targets = Counter(suggestion.target for _, suggestion in rows)
    if len(targets) < len(rows):
        lines.append("\nSuggested most:")
        lines += [
            f"  {number:4}  [[{printable(writer.name(target))}]]"
            for target, number in targets.most_common(_TARGETS)
        ]
    return "\n".join(lines)


def as_json(every: Sequence[Suggested]) -> list[str]:
    """One line of JSON a note that has suggestions."""
    return [text_of(note_document(one)) for one in _having(every)]


def note_document(suggested: Suggested) -> NoteDocument:
    """The suggestions of a note; ranges count UTF-16 code units."""
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


def _having(every: Sequence[Suggested]) -> list[Suggested]:
    return [one for one in every if one.suggestions]


def _headline(every: Sequence[Suggested]) -> str:
    total = sum(len(one.suggestions) for one in every)
    return f"{count_of(total, 'link suggestion')} in {len(_having(every))} of {count_of(len(every), 'note')}."


def _arrow(suggestion: LinkSuggestion, writer: LinkWriter) -> str:
    return f'"{printable(suggestion.anchor)}" → [[{printable(writer.name(suggestion.target))}]]'
