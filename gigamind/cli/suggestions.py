"""Suggested links: as text and JSON, written into notes after confirmation or all at once, and removed again."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click
from pydantic import Field

from gigamind.cli.output import (
    call_translator,
    print_line,
    show_error,
    show_result,
    translated,
)
from gigamind.datasets.write import write_lines
from gigamind.errors import NotesError
from gigamind.i18n import Message, Text, _, joined, n_
from gigamind.linking.apply import InPlaceWriter, undo, write_copy
from gigamind.linking.features import MeantFeatures, NamedFeatures
from gigamind.linking.insertion import Insertion, LinkedNote, LinkWriter
from gigamind.linking.suggest import LinkSuggestion
from gigamind.records.folder import as_json as text_of
from gigamind.records.judged import Report
from gigamind.spans import Utf16
from gigamind.text import printable
from gigamind.vault.notes import Note, Vault

_MAX_SUGGESTIONS = 20
_SCORES = {"mention": _("mention"), "context": _("context"), "centrality": _("centrality")}


class RangeDocument(Report):
    """A half-open range of UTF-16 code units in a note's file."""

    start: int
    end: int


class SuggestionDocument(Report):
    """One suggested link of a note."""

    anchor: str
    anchor_range: RangeDocument
    suggested_target: str
    target_title: str
    confidence: float = Field(ge=0, le=1)
    reason: Text
    context: str
    scores: dict[str, float]
    features: NamedFeatures | MeantFeatures


class NoteDocument(Report):
    """The suggestions of one note, highest confidence first."""

    note: str
    suggestions: tuple[SuggestionDocument, ...]


class Suggested(NamedTuple):
    """The suggestions of one note, the most confident first."""

    note: Note
    suggestions: list[LinkSuggestion]


def show_suggestions(
    all_suggested: Sequence[Suggested],
    writer: LinkWriter,
    out: Path | None,
    *,
    every: bool,
    names_first: bool,
) -> None:
    """Print the suggestions of one note, or of `every` note their summary; with `out`, write them to this file."""
    documents = [_note_document(suggested) for suggested in all_suggested]

    def show() -> None:
        if not every:
            click.echo(_note_text(all_suggested[0], writer))
            return
        where = _("For all suggestions by note, add --out FILE.md (or .jsonl).")
        if out:
            lines = [text_of(document) for document in documents if document.suggestions]
            if out.suffix == ".md":
                lines = [_vault_text(all_suggested, writer)]
            write_lines(out, lines)
            where = _("All suggestions: {file}", file=out)
        click.echo(_summary(all_suggested, writer, names_first=names_first))
        click.echo(f"\n{translated(where)}")

    show_result(documents if every else documents[0], show)


def _note_text(suggested: Suggested, writer: LinkWriter) -> str:
    """Return the suggestions of one note as in example 10.4 of the specification."""
    note, suggestions = suggested
    if not suggestions:
        return translated(_("No link suggestions."))
    parts = [translated(_("Found {suggestions}:", suggestions=_suggestion_count(len(suggestions))))]
    for number, suggestion in enumerate(suggestions, start=1):
        place, confidence = _place_of(suggestion, note), suggestion.confidence_text
        lines = (
            f"{number}. {_arrow(suggestion, note, writer)}",
            translated(
                _("Position: {place}, Confidence: {confidence}", place=place, confidence=confidence)
            ),
            printable(translated(_("Reason: {reason}", reason=suggestion.reason))),
            translated(_("Scores: {scores}", scores=_scores(suggestion))),
        )
        parts.append("\n   ".join(lines))
    return "\n\n".join(parts)


def _place_of(suggestion: LinkSuggestion, note: Note) -> str:
    """Return file and line of a suggestion, in the form that terminals and editors open."""
    line = note.text.count("\n", 0, suggestion.span.start) + 1
    return f"{printable(note.path)}:{line}"


def _scores(suggestion: LinkSuggestion) -> str:
    scores = suggestion.scores._asdict().items()
    return ", ".join(f"{translated(_SCORES[name])} {value:.2f}" for name, value in scores)


