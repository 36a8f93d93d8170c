"""Import tables: folders of BEIR and MTEB, and questions by columns, as answers or queries.

BEIR has a corpus {_id, title, text}, queries {_id, text} and graded qrels by split: JSON lines or Parquet, qrels also
tab-separated; a part of Parquet may be a folder of files. The columns of ragas, deepeval, AutoRAG, MTEB and gigamind's
own exports are known.
"""

import ast
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from gigamind.datasets.schema import AnswerItem
from gigamind.errors import InputError
from gigamind.i18n import Message, _, n_
from gigamind.interop.collection import Imported, checked_row, label, note_path, note_text
from gigamind.interop.source import Fields, json_lines, placed_lines, table_rows
from gigamind.interop.trec import Judgements, grade
from gigamind.loading import read_text, refuse_problems
from gigamind.text import sentences, written_id

_IDS, _TEXTS = ("_id", "doc_id", "id"), ("text", "contents")  # of BEIR, AutoRAG, MTEB
_SHARD = re.compile(r"-\d{5}-of-\d{5}.*")  # of Hugging Face: test-00000-of-00001.parquet

_Documents = dict[str, tuple[str, str]]
"""Title and text by id."""


def read_beir(folder: Path, split: str | None) -> Imported:
    """Import the judged queries of a split, and the corpus as notes. The default split is the only file, or "test".

    Raises:
        InputError: a file is missing or cannot be used; names the lines.
    """
    name, qrels = _qrels(folder, split)
    judged = Judgements(qrels[0])
    queries, corpus = (_files(folder, part, name) for part in ("queries", "corpus"))
    texts = _read_documents(queries, _("the queries"), judged.problems)
    documents = _read_documents(corpus, _("the corpus"), judged.problems)
    for place, cells in (line for path in qrels for line in _judgements(path)):
        try:
            query, document, score = cells
            judged.add(place, query, document, grade=grade(score))
        except ValueError:
            problem = _(
                '{place}: expected "query-id corpus-id score", separated by tabs; the score must be a whole number',
                place=place,
            )
            judged.problems.append(problem)
    if not judged.grades and not judged.problems:
        judged.problems.append(
            _("{file}: the file contains no relevance judgements. Export it again.", file=qrels[0])
        )
    if not documents and not judged.problems:
        judged.problems.append(_("{file}: no documents. Export it again.", file=corpus[0]))
    refuse_problems(judged.problems)
    warnings = _without_lost(judged, documents, corpus[0])
    asked: dict[str, Fields] = {name: {"query": text} for name, (_title, text) in texts.items()}
    return judged.imported(asked, queries[0], _notes_of(documents), warnings)


