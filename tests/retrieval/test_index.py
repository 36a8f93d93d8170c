"""Both engines behind the one protocol."""

import http.server
import os
import shutil
import socket
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from gigamind.errors import EmbeddingError, IndexingError
from gigamind.retrieval.edge import open_edge
from gigamind.retrieval.index import in_order_of, rounded
from gigamind.retrieval.server import KEY_VARIABLE, connect, open_collection

# What stands in for a server here says once that it would search exactly without being asked to.
pytestmark = pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning")


def unit_vectors(count: int, dimensions: int = 16) -> np.ndarray:
    vectors = np.random.default_rng(7).normal(size=(count, dimensions))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


VECTORS = unit_vectors(1_200)  # more than one batch of either engine
QUERY = unit_vectors(1_201)[-1]
EXACT = VECTORS.astype(np.float64) @ QUERY.astype(np.float64)


@pytest.fixture(params=["edge in a temporary folder", "edge in a cache", "server"])
def index(request, content_of, tmp_path):
    if request.param == "server":
        opened = open_collection(content_of(VECTORS), QdrantClient(":memory:"))
    else:
        folder = tmp_path / "indexes" if request.param == "edge in a cache" else None
        opened = open_edge(content_of(VECTORS), folder)
    yield opened
    opened.close()


@pytest.mark.parametrize("limit", [1, 10, 1_200])
def test_nearest_is_exact(index, limit):
    ids, cosines = index.nearest(QUERY, limit)

    assert ids.tolist() == np.argsort(-EXACT, kind="stable")[:limit].tolist()
    assert cosines == pytest.approx(np.sort(EXACT)[::-1][:limit], abs=1e-6)


def test_cosines_stand_in_the_order_that_was_asked(index):
    wanted = [1_199, 0, 7, 601, 600]

    assert index.cosines(QUERY, wanted) == pytest.approx(EXACT[wanted], abs=1e-6)


def test_cosines_of_every_chunk_can_be_asked_at_once(index):
    assert index.cosines(QUERY, range(1_200)) == pytest.approx(EXACT, abs=1e-6)


def test_both_engines_agree_but_for_the_last_digit(content_of):
    edge = open_edge(content_of(VECTORS), folder=None)
    server = open_collection(content_of(VECTORS), QdrantClient(":memory:"))

    assert edge.nearest(QUERY, 300)[0].tolist() == server.nearest(QUERY, 300)[0].tolist()
    assert edge.cosines(QUERY, range(1_200)) == pytest.approx(
        server.cosines(QUERY, range(1_200)), abs=1.01e-6
    )
    edge.close()
    server.close()


