"""What an answer run needs before models are asked: its answers, or questions with the notes to answer them from.

Notes for a question are the first that search finds, 12 000 characters in all (seed 004).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gigamind.assets import asset
from gigamind.datasets.check import (
    CheckedAnswer,
    CheckedAnswers,
    CheckedQuery,
    GivenNote,
    check_answers,
    check_queries,
)
from gigamind.datasets.jsonl import read_answers, read_queries
from gigamind.datasets.row_errors import RowError
from gigamind.errors import InputError
from gigamind.evaluation.context import context_of
from gigamind.evaluation.inputs import Inputs, PreparedInput
from gigamind.evaluation.progress import Progress
from gigamind.judges.load import load_answer_judge
from gigamind.judges.protocol import AnswerCase, Chosen, Judge, chosen
from gigamind.judges.search_qa.judge import SearchQA
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.retriever import Retriever
from gigamind.tasks.answers.case import EvalCase, language_of
from gigamind.tasks.answers.checklist import Gate, choose_gate
from gigamind.tasks.answers.labels import unbacked_facts, unmatched_labels
from gigamind.tasks.answers.options import AnswerEvalOptions
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault, read_vault


def choose_answer_judge(options: AnswerEvalOptions) -> Chosen[Judge[AnswerCase, Any]]:
    """The judge of the options.

    Raises:
        InputError: its file cannot be used, or no model is named.
    """
    path = options.judge or asset("judges") / "search_qa.toml"
    return chosen(load_answer_judge(path, options.judge_lang), path, options)


@dataclass(frozen=True, slots=True)
class SearchedCases:
    """Queries with what search found for them.

    Attributes:
        embedding_model: None in keyword mode.
    """

    cases: tuple[EvalCase, ...]
    not_sampled: int
    errors: tuple[RowError, ...]
    warnings: tuple[str, ...]
    vault: Vault
    dataset_hash: str
    embedding_model: str | None


def cases_from_search(options: AnswerEvalOptions, progress: Progress) -> SearchedCases:
    """Search for every query of the dataset.

    Raises:
        InputError: the dataset is missing or unreadable, or no vault is named.
        DatasetError: too few rows can be used, or one is bad under `--strict`.
        NotesError, IndexingError, EmbeddingError: the vault cannot be read or searched.
    """
    if options.notes is None:
        raise InputError("--answer-model: needs --notes, the vault to search")
    dataset = read_queries(options.dataset)
    vault = read_vault(options.notes)
    identities = Identities(vault.notes)
    checked = check_queries(dataset, vault, identities)
    inputs = Inputs(options)
    inputs.refuse_unusable(checked)
    chosen = inputs.drawn(checked.queries)
    retriever = open_retriever(
        vault,
        identities,
        options.retrieval,
        lambda done, total: progress.stage("Indexing", done, total),
    )
    try:
        cases = tuple(_cases(chosen, vault, retriever, options, progress))
        model = retriever.semantic.embedder.name if retriever.semantic else None
    finally:
        retriever.close()
    return SearchedCases(
        cases=cases,
        not_sampled=len(checked.queries) - len(chosen),
        errors=checked.errors,
        warnings=(*vault.warnings, *checked.warnings),
        vault=vault,
        dataset_hash=dataset.sha256,
        embedding_model=model,
    )


def _cases(
    queries: tuple[CheckedQuery, ...],
    vault: Vault,
    retriever: Retriever,
    options: AnswerEvalOptions,
    progress: Progress,
) -> Iterator[EvalCase]:
    for done, query in enumerate(queries, start=1):
        found = [
            (note, hit.passage.span)
            for hit in retriever.search(query.item.query)
            if (note := vault.note(hit.note)) is not None
        ]
        context = context_of(found, options.context_notes, options.context_chars)
        notes = tuple(GivenNote(one.path, one.source.title, one.source.text) for one in context)
        yield EvalCase(
            id=query.item.id,
            question=query.item.query,
            answer=None,
            language=language_of(query.item.language, query.item.query),
            tags=query.item.tags,
            notes=notes,
            relevant=frozenset(
                number for number, one in enumerate(notes, start=1) if one.path in query.relevant
            ),
        )
        progress.stage("Searching", done, len(queries))


@dataclass(frozen=True, slots=True)
class PreparedAnswers(PreparedInput):
    """Valid input of one run.

    Attributes:
        cases: by id, in the dataset's order.
        notes: how many the vault has; 0 without a vault.
        gate: of the checklists; None without `--checklist`.
        embedding_model: of the search that found the context; None where nothing was searched with vectors.
    """

    options: AnswerEvalOptions
    judge: Chosen[Judge[AnswerCase, Any]]
    cases: Mapping[str, EvalCase]
    notes: int
    embedding_model: str | None = None
    gate: Gate | None = None


def prepare_answers(options: AnswerEvalOptions, progress: Progress) -> PreparedAnswers:
    """Read and check everything that a run needs; with `--answer-model`, search for the context.

    Raises:
        InputError: the dataset or the judge file cannot be used, or no model is named.
        DatasetError: too few rows can be used, or one is bad under `--strict`.
        NotesError, IndexingError, EmbeddingError: the vault cannot be read or searched.
    """
    judge, gate = choose_answer_judge(options), choose_gate(options)
    if options.answer_model:
        return replace(_from_queries(options, judge, progress), gate=gate)
    return replace(_from_answers(options, judge), gate=gate)


def _from_answers(
    options: AnswerEvalOptions, judge: Chosen[Judge[AnswerCase, Any]]
) -> PreparedAnswers:
    inputs = Inputs(options)
    dataset = read_answers(options.dataset)
    vault = read_vault(options.notes) if options.notes else None
    checked = check_answers(dataset, vault, Identities(vault.notes if vault else ()))
    inputs.refuse_unusable(checked)
    chosen = inputs.drawn(checked.answers)
    parts = isinstance(judge.judge, SearchQA) and judge.judge.cuts
    return PreparedAnswers(
        options=options,
        judge=judge,
        cases={one.item.id: _case(one) for one in chosen},
        not_sampled=len(checked.answers) - len(chosen),
        errors=inputs.row_reports(checked.errors),
        warnings=(
            *(vault.warnings if vault else ()),
            *checked.warnings,
            *_odd(checked, chosen, parts=parts),
        ),
        notes=len(vault.notes) if vault else 0,
        dataset_hash=dataset.sha256,
        notes_hash=inputs.notes_hash(),
    )


def _from_queries(
    options: AnswerEvalOptions, judge: Chosen[Judge[AnswerCase, Any]], progress: Progress
) -> PreparedAnswers:
    inputs = Inputs(options)
    found = cases_from_search(options, progress)
    return PreparedAnswers(
        options=options,
        judge=judge,
        cases={case.id: case for case in found.cases},
        not_sampled=found.not_sampled,
        errors=inputs.row_reports(found.errors),
        warnings=found.warnings,
        notes=len(found.vault.notes),
        dataset_hash=found.dataset_hash,
        notes_hash=inputs.notes_hash(),
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
    """A warning for each labelled claim that is none to the judge, and each fact of no note: both would be lost."""
    for one in chosen:
        for text in unmatched_labels(one.item.answer, one.item.labels, parts=parts):
            yield (
                f'{checked.dataset.path}:{one.line}: field "labels.claims": no claim of the answer reads'
                f' "{text}"; the label is not used'
            )
        for text in unbacked_facts(one.item.labels, [note.text for note in one.notes]):
            yield (
                f'{checked.dataset.path}:{one.line}: field "labels.facts": no context note says "{text}"; the fact is'
                " not counted. Write it in the words of a note"
            )
