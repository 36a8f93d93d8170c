from pathlib import Path

from fit_calibration import Labelled, label
from row_files import write_rows
from vault_files import write_files

from gigamind.datasets.check import check_queries
from gigamind.datasets.jsonl import read_queries
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.vault.identity import Identities
from gigamind.vault.notes import read_vault


def labelled(folder: Path, unanswerable: int, *, leave_out: bool) -> list[Labelled]:
    """One answerable query of two notes, and so many unanswerable ones."""
    notes = {"a": "apple", "b": "apple", "c": "cherry", "d": "plum", "e": "pear"}
    root = write_files(folder / "vault", {f"{name}.md": text for name, text in notes.items()})
    rows = [{"id": "q", "query": "apple", "answerable": True, "expected_notes": ["a.md", "b"]}]
    rows += [
        {"id": f"u{n}", "query": f"zebra {n}", "answerable": False, "expected_notes": []}
        for n in range(unanswerable)
    ]
    vault = read_vault(root)
    identities = Identities(vault.notes)
    queries = check_queries(
        read_queries(write_rows(folder / "q.jsonl", rows)), vault, identities
    ).usable
    settings = RetrievalSettings(mode="keyword")
    with open_retriever(vault, identities, settings, lambda *_: None) as retriever:
        return label(retriever, queries, "v1", leave_out=leave_out)


def test_a_left_out_query_is_unanswerable_and_stays_with_its_original(tmp_path: Path):
    first, second = labelled(tmp_path, 0, leave_out=True)
    assert (first.answerable, first.left_out, first.signals.matched) == (True, False, True)
    assert (second.answerable, second.left_out, second.signals.matched) == (False, True, False)
    assert first.keys == second.keys == {"id q", "note v1 a.md", "note v1 b.md"}
    assert first.vault == second.vault == "v1"


def test_without_leaving_out_each_query_is_one_row(tmp_path: Path):
    rows = labelled(tmp_path, 2, leave_out=False)
    assert [row.answerable for row in rows] == [True, False, False]
    assert not any(row.left_out for row in rows)
