"""A Qdrant server: filled once, completed when half full, and named when it is not there."""

import http.server
import socket
import threading
from dataclasses import replace

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from gigamind.errors import IndexingError
from gigamind.retrieval.server import KEY_VARIABLE, connect, open_collection

# What stands in for a server here says once that it would search exactly without being asked to, and has no index of
# payloads.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning"),
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning"),
]


class Counted:
    """Vectors, and how often they were computed."""

    def __init__(self, vectors: np.ndarray) -> None:
        self.calls = 0
        self._vectors = vectors

    def __call__(self) -> np.ndarray:
        self.calls += 1
        return self._vectors


def test_a_filled_collection_is_not_filled_again_unless_asked(content_of, known):
    client = QdrantClient(":memory:")
    vectors = Counted(known.vectors)
    content = replace(content_of(known.vectors), vectors=vectors)

    open_collection(content, client)
    open_collection(content, client)
    assert vectors.calls == 1
    index = open_collection(content, client, refill=True)

    assert vectors.calls == 2
    assert client.count("gigamind-model-content").count == 1_200
    assert index.nearest(known.query, 5)[0].tolist() == np.argsort(-known.exact)[:5].tolist()
    client.close()


def test_a_half_filled_collection_is_completed(content_of, known):
    client = QdrantClient(":memory:")
    open_collection(content_of(known.vectors), client)
    client.delete("gigamind-model-content", list(range(300, 900)))
    assert client.count("gigamind-model-content").count == 600

    index = open_collection(content_of(known.vectors), client)

    assert client.count("gigamind-model-content").count == 1_200
    assert index.cosines(known.query, range(1_200)) == pytest.approx(known.exact, abs=1e-6)
    client.close()


def test_a_point_tells_other_readers_where_its_chunk_stands(content_of, known):
    client = QdrantClient(":memory:")
    open_collection(content_of(known.vectors), client)

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


def test_a_collection_that_another_run_has_just_created_is_filled(content_of, known):
    client = OutpacedClient(":memory:")

    index = open_collection(content_of(known.vectors), client)

    assert client.outpaced
    assert index.nearest(known.query, 1)[0].tolist() == [int(np.argmax(known.exact))]
    index.close()


def test_a_server_that_fails_is_an_indexing_error(content_of, known):
    client = QdrantClient(":memory:")
    index = open_collection(content_of(known.vectors), client)
    client.delete_collection("gigamind-model-content")

    with pytest.raises(IndexingError, match="the Qdrant server failed"):
        index.nearest(known.query, 1)
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
