"""The first step of an evaluation of answers: read the dataset, and find the notes of each context.

With a model that answers, the dataset is one of queries, and the context is what search finds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gigamind.datasets.check_answers import CheckedAnswer, CheckedAnswers, check_answers
from gigamind.datasets.jsonl import read_answers
from gigamind.datasets.row_errors import RowError
from gigamind.datasets.sample import sample, sample_size
from gigamind.errors import DatasetError
from gigamind.evals.answer_case import EvalCase, language_of
from gigamind.evals.answer_checklist import ChecklistGate, choose_gate
from gigamind.evals.answer_context import cases_from_search
from gigamind.evals.answer_judge import AnswerJudge, choose_answer_judge
from gigamind.evals.answer_labels import unmatched_labels
from gigamind.evals.answer_options import AnswerEvalOptions
from gigamind.evals.progress import Progress
from gigamind.reports.schema import ErrorReport
from gigamind.vault.fingerprint import notes_hash
from gigamind.vault.identity import Identities
from gigamind.vault.notes import read_vault

_ERRORS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class PreparedAnswers:
    """Valid input of one run.

    Attributes:
        cases: by id, in the dataset's order.
        notes: how many the vault has; 0 without a vault.
        notes_hash: empty without a vault.
        gate: of the checklists; None without `--checklist`.
        embedding_model: of the search that found the context; None where nothing was searched with vectors.
    """

    options: AnswerEvalOptions
    judge: AnswerJudge
    cases: Mapping[str, EvalCase]
    not_sampled: int
    errors: tuple[ErrorReport, ...]
    warnings: tuple[str, ...]
    notes: int
    dataset_hash: str
    notes_hash: str
    embedding_model: str | None = None
    gate: ChecklistGate | None = None


def prepare_answers(
    options: AnswerEvalOptions, progress: Progress | None = None
) -> PreparedAnswers:
    """Read and check everything that a run needs; with `--answer-model`, search for the context.

    Raises:
        InputError: the dataset or the judge file cannot be used, or no model is named.
        DatasetError: no row can be used, or one is bad under `--strict`.
        NotesError, IndexingError, EmbeddingError: the vault cannot be read or searched.
    """
    judge, gate = choose_answer_judge(options), choose_gate(options)
    if options.answer_model:
        return replace(_from_queries(options, judge, progress), gate=gate)
    return replace(_from_answers(options, judge), gate=gate)


def _from_answers(options: AnswerEvalOptions, judge: AnswerJudge) -> PreparedAnswers:
    dataset = read_answers(options.dataset)
    vault = read_vault(options.notes) if options.notes else None
    checked = check_answers(dataset, vault, Identities(vault.notes if vault else ()))
    errors = _reports(options, checked.errors)
    _refuse(options, len(checked.answers), errors)
    size = sample_size(options.sample) if options.sample else len(checked.answers)
    chosen = sample(checked.answers, size, options.seed)
    parts = judge.asked.judge_in("").cutting is not None
    return PreparedAnswers(
        options=options,
        judge=judge,
        cases={one.item.id: _case(one) for one in chosen},
        not_sampled=len(checked.answers) - len(chosen),
        errors=errors,
        warnings=(
            *(vault.warnings if vault else ()),
            *checked.warnings,
            *_odd(checked, chosen, parts=parts),
        ),
        notes=len(vault.notes) if vault else 0,
        dataset_hash=dataset.sha256,
        notes_hash=_notes_hash(options),
    )


def _from_queries(
    options: AnswerEvalOptions, judge: AnswerJudge, progress: Progress | None
) -> PreparedAnswers:
    found = cases_from_search(options, progress)
    errors = _reports(options, found.errors)
    _refuse(options, len(found.cases), errors)
    return PreparedAnswers(
        options=options,
        judge=judge,
        cases={case.id: case for case in found.cases},
        not_sampled=found.not_sampled,
        errors=errors,
        warnings=found.warnings,
        notes=len(found.vault.notes),
        dataset_hash=found.dataset_hash,
        notes_hash=_notes_hash(options),
        embedding_model=found.embedding_model,
    )


def _case(one: CheckedAnswer) -> EvalCase:
    item = one.item
    return EvalCase(
        id=item.id,
        question=item.question,
        answer=item.answer,
        language=language_of(item.language, item.question),
        tags=item.tags,
        notes=one.notes,
        labels=item.labels,
    )


def _odd(checked: CheckedAnswers, chosen: Sequence[CheckedAnswer], *, parts: bool) -> Iterable[str]:
    """A warning for each labelled claim that is none to the judge: its label would be lost without a word."""
    for one in chosen:
        for text in unmatched_labels(one.item.answer, one.item.labels, parts=parts):
            yield (
                f'{checked.dataset.path}:{one.line}: field "labels.claims": no claim of the answer reads'
                f' "{text}"; the label is not used'
            )


def _notes_hash(options: AnswerEvalOptions) -> str:
    if options.notes is None:
        return ""
    return notes_hash(options.notes, options.notes_hash_mode, options.notes_hash_exclude)


def _reports(options: AnswerEvalOptions, errors: Iterable[RowError]) -> tuple[ErrorReport, ...]:
    return tuple(
        ErrorReport(
            kind="row",
            line=error.line,
            id=error.item_id or None,
            field=error.field or None,
            error=DatasetError.__name__,
            message=error.describe(options.dataset),
        )
        for error in errors
    )


def _refuse(options: AnswerEvalOptions, usable: int, errors: Sequence[ErrorReport]) -> None:
    """Stop where going on would be of no use, or where `--strict` asks for it."""
    shown = "\n".join(error.message for error in errors[:_ERRORS_SHOWN])
    if not usable:
        raise DatasetError(f"{options.dataset}: no row can be evaluated\n{shown}")
    if options.strict and errors:
        raise DatasetError(f"{options.dataset}: problems, and --strict is set\n{shown}")
