"""Small work that writes files, to be broken off: how it is started, gone on with, and what it leaves."""

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import command_line
import forked
import numpy as np
from row_files import write_rows
from timeless import without_times

from gigamind.evaluation.shards import is_resumable
from gigamind.memory.events import read_events
from gigamind.retrieval.cache import Cache, embed_all, quiet
from gigamind.retrieval.chunk import chunk_notes
from gigamind.retrieval.edge import open_edge
from gigamind.retrieval.embed import Vectors
from gigamind.retrieval.index import IndexContent
from gigamind.vault.notes import Vault

NOTES, QUERIES, SESSIONS = 60, 40, 12
SEARCH = (*command_line.SEARCH, "--speed-passes", "0")


def lay_out(folder: Path) -> None:
    """What the work reads: a vault, a dataset, sessions, a file of SQuAD."""
    (folder / "vault").mkdir(parents=True)
    for n in range(NOTES):
        text = f"# 배포 {n}\n\nThe deploy of service {n} runs every Friday at {n % 24}.\n" * 5
        (folder / "vault" / f"note {n}.md").write_text(text, encoding="utf-8")
    write_rows(folder / "queries.jsonl", map(_query, range(QUERIES)))
    said = [f"We ship {n}." for n in range(SESSIONS)]
    write_rows(folder / "session.jsonl", [{"role": "user", "content": text} for text in said])
    evidence = [[{"messageIndex": n, "quote": f"ship {n}"}] for n in range(SESSIONS)]
    entries = [
        {"entryId": f"e{n}", "text": said[n], "evidence": evidence[n]} for n in range(SESSIONS)
    ]
    (folder / "extracted.json").write_text(json.dumps({"entries": entries}), encoding="utf-8")
    squad = {"title": "T", "paragraphs": [_paragraph(n) for n in range(150)]}
    (folder / "squad.json").write_text(json.dumps({"version": "v2.0", "data": [squad]}), "utf-8")


def _query(n: int) -> dict[str, Any]:
    labels = {"expected_notes": [f"note {n}.md"], "answerable": True, "difficulty": "easy"}
    return {"id": f"q{n}", "query": f"deploy of service {n}", **labels}


def _paragraph(n: int) -> dict[str, Any]:
    context = f"Paragraph {n} says seven."
    answer = {"text": "seven", "answer_start": context.index("seven")}
    return {"context": context, "qas": [{"id": str(n), "question": "What?", "answers": [answer]}]}


class Embedder:
    """Vectors of the hashes of texts."""

    name = "hash@1"

    def embed_query(self, text: str) -> Vectors:
        digest = hashlib.sha256(text.encode()).digest()
        return np.frombuffer(digest, np.uint8).astype(np.float32) - 127.5

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.embed_query(text) for text in texts])


def index(folder: str = ".") -> list[float]:
    """Index the vault, as an evaluation does; the cosines of all its chunks for one query."""
    cache, embedder = Cache(Path(folder, "cache")), Embedder()
    chunks = chunk_notes(Vault.read(Path(folder, "vault")).notes)
    texts = [chunk.indexed_text for chunk in chunks]
    content = IndexContent(
        "shard", chunks, lambda: embed_all(embedder, texts, cache.embeddings, quiet)
    )
    opened = open_edge(content, cache.indexes)
    cosines = opened.cosines(embedder.embed_query("deploy"), range(len(chunks)))
    opened.close()
    return cosines.tolist()


@dataclass(frozen=True)
class Work:
    """One kind.

    Attributes:
        start: in a folder, from its beginning or from where it was broken off.
        result: what it leaves there once it has ended, times apart.
        out: the folder that it writes whole or not at all; "" where there is none.
    """

    start: Callable[..., forked.Forked]
    result: Callable[[Path], Any]
    out: str = ""


def _command(*arguments: str) -> Callable[..., forked.Forked]:
    def start(folder: Path, **how: Any) -> forked.Forked:
        return forked.command(folder, *arguments, "--cache-dir", "cache", **how)

    return start


def run_of(out: Path) -> Any:
    """The figures and items of a run."""
    lines = (out / "per_item.jsonl").read_text("utf-8").splitlines()
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    files = sorted(path.name for path in out.iterdir())
    verdicts = without_times(summary.get("overall")), [without_times(json.loads(x)) for x in lines]
    return files, verdicts


def works(url: str) -> dict[str, Work]:
    """Every kind, by its name; `url` is of a model server."""
    judged = ("--unanswerable-mode", "llm", "--model", "openai/judge;lat=3", "--api-base", url)
    judged += ("--max-in-flight", "4", "--model-timeout-s", "60", "--store-mode", "off")

    def judge(folder: Path, **how: Any) -> forked.Forked:
        place = ("--resume" if is_resumable(folder / "out") else "--out", "out")
        return _command(*SEARCH, *judged, *place)(folder, **how)

    def compared(out: Path) -> Any:
        page = json.loads((out / "compared" / "compare.json").read_text("utf-8"))
        return sorted(path.name for path in (out / "compared").iterdir()), page["comparison"]

    def events(folder: Path) -> Any:
        found = read_events(folder / "memory.db")
        return [(one.seq, one.event_id, one.event_type) for one in found]

    def files(folder: Path) -> Any:
        made = filter(Path.is_file, (folder / "imported").rglob("*"))
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in made}

    def plain(*arguments: str) -> Callable[..., forked.Forked]:
        """A command that has no option for the cache."""
        return lambda folder, **how: forked.command(folder, *arguments, **how)

    graduate = ("memory", "graduate", "--session", "session.jsonl", "--extracted", "extracted.json")
    return {
        "indexing": Work(
            lambda folder, **how: forked.Forked(folder, index, **how),
            lambda folder: index(str(folder)),
        ),
        "searching": Work(
            _command(*SEARCH, "--out", "out"), lambda folder: run_of(folder / "out"), "out"
        ),
        "judging": Work(judge, lambda folder: run_of(folder / "out"), "out"),
        "reporting": Work(
            plain("compare", "base", "base", "--out", "compared"), compared, "compared"
        ),
        "graduating": Work(plain(*graduate, "--log", "memory.db"), events),
        "importing": Work(
            plain("import", "squad", "squad.json", "--out", "imported"), files, "imported"
        ),
    }


def fresh(template: Path, folder: Path) -> Path:
    """A folder to work in, as the work finds it at first."""
    shutil.copytree(template, folder)
    return folder
