"""Read the inputs of a run, check the conditions that stop it, and select the part of notes that a model is shown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

from gigamind.datasets.check import CheckedRows
from gigamind.datasets.sample import sample, sample_size
from gigamind.errors import DatasetError
from gigamind.evaluation.options import ContextOptions, EvalOptions
from gigamind.i18n import Message, Text, _, joined, n_
from gigamind.prompting.fences import Source
from gigamind.records.judged import JudgeReport
from gigamind.records.schema import (
    RUN_ID_FORMAT,
    Environment,
    ErrorReport,
    Hardware,
    RunReport,
    SystemReport,
)
from gigamind.retrieval.hit import Hit
from gigamind.spans import Span
from gigamind.vault.notes import Note, Vault, notes_hash

_Item = TypeVar("_Item")
_ERRORS_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedInput:
    """Checked input of a run, the part that all tasks share."""

    options: EvalOptions
    dataset_hash: str
    notes_hash: str  # empty without a vault
    not_sampled: int  # usable items that `--sample` left out
    errors: tuple[ErrorReport, ...]  # rows that cannot be used
    warnings: tuple[Text, ...]  # of the vault and the dataset
    # The evaluated system; None for gigamind's own, and for answers in the dataset or of a model.
    system: SystemReport | None = None
    embedding_model: str | None = None  # full name of its embedder; None without or before one

    @property
    def rows_rejected(self) -> int:
        """Return the number of rows with errors; one may have several."""
        return len({error.line for error in self.errors})

    def identity(
        self, judge: JudgeReport, own: Mapping[str, str], settings: Iterable[str]
    ) -> dict[str, str]:
        """Return what must be equal to resume a run; `own` is the task's part, `settings` are names of options."""
        flags = {
            f"--{name.replace('_', '-')}": str(getattr(self.options, name)) for name in settings
        }
        return {
            "task": self.options.task,
            "dataset": self.dataset_hash,
            "notes": self.notes_hash,
            "judge and model": judge.fingerprint,
            **own,
            **({"system": self.system.identity} if self.system else {}),
            **flags,
        }

    def report(
        self,
        started: datetime,
        status: Literal["complete", "interrupted"],
        index: str = "none",
        judge: JudgeReport | None = None,
    ) -> RunReport:
        """Return the content of run.json; `index` is the version of the index that was searched."""
        options = self.options
        return RunReport.like(
            self,
            run_id=started.astimezone().strftime(RUN_ID_FORMAT),
            created_at=started.isoformat(timespec="seconds"),
            task=options.task,
            status=status,
            dataset=str(options.dataset),
            notes=str(options.notes or ""),
            notes_hash_mode=options.notes_hash_mode,
            options=options.for_report(),
            config=options.config,
            judge=judge,
            environment=Environment.here(self.embedding_model, index, self.system),
            hardware=Hardware.here(),
        )


def draw(
    options: EvalOptions, checked: CheckedRows[Any], vault: Vault | None, items: Sequence[_Item]
) -> tuple[tuple[_Item, ...], dict[str, Any]]:
    """Return the items that `--sample` draws, and the fields of `PreparedInput`.

    Raises:
        DatasetError: Too few rows are usable, or there is a problem under `--strict`.
    """
    problems = [error.describe(options.dataset) for error in checked.errors]
    _refuse_unusable(options, checked, problems)
    size = sample_size(options.sample) if options.sample else len(items)
    drawn = sample(items, size, options.seed)
    errors = (
        ErrorReport(
            kind="row",
            line=error.line,
            id=error.item_id or None,
            field=error.field or None,
            error=DatasetError.__name__,
            message=problem,
        )
        for error, problem in zip(checked.errors, problems, strict=True)
    )
    left_out = (*options.exclude, *options.notes_hash_exclude)
    return drawn, {
        "options": options,
        "dataset_hash": checked.dataset.sha256,
        "notes_hash": notes_hash(options.notes, options.notes_hash_mode, left_out)
        if options.notes
        else "",
        "not_sampled": len(items) - len(drawn),
        "errors": tuple(errors),
        "warnings": (*(vault.warnings if vault else ()), *checked.warnings),
    }


def _refuse_unusable(
    options: EvalOptions, checked: CheckedRows[Any], problems: Sequence[Message]
) -> None:
    file = options.dataset
    if why := checked.why_unusable(options.min_rows):
        values = {"file": file, "vault": options.notes, "reason": why}
        head = _("{file}: {reason}", **values)
        if options.notes:
            head = _("{file}, checked with the vault {vault}: {reason}", **values)
        raise DatasetError(_listed(head, problems))
    if options.strict and problems:
        head = n_(
            "{file}: {n} problem, and --strict is set",
            "{file}: {n:,} problems, and --strict is set",
            n=len(problems),
            file=file,
        )
        raise DatasetError(_listed(head, problems))
    # Only names that the dataset uses: two README.md that it never names are harmless.
    if options.strict and checked.collisions:
        head = n_(
            "{file}: {n} name matches several notes, and --strict is set."
            " Write the note's path, or rename all but one of the notes.",
            "{file}: {n:,} names match several notes, and --strict is set."
            " Write the note's path, or rename all but one of the notes.",
            n=len(checked.collisions),
            file=file,
        )
        raise DatasetError(_listed(head, [collision.message for collision in checked.collisions]))


def _listed(head: Message, lines: Sequence[Message]) -> Message:
    more = len(lines) - _ERRORS_SHOWN
    tail = n_("... and {n} more problem", "... and {n:,} more problems", n=more)
    return joined([head, *lines[:_ERRORS_SHOWN], *([tail] if more > 0 else [])], "\n")


SHORTER_CONTEXT = _(
    "show the model less text of the notes, with smaller --context-chars or --context-notes"
)


@dataclass(frozen=True, slots=True)
class ContextNote:
    """A note, or part of one, that a model is shown."""

    path: str
    start: int  # code point offset of `source.text` in the note's file
    source: Source


def context_of(
    passages: Sequence[tuple[Note, Span]], max_notes: int, max_chars: int
) -> tuple[ContextNote, ...]:
    """Return the context from notes, best first, each with the span of its best chunk.

    Every note gets an equal share of the characters; what a short note leaves goes to the following ones. A note that
    does not fit is cut at lines around its best chunk.
    """
    shown = passages[:max_notes]
    left = max_chars
    context: list[ContextNote] = []
    for place, (note, chunk) in enumerate(shown):
        part = _part(note.text, chunk, left // (len(shown) - place))
        left -= len(part)
        context.append(
            ContextNote(note.path, part.start, Source(note.title, part.slice(note.text)))
        )
    return tuple(context)


def context_of_hits(
    vault: Vault, hits: Iterable[Hit], options: ContextOptions
) -> tuple[ContextNote, ...]:
    """Return the context from the hits of a search."""
    passages = ((vault.note(hit.note), hit.passage.span) for hit in hits)
    known = [(note, span) for note, span in passages if note is not None]
    return context_of(known, options.context_notes, options.context_chars)


def _part(text: str, chunk: Span, limit: int) -> Span:
    """Return the part of a text that fits, centred on the chunk, cut at lines if possible."""
    if len(text) <= limit:
        return Span(0, len(text))
    start = max(0, min((chunk.start + chunk.end - limit) // 2, chunk.start, len(text) - limit))
    end = start + limit
    line_start = 0 if start == 0 else text.find("\n", start, chunk.start) + 1
    line_end = end if end == len(text) else text.rfind("\n", chunk.end, end)
    return Span(line_start or start, line_end if line_end > chunk.start else end)