def _vault_text(every: Sequence[Suggested], writer: LinkWriter) -> str:
    """Return all suggestions, note by note."""
    parts = (
        f"# {printable(suggested.note.path)}\n{_note_text(suggested, writer)}"
        for suggested in _with_suggestions(every)
    )
    return "\n\n".join((_headline(every), *parts))


def _summary(every: Sequence[Suggested], writer: LinkWriter, *, names_first: bool = False) -> str:
    """Return the number of suggestions and those with the highest confidence.

    With `names_first`, names come before phrases, because the confidence of phrases is not calibrated.
    """
    rows = [(note, suggestion) for note, suggestions in every for suggestion in suggestions]
    rows.sort(key=lambda row: (-row[1].confidence, row[0].path, row[1].span))
    rows.sort(key=lambda row: names_first and row[1].is_phrase)  # stable
    lines = [_headline(every)]
    if rows:
        lines += ["", translated(_("Suggestions with the highest confidence:"))]
    for note, suggestion in rows[:_MAX_SUGGESTIONS]:
        place = _place_of(suggestion, note)
        lines += [
            f"  {suggestion.confidence_text}  {place}: {_arrow(suggestion, note, writer)}",
            f"        {printable(translated(suggestion.reason))}",
        ]
    return "\n".join(lines)


def _note_document(suggested: Suggested) -> NoteDocument:
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


def _headline(every: Sequence[Suggested]) -> str:
    shown = [entry.is_phrase for suggested in every for entry in suggested.suggestions]
    suggestions, having = _suggestion_count(len(shown)), len(_with_suggestions(every))
    notes = n_("{n} note", "{n:,} notes", n=len(every))
    return translated(
        _(
            "{suggestions} in {having:,} of {notes}, {share:.1%} by meaning.",
            suggestions=suggestions,
            having=having,
            notes=notes,
            share=sum(shown) / max(1, len(shown)),
        )
    )


def _suggestion_count(count: int) -> Message:
    return n_("{n} link suggestion", "{n:,} link suggestions", n=count)


def _arrow(suggestion: LinkSuggestion, note: Note, writer: LinkWriter) -> str:
    place = writer.place(suggestion.target, note.path)
    return f'"{printable(suggestion.anchor)}" → {printable(place)}'


_CONTEXT_CHARS = 60  # code points of its line on either side of a link
# The second four are the same keys on a Korean keyboard.
_REFUSALS = {
    "no_text": _("this text is in code, a heading, a link, HTML, math or a comment"),
    "address": _("this text is part of an address or a tag"),
    "brackets": _(
        "this text is in or right after brackets, so some programs would read both as one link"
    ),
    "overlaps": _("this text overlaps another suggestion"),
    "otherwise": _("a link here would change the surrounding Markdown, such as bold text"),
}
_ANSWERS = {"y": "y", "n": "n", "a": "a", "q": "q", "ㅛ": "y", "ㅜ": "n", "ㅁ": "a", "ㅂ": "q"}


def write_links(
    every: Sequence[Suggested], vault: Vault, writer: LinkWriter, copy: Path | None, *, yes: bool
) -> None:
    """Write the links into a copy of the vault; without `copy` into its notes, each once its links are decided.

    Raises:
        NotesError: the vault cannot be copied, or some notes changed meanwhile or cannot be written.
        UnwrittenError: the undo file cannot be written; no further notes are written.
    """
    accepted = _accepted(every, writer, yes=yes)
    written: list[LinkedNote] = []
    problems: list[NotesError] = []
    if copy:
        linked = list(accepted)
        if not linked:
            print_line(_("No link was added, so no copy was written."))
            return
        added, problems = write_copy(vault, copy, linked)
        unchanged = _(
            "The links are in the copy {copy}. The vault {vault} is unchanged.",
            copy=copy,
            vault=vault.root,
        )
        print_line(joined((_added(added), unchanged), " "))
        _end(problems)
        return
    with InPlaceWriter(vault) as notes:
        try:
            for linked in accepted:
                try:
                    notes.write(linked)
                except NotesError as error:
                    problems.append(error)
                else:
                    written.append(linked)
        finally:  # also after an interruption
            print_line(_added(written) if written else _("No link was added."))
            if written and notes.undo_file:
                command = f"gigamind suggest-links --undo {shlex.quote(str(notes.undo_file))}"
                print_line(_("To undo: {command}", command=command))
    _end(problems)


