import hashlib
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from gigamind.errors import EmbeddingError, IndexingError
from gigamind.retrieval.cache import embed_all, quiet


class Counting:
    """An embedder whose vectors are made of the text's hash, and which keeps every text it was given."""

    def __init__(self, name: str = "counting@1", fail_at: str | None = None) -> None:
        self.name = name
        self.embedded: list[str] = []
        self.batches: list[int] = []
        self._fail_at = fail_at

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        if self._fail_at in texts:
            raise EmbeddingError("the model failed")
        self.embedded += texts
        self.batches.append(len(texts))
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> np.ndarray:
        digest = hashlib.sha256(f"{self.name} {text}".encode("utf-8", "surrogatepass")).digest()
        vector = np.frombuffer(digest, np.uint8).astype(np.float32) - 127.5
        return vector / np.linalg.norm(vector)


TEXTS = ["one", "둘", "세 👋", "one", ""]


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "embeddings.sqlite"


@pytest.mark.parametrize("cached", [True, False])
def test_vectors_stand_in_the_order_of_the_texts(cached, tmp_path):
    embedder = Counting()
    cache = tmp_path / "new" / "embeddings.sqlite" if cached else None

    vectors = embed_all(embedder, TEXTS, cache, quiet)

    assert vectors.dtype == np.float32
    assert vectors.tolist() == [embedder.embed_query(text).tolist() for text in TEXTS]
    assert list(tmp_path.rglob("*.sqlite")) == ([cache] if cache else [])


def test_only_what_changed_is_embedded(cache):
    embed_all(Counting(), TEXTS, cache, quiet)
    embedder = Counting()

    vectors = embed_all(embedder, [*TEXTS[:2], "새 문장", *TEXTS[3:]], cache, quiet)

    assert embedder.embedded == ["새 문장"]
    assert vectors[2].tolist() == embedder.embed_query("새 문장").tolist()


def test_another_model_starts_afresh_and_leaves_the_first_ones_vectors(cache):
    embed_all(Counting("model@1"), TEXTS, cache, quiet)
    newer, older = Counting("model@2"), Counting("model@1")

    vectors = embed_all(newer, TEXTS, cache, quiet)
    embed_all(older, TEXTS, cache, quiet)

    assert len(newer.embedded) == 4
    assert vectors[0].tolist() == newer.embed_query("one").tolist()
    assert older.embedded == []


def test_what_was_done_before_a_failure_is_kept(cache):
    texts = [f"text {number}" for number in range(100)]
    with pytest.raises(EmbeddingError):
        embed_all(Counting(fail_at="text 99"), texts, cache, quiet)
    embedder = Counting()

    embed_all(embedder, texts, cache, quiet)

    assert embedder.embedded == texts[64:]  # the first batch was committed


def test_thousands_of_texts_are_looked_up_and_embedded_in_batches(cache):
    texts = [f"text {number}" for number in range(1_100)]
    embedder, again = Counting(), Counting()

    first = embed_all(embedder, texts, cache, quiet)
    second = embed_all(again, texts[::-1], cache, quiet)

    assert max(embedder.batches) == 64
    assert again.embedded == []
    assert second[::-1].tolist() == first.tolist()


@pytest.mark.parametrize(
    ("known", "expected"), [(0, [64, 128, 130]), (100, [130]), (20, [84, 130])]
)
def test_progress_counts_the_texts_that_are_done(known, expected, cache):
    texts = [f"text {number}" for number in range(130)]
    if known:
        embed_all(Counting(), texts[:known], cache, quiet)
    steps: list[tuple[int, int]] = []

    embed_all(Counting(), texts, cache, lambda done, total: steps.append((done, total)))

    assert steps == [(done, 130) for done in expected]


def test_a_corrupt_cache_says_what_to_delete(cache):
    cache.write_bytes(b"this is no database, and long enough to be looked at" * 100)

    with pytest.raises(IndexingError) as caught:
        embed_all(Counting(), TEXTS, cache, quiet)

    assert caught.value.exit_code == 2
    assert str(cache) in str(caught.value)
    assert "--cache-dir" in str(caught.value)


def test_a_database_of_something_else_says_what_to_delete(cache):
    with sqlite3.connect(cache) as connection:
        connection.execute("CREATE TABLE vectors (song TEXT)")
    connection.close()

    with pytest.raises(IndexingError, match=r"embeddings\.sqlite"):
        embed_all(Counting(), TEXTS, cache, quiet)


def test_a_vector_of_another_length_says_what_to_delete(cache):
    # An API behind an unchanged name has changed its model.
    embed_all(Counting(), ["one"], cache, quiet)

    class Changed(Counting):
        def embed_passages(self, texts):
            return super().embed_passages(texts)[:, :-1]

    with pytest.raises(IndexingError, match=r"embeddings\.sqlite"):
        embed_all(Changed(), TEXTS, cache, quiet)


def test_a_vector_that_a_disk_has_damaged_is_computed_again(cache):
    whole = embed_all(Counting(), TEXTS, cache, quiet)
    with sqlite3.connect(cache) as connection:
        connection.execute("UPDATE vectors SET vector = zeroblob(length(vector))")
    connection.close()

    for computed in (len(set(TEXTS)), 0):
        embedder = Counting()
        assert embed_all(embedder, TEXTS, cache, quiet).tolist() == whole.tolist()
        assert len(embedder.embedded) == computed


def test_a_broken_pipe_of_the_progress_bar_is_not_blamed_on_the_cache(cache):
    def break_off(_done: int, _total: int) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        embed_all(Counting(), TEXTS, cache, break_off)


def test_several_processes_may_fill_a_new_cache_at_once(cache):
    code = f"""
import sys, numpy as np
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from gigamind.retrieval.cache import embed_all
class Ones:
    name = "ones"
    def embed_passages(self, texts):
        return np.ones((len(texts), 4), np.float32)
print("ready", flush=True)
sys.stdin.readline()
texts = [f"text {{i}}" for i in range(500)]
print(embed_all(Ones(), texts, Path({str(cache)!r}), lambda d, t: None).shape)
"""
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for run in runs:
        assert run.stdout.readline() == "ready\n"
    for run in runs:
        run.stdin.write("go\n")
        run.stdin.flush()

    assert [run.communicate()[0] for run in runs] == ["(500, 4)\n"] * 2
