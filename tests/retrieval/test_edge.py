"""The engine in this process: what stands in its folder, and who may read it."""

import os
import shutil
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from plain_index import content_of

from gigamind.errors import EmbeddingError, IndexingError
from gigamind.retrieval.edge import open_edge


def run(code: str, **environment: str) -> subprocess.Popen[str]:
    """A process of its own with the test's index at hand."""
    prelude = f"""
        import sys, os, signal, numpy as np
        sys.path.insert(0, {str(Path(__file__).parents[2])!r})
        from pathlib import Path
        from gigamind.retrieval.index import Chunk
        from gigamind.retrieval.edge import open_edge
        from gigamind.retrieval.index import IndexContent
        from gigamind.spans import Passage, Span
        vectors = np.eye(8, dtype=np.float32)
        chunks = [Chunk(Passage("a.md", "text", Span(0, 4)), "") for _ in vectors]
        content = IndexContent("shard", chunks, lambda: vectors)
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(prelude) + textwrap.dedent(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )


def test_a_temporary_index_is_gone_when_its_process_ends_unclosed(tmp_path):
    code = """
        index = open_edge(content, None)
        print(len(os.listdir(os.environ["TMPDIR"])))
    """
    assert run(code, TMPDIR=str(tmp_path)).communicate()[0].split() == ["1"]
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where this process makes temporary folders."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_temporary_index_is_gone_when_it_is_closed(temporary, known):
    index = open_edge(content_of(known.vectors), None)
    assert len(list(temporary.iterdir())) == 1
    for _ in range(2):
        index.close()
        assert list(temporary.iterdir()) == []


def test_a_temporary_index_that_cannot_be_built_leaves_nothing_behind(temporary, known):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_edge(replace(content_of(known.vectors), vectors=interrupt), None)
    assert list(temporary.iterdir()) == []


def test_two_processes_read_one_cached_index_at_the_same_time(tmp_path):
    code = """
        index = open_edge(content, Path(os.environ["FOLDER"]))
        print("open", flush=True)
        sys.stdin.readline()
        ids, cosines = index.nearest(vectors[3], 1)
        print(ids.tolist(), cosines.tolist())
    """
    vectors = np.eye(8, dtype=np.float32)
    index = open_edge(content_of(vectors, "shard"), tmp_path)
    other = run(code, FOLDER=str(tmp_path))
    assert other.stdout.readline() == "open\n"

    assert index.nearest(vectors[3], 1)[0].tolist() == [3]
    assert other.communicate("go\n")[0] == "[3] [1.0]\n"

    index.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["shard"]


def fail() -> np.ndarray:
    raise EmbeddingError("the model failed")


def test_a_failed_build_leaves_nothing_in_the_folder(tmp_path, known):
    with pytest.raises(EmbeddingError):
        open_edge(replace(content_of(known.vectors), vectors=fail), tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_process_killed_while_building_leaves_no_index(tmp_path):
    code = """
        kill = lambda: os.kill(os.getpid(), signal.SIGKILL)
        open_edge(IndexContent("shard", chunks, kill), Path(os.environ["FOLDER"]))
    """
    killed = run(code, FOLDER=str(tmp_path))
    killed.communicate()

    assert killed.returncode == -9
    assert [entry.name for entry in tmp_path.iterdir() if not entry.name.startswith(".")] == []
    vectors = np.eye(8, dtype=np.float32)
    rebuilt = open_edge(content_of(vectors, "shard"), tmp_path)
    assert rebuilt.nearest(vectors[0], 1)[0].tolist() == [0]
    rebuilt.close()


def test_who_builds_second_takes_the_index_of_who_was_first(tmp_path, known):
    def meanwhile() -> np.ndarray:
        open_edge(content_of(known.vectors), tmp_path).close()
        return known.vectors

    index = open_edge(replace(content_of(known.vectors), vectors=meanwhile), tmp_path)

    assert index.nearest(known.query, 1)[0].tolist() == [int(np.argmax(known.exact))]
    index.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["model-content"]


def test_an_index_that_is_open_stays_whole_when_its_folder_is_pruned(tmp_path, known):
    index = open_edge(content_of(known.vectors), tmp_path)
    shutil.rmtree(tmp_path / "model-content")

    assert index.cosines(known.query, np.arange(1_200)) == pytest.approx(known.exact, abs=1e-6)
    index.close()


def empty(place: Path) -> None:
    shutil.rmtree(place)
    place.mkdir()


def without_segments(place: Path) -> None:
    shutil.rmtree(place / "segments")


def without_the_matrix(place: Path) -> None:  # as earlier versions left it
    (place / "units.npy").unlink()


def flipped(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 0x40
    file.write_bytes(content)


def with_another_vector(place: Path) -> None:
    [vectors] = place.rglob("chunk_0.mmap")
    flipped(vectors, 1_003)


def with_another_matrix(place: Path) -> None:
    flipped(place / "units.npy", 1_003)


def with_half_of_its_vectors(place: Path) -> None:
    [vectors] = place.rglob("chunk_0.mmap")
    vectors.write_bytes(vectors.read_bytes()[:5_000])


@pytest.mark.parametrize(
    "damage",
    [
        *(empty, without_segments, without_the_matrix, with_another_vector),
        *(with_another_matrix, with_half_of_its_vectors),
    ],
)
def test_a_damaged_index_in_the_cache_is_built_again(damage, tmp_path, known):
    open_edge(content_of(known.vectors), tmp_path).close()
    damage(tmp_path / "model-content")

    index = open_edge(content_of(known.vectors), tmp_path)

    every = np.arange(1_200)
    assert index.cosines(known.query, every) == pytest.approx(known.exact, abs=1e-6)
    ids, cosines = index.nearest(known.query, 1_200)
    assert cosines == pytest.approx(known.exact[ids], abs=1e-6)
    index.close()
    kept = open_edge(replace(content_of(known.vectors), vectors=fail), tmp_path)
    kept.close()


def test_nearest_is_exact_among_chunks_that_8_bits_cannot_tell_apart():
    cosines = np.random.default_rng(3).permutation(np.linspace(0.5, 0.501, 1_200))
    across = np.random.default_rng(4).normal(size=(1_200, 15))
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    vectors = np.column_stack([cosines, np.sqrt(1 - cosines**2)[:, np.newaxis] * across])
    index = open_edge(content_of(vectors.astype(np.float32)), None)

    ids, found = index.nearest(np.eye(16, dtype=np.float32)[0], 10)

    index.close()
    assert found == pytest.approx(np.sort(cosines)[::-1][:10], abs=1e-6)
    assert found == pytest.approx(cosines[ids], abs=1e-6)


def test_a_vector_without_a_direction_has_a_cosine_of_0(known):
    vectors = known.vectors.copy()
    vectors[7] = 0
    index = open_edge(content_of(vectors), None)
    assert index.cosines(known.query, np.array([7])).tolist() == [0.0]
    index.close()


@pytest.mark.parametrize("place", ["file", "file/indexes", "indexes"])
def test_a_folder_that_cannot_hold_an_index_is_an_indexing_error(place, tmp_path, known):
    (tmp_path / "file").touch()
    (tmp_path / "indexes").mkdir()
    (tmp_path / "indexes" / "model-content").touch()  # a file where the index should stand

    with pytest.raises(IndexingError, match="--cache-dir"):
        open_edge(content_of(known.vectors), tmp_path / place)