def undone(file: Path) -> None:
    """Remove the links of an undo file.

    Raises:
        InputError: the file is not an undo file.
        NotesError: some notes changed since; the others are restored.
    """
    result = undo(file)
    line = n_("Restored {n} note.", "Restored {n:,} notes.", n=len(result.restored))
    if result.untouched:
        others = n_(
            "{n} other note was already without these links.",
            "{n:,} other notes were already without these links.",
            n=len(result.untouched),
        )
        line = joined((line, others), " ")
    print_line(line)
    _end(result.problems)


def _added(written: Sequence[LinkedNote]) -> Message:
    links = sum(len(linked.insertions) for linked in written)
    notes = n_("{n} note", "{n:,} notes", n=len(written))
    return n_("Added {n} link in {notes}.", "Added {n:,} links in {notes}.", n=links, notes=notes)


def _end(problems: Sequence[NotesError]) -> None:
    if problems:
        raise NotesError(joined((problem.message for problem in problems), "\n"))


def _accepted(every: Sequence[Suggested], writer: LinkWriter, *, yes: bool) -> Iterator[LinkedNote]:
    """Yield the notes that get links; suggestions that cannot be written are reported and skipped."""
    questions = _Questions(sum(len(suggested.suggestions) for suggested in every), yes)
    for note, suggestions in every:
        if not suggestions:
            continue
        linked = LinkedNote.of(note, suggestions, writer)
        for refusal in linked.refusals:
            suggestion = refusal.suggestion
            reason = _REFUSALS.get(refusal.why) or _(
                "no link with this text leads to {target} and to no other note",
                target=suggestion.target,
            )
            line = _(
                '{place}: "{anchor}" cannot be linked: {reason}.',
                place=_place_of(suggestion, note),
                anchor=suggestion.anchor,
                reason=reason,
            )
            click.echo(printable(translated(line)), err=True)
        questions.done += len(linked.refusals)
        wanted = [
            insertion for insertion in linked.insertions if questions.accepts(note, insertion)
        ]
        if len(wanted) < len(linked.insertions):
            linked = LinkedNote.of(note, [insertion.suggestion for insertion in wanted], writer)
        if linked.insertions:
            yield linked
        if questions.ended:
            return


@dataclass
class _Questions:
    """Ask about one link after the other, until an answer covers the rest."""

    total: int
    yes: bool
    done: int = 0
    ended: bool = False

    def accepts(self, note: Note, insertion: Insertion) -> bool:
        self.done += 1
        if self.yes or self.ended:
            return self.yes
        self._show(note, insertion)
        answer = self._ask()
        self.yes, self.ended = answer == "a", answer == "q"
        return answer in {"y", "a"}

    def _show(self, note: Note, insertion: Insertion) -> None:
        suggestion, span = insertion.suggestion, insertion.span
        line = max(note.text.rfind("\n", 0, span.start) + 1, note.document.body_start)
        left = note.text[max(line, span.start - _CONTEXT_CHARS) : span.start]
        right = note.text[span.end : span.end + _CONTEXT_CHARS].split("\n", 1)[0]
        link = click.style(printable(insertion.link), bold=True)
        context = printable(left) + link + printable(right)
        place = _place_of(suggestion, note)
        question = _(
            '"{anchor}" → {target}, confidence {confidence}: {reason}',
            anchor=printable(suggestion.anchor),
            target=printable(suggestion.target),
            confidence=suggestion.confidence_text,
            reason=suggestion.reason,
        )
        where = _(
            "{place} (suggestion {n:,} of {total:,})", place=place, n=self.done, total=self.total
        )
        lines = (translated(where), context.strip(), printable(translated(question)))
        click.echo("\n" + "\n  ".join(lines), err=True)

    def _ask(self) -> str:
        prompt = translated(_("Add this link? (y)es, (n)o, (a)ll remaining, (q)uit"))
        while True:
            typed = click.prompt(f"  {prompt}", err=True)
            if answer := _ANSWERS.get(typed.strip().lower()[:1]):
                return answer
            show_error(_("Type y, n, a or q."), call_translator().language)
