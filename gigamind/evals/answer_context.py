"""Finds the notes that a model is to answer from: the first that search finds, 12 000 characters in all (seed 004)."""

from collections.abc import Iterator
from dataclasses import dataclass

from gigamind.datasets.check import CheckedQuery, check_queries
from gigamind.datasets.check_answers import GivenNote
from gigamind.datasets.jsonl import read_queries
from gigamind.datasets.row_errors import RowError
from gigamind.datasets.sample import sample, sample_size
from gigamind.errors import InputError
from gigamind.evals.answer_case import EvalCase, language_of
from gigamind.evals.answer_options import AnswerEvalOptions
from gigamind.evals.context import context_of
from gigamind.evals.progress import Progress, Quiet
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.retriever import Retriever
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault, read_vault


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


def cases_from_search(
    options: AnswerEvalOptions, progress: Progress | None = None
) -> SearchedCases:
    """Search for every query of the dataset.

    Raises:
        InputError: the dataset is missing or unreadable, or no vault is named.
        NotesError, IndexingError, EmbeddingError: the vault cannot be read or searched.
    """
    if options.notes is None:
        raise InputError("--answer-model: needs --notes, the vault to search")
    dataset = read_queries(options.dataset)
    vault = read_vault(options.notes)
    identities = Identities(vault.notes)
    checked = check_queries(dataset, vault, identities)
    size = sample_size(options.sample) if options.sample else len(checked.queries)
    chosen = sample(checked.queries, size, options.seed)
    told = progress or Quiet()
    retriever = open_retriever(
        vault,
        identities,
        options.retrieval,
        lambda done, total: told.stage("Indexing", done, total),
    )
    try:
        cases = tuple(_cases(chosen, vault, retriever, options, told))
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
    told: Progress,
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
                number for number, one in enumerate(notes, start=1) if one.path in query.qrels
            ),
        )
        told.stage("Searching", done, len(queries))
