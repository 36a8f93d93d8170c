"""Check answers, and questions to be answered, against a vault: find the notes of their contexts."""

from dataclasses import dataclass

from gigamind.datasets.check import NO_VAULT, CheckedRows, RowChecker
from gigamind.datasets.jsonl import Dataset
from gigamind.datasets.schema import ContextNote, QuestionItem
from gigamind.i18n import _
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault


@dataclass(frozen=True, slots=True)
class GivenNote:
    """A note of the context."""

    path: str | None  # in the vault; None if the row itself contains the text
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """An answer, or a question to be answered, with the text of its notes."""

    item: QuestionItem
    line: int  # 1-based, in the dataset's file
    notes: tuple[GivenNote, ...]

    @property
    def answer(self) -> str:
        """Return the answer; empty for a question to be answered."""
        return self.item.answer or ""


@dataclass(frozen=True, slots=True)
class CheckedAnswers(CheckedRows[QuestionItem]):
    """A dataset of answers with its notes found."""

    answers: tuple[CheckedAnswer, ...]


def check_answers(
    dataset: Dataset[QuestionItem],
    vault: Vault | None,
    identities: Identities,
    *,
    answered: bool = True,
) -> CheckedAnswers:
    """Find every note of every context; without a vault, a path is an error, or left out if not `answered`."""
    checker = _AnswerChecker(dataset, vault or NO_VAULT, identities, answered=answered)
    checked = [checker.check(item) for item in dataset.items]
    answers = tuple(answer for answer in checked if answer is not None)
    return checker.outcome(CheckedAnswers, answers)


@dataclass(kw_only=True)
class _AnswerChecker(RowChecker[QuestionItem]):
    answered: bool

    def check(self, item: QuestionItem) -> CheckedAnswer | None:
        before = len(self.errors)
        notes = [
            self._given(item, f"context_notes[{place}]", note)
            for place, note in enumerate(item.context_notes)
        ]
        usable = [note for note in notes if note is not None]
        if self.answered:
            self._check_labels(item, len(notes))
        if len(self.errors) > before:
            return None
        return CheckedAnswer(item, self.dataset.lines[item.id], tuple(usable))

    def _given(self, item: QuestionItem, name: str, note: ContextNote) -> GivenNote | None:
        if note.path is None:
            if note.text is None:
                fix = _('Write {{"path": "a.md"}}, or {{"title": "A", "text": "..."}}')
                self.reject(item, name, _("the context note has neither a path nor a text"), fix)
                return None
            return GivenNote(None, note.title or "", note.text)
        if not self.has_vault:
            if self.answered:
                problem = _("the row names a note by its path, but no vault was given")
                self.reject(item, f"{name}.path", problem, _("Give the vault with --notes"))
            return None
        named = self.note(item, f"{name}.path", note.path)
        if named is None:
            return None
        text = named.text if note.text is None else note.text
        return GivenNote(named.path, note.title or named.title, text)

    def _check_labels(self, item: QuestionItem, notes: int) -> None:
        labels = item.labels
        for place, claim in enumerate(labels.claims if labels else ()):
            if claim.note is not None and claim.note > notes:
                problem = _(
                    "this note number is ignored: the label names context note {number}, but the row has only {count}",
                    number=claim.note,
                    count=notes,
                )
                self.warn(item, f"labels.claims[{place}].note", problem)
