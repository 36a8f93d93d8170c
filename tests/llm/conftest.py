"""A real HTTP server on loopback that speaks the OpenAI embeddings protocol, and misbehaves on request."""

import http.server
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest


@dataclass
class Request:
    path: str
    authorization: str | None
    body: dict[str, object]


@dataclass
class Reply:
    status: int = 200
    body: bytes | None = None  # None: the embeddings of the request


def vector(text: str) -> list[float]:
    """A vector of length 2 * len(text) + 1 or so, never of length 1, different for each text."""
    return [float(len(text)), float(ord(text[0])), 7.0]


@dataclass
class EmbeddingsServer:
    """Answers each request with the next of `replies`, the last one for ever; no reply stands for a good one."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)

    def inputs(self) -> list[list[str]]:
        return [request.body["input"] for request in self.requests]

    def answer(self, request: Request) -> tuple[int, bytes]:
        place = len(self.requests)
        self.requests.append(request)
        reply = self.replies[min(place, len(self.replies) - 1)] if self.replies else Reply()
        return reply.status, reply.body if reply.body is not None else good(request.body["input"])


def good(texts: Sequence[str]) -> bytes:
    """Rows in reverse order, as the protocol allows: `index` tells whose they are."""
    rows = [
        {"object": "embedding", "index": i, "embedding": vector(text)}
        for i, text in enumerate(texts)
    ]
    return rows_as_body(rows[::-1])


def rows_as_body(rows: Sequence[object]) -> bytes:
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return json.dumps({"object": "list", "data": rows, "model": "m", "usage": usage}).encode()


@pytest.fixture
def reply() -> type[Reply]:
    return Reply


@pytest.fixture
def body_of_rows():
    return rows_as_body


@pytest.fixture
def server_vector():
    return vector


@pytest.fixture
def embeddings_server() -> Iterator[EmbeddingsServer]:
    state = EmbeddingsServer()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = Request(self.path, self.headers["Authorization"], json.loads(body))
            status, answer = state.answer(request)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    yield state
    server.shutdown()
    server.server_close()
    thread.join()
