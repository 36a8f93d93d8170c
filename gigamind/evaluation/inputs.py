"""What a run reads: which dataset over which vault, how much of it, and what stops it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gigamind.datasets.row_errors import RowError
from gigamind.datasets.sample import sample, sample_size
from gigamind.errors import DatasetError
from gigamind.evaluation.options import EvalOptions
from gigamind.records.schema import ErrorReport
from gigamind.vault.walk import HashMode, notes_hash

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
    not_sampled: int
    errors: tuple[ErrorReport, ...]
    warnings: tuple[str, ...]
    dataset_hash: str
    notes_hash: str

    @property
    def rows_rejected(self) -> int:
        """Rows that have errors; one may have several."""
        return len({error.line for error in self.errors})


@dataclass(frozen=True, slots=True)
class Inputs:
    """The part of the options that preparing takes.

    Attributes:
        notes: None where the dataset's rows hold the text of their notes.
        sample: a count or a share, such as "50" or "0.2"; None for all items.
        strict: stop at a bad row or a name that means several notes.
        hash_exclude: patterns of files that the hash of the notes leaves out, too.
    """

    dataset: Path
    notes: Path | None
    sample: str | None
    seed: int
    strict: bool
    hash_mode: HashMode
    hash_exclude: tuple[str, ...]

    @classmethod
    def of(cls, options: EvalOptions) -> "Inputs":
        """The part of these options."""
        return cls(
            options.dataset,
            options.notes,
            options.sample,
            options.seed,
            options.strict,
            options.notes_hash_mode,
            options.notes_hash_exclude,
        )

    def drawn(self, items: Sequence[Item]) -> tuple[Item, ...]:
        """The items to evaluate, in their order."""
        size = sample_size(self.sample) if self.sample else len(items)
        return sample(items, size, self.seed)

    def notes_hash(self) -> str:
        """See `walk.notes_hash`; empty without a vault."""
        return notes_hash(self.notes, self.hash_mode, self.hash_exclude) if self.notes else ""

    def row_reports(self, errors: Iterable[RowError]) -> tuple[ErrorReport, ...]:
        """Rows that cannot be used, as errors.jsonl has them."""
        return tuple(
            ErrorReport(
                kind="row",
                line=error.line,
                id=error.item_id or None,
                field=error.field or None,
                error=DatasetError.__name__,
                message=error.describe(self.dataset),
            )
            for error in errors
        )

    def refuse_unusable(self, usable: int, problems: Sequence[str], of_vault: str = "") -> None:
        """Stop where going on would be of no use, or where `--strict` asks for it.

        Args:
            problems: of the rows, in words; the first few are told.
            of_vault: what to add where the rows name notes of a vault.

        Raises:
            DatasetError: no row is usable, or there is a problem and `strict` is set.
        """
        shown = "\n".join(problems[:_ERRORS_SHOWN])
        if not usable:
            raise DatasetError(f"{self.dataset}: no row can be evaluated{of_vault}\n{shown}")
        if self.strict and problems:
            raise DatasetError(f"{self.dataset}: problems, and --strict is set\n{shown}")
