from fit_calibration import label
from row_files import query_row, write_rows

from gigamind.datasets.check import check_queries
from gigamind.datasets.jsonl import read_queries
from gigamind.retrieval.cache import quiet
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.vault.identity import Identities


def test_a_left_out_query_is_unanswerable_and_stays_with_its_original(vault_of, tmp_path):
    notes = {"a": "apple", "b": "apple", "c": "cherry", "d": "plum", "e": "pear"}
    vault = vault_of({f"{name}.md": text for name, text in notes.items()})
    identities = Identities(vault.notes)
    dataset = write_rows(tmp_path / "q.jsonl", [query_row("q", "apple", "a.md", "b")])
    queries = check_queries(read_queries(dataset), vault, identities).usable
    settings = RetrievalSettings(mode="keyword")
    with open_retriever(vault, identities, settings, quiet) as retriever:
        first, second = label(retriever, queries, "v1", leave_out=True)
        (alone,) = label(retriever, queries, "v1", leave_out=False)
    assert (first.answerable, first.left_out, first.signals.matched) == (True, False, True)
    assert (second.answerable, second.left_out, second.signals.matched) == (False, True, False)
    assert first.keys == second.keys == {"id q", "note v1 a.md", "note v1 b.md"}
    assert first.vault == second.vault == "v1"
    assert alone == first
