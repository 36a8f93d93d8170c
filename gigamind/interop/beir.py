"""Import BEIR folders: corpus.jsonl {_id, title, text}, queries.jsonl {_id, text}, graded qrels/SPLIT.tsv."""

from pathlib import Path

from gigamind.errors import InputError
from gigamind.i18n import Message, _, n_
from gigamind.interop.collection import Imported, note_path, note_text
from gigamind.interop.source import Fields, json_lines, placed_lines
from gigamind.interop.trec import Judgements, grade, imported_queries
from gigamind.loading import read_text, refuse_problems

_COLUMNS = 3


def read_beir(folder: Path, split: str | None) -> Imported:
    """Import the judged queries of a split, and the corpus as notes. The default split is the only file, or "test".

    Raises:
        InputError: a file is missing or cannot be used; names the lines.
    """
    qrels = _qrels(folder, split)
    judged = Judgements(qrels)
    texts = _texts(folder / "queries.jsonl", _("the queries"), judged.problems)
    documents = _texts(folder / "corpus.jsonl", _("the corpus"), judged.problems)
    _judge(judged, qrels)
    if not documents and not judged.problems:
        corpus = folder / "corpus.jsonl"
        judged.problems.append(_("{file}: no documents. Export it again.", file=corpus))
    refuse_problems(judged.problems)
    warnings = _without_lost(judged, documents)
    notes: dict[str, str] = {}
    for name, (title, text) in documents.items():
        notes[note_path(name)], _start = note_text(name, title, text)
    return imported_queries(
        judged,
        {name: text for name, (_title, text) in texts.items()},
        folder / "queries.jsonl",
        notes,
        warnings,
    )


def _qrels(folder: Path, split: str | None) -> Path:
    splits = {path.stem: path for path in sorted((folder / "qrels").glob("*.tsv"))}
    name = split or (next(iter(splits)) if len(splits) == 1 else "test")
    if name not in splits:
        file = folder / "qrels" / f"{name}.tsv"
        raise InputError(
            _(
                "{file}: no such file. Select a split of the dataset with --split: {splits}.",
                file=file,
                splits=list(splits),
            )
            if splits
            else _(
                "{file}: no such file. Give a folder with corpus.jsonl, queries.jsonl and qrels/.",
                file=file,
            )
        )
    return splits[name]


def _texts(path: Path, what: Message, problems: list[Message]) -> dict[str, tuple[str, str]]:
    texts: dict[str, tuple[str, str]] = {}
    places: dict[str, str] = {}
    for place, fields in json_lines(path, what):
        name = fields.get("_id")
        if not isinstance(name, str | int) or not str(name).strip():
            problems.append(_('{place}: no "_id". Give every line a unique one.', place=place))
        elif str(name) in texts:
            problems.append(
                _(
                    '{place}: the "_id" {id} is already used in {other}. Keep only one of the two lines.',
                    place=place,
                    id=str(name),
                    other=places[str(name)],
                )
            )
        else:
            texts[str(name)] = _text(fields, "title"), _text(fields, "text")
            places[str(name)] = place
    return texts


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _judge(judged: Judgements, path: Path) -> None:
    lines = placed_lines(path, read_text(path, _("the relevance judgements (qrels)")))
    for at, (place, line) in enumerate(lines):
        cells = [cell.strip() for cell in line.split("\t")]
        if at == 0 and cells[-1:] == ["score"]:
            continue
        try:
            if len(cells) != _COLUMNS:
                raise ValueError  # noqa: TRY301  reported like a grade that is not a number
            judged.add(place, cells[0], cells[1], grade(cells[2]))
        except ValueError:
            judged.problems.append(
                _(
                    '{place}: expected "query-id corpus-id score", separated by tabs; the score must be a whole number',
                    place=place,
                )
            )
    if not judged.grades and not judged.problems:
        judged.problems.append(
            _("{file}: the file contains no relevance judgements. Export it again.", file=path)
        )


def _without_lost(judged: Judgements, documents: dict[str, tuple[str, str]]) -> list[Message]:
    """Drop judgements of documents missing from the corpus, which no search can find; return a warning."""
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
    return [
        n_(
            "{n} relevance judgement was not imported because corpus.jsonl does not contain its document:"
            " {document} for query {query} ({place})",
            "{n:,} relevance judgements were not imported because corpus.jsonl does not contain their documents,"
            " such as {document} for query {query} ({place})",
            n=len(lost),
            document=document,
            query=query,
            place=judged.places[query],
        )
    ]
