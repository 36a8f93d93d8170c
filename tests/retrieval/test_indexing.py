"""`index_vault`: the collection of a vault stands on the server before an evaluation asks for it."""

import json
import socket

import pytest
from qdrant_server import DROPPED

from gigamind.errors import IndexingError, InputError, NotesError
from gigamind.evaluation.options import validated
from gigamind.retrieval.indexing import IndexOptions, index_vault
from gigamind.tasks import evaluate
from gigamind.tasks.options import SearchEvalOptions

NOTES = {f"note{i}.md": f"# Note {i}\n\nBatteries of bike {i} are swapped." for i in range(12)}
QUERIES = [
    {"id": f"q{i}", "query": f"bike {i}", "answerable": True, "expected_notes": [f"note{i}.md"]}
    for i in range(9)
]


@pytest.fixture
def options(vault_of, tiny_model, tmp_path):
    vault_of(NOTES)
    embedder = f"fastembed:{tiny_model()}"
    return lambda url, **changes: IndexOptions(
        **{
            "notes": tmp_path / "vault", "vault": "bikes", "qdrant_url": url, "embedder": embedder,
            "cache_dir": tmp_path / "cache", **changes,
        }
    )  # fmt: skip


@pytest.fixture
def evaluated(options, tmp_path):
    """An evaluation over the same vault and server; its out folder."""
    dataset = tmp_path / "queries.jsonl"
    dataset.write_text("".join(json.dumps(query) + "\n" for query in QUERIES), "utf-8")

    def run(url, **changes):
        of_index = options(url)
        chosen = {
            "dataset": dataset, "notes": of_index.notes, "out": tmp_path / "out",
            "embedder": of_index.embedder, "cache_dir": of_index.cache_dir, "qdrant_url": url,
            "speed_passes": 0, **changes,
        }  # fmt: skip
        evaluate(validated(SearchEvalOptions, chosen))
        return tmp_path / "out"

    return run


def fillings(standing):
    return [path for verb, path in standing.requests if verb == "PUT" and "/points" in path]


def test_an_evaluation_reads_the_collection_that_was_built_for_it_and_fills_none(
    standing, options, evaluated
):
    made = index_vault(options(standing.url))
    assert made["chunks"] == 12
    assert standing.aliases["gigamind-bikes"] == made["collection"]
    assert len(fillings(standing)) == 1
    standing.requests.clear()

    out = evaluated(standing.url)

    assert fillings(standing) == []
    asked = {path for _, path in standing.requests if path.endswith("/query")}
    assert asked == {f"/collections/{made['collection']}/points/query"}
    assert len((out / "per_item.jsonl").read_text("utf-8").splitlines()) == 9


def test_a_vault_that_changed_since_is_filled_by_the_evaluation_and_the_alias_stays(
    standing, options, evaluated, vault_of
):
    made = index_vault(options(standing.url))
    vault_of({"note3.md": "# Another\n\nAnother text."})

    evaluated(standing.url)

    assert len(standing.collections) == 2
    assert standing.aliases["gigamind-bikes"] == made["collection"]


def test_a_vault_is_built_again_only_where_it_changed(standing, options, vault_of):
    first = index_vault(options(standing.url))
    assert index_vault(options(standing.url)) == first
    assert len(fillings(standing)) == 1
    names = [first["collection"]]
    for text in ("one", "two"):
        vault_of({"note3.md": text})
        made = index_vault(options(standing.url))
        names.append(made["collection"])

    assert made["dropped"] == names[:1]
    assert standing.collections == sorted(names[1:])


def test_a_server_that_dies_leaves_the_alias_where_it_was(standing, options, vault_of, monkeypatch):
    monkeypatch.setattr("gigamind.retrieval.server._PATIENCE_S", 0.5)
    made = index_vault(options(standing.url))
    vault_of({"note3.md": "changed"})
    standing.fault = lambda _method, path: DROPPED if path.endswith("/points") else None

    with pytest.raises(IndexingError):
        index_vault(options(standing.url))

    assert standing.aliases == {
        "gigamind-bikes": made["collection"],
        f"{made['collection']}.complete": made["collection"],
    }


def test_an_evaluation_whose_server_dies_ends_with_exit_code_2_and_leaves_no_half(
    standing, options, evaluated, monkeypatch, tmp_path
):
    monkeypatch.setattr("gigamind.retrieval.server._QUERY_PATIENCE_S", 0.5)
    index_vault(options(standing.url))

    def dies(_method, _path):
        asked = sum(path.endswith("/query") for _, path in standing.requests)
        return DROPPED if asked > 12 else None

    standing.fault = dies
    with pytest.raises(IndexingError) as caught:
        evaluated(standing.url)

    assert caught.value.exit_code == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("waits")
def test_a_server_that_is_away_at_the_start_is_waited_for(standing, options):
    standing.fault = lambda _method, _path: 503 if len(standing.requests) < 4 else None
    assert index_vault(options(standing.url))["chunks"] == 12


def test_what_cannot_be_indexed_says_why(options, tmp_path, monkeypatch):
    monkeypatch.setattr("gigamind.retrieval.server._PATIENCE_S", 0.5)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    with pytest.raises(IndexingError, match=url):
        index_vault(options(url))
    with pytest.raises(NotesError):
        index_vault(options(url, notes=tmp_path / "missing"))
    with pytest.raises(InputError, match="word2vec"):
        index_vault(options(url, embedder="word2vec"))
    with pytest.raises(ValueError, match="vault"):
        options(url, vault="a.b")  # a dot parts our aliases
