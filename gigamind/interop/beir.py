"""BEIR folders: corpus.jsonl {_id, title, text}, queries.jsonl {_id, text}, qrels/SPLIT.tsv with graded judgements."""

from pathlib import Path

from gigamind.errors import InputError
from gigamind.interop.collection import Imported, note_path, note_text
from gigamind.interop.source import Fields, json_lines, placed_lines, read_text
from gigamind.interop.trec import Judgements, imported_queries
from gigamind.loading import refuse_problems

_COLUMNS = 3


def read_beir(folder: Path, split: str | None) -> Imported:
    """The judged queries of a split, and the corpus as notes; without a split, that of the only file, or of "test".

    Raises:
        InputError: a file is missing or cannot be used; names the lines.
    """
    qrels = _qrels(folder, split)
    judged = Judgements(qrels)
    texts = _texts(folder / "queries.jsonl", "the queries", judged.problems)
    documents = _texts(folder / "corpus.jsonl", "the corpus", judged.problems)
    _judge(judged, qrels)
    if not documents and not judged.problems:
        judged.problems.append(f"{folder / 'corpus.jsonl'}: holds no document; export it anew")
    refuse_problems(judged.problems)
    warnings = _without_lost(judged, documents)
    notes: dict[str, str] = {}
    for name, (title, text) in documents.items():
        notes[note_path(name)], _ = note_text(name, title, text)
    return imported_queries(
        judged,
        {name: text for name, (_, text) in texts.items()},
        folder / "queries.jsonl",
        notes,
        warnings,
    )


def _qrels(folder: Path, split: str | None) -> Path:
    """The file of the split."""
    splits = {path.stem: path for path in sorted((folder / "qrels").glob("*.tsv"))}
    name = split or (next(iter(splits)) if len(splits) == 1 else "test")
    if name not in splits:
        there = (
            f"; there is {', '.join(splits)}: name one by --split"
            if splits
            else "; give a folder with corpus.jsonl, queries.jsonl and qrels/"
        )
        raise InputError(f"{folder / 'qrels' / name}.tsv: no such file{there}")
    return splits[name]


def _texts(path: Path, what: str, problems: list[str]) -> dict[str, tuple[str, str]]:
    """Id -> title and text."""
    texts: dict[str, tuple[str, str]] = {}
    places: dict[str, str] = {}
    for place, fields in json_lines(path, what):
        name = fields.get("_id")
        if not isinstance(name, str | int) or not str(name).strip():
            problems.append(f'{place}: no "_id"; give every line one of its own')
        elif str(name) in texts:
            problems.append(f'{place}: "_id" {name} stands in {places[str(name)]}, too; keep one')
        else:
            texts[str(name)] = _text(fields, "title"), _text(fields, "text")
            places[str(name)] = place
    return texts


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _judge(judged: Judgements, path: Path) -> None:
    lines = placed_lines(path, read_text(path, "the judgements"))
    for at, (place, line) in enumerate(lines):
        cells = [cell.strip() for cell in line.split("\t")]
        if at == 0 and cells[-1:] == ["score"]:
            continue
        try:
            if len(cells) != _COLUMNS:
                raise ValueError  # noqa: TRY301  told with a grade that is no number
            judged.add(place, cells[0], cells[1], int(cells[2]))
        except ValueError:
            judged.problems.append(f'{place}: expected "query-id corpus-id score", parted by tabs')
    if not judged.grades and not judged.problems:
        judged.problems.append(f"{path}: holds no judgement; export it anew")


def _without_lost(judged: Judgements, documents: dict[str, tuple[str, str]]) -> list[str]:
    """Drop judgements of documents that the corpus lacks, which no search can find; a word on them."""
    lost = [
        (query, document)
        for query, own in judged.grades.items()
        for document in own
        if document not in documents
    ]
    for query, document in lost:
        del judged.grades[query][document]
    if not lost:
        return []
    query, document = lost[0]
    sentence = (
        f"{len(lost)} judgements are of documents that corpus.jsonl lacks, such as {document}"
    )
    return [f"{sentence} of query {query} ({judged.places[query]}): left out"]