def test_an_index_answers_from_several_threads(index):
    expected = index.nearest(QUERY, 10)[0].tolist()
    found: list[list[int]] = []
    threads = [
        threading.Thread(
            target=lambda: [found.append(index.nearest(QUERY, 10)[0].tolist()) for _ in range(20)]
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [expected] * 80


def run(code: str, **environment: str) -> subprocess.Popen[str]:
    """A process of its own with the test's index at hand."""
    prelude = f"""
        import sys, os, signal, numpy as np
        sys.path.insert(0, {str(Path(__file__).parents[2])!r})
        from pathlib import Path
        from gigamind.retrieval.chunk import Chunk
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


def test_a_temporary_index_is_gone_when_its_process_ends_even_unclosed(tmp_path):
    code = """
        index = open_edge(content, None)
        print(len(os.listdir(os.environ["TMPDIR"])))
        if sys.stdin.read() == "close":
            index.close()
            index.close()
            print(len(os.listdir(os.environ["TMPDIR"])))
    """
    assert run(code, TMPDIR=str(tmp_path)).communicate("close")[0].split() == ["1", "0"]
    assert run(code, TMPDIR=str(tmp_path)).communicate("")[0].split() == ["1"]
    assert list(tmp_path.iterdir()) == []


def test_a_temporary_index_that_cannot_be_built_leaves_nothing_behind(tmp_path):
    code = """
        def fail():
            raise KeyboardInterrupt
        try:
            open_edge(IndexContent("shard", chunks, fail), None)
        except KeyboardInterrupt:
            print("interrupted")
    """
    assert run(code, TMPDIR=str(tmp_path)).communicate()[0].split() == ["interrupted"]
    assert list(tmp_path.iterdir()) == []


def test_a_cached_index_is_opened_without_asking_for_vectors_again(content_of, tmp_path):
    open_edge(content_of(VECTORS), tmp_path).close()

    index = open_edge(replace(content_of(VECTORS), vectors=fail), tmp_path)

    assert index.nearest(QUERY, 5)[0].tolist() == np.argsort(-EXACT)[:5].tolist()
    index.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["model-content"]


def test_two_processes_read_one_cached_index_at_the_same_time(tmp_path):
    code = """
        index = open_edge(content, Path(os.environ["FOLDER"]))
        print("open", flush=True)
        sys.stdin.readline()
        ids, cosines = index.nearest(vectors[3], 1)
        print(ids.tolist(), cosines.tolist())
    """
    readers = [run(code, FOLDER=str(tmp_path)) for _ in range(2)]
    assert [reader.stdout.readline() for reader in readers] == ["open\n", "open\n"]

    found = [reader.communicate("go\n")[0] for reader in readers]

    assert found == ["[3] [1.0]\n"] * 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["shard"]


def fail() -> np.ndarray:
    raise EmbeddingError("the model failed")


def test_a_failed_build_leaves_nothing_in_the_folder(content_of, tmp_path):
    with pytest.raises(EmbeddingError):
        open_edge(replace(content_of(VECTORS), vectors=fail), tmp_path)

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
    rebuilt = run("print(open_edge(content, Path(os.environ['FOLDER'])).nearest(vectors[0], 1)[0])",
                  FOLDER=str(tmp_path))  # fmt: skip
    assert rebuilt.communicate()[0] == "[0]\n"


def test_who_builds_second_takes_the_index_of_who_was_first(content_of, tmp_path):
    def meanwhile() -> np.ndarray:
        open_edge(content_of(VECTORS), tmp_path).close()
        return VECTORS

    index = open_edge(replace(content_of(VECTORS), vectors=meanwhile), tmp_path)

    assert index.nearest(QUERY, 1)[0].tolist() == [int(np.argmax(EXACT))]
    index.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["model-content"]


def test_an_index_that_is_open_stays_whole_when_its_folder_is_pruned(content_of, tmp_path):
    index = open_edge(content_of(VECTORS), tmp_path)
    shutil.rmtree(tmp_path / "model-content")

    assert index.cosines(QUERY, range(1_200)) == pytest.approx(EXACT, abs=1e-6)
    index.close()


def test_a_broken_cached_index_says_which_folder_to_delete(content_of, tmp_path):
    (tmp_path / "model-content").mkdir()

    with pytest.raises(IndexingError, match=r"model-content.*delete this folder") as caught:
        open_edge(content_of(VECTORS), tmp_path)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("place", ["file", "file/indexes", "indexes"])
def test_a_folder_that_cannot_hold_an_index_is_an_indexing_error(place, content_of, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "indexes").mkdir()
    (tmp_path / "indexes" / "model-content").touch()  # a file where the index should stand

    with pytest.raises(IndexingError, match="no index can be written here"):
        open_edge(content_of(VECTORS), tmp_path / place)


def test_a_chunk_that_the_engine_lacks_is_an_indexing_error():
    assert in_order_of([1, 0], {0: 0.5, 1: 0.25}).tolist() == [0.25, 0.5]
    with pytest.raises(IndexingError, match="lacks 1 of its chunks"):
        in_order_of([1, 0], {1: 0.25})


def test_cosines_are_kept_to_six_digits_and_within_their_range():
    assert rounded([0.12345649, 0.1234565001, 1.000001, -1.000001]).tolist() == [
        0.123456, 0.123457, 1.0, -1.0,
    ]  # fmt: skip


class Counted:
    """Vectors, and how often they were computed."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> np.ndarray:
        self.calls += 1
        return VECTORS


def test_a_filled_collection_is_not_filled_again_unless_asked(content_of):
    client = QdrantClient(":memory:")
    vectors = Counted()
    content = replace(content_of(VECTORS), vectors=vectors)

    open_collection(content, client)
    open_collection(content, client)
    assert vectors.calls == 1
    index = open_collection(content, client, refill=True)

    assert vectors.calls == 2
    assert client.count("gigamind-model-content").count == 1_200
    assert index.nearest(QUERY, 5)[0].tolist() == np.argsort(-EXACT)[:5].tolist()
    client.close()


def test_a_half_filled_collection_is_completed(content_of):
    client = QdrantClient(":memory:")
    open_collection(content_of(VECTORS), client)
    client.delete("gigamind-model-content", list(range(300, 900)))
    assert client.count("gigamind-model-content").count == 600

    index = open_collection(content_of(VECTORS), client)

    assert client.count("gigamind-model-content").count == 1_200
    assert index.cosines(QUERY, range(1_200)) == pytest.approx(EXACT, abs=1e-6)
    client.close()


def test_a_point_tells_other_readers_where_its_chunk_stands(content_of):
    client = QdrantClient(":memory:")
    open_collection(content_of(VECTORS), client)

    (point,) = client.retrieve("gigamind-model-content", [7])

    assert point.payload == {"note": "note2.md", "start": 7, "end": 11}
    client.close()


class OutpacedClient(QdrantClient):
    """Another run creates each collection between this one's look and its own attempt."""

    outpaced = False

    def collection_exists(self, collection_name: str, **options: object) -> bool:
        exists = super().collection_exists(collection_name, **options)
        if not exists and not self.outpaced:
            # The first look decides to fill, the second to create; the other run comes behind that.
            self.outpaced = self.looked = getattr(self, "looked", 0) == 1
            self.looked = 1
            if self.outpaced:
                params = models.VectorParams(size=16, distance=models.Distance.COSINE)
                self.create_collection(collection_name, params)
        return exists


def test_a_collection_that_another_run_has_just_created_is_filled(content_of):
    client = OutpacedClient(":memory:")

    index = open_collection(content_of(VECTORS), client)

    assert client.outpaced
    assert index.nearest(QUERY, 1)[0].tolist() == [int(np.argmax(EXACT))]
    index.close()


def test_a_server_that_fails_is_an_indexing_error(content_of):
    client = QdrantClient(":memory:")
    index = open_collection(content_of(VECTORS), client)
    client.delete_collection("gigamind-model-content")

    with pytest.raises(IndexingError, match="the Qdrant server failed"):
        index.nearest(QUERY, 1)
    client.close()


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_server_that_is_not_there_is_named_without_its_key(free_port, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "secret-key-123")
    url = f"http://127.0.0.1:{free_port}"

    with (
        pytest.raises(IndexingError, match="no Qdrant server answers") as caught,
        pytest.warns(UserWarning, match="insecure connection"),
    ):
        connect(url)

    assert caught.value.exit_code == 2
    assert str(caught.value).startswith(url + ":")
    assert KEY_VARIABLE in str(caught.value)
    assert "secret-key-123" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://foo bar:6333", "http://"])
def test_an_address_that_is_none_is_an_indexing_error_that_names_it(url):
    with pytest.raises(IndexingError, match="mend --qdrant-url") as caught:
        connect(url)
    assert str(caught.value).startswith(url)


class Answer(http.server.BaseHTTPRequestHandler):
    """Answers every request with the server's `status` and `body`, and keeps the keys it was shown."""

    def do_GET(self) -> None:
        self.server.seen.append((self.path, self.headers["api-key"]))
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def http_server():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.seen = []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_key_goes_to_the_server(http_server, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "secret-key-123")
    http_server.status = 200
    http_server.body = b'{"result": {"collections": []}, "status": "ok", "time": 0.0}'

    with pytest.warns(UserWarning, match="insecure connection"):
        client = connect(f"http://127.0.0.1:{http_server.server_port}")

    assert http_server.seen == [("/collections", "secret-key-123")]
    client.close()


@pytest.mark.parametrize(
    ("status", "body"),
    [(401, b""), (500, b"oops"), (200, b"<html>not Qdrant</html>"), (404, b"{}")],
)
def test_something_else_at_the_address_is_an_indexing_error(http_server, status, body):
    http_server.status, http_server.body = status, body

    with pytest.raises(IndexingError, match="no Qdrant server answers"):
        connect(f"http://127.0.0.1:{http_server.server_port}")
