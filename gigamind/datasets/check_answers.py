"""Holds a dataset of answers against a vault: which notes its rows mean, and what their text is."""

from dataclasses import dataclass
from pathlib import Path

from gigamind.datasets.answer_schema import AnswerItem, ContextNote
from gigamind.datasets.jsonl import Dataset
from gigamind.datasets.row_checker import RowChecker
from gigamind.datasets.row_errors import RowError
from gigamind.vault.identity import Collision, Identities
from gigamind.vault.notes import Vault


@dataclass(frozen=True, slots=True)
class GivenNote:
    """A note of the context.

    Attributes:
        path: in the vault; None for one that the row itself holds.
    """

    path: str | None
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """One answer, with the text of its notes.

    Attributes:
        line: 1-based, in the dataset's file.
    """

    item: AnswerItem
    line: int
    notes: tuple[GivenNote, ...]


@dataclass(frozen=True, slots=True)
class CheckedAnswers:
    """A dataset of answers, its notes found.

    Attributes:
        answers: usable ones in file order.
        errors: all problems of all other rows, in file order.
    """

    dataset: Dataset[AnswerItem]
    answers: tuple[CheckedAnswer, ...]
    errors: tuple[RowError, ...]
    warnings: tuple[str, ...]
    collisions: tuple[Collision, ...]


def check_answers(
    dataset: Dataset[AnswerItem], vault: Vault | None, identities: Identities
) -> CheckedAnswers:
    """Find every note of every context; without a vault, a row that names a path is an error."""
    checker = _Checker(dataset, vault or Vault(Path(), (), ()), identities)
    checker.has_vault = vault is not None
    found = [checker.check(item) for item in dataset.items]
    collisions = tuple(checker.collisions.values())
    errors = sorted((*dataset.errors, *checker.errors), key=lambda error: error.line)
    return CheckedAnswers(
        dataset=dataset,
        answers=tuple(one for one in found if one is not None),
        errors=tuple(errors),
        warnings=(*dataset.warnings, *checker.warnings, *(str(one) for one in collisions)),
        collisions=collisions,
    )


class _Checker(RowChecker[AnswerItem]):
    has_vault: bool = True

    def check(self, item: AnswerItem) -> CheckedAnswer | None:
        notes = [
            self._given(item, f"context_notes[{place}]", note)
            for place, note in enumerate(item.context_notes)
        ]
        found = [note for note in notes if note is not None]
        self._check_labels(item, len(notes))
        if len(found) < len(notes):
            return None
        return CheckedAnswer(item, self.dataset.lines[item.id], tuple(found))

    def _given(self, item: AnswerItem, name: str, note: ContextNote) -> GivenNote | None:
        if note.path is None:
            if note.text is None:
                mend = 'Write {"path": "a.md"}, or {"title": "A", "text": "..."}'
                self.reject(item, name, "neither a path nor a text", mend)
                return None
            return GivenNote(None, note.title or "", note.text)
        if not self.has_vault:
            self.reject(item, f"{name}.path", "names a note, and there is no vault", "Add --notes")
            return None
        found = self.note(item, f"{name}.path", note.path)
        if found is None:
            return None
        text = found.text if note.text is None else note.text
        return GivenNote(found.path, note.title or found.title, text)

    def _check_labels(self, item: AnswerItem, notes: int) -> None:
        labels = item.labels
        for place, claim in enumerate(labels.claims if labels else ()):
            if claim.note is not None and claim.note > notes:
                told = f"names note {claim.note} of {notes}; it is not used"
                self.warn(item, f"labels.claims[{place}].note", told)
