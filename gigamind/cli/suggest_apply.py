"""Writes suggested links into notes, asked about one by one or all at once, and takes them out again."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from gigamind.cli.errors import show_error
from gigamind.cli.suggestions import Suggested, place_of
from gigamind.errors import InputError, NotesError
from gigamind.linking.apply import InPlaceWriter, write_copy
from gigamind.linking.insertion import Insertion, LinkedNote, insert
from gigamind.linking.link_text import LinkWriter
from gigamind.linking.undo import undo
from gigamind.text import printable
from gigamind.vault.notes import Note, Vault
from gigamind.wording import Words, counted

_AROUND = 60  # code points of its line on either side of a link that is asked about
# With what the same keys give on a Korean keyboard.
_ANSWERS = {"y": "y", "n": "n", "a": "a", "q": "q", "ㅛ": "y", "ㅜ": "n", "ㅁ": "a", "ㅂ": "q"}


def check_terminal() -> None:
    """See to it that somebody can be asked.

    Raises:
        InputError: standard input is no terminal.
    """
    if not sys.stdin.isatty():
        raise InputError(
            "each link is asked about, and there is no terminal to ask at."
            " Give --yes, which writes names from --min-confidence on, and with --phrases phrases, too."
        )


def into_copy(
    every: Sequence[Suggested],
    vault: Vault,
    writer: LinkWriter,
    out: Path,
    say: Words,
    *,
    yes: bool,
) -> None:
    """Write a copy of the vault with the links.

    Raises:
        NotesError: notes were changed meanwhile, so that they are in the copy without links; or nothing can be copied.
    """
    linked = list(_accepted(every, writer, say, yes=yes))
    if not linked:
        click.echo(say("suggest.no_copy"))
        return
    written, problems = write_copy(vault, out, linked)
    click.echo(_told("copied", written, say, copy=out, vault=vault.root))
    _end(problems)


def in_place(
    every: Sequence[Suggested], vault: Vault, writer: LinkWriter, say: Words, *, yes: bool
) -> None:
    """Write the links into the notes of the vault, each note as soon as all of its links are decided on.

    Raises:
        NotesError: notes were changed meanwhile, or cannot be written; the others are.
        UnwrittenError: the undo file cannot be written, and with it no more notes.
    """
    written: list[LinkedNote] = []
    problems: list[NotesError] = []
    with InPlaceWriter(vault) as notes:
        try:
            for linked in _accepted(every, writer, say, yes=yes):
                try:
                    notes.write(linked)
                except NotesError as error:
                    problems.append(error)
                else:
                    written.append(linked)
        finally:  # also when it is interrupted
            click.echo(_told("wrote", written, say) if written else say("suggest.wrote_nothing"))
            if written and notes.undo_file:
                command = f"gigamind suggest-links --undo {shlex.quote(str(notes.undo_file))}"
                click.echo(say("suggest.undo", command=command))
    _end(problems)


def undone(file: Path, say: Words) -> None:
    """Take the links of an undo file out again.

    Raises:
        InputError: it is no undo file.
        NotesError: notes were changed since; the others are restored.
    """
    result = undo(file)
    notes = counted(len(result.restored), "note", "notes", say)
    others = len(result.untouched)
    click.echo(
        say("suggest.restored_some" if others else "suggest.restored", notes=notes, others=others)
    )
    _end(result.problems)


def _told(key: str, written: Sequence[LinkedNote], say: Words, **values: object) -> str:
    links = sum(len(linked.insertions) for linked in written)
    return say(
        f"suggest.{key}",
        links=counted(links, "link", "links", say),
        notes=counted(len(written), "note", "notes", say),
        **values,
    )


def _end(problems: Sequence[NotesError]) -> None:
    if problems:
        raise NotesError("\n".join(map(str, problems)))


def _accepted(
    every: Sequence[Suggested], writer: LinkWriter, say: Words, *, yes: bool
) -> Iterator[LinkedNote]:
    """The notes that get links, one after the other; what cannot be written is told, and not asked about."""
    questions = _Questions(sum(len(suggested.suggestions) for suggested in every), say, yes=yes)
    for note, suggestions in every:
        if not suggestions:
            continue
        linked = insert(note, suggestions, writer)
        for refusal in linked.refusals:
            suggestion = refusal.suggestion
            place = place_of(suggestion, note)
            why = say(f"no_link.{refusal.why}", target=suggestion.target)
            sentence = say("suggest.refused", place=place, anchor=suggestion.anchor, why=why)
            click.echo(printable(sentence), err=True)
        questions.done += len(linked.refusals)
        wanted = [
            insertion for insertion in linked.insertions if questions.accepts(note, insertion)
        ]
        if len(wanted) < len(linked.insertions):
            linked = insert(note, [insertion.suggestion for insertion in wanted], writer)
        if linked.insertions:
            yield linked
        if questions.ended:
            return


class _Questions:
    """Asks about one link after the other, until the answer is for all that follow.

    Attributes:
        done: how many suggestions were decided on.
        ended: no more links are wanted.
    """

    def __init__(self, total: int, say: Words, *, yes: bool) -> None:
        self.done = 0
        self.ended = False
        self._total = total
        self._yes = yes
        self._say = say

    def accepts(self, note: Note, insertion: Insertion) -> bool:
        """Whether a link is to be written."""
        self.done += 1
        if self._yes or self.ended:
            return self._yes
        self._show(note, insertion)
        answer = self._asked()
        self._yes, self.ended = answer == "a", answer == "q"
        return answer in {"y", "a"}

    def _show(self, note: Note, insertion: Insertion) -> None:
        suggestion, span = insertion.suggestion, insertion.span
        line = max(note.text.rfind("\n", 0, span.start) + 1, note.document.body_start)
        left = note.text[max(line, span.start - _AROUND) : span.start]
        right = note.text[span.end : span.end + _AROUND].split("\n", 1)[0]
        context = (
            printable(left) + click.style(printable(insertion.link), bold=True) + printable(right)
        )
        place = place_of(suggestion, note)
        question = self._say(
            "suggest.question",
            anchor=printable(suggestion.anchor),
            target=printable(suggestion.target),
            confidence=suggestion.confidence_text,
            reason=printable(suggestion.reason),
        )
        counted_place = self._say("suggest.place", place=place, number=self.done, total=self._total)
        click.echo(f"\n{counted_place}\n  {context.strip()}\n  {question}", err=True)

    def _asked(self) -> str:
        while True:
            typed = click.prompt(f"  {self._say('suggest.ask')}", err=True)
            if answer := _ANSWERS.get(typed.strip().lower()[:1]):
                return answer
            show_error(self._say("suggest.answers"), self._say.language)
