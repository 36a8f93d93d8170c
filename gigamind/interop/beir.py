"""Import folders of BEIR and MTEB: corpus {_id, title, text}, queries {_id, text} and graded qrels by split.

Corpus and queries are JSON lines or Parquet, qrels also tab-separated; a part of Parquet may be a folder of files.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gigamind.errors import InputError
from gigamind.i18n import Message, _, n_
from gigamind.interop.collection import Imported, notes_of
from gigamind.interop.source import Fields, json_lines, placed_lines, table_rows
from gigamind.interop.trec import Judgements, grade, imported_queries
from gigamind.loading import read_text, refuse_problems
from gigamind.text import written_id

_IDS, _TEXTS = ("_id", "doc_id", "id"), ("text", "contents")  # of BEIR, AutoRAG, MTEB
_SHARD = re.compile(r"-\d{5}-of-\d{5}.*")  # of Hugging Face: test-00000-of-00001.parquet

Documents = dict[str, tuple[str, str]]
"""Title and text by id."""


def read_beir(folder: Path, split: str | None) -> Imported:
    """Import the judged queries of a split, and the corpus as notes. The default split is the only file, or "test".

    Raises:
        InputError: a file is missing or cannot be used; names the lines.
    """
    name, qrels = _qrels(folder, split)
    judged = Judgements(qrels[0])
    queries, corpus = (_files(folder, part, name) for part in ("queries", "corpus"))
    texts = read_documents(queries, _("the queries"), judged.problems)
    documents = read_documents(corpus, _("the corpus"), judged.problems)
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
    warnings = without_lost(judged, documents, corpus[0])
    asked: dict[str, Fields] = {name: {"query": text} for name, (_title, text) in texts.items()}
    return imported_queries(judged, asked, queries[0], notes_of(documents), warnings)


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


def read_documents(paths: Sequence[Path], what: Message, problems: list[Message]) -> Documents:
    """Return the documents of tables; rows without an id, or with one again, are problems."""
    texts: Documents = {}
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


def without_lost(judged: Judgements, documents: Documents, corpus: Path) -> list[Message]:
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
