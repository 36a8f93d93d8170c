"""What a run reads: which dataset over which vault, how much of it, and what stops it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gigamind.datasets.check import CheckedRows
from gigamind.datasets.row_errors import RowError
from gigamind.datasets.sample import sample, sample_size
from gigamind.errors import DatasetError, NotesError
from gigamind.evaluation.options import EvalOptions
from gigamind.records.judged import JudgeReport
from gigamind.records.schema import ErrorReport
from gigamind.vault.walk import note_states, notes_hash
from gigamind.wording import warning

Item = TypeVar("Item")
_ERRORS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class PreparedInput:
    """Checked input of one run, as far as it is the same for every task.

    Attributes:
        not_sampled: usable items that `--sample` left out.
        errors: rows that cannot be used.
        warnings: of the vault and of the dataset.
        notes_hash: empty without a vault.
    """

    options: EvalOptions
    dataset_hash: str
    notes_hash: str
    not_sampled: int
    errors: tuple[ErrorReport, ...]
    warnings: tuple[str, ...]

    @property
    def rows_rejected(self) -> int:
        """Rows that have errors; one may have several."""
        return len({error.line for error in self.errors})

    def identity(
        self, judge: JudgeReport, own: Mapping[str, str], settings: Iterable[str]
    ) -> dict[str, str]:
        """What must be the same for a run to be continued; `own` of its task, `settings` names of options."""
        flags = {
            f"--{name.replace('_', '-')}": str(getattr(self.options, name)) for name in settings
        }
        return {
            "task": self.options.task,
            "dataset": self.dataset_hash,
            "notes": self.notes_hash,
            "judge and model": judge.fingerprint,
            **own,
            **flags,
        }


@dataclass(frozen=True, slots=True)
class Inputs:
    """How the options tell to read a dataset and its notes, and when to stop."""

    options: EvalOptions

    def drawn(self, items: Sequence[Item]) -> tuple[Item, ...]:
        """The items to evaluate, in their order."""
        options = self.options
        size = sample_size(options.sample) if options.sample else len(items)
        return sample(items, size, options.seed)

    def notes_hash(self) -> str:
        """See `walk.notes_hash`; empty without a vault."""
        notes, mode = self.options.notes, self.options.notes_hash_mode
        return notes_hash(notes, mode, self.options.notes_hash_exclude) if notes else ""

    def note_states(self) -> dict[str, bytes]:
        """See `walk.note_states`; empty without a vault, and where it cannot be read."""
        options = self.options
        if not options.notes:
            return {}
        try:
            return note_states(options.notes, options.notes_hash_mode, options.notes_hash_exclude)
        except NotesError:  # whoever reads the notes says so
            return {}

    def warnings_since(self, before: Mapping[str, bytes]) -> tuple[str, ...]:
        """What a run must say of notes that were not left alone while it lasted, from their states `before` it."""
        now = self.note_states()
        changed = sorted(
            path for path in before.keys() | now.keys() if before.get(path) != now.get(path)
        )
        if not changed:
            return ()
        more = len(changed) - _ERRORS_SHOWN
        named = ", ".join([*changed[:_ERRORS_SHOWN], *(["..."] if more > 0 else [])])
        return (warning("notes_changed", count=len(changed), notes=named),)

    def row_reports(self, errors: Iterable[RowError]) -> tuple[ErrorReport, ...]:
        """Rows that cannot be used, as errors.jsonl has them."""
        return tuple(
            ErrorReport(
                kind="row",
                line=error.line,
                id=error.item_id or None,
                field=error.field or None,
                error=DatasetError.__name__,
                message=error.describe(self.options.dataset),
            )
            for error in errors
        )

    def refuse_unusable(self, checked: CheckedRows[Any]) -> None:
        """Stop where going on would be of no use, or where `--strict` asks for it.

        Raises:
            DatasetError: too few rows are usable, or there is a problem and `strict` is set.
        """
        problems = [error.describe(self.options.dataset) for error in checked.errors]
        if why := checked.why_unusable(self.options.min_rows):
            over = f" over {self.options.notes}" if self.options.notes else ""
            raise DatasetError(f"{self.options.dataset}{over}: {why}\n{_listed(problems)}")
        if self.options.strict and problems:
            count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
            raise DatasetError(
                f"{self.options.dataset}: {count}, and --strict is set\n{_listed(problems)}"
            )
        # Met by the dataset: two README.md that it never names do no harm.
        if self.options.strict and checked.collisions:
            raise DatasetError(
                f"{self.options.dataset}: names that mean more than one note: {len(checked.collisions)},"
                " and --strict is set. Write the note's path, or rename all but one of each.\n"
                + _listed(list(map(str, checked.collisions)))
            )


def _listed(lines: Sequence[str]) -> str:
    more = len(lines) - _ERRORS_SHOWN
    return "\n".join([*lines[:_ERRORS_SHOWN], *([f"... and {more} more"] if more > 0 else [])])
