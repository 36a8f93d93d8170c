"""`gigamind eval generate-queries --model`: which model writes the questions, and what that costs.

Replies are kept: repeating a vault, or going on after a failure, asks only about changed notes and those that failed.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from pydantic import Field

from gigamind.errors import EvaluationError
from gigamind.llm.fences import fence_key
from gigamind.llm.ledger import Ledger, totals
from gigamind.llm.options import ModelOptions, open_model
from gigamind.llm.settings import ModelSettings

if TYPE_CHECKING:
    from gigamind.evals.write_queries import WrittenRows
    from gigamind.vault.notes import Note

_FOLDER = Path(".gigamind")
_FAILURES_SHOWN = 5


class QueryWriterOptions(ModelOptions):
    """Which model writes questions, how many, and what it may cost."""

    max_unanswerable: int = Field(
        1, ge=0, description="questions a note that it does not answer, at most; with --model"
    )
    max_tokens: int = Field(4_096, ge=1, description="of an answer; doubled once if it is cut off")
    ledger: Path | None = Field(
        None, description="account of requests; .gigamind/attempts.jsonl without it"
    )
    dry_run: bool = Field(default=False, description="count the calls of --model, then stop")


def write_with_model(
    notes: Path, out: Path, max_per_note: int, options: QueryWriterOptions
) -> None:
    """Ask the model about every note with text, and write the rows.

    Raises:
        InputError: an option or a place cannot be, or no note has text.
        NotesError: the vault cannot be read.
        EvaluationError: no reply gave a question, or the file cannot be written.
    """
    from gigamind.datasets.generate_queries import askable_notes, refuse_query_place
    from gigamind.datasets.write import write_rows
    from gigamind.vault.notes import read_vault

    refuse_query_place(notes, out)
    vault = read_vault(notes)
    asked, empty = askable_notes(vault)
    unasked = [f"{path}: has no text, so nothing is asked about it" for path in empty]
    for warning in (*vault.warnings, *unasked):
        click.echo(f"warning: {warning}", err=True)
    if options.dry_run:
        characters = sum(len(note.text) for note in asked)
        click.echo(f"{len(asked)} calls, one a note, of {characters:,} characters in all")
        return
    written = _written(asked, max_per_note, options)
    _tell(written)
    if not written.rows:
        raise EvaluationError(f"no question came of {len(asked)} notes, so {out} is not written")
    write_rows(out, written.rows)
    unanswerable = sum(not row.answerable for row in written.rows)
    click.echo(f"{len(written.rows)} questions, {unanswerable} unanswerable, for review: {out}")


def _written(
    notes: "Sequence[Note]", max_per_note: int, options: QueryWriterOptions
) -> "WrittenRows":
    from gigamind.evals.write_queries import QuestionLimits, write_queries

    def long_enough(settings: ModelSettings) -> ModelSettings:
        return replace(settings, max_tokens=options.max_tokens)

    store = options.store or _FOLDER / "replies"
    key = fence_key(store / "fence.key")  # answers are found by their prompt, which holds its mark
    ledger = Ledger(options.ledger or _FOLDER / "attempts.jsonl")
    model = open_model(options, ledger, store, long_enough)
    limits = QuestionLimits(max_per_note, options.max_unanswerable)
    before = len(model.ledger.rows)

    async def run() -> "WrittenRows":
        try:
            return await write_queries(model, notes, key, limits)
        finally:
            await model.close()

    try:
        return asyncio.run(run())
    finally:
        spent = totals(model.ledger.rows[before:])
        cost = "unknown" if spent.micro_usd is None else f"{spent.micro_usd / 1e6:.6f} USD"
        told = f"requests: {spent.http_calls}, from the store: {spent.store_hits}, cost: {cost}"
        click.echo(f"{model.settings.model}: {told}", err=True)


def _tell(written: "WrittenRows") -> None:
    """What was lost, on standard error."""
    for reason, count in written.dropped.items():
        click.echo(f"dropped: {count}: {reason}", err=True)
    for failure in written.failures[:_FAILURES_SHOWN]:
        click.echo(f"failed: {failure.item_id}: {failure.message}", err=True)
    if len(written.failures) > _FAILURES_SHOWN:
        click.echo(f"failed: {len(written.failures) - _FAILURES_SHOWN} more notes", err=True)
