"""Writes suggested links into notes, asked about one by one or all at once, and takes them out again."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from gigamind.cli.suggestions import Suggested, count_of
from gigamind.errors import InputError, NotesError
from gigamind.linking.apply import InPlaceWriter, write_copy
from gigamind.linking.insertion import Insertion, LinkedNote, insert, line_of
from gigamind.linking.link_text import LinkWriter
from gigamind.linking.undo import undo
from gigamind.text import printable
from gigamind.vault.notes import Note, Vault

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
            " Give --yes, which writes all from --min-confidence on."
        )


def into_copy(
    every: Sequence[Suggested], vault: Vault, writer: LinkWriter, out: Path, *, yes: bool
) -> None:
    """Write a copy of the vault with the links.

    Raises:
        NotesError: notes were changed meanwhile, so that they are in the copy without links; or nothing can be copied.
    """
    linked = list(_accepted(every, writer, yes=yes))
    if not linked:
        click.echo("No link was written, so there is no copy.")
        return
    written, problems = write_copy(vault, out, linked)
    click.echo(f"{_links_in(written)}, in the copy {out}. The vault {vault.root} is as it was.")
    _end(problems)


def in_place(every: Sequence[Suggested], vault: Vault, writer: LinkWriter, *, yes: bool) -> None:
    """Write the links into the notes of the vault, each note as soon as all of its links are decided on.

    Raises:
        NotesError: notes were changed meanwhile, or cannot be written; the others are.
        UnwrittenError: the undo file cannot be written, and with it no more notes.
    """
    written: list[LinkedNote] = []
    problems: list[NotesError] = []
    with InPlaceWriter(vault) as notes:
        try:
            for linked in _accepted(every, writer, yes=yes):
                try:
                    notes.write(linked)
                except NotesError as error:
                    problems.append(error)
                else:
                    written.append(linked)
        finally:  # also when it is interrupted
            click.echo(f"{_links_in(written)}." if written else "No link was written.")
            if written and notes.undo_file:
                click.echo(
                    f"To undo: gigamind suggest-links --undo {shlex.quote(str(notes.undo_file))}"
                )
    _end(problems)


def undone(file: Path) -> None:
    """Take the links of an undo file out again.

    Raises:
        InputError: it is no undo file.
        NotesError: notes were changed since; the others are restored.
    """
    result = undo(file)
    already = f"; {len(result.untouched)} had no links of it" if result.untouched else ""
    click.echo(f"Restored {count_of(len(result.restored), 'note')}{already}.")
    _end(result.problems)


def _links_in(written: Sequence[LinkedNote]) -> str:
    links = sum(len(linked.insertions) for linked in written)
    return f"Wrote {count_of(links, 'link')} into {count_of(len(written), 'note')}"


def _end(problems: Sequence[NotesError]) -> None:
    if problems:
        raise NotesError("\n".join(map(str, problems)))


def _accepted(every: Sequence[Suggested], writer: LinkWriter, *, yes: bool) -> Iterator[LinkedNote]:
    """The notes that get links, one after the other; what cannot be written is told, and not asked about."""
    questions = _Questions(sum(len(one.suggestions) for one in every), yes=yes)
    for note, suggestions in every:
        if not suggestions:
            continue
        linked = insert(note, suggestions, writer)
        for refusal in linked.refusals:
            place = f"{note.path}:{line_of(note, refusal.suggestion.span)}"
            what = printable(
                f'{place}: "{refusal.suggestion.anchor}" becomes no link: {refusal.why}'
            )
            click.echo(what, err=True)
        questions.done += len(linked.refusals)
        wanted = [one for one in linked.insertions if questions.accepts(note, one)]
        if len(wanted) < len(linked.insertions):
            linked = insert(note, [one.suggestion for one in wanted], writer)
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

    def __init__(self, total: int, *, yes: bool) -> None:
        self.done = 0
        self.ended = False
        self._total = total
        self._yes = yes

    def accepts(self, note: Note, insertion: Insertion) -> bool:
        """Whether a link is to be written."""
        self.done += 1
        if self._yes or self.ended:
            return self._yes
        self._show(note, insertion)
        answer = click.prompt(
            "  Write it? (y)es, (n)o, (a)ll from here, (q)uit", err=True, value_proc=_answer
        )
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
        place = f"{note.path}:{line_of(note, span)}"
        click.echo(
            f"\n{printable(place)} ({self.done} of {self._total})\n"
            f"  {context.strip()}\n"
            f'  "{printable(suggestion.anchor)}" → {printable(suggestion.target)},'
            f" confidence {suggestion.confidence:.2f}: {printable(suggestion.reason)}",
            err=True,
        )


def _answer(typed: str) -> str:
    answer = _ANSWERS.get(typed.strip().lower()[:1])
    if answer is None:
        raise click.BadParameter("type y, n, a or q")
    return answer
