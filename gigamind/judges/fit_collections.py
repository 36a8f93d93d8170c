"""From datasets with their vaults to a fitted `calibrated` judge."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gigamind.datasets.check import CheckedQuery, check_queries
from gigamind.datasets.jsonl import read_queries
from gigamind.errors import DatasetError
from gigamind.judges.calibrated import CalibratedJudgeFile, Collection
from gigamind.judges.fit_calibrated import fit_cosine, fit_keyword
from gigamind.judges.labelled import Labelled, LeaveOut, label
from gigamind.retrieval.embedding_cache import Progress
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.vault.fingerprint import notes_hash
from gigamind.vault.identity import Identities
from gigamind.vault.notes import read_vault


@dataclass(frozen=True, slots=True)
class LabelledCollection:
    """One dataset over its vault, ready to be fitted on.

    Attributes:
        embedder: full name; None in keyword mode.
        warnings: rows that cannot be used, and what is odd about the others.
    """

    rows: tuple[Labelled, ...]
    source: Collection
    embedder: str | None
    warnings: tuple[str, ...]


def label_collection(
    dataset: Path, notes: Path, settings: RetrievalSettings, leave_out: LeaveOut, progress: Progress
) -> LabelledCollection:
    """The signals of every usable query of a dataset.

    Raises:
        InputError, DatasetError: the dataset cannot be read, or no row of it can be used.
        NotesError, IndexingError: the vault cannot be read or indexed.
        EmbeddingError: the embedding model failed.
    """
    read = read_queries(dataset)
    vault = read_vault(notes)
    identities = Identities(vault.notes)
    checked = check_queries(read, vault, identities)
    problems = tuple(error.describe(dataset) for error in checked.errors)
    if not checked.queries:
        raise DatasetError(f"{dataset}: no row can be used over {notes}\n{problems[0]}")
    with open_retriever(vault, identities, settings, progress) as retriever:
        rows = label(retriever, checked.queries, leave_out, progress)
        embedder = retriever.semantic.embedder.name if retriever.semantic else None
    source = _source(dataset, read.sha256, notes_hash(notes), checked.queries)
    return LabelledCollection(tuple(rows), source, embedder, (*problems, *checked.warnings))


def fit_judge(collections: Sequence[LabelledCollection]) -> CalibratedJudgeFile:
    """A judge fitted on all rows of these collections, which share one embedder or have none.

    Raises:
        DatasetError: too few queries of a kind.
    """
    rows = [row for collection in collections for row in collection.rows]
    embedder = collections[0].embedder
    return CalibratedJudgeFile(
        kind="calibrated",
        keyword=fit_keyword(rows),
        cosine=fit_cosine(rows, embedder) if embedder else None,
        fitted_on=tuple(collection.source for collection in collections),
    )


def _source(
    dataset: Path, dataset_hash: str, notes_sha256: str, queries: Sequence[CheckedQuery]
) -> Collection:
    answerable = sum(query.item.answerable for query in queries)
    return Collection(
        dataset=dataset.name,
        dataset_hash=dataset_hash,
        notes_hash=notes_sha256,
        answerable=answerable,
        unanswerable=len(queries) - answerable,
        languages=tuple(sorted({query.item.language or "unknown" for query in queries})),
    )
