"""How suggested links are shown: of one note, as a summary of a vault, and as JSON for editors."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from gigamind.cli.documents import NoteDocument, RangeDocument, SuggestionDocument
from gigamind.linking.link_text import LinkWriter
from gigamind.linking.suggest import LinkSuggestion
from gigamind.records.folder import as_json as text_of
from gigamind.spans import Utf16
from gigamind.text import printable
from gigamind.vault.notes import Note
from gigamind.wording import Words, counted

_SUREST, _TARGETS = 20, 10


class Suggested(NamedTuple):
    """The suggestions of one note, the most confident first."""

    note: Note
    suggestions: list[LinkSuggestion]


def note_text(suggested: Suggested, writer: LinkWriter, say: Words) -> str:
    """The suggestions of one note, as the document's example 10.4 has them."""
    note, suggestions = suggested
    if not suggestions:
        return say("suggest.nothing")
    count = counted(len(suggestions), "suggestion", "suggestions", say)
    parts = [say("suggest.found", suggestions=count)]
    for number, suggestion in enumerate(suggestions, start=1):
        confidence = suggestion.confidence_text
        lines = (
            f"{number}. {_arrow(suggestion, note, writer)}",
            say("suggest.position", place=place_of(suggestion, note), confidence=confidence),
            say("suggest.reason", reason=printable(suggestion.reason)),
            say("suggest.scores", scores=_scores(suggestion, say)),
        )
        parts.append("\n   ".join(lines))
    return "\n\n".join(parts)


def place_of(suggestion: LinkSuggestion, note: Note) -> str:
    """The file and the line where its words begin, as terminals and editors open them."""
    line = note.text.count("\n", 0, suggestion.span.start) + 1
    return f"{printable(note.path)}:{line}"


def _scores(suggestion: LinkSuggestion, say: Words) -> str:
    scores = suggestion.scores._asdict().items()
    return ", ".join(f"{say(f'suggest.{name}')} {value:.2f}" for name, value in scores)


def vault_text(every: Sequence[Suggested], writer: LinkWriter, say: Words) -> str:
    """All suggestions, note by note."""
    parts = (
        f"# {printable(suggested.note.path)}\n{note_text(suggested, writer, say)}"
        for suggested in _having(every)
    )
    return "\n\n".join((_headline(every, say), *parts))


def summary(
    every: Sequence[Suggested], writer: LinkWriter, say: Words, *, names_first: bool = False
) -> str:
    """How many suggestions there are, the surest, and which notes are suggested most.

    Args:
        names_first: among the surest: where nothing tells what a confidence of phrases is worth.
    """
    rows = [(note, suggestion) for note, suggestions in every for suggestion in suggestions]
    rows.sort(
        key=lambda row: (
            names_first and row[1].is_phrase,
            -row[1].confidence,
            row[0].path,
            row[1].span,
        )
    )
    lines = [_headline(every, say)]
    if rows:
        lines.append(f"\n{say('suggest.surest')}")
    for note, suggestion in rows[:_SUREST]:
        place = place_of(suggestion, note)
        lines += [
            f"  {suggestion.confidence_text}  {place}: {_arrow(suggestion, note, writer)}",
            f"        {printable(suggestion.reason)}",
        ]
    targets = Counter(suggestion.target for _, suggestion in rows)
    often = [(target, number) for target, number in targets.most_common(_TARGETS) if number > 1]
    if often:
        lines.append(f"\n{say('suggest.most')}")
        lines += [
            f"  {number:4}  {printable(writer.place(target, ''))}" for target, number in often
        ]
    return "\n".join(lines)


def as_json(every: Sequence[Suggested]) -> list[str]:
    """One line of JSON a note that has suggestions."""
    return [text_of(note_document(suggested)) for suggested in _having(every)]


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
    return [suggested for suggested in every if suggested.suggestions]


def _headline(every: Sequence[Suggested], say: Words) -> str:
    total = sum(len(suggested.suggestions) for suggested in every)
    return say(
        "suggest.in_vault",
        suggestions=counted(total, "suggestion", "suggestions", say),
        having=len(_having(every)),
        notes=counted(len(every), "note", "notes", say),
    )


def _arrow(suggestion: LinkSuggestion, note: Note, writer: LinkWriter) -> str:
    place = writer.place(suggestion.target, note.path)
    return f'"{printable(suggestion.anchor)}" → {printable(place)}'
