"""Build vaults of given sizes with queries: XQuAD's paragraphs or the examples, filled up with documentation.

Documentation of installed packages (docstrings, Markdown, reStructuredText) fills them, in an order by hash: a
smaller vault is a part of a larger one.  The same packages give the same notes.  XQuAD (Artetxe, Ruder, Yogatama
2020, CC BY-SA 4.0) is not in the repository: name a folder with `xquad.en.json`, ...
"""

import ast
import functools
import hashlib
import json
import re
import shutil
import sysconfig
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from gigamind.datasets.check import CheckedQuery, check_queries
from gigamind.datasets.jsonl import read_queries
from gigamind.datasets.schema import QueryItem
from gigamind.datasets.write import write_rows
from gigamind.retrieval.cache import quiet
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.retriever import Retriever
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.text import tokens
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
HELD_OUT = 4  # every fourth article stays out of its vault: nothing answers its questions
_PER_FILE = 5  # documents of one file, so that no package fills a vault alone
_CHARS = range(400, 6_000)
_DEFINED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_LICENSE = re.compile("licen[cs]e|copying|notice|authors|changelog", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Document:
    """Hold one piece of documentation; its title is not in its text."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Collection:
    """Hold a vault on disk with queries about it.

    Attributes:
        dataset: the queries as a file that `gigamind eval search` reads.
        size: notes in the vault.
    """

    name: str
    notes: Path
    dataset: Path
    size: int

    @property
    def queries(self) -> tuple[QueryItem, ...]:
        """Return all queries, including unanswerable ones."""
        return read_queries(self.dataset).items

    @contextmanager
    def opened(
        self, settings: RetrievalSettings
    ) -> Iterator[tuple[Vault, Sequence[CheckedQuery], Retriever]]:
        """Yield the notes, the usable queries and a search over the notes."""
        vault = Vault.read(self.notes)
        identities = Identities(vault.notes)
        queries = check_queries(read_queries(self.dataset), vault, identities).usable
        with open_retriever(vault, identities, settings, quiet) as retriever:
            yield vault, queries, retriever


def odd(identifier: str) -> bool:
    """Return whether an id is in the half that only measures; the even half chooses judges and constants."""
    return hashlib.sha256(identifier.encode()).digest()[-1] % 2 == 1


def xquad(
    folder: Path,
    out: Path,
    size: int,
    *,
    notes: str = "en",
    queries: str = "en",
    articles: slice = slice(None),
) -> Collection:
    """Return XQuAD, one note per paragraph: 180 of all articles, a fourth held out; documents fill up to `size`.

    Args:
        notes, queries: languages; the questions are the same in all.
        articles: which of the 48 take part; `slice(0, None, 3)` gives 60 notes.
    """
    asked = _articles(folder, queries)[articles]
    rows: list[QueryItem] = []
    vault = _empty(out / "notes")
    written = 0
    for place, article in enumerate(_articles(folder, notes)[articles]):
        held = place % HELD_OUT == HELD_OUT - 1
        title = article["title"].replace("_", " ")
        for number, paragraph in enumerate(article["paragraphs"]):
            path = f"{place:02} {number}.md"
            if not held:
                _write(vault / path, Document(f"{title} {number}", paragraph["context"]))
                written += 1
            rows += [
                QueryItem(
                    id=f"{queries}-{question['id']}",
                    query=question["question"],
                    answerable=not held,
                    expected_notes=() if held else (path,),
                    language=queries,
                )
                for question in asked[place]["paragraphs"][number]["qas"]
            ]
    return _collection(f"XQuAD {queries} on {notes}", out, rows, written, size)


def example_queries(out: Path, size: int = 0, *, odd_ids: bool) -> Collection:
    """Return half of the example queries over the example vault, filled up to `size`."""
    vault = out / "notes"
    shutil.rmtree(vault, ignore_errors=True)
    shutil.copytree(EXAMPLES / "vault", vault)
    items = read_queries(EXAMPLES / "queries.jsonl").items
    rows = [item for item in items if odd(item.id) == odd_ids]
    name = f"examples, {'odd' if odd_ids else 'even'} ids"
    return _collection(name, out, rows, len(list(vault.rglob("*.md"))), size)


def documentation(out: Path, size: int, titles: int) -> Collection:
    """Return a vault of documents; the titles of the first ones are the queries."""
    _empty(out / "notes")
    rows = [
        QueryItem(
            id=f"title-{place}",
            query=document.title,
            answerable=True,
            expected_notes=(_document_path(place),),
            language="en",
        )
        for place, document in enumerate(documents(titles))
    ]
    return _collection("titles of documentation", out, rows, 0, size)


def documents(count: int) -> list[Document]:
    """Return the first documents of the installed packages, with unique titles.

    Raises:
        ValueError: the packages have fewer.
    """
    unread = _unread()
    while len(_READ) < count and (document := next(unread, None)):
        _READ.setdefault(document.title, document)
    if len(_READ) < count:
        raise ValueError(f"the installed packages hold {len(_READ)} documents, not {count}")
    return list(_READ.values())[:count]


_READ: dict[str, Document] = {}


@functools.cache
def _unread() -> Iterator[Document]:
    """Return one reader for the whole process; `_READ` keeps its documents."""
    root = Path(sysconfig.get_path("purelib"))
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*.*")}
    ordered = sorted(files, key=lambda name: hashlib.sha256(name.encode()).digest())
    return (found for name in ordered for found in islice(_documents_of(files[name]), _PER_FILE))


def _documents_of(path: Path) -> Iterator[Document]:
    for text in _texts(path):
        head, _, body = text.strip().partition("\n")
        title = head.strip(" #=*.`\"'")
        if len(body) in _CHARS and len(tokens(title)) > 1:
            yield Document(title, body.strip())


def _texts(path: Path) -> Iterator[str]:
    if path.suffix in {".md", ".rst"} and not _LICENSE.search(path.name):
        yield path.read_text("utf-8", errors="replace")
    elif path.suffix == ".py":
        try:
            with warnings.catch_warnings(action="ignore"):  # of strings in files of others
                tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):  # a template, or a test of a parser
            return
        for node in ast.walk(tree):
            if isinstance(node, _DEFINED) and (text := ast.get_docstring(node)):
                yield text


def _collection(
    name: str, out: Path, rows: Sequence[QueryItem], written: int, size: int
) -> Collection:
    for place, document in enumerate(documents(max(0, size - written))):
        _write(out / "notes" / _document_path(place), document)
    write_rows(out / "queries.jsonl", rows)
    return Collection(name, out / "notes", out / "queries.jsonl", max(size, written))


def _document_path(place: int) -> str:
    return f"documentation/{place:05}.md"


def _write(path: Path, document: Document) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    head = f"---\ntitle: {json.dumps(document.title, ensure_ascii=False)}\n---\n\n"
    path.write_text(head + document.text + "\n", "utf-8")


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _articles(folder: Path, language: str) -> list[dict[str, Any]]:
    return json.loads((folder / f"xquad.{language}.json").read_text("utf-8"))["data"]
