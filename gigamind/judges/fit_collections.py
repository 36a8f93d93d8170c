"""Fits a `calibrated` judge on datasets with their vaults, and writes its judge file."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from gigamind.choices import LeaveOut
from gigamind.datasets.check import check_queries
from gigamind.datasets.jsonl import read_queries
from gigamind.datasets.write import write_lines
from gigamind.errors import DatasetError
from gigamind.i18n import _
from gigamind.judges.calibrated import CalibratedJudgeFile, Calibration, Collection
from gigamind.judges.fit import THRESHOLD, Labelled, fit_cosine, fit_cross, fit_keyword, label
from gigamind.retrieval.cache import Progress
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.vault.identity import Identities
from gigamind.vault.notes import read_vault
from gigamind.vault.walk import notes_hash


@dataclass(frozen=True, slots=True)
class LabelledCollection:
    """One dataset over its vault, labelled for fitting.

    Attributes:
        embedder: full name; None in keyword mode.
        warnings: rows that cannot be used, and data-quality warnings about the others.
    """

    rows: tuple[Labelled, ...]
    source: Collection
    embedder: str | None
    warnings: tuple[str, ...]


def label_collection(
    dataset: Path, notes: Path, settings: RetrievalSettings, leave_out: LeaveOut, progress: Progress
) -> LabelledCollection:
    """Return the signals of every usable query of a dataset.

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
        text = _(
            "{file}: no row can be used with the notes in {notes}. The first problem: {problem}",
            file=dataset,
            notes=notes,
            problem=problems[0],
        )
        raise DatasetError(text)
    vault_hash = notes_hash(notes)
    with open_retriever(vault, identities, settings, progress) as retriever:
        rows = label(retriever, checked.queries, leave_out, progress, vault_hash)
        embedder = retriever.semantic.embedder.name if retriever.semantic else None
    queries = checked.queries
    answerable = sum(query.item.answerable for query in queries)
    source = Collection(
        dataset=dataset.name,
        dataset_hash=read.sha256,
        notes_hash=vault_hash,
        notes=len(vault.notes),
        answerable=answerable,
        unanswerable=len(queries) - answerable,
        languages=tuple(sorted({query.item.language or "unknown" for query in queries})),
    )
    return LabelledCollection(tuple(rows), source, embedder, (*problems, *checked.warnings))


def fit_judge(collections: Sequence[LabelledCollection]) -> CalibratedJudgeFile:
    """Fit a judge on all rows of the collections, which all have the same embedder or none.

    Raises:
        DatasetError: too few queries of a kind.
    """
    rows = [row for collection in collections for row in collection.rows]
    embedder = collections[0].embedder
    cross = fit_cross(rows) if embedder else None
    if cross:
        rows = [row for row in rows if not row.signals.cross_lingual]
    return CalibratedJudgeFile(
        kind="calibrated",
        min_probability=THRESHOLD,
        embedder=embedder,
        keyword=fit_keyword(rows),
        cosine=fit_cosine(rows) if embedder else None,
        cross=cross,
        fitted_on=tuple(collection.source for collection in collections),
    )


_HEAD = (
    "# Estimates from search signals whether the vault answers a query. Deterministic and free, without a model.",
    "# Written by `gigamind judge fit unanswerable`. Each signal adds weight * (value - mean) / scale to the log-odds",
    "# of an answer; kappa * ln(size / 100) is subtracted. Size is the number of notes, in [keyword] of those that",
    "# share a word with the query. [cross] is for queries in another language than their nearest note.",
    "# Below min_probability a query is unanswerable. [*.reliability] is cross-validated by note.",
)


def write_judge_file(path: Path, file: CalibratedJudgeFile, about: Sequence[str] = ()) -> None:
    """Write `file` atomically, with `about` as additional lines of its comment; reading it returns an equal one.

    Raises:
        EvaluationError: the file cannot be written.
    """
    write_lines(path, list(_lines(file, about)))


def _lines(file: CalibratedJudgeFile, about: Sequence[str]) -> Iterator[str]:
    yield from _HEAD
    yield from (f"# {line}".rstrip() for line in ("", *about) if about)
    yield f"kind = {_value(file.kind)}"
    yield f"rules = {file.rules}"
    yield f"min_probability = {_value(file.min_probability)}"
    if file.embedder is not None:
        yield f"embedder = {_value(file.embedder)}"
    for name, calibration in tables(file).items():
        yield from ("", f"[{name}]", *_fields(calibration, exclude={"signals", "reliability"}))
        yield from ("", f"[{name}.signals]")
        for signal, coefficient in calibration.signals.items():
            yield f"{signal} = {{ {', '.join(_fields(coefficient))} }}"
        yield from ("", f"[{name}.reliability]", *_fields(calibration.reliability))
    for collection in file.fitted_on:
        yield from ("", "[[fitted_on]]", *_fields(collection))


def tables(file: CalibratedJudgeFile) -> dict[str, Calibration]:
    """Return the sets of coefficients of a file by the names of their tables."""
    calibrations = {"keyword": file.keyword, "cosine": file.cosine, "cross": file.cross}
    return {name: calibration for name, calibration in calibrations.items() if calibration}


def _fields(table: BaseModel, exclude: set[str] | None = None) -> Iterator[str]:
    for field, value in table.model_dump(exclude=exclude).items():
        yield f"{field} = {_value(value)}"


def _value(value: str | float | tuple[str, ...]) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)  # the shortest digits that are read back as the same float