def _notes_of(documents: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return the notes of documents, given as title and text by id."""
    return {
        note_path(name): note_text(name, title, text)[0]
        for name, (title, text) in documents.items()
    }


def _files(folder: Path, part: str, split: str) -> list[Path]:
    files = sorted(folder.glob(f"{part}.parquet")) or sorted((folder / part).glob("*.parquet"))
    of_split = [path for path in files if _SHARD.sub("", path.stem) == split]
    return of_split or files or [folder / f"{part}.jsonl"]


def _qrels(folder: Path, split: str | None) -> tuple[str, list[Path]]:
    found = (sorted((folder / place).glob("*.*")) for place in ("qrels", "data", "default"))
    files = [
        p
        for p in next(filter(None, found), list[Path]())
        if p.suffix in {".tsv", ".jsonl", ".parquet"}
    ]
    splits = list(dict.fromkeys(_SHARD.sub("", path.stem) for path in files))
    name = split or (splits[0] if len(splits) == 1 else "test")
    if name in splits:
        return name, [path for path in files if _SHARD.sub("", path.stem) == name]
    file = folder / "qrels" / f"{name}.tsv"
    if splits:
        raise InputError(
            "{file}: no such file. Select a split of the dataset with --split: {splits}.",
            file=file,
            splits=splits,
        )
    raise InputError(
        "{file}: no such file. Give a folder with corpus.jsonl, queries.jsonl and qrels/.",
        file=file,
    )


def _read_documents(paths: Sequence[Path], what: Message, problems: list[Message]) -> _Documents:
    """Return the documents of tables; rows without an id, or with one again, are problems."""
    texts: _Documents = {}
    places: dict[str, str] = {}
    reads = ((json_lines if path.suffix == ".jsonl" else table_rows)(path, what) for path in paths)
    for place, fields in (row for rows in reads for row in rows):
        given = (written_id(fields.get(name)) for name in _IDS)
        name = next((name for name in given if isinstance(name, str) and name.strip()), None)
        if name is None:
            problems.append(_('{place}: no "_id". Give every line a unique one.', place=place))
        elif name in texts:
            problem = _(
                '{place}: the "_id" {id} is already used in {other}. Keep only one of the two lines.',
                place=place,
                id=name,
                other=places[name],
            )
            problems.append(problem)
        else:
            title, *own = (fields.get(field) for field in ("title", *_TEXTS))
            text = next((text for text in own if isinstance(text, str)), "")
            texts[name] = title if isinstance(title, str) else "", text
            places[name] = place
    return texts


def _judgements(path: Path) -> Iterator[tuple[str, list[str]]]:
    what = _("the relevance judgements (qrels)")
    if path.suffix != ".tsv":
        for place, fields in table_rows(path, what):
            yield place, [str(fields.get(name)) for name in ("query-id", "corpus-id", "score")]
        return
    for at, (place, line) in enumerate(placed_lines(path, read_text(path, what))):
        cells = [cell.strip() for cell in line.split("\t")]
        if at or cells[-1] != "score":
            yield place, cells


def _without_lost(judged: Judgements, documents: _Documents, corpus: Path) -> list[Message]:
    """Drop judgements of documents missing from the corpus, which no search can find; return a warning."""
    own = judged.grades.items()
    lost = [(query, name) for query, grades in own for name in grades if name not in documents]
    for query, document in lost:
        del judged.grades[query][document]
    return [
        n_(
            "{n} relevance judgement was not imported because {corpus} does not contain its document:"
            " {document} for query {query} ({place})",
            "{n:,} relevance judgements were not imported because {corpus} does not contain their documents,"
            " such as {document} for query {query} ({place})",
            n=len(lost),
            corpus=corpus.name,
            document=document,
            query=query,
            place=judged.places[query],
        )
        for query, document in lost[:1]
    ]


_Table = Sequence[tuple[str, Fields]]
_KNOWN: dict[str, tuple[str, ...]] = {  # columns by value; the first one with a value counts
    "question": ("user_input", "question", "query", "input", "anchor"),
    "reference": (
        *("reference", "ground_truth", "ground_truths", "expected_output", "expectedOutput"),
        "generation_gt",
    ),
    "contexts": ("retrieved_contexts", "contexts", "retrieval_context", "retrievalContext"),
    "answer": ("response", "answer", "actual_output", "actualOutput"),
    "expected": ("reference_context_ids", "expected_notes", "retrieval_gt"),
    "id": ("id", "_id", "qid", "query_id", "query-id", "name"),
    "reference_contexts": ("reference_contexts", "context"),
    "retrieved": ("retrieved_context_ids", "ranking"),
    "positive": ("positive", "pos"),
    "negative": ("negative", "neg"),
}
_JUDGED = ("response", "reference")  # what --answer names instead of a column
_PARTED = {"retrieval_context", "context"}  # deepeval joins their texts by "|"
_OWN: dict[str, type] = {  # in gigamind's exports
    "language": str,
    "difficulty": str,
    "labels": dict,
    "gains": dict,
    "tags": list,
    "expected_spans": list,
}


def read_columns(path: Path, chosen: Mapping[str, str], *, corpus: Path | None = None) -> Imported:
    """Read questions from a table: answers, or queries if no row has an answer and some name what answers them.

    Args:
        chosen: column by value. `answer` may be "response" or "reference", the answer to judge; `expected` gives
            queries. Other values are in known columns.
        corpus: table of the documents; they become notes.

    Raises:
        InputError: a file cannot be read or used; names the lines, or the columns of the file.
    """
    rows = table_rows(path, _("the test set"))
    table = [(place, row) for place, fields in rows for row in _samples(fields)]
    columns = {v: (name,) for v, name in chosen.items() if v != "answer" or name not in _JUDGED}
    names = _KNOWN | columns
    by_reference = chosen.get("answer") == "reference"
    if by_reference:
        contexts, others = names["contexts"], names["reference_contexts"]
        names |= {"contexts": others, "reference_contexts": contexts, "retrieved": ()}
        names |= {"answer": names["reference"], "reference": ()}
    present = list(dict.fromkeys(name for _place, row in table for name in row))
    unknown = [name for own in columns.values() for name in own if name not in present]
    if unknown or not any(name in present for name in names["question"]):
        options = shlex.join((str(path), *_proposal(table, present)))
        raise InputError(
            "{file}: no column {unknown}. Columns of the file: {columns}. Name the columns to use, such as: {command}",
            file=path,
            unknown=unknown or list(names["question"]),
            columns=present,
            command=f"gigamind import table {options}",
        )
    judged = Judgements(path)
    documents = _read_documents([corpus] if corpus else [], _("the corpus"), judged.problems)
    reader = _Reader(names, documents, judged)
    has = {v: any(_cell(row.get(n)) for _place, row in table for n in names[v]) for v in names}
    if "expected" in columns or (not has["answer"] and (has["expected"] or has["positive"])):
        return reader.queries(table, corpus)
    return reader.answers(table, _JUDGED[by_reference], _JUDGED[not by_reference])


def answers_of(path: Path, table: _Table) -> Imported:
    """Return the answers of rows with known columns; InputError if one cannot be used."""
    return _Reader(_KNOWN, {}, Judgements(path)).answers(table, *_JUDGED)


@dataclass(frozen=True)
class _Reader:
    """Reads rows by the columns of each value."""

    names: Mapping[str, Sequence[str]]
    documents: _Documents
    judged: Judgements

    def _questions(self, table: _Table) -> Iterator[tuple[str, str, str, Fields]]:
        """Yield place, id, question and fields of each row; a row without a question is a problem."""
        taken: set[str] = set()
        for number, (place, fields) in enumerate(table, start=1):
            given = (written_id(fields.get(name)) for name in self.names["id"])
            name = next((name for name in given if isinstance(name, str) and name.strip()), "")
            name = name if name and name not in taken else f"{number:04d}"
            taken.add(name)
            if question := _text(fields, self.names["question"]):
                yield place, name, question, fields
            else:
                problem = _(
                    "{place}: none of the columns {columns} contains a question",
                    place=place,
                    columns=self.names["question"],
                )
                self.judged.problems.append(problem)

    def queries(self, table: _Table, corpus: Path | None) -> Imported:
        """Return queries; those without a document are unanswerable."""
        texts: dict[str, Fields] = {}
        run: dict[str, list[dict[str, str]]] = {}
        by_question: dict[str, str] = {}
        passages: dict[str, str] = {}
        for place, number, question, fields in self._questions(table):
            name = number
            for gain, value in enumerate(("negative", "positive")):
                for text in _texts(fields, self.names[value]):
                    name = by_question.setdefault(question, number)  # triples repeat their query
                    passage = passages.setdefault(text, f"passage {len(passages) + 1:04d}")
                    self.documents[passage] = "", text
                    self.judged.add(place, name, passage, grade=gain)
            documents, groups = _expected(fields, self.names["expected"])
            self.judged.add(place, name, *documents)
            graded: Fields = {} if by_question else {"gains": None, "expected_all_of": groups}
            texts[name] = {"query": question, **graded, **_own(fields)}
            if any(column in fields for column in self.names["retrieved"]):
                ids, found = (_texts(fields, self.names[n]) for n in ("retrieved", "contexts"))
                found = found if len(found) == len(ids) else [""] * len(ids)
                run[name] = [{"note": i, "text": t} for i, t in zip(ids, found, strict=True)]
        refuse_problems(self.judged.problems)
        warnings = _without_lost(self.judged, self.documents, corpus) if corpus else []
        notes = _notes_of(self.documents)
        return self.judged.imported(texts, self.judged.path, notes, warnings, run=run)

    def answers(self, table: _Table, answered: str, other: str) -> Imported:
        """Return answers with contexts; rows without the answer to judge are left out."""
        rows: list[AnswerItem] = []
        problems = self.judged.problems
        unanswered = without_context = 0
        for place, name, question, fields in self._questions(table):
            if not (answer := _text(fields, self.names["answer"])):
                unanswered += 1
                continue
            contexts = self._contexts(fields)
            without_context += not contexts
            reference = _text(fields, self.names["reference"])
            facts = [{"text": span.slice(reference)} for span in sentences(reference)]
            given: Fields = {"id": name, "question": question, "answer": answer}
            given |= {"context_notes": contexts, "labels": {"facts": facts} if facts else None}
            row = checked_row(AnswerItem, place, problems, **{**given, **_own(fields)})
            rows += [row] if row else []
        if not rows and not problems:
            problem = _(
                "{file}: no row contains an answer to judge (--answer {field}). Let your system answer first, or"
                " import with --answer {other}.",
                file=self.judged.path,
                field=answered,
                other=other,
            )
            problems.append(problem)
        refuse_problems(problems)
        left_out = n_(
            "{n} of {total} rows contains no answer to judge (--answer {field}) and was not imported",
            "{n:,} of {total:,} rows contain no answer to judge (--answer {field}) and were not imported",
            n=unanswered,
            total=len(table),
            field=answered,
        )
        unchecked = n_(
            "{n} row has no context, so its answer cannot be checked against a source",
            "{n:,} rows have no context, so their answers cannot be checked against a source",
            n=without_context,
        )
        counted = ((unanswered, left_out), (without_context, unchecked))
        return Imported(rows, {}, tuple(warning for count, warning in counted if count))

    def _contexts(self, fields: Fields) -> list[dict[str, str]]:
        """Return the contexts of the answer; without any, the reference's contexts, or the expected documents."""
        texts = _texts(fields, self.names["contexts"])
        titles = _texts(fields, self.names["retrieved"]) if texts else []
        texts = texts or _texts(fields, self.names["reference_contexts"])
        if not texts:
            expected, _groups = _expected(fields, self.names["expected"])
            titles = [name for name in expected if name in self.documents]
            texts = [self.documents[name][1] for name in titles]
        if len(titles) != len(texts):
            titles = [f"context {at}" for at in range(1, len(texts) + 1)]
        return [{"title": t, "text": text} for t, text in zip(titles, texts, strict=True)]


def _samples(fields: Fields) -> Iterator[Fields]:
    """Yield the sample of a row, or one for each answer of a conversation, whose question is the message before it."""
    sample = cast("Fields", fields.get("metric_input", fields))  # an annotation of ragas
    listed = _cell(sample.get("turns") or sample.get("user_input"))
    turns = [cast("Fields", turn) for turn in listed if isinstance(turn, dict)]
    if not turns:
        yield sample
    asked: Fields = {"context": sample.get("context")}
    for number, turn in enumerate(turns, start=1):
        role, content = turn.get("role", turn.get("type")), turn.get("content")
        if role in {"user", "human"}:
            asked["question"] = content
        elif role in {"assistant", "ai"} and content and "question" in asked:
            name = f"{sample['name']}-{number}" if sample.get("name") else None
            yield {**turn, **asked, "answer": content, "id": name, "name": None}


def _proposal(table: _Table, columns: Sequence[str]) -> list[str]:
    """Return options that map columns by their names, or else by their texts."""
    chosen: dict[str, str] = {}
    needed = {"question": 1, "reference": len(columns), "contexts": 2, "answer": 1}
    for value, least in needed.items():
        left = [name for name in columns if name not in chosen.values()]
        fit: dict[str, tuple[bool, int]] = {}
        for name in left:
            texts = [str(row.get(name, "")) for _place, row in table]
            asked, length = sum(t.rstrip().endswith("?") for t in texts), sum(map(len, texts))
            similar = any(known in name.lower() for known in _KNOWN[value])
            if similar or len(left) >= least:
                fit[name] = similar, {"question": asked, "contexts": length}.get(value, 0)
        if fit:
            chosen[value] = max(fit, key=lambda name, fit=fit: fit[name])
    return [part for value, name in chosen.items() for part in (f"--{value}", name)]


def _own(fields: Fields) -> Fields:
    """Return the fields of gigamind's exports that the columns of other tools cannot hold."""
    own = {name: _parsed(fields.get(name)) for name in _OWN}
    own = {name: value for name, value in own.items() if value and isinstance(value, _OWN[name])}
    return own if str(fields.get("answerable")) != "False" else {**own, "answerable": False}


def _expected(fields: Fields, names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the documents that answer a question, and groups of them of which each needs one, as in AutoRAG."""
    parts = next(filter(None, (_cell(fields.get(name)) for name in names)), list[object]())
    groups = [[str(name) for name in _cell(part)] for part in parts]
    documents = [name for group in groups for name in group]
    is_grouped = len(documents) > 1 and any(isinstance(part, list) for part in parts)
    return documents, [[label(name) for name in group] for group in groups if is_grouped]


def _text(fields: Fields, names: Sequence[str]) -> str:
    values = (fields.get(name) for name in names)
    texts = (
        value if isinstance(value, str) else next(iter(_cell(value)), None) for value in values
    )
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def _texts(fields: Fields, names: Sequence[str]) -> list[str]:
    parts = (_cell(fields.get(name), parted=name in _PARTED) for name in names)
    texts = ([str(part) for part in own if str(part).strip()] for own in parts)
    return next(filter(None, texts), list[str]())


def _cell(value: object, *, parted: bool = False) -> list[object]:
    """Return the values of a cell; one without a list is one value."""
    value = _parsed(value)
    if isinstance(value, list):
        return cast("list[object]", value)
    if isinstance(value, str):
        value = value.strip() and value
        return list(value.split("|")) if parted else [value] if value else []
    return [] if value is None else [value]


def _parsed(value: object) -> object:
    """Return a list or an object that a cell of CSV holds as JSON or as Python writes it; other values stay."""
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
        for read in (json.loads, ast.literal_eval):
            try:
                return cast("object", read(value))
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return value
