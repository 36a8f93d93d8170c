"""Two servers that stay for as long as targets are tried: a model that says any bytes, and our service."""

import http.client
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from http.server import ThreadingHTTPServer
from pathlib import Path

from fake_model import reply_to
from faulty_model import running
from loopback import Answering
from served_app import serving

from gigamind.service.options import ServiceOptions

_stack = ExitStack()
_WAIT_S = 20.0


class _Says(Answering):
    """The first line of what it is to say is the type of the rest."""

    said = b""
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.body()
        kind, _, body = self.said.partition(b"\n")
        self.answer(200, body, kind.decode("latin-1").strip() or "text/plain")


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """A client that has seen enough closes the connection."""


@cache
def _model() -> str:
    server = _Server(("127.0.0.1", 0), _Says)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"


def model_that_says(reply: bytes) -> str:
    """The address of a model whose next answers are these bytes."""
    _Says.said = reply
    return _model()


@cache
def _service() -> int:
    """The port of a service over one note, with the scripted model of the demo."""
    folder = Path(_stack.enter_context(tempfile.TemporaryDirectory()))
    (folder / "vault").mkdir()
    (folder / "vault" / "garden.md").write_text("# Garden\n\nThe garden has roses near the gate.\n")
    model = _stack.enter_context(running())
    model.respond = reply_to
    options = ServiceOptions(
        notes=folder / "vault",
        model="openai/chat",
        api_base=model.url,
        mode="keyword",
        cache_dir=folder / "cache",
        feedback=folder / "said",
        asks_per_minute=100_000,
    )
    url, _ = _stack.enter_context(serving(options))
    return int(url.rpartition(":")[2])


def asked(
    method: str, path: str, headers: list[tuple[str, bytes]], body: bytes
) -> tuple[int, bytes]:
    """Status and body of the service's answer; `Host` and length are added where they are not among the headers.

    Raises:
        ValueError, http.client.HTTPException: what no client sends.
    """
    connection = http.client.HTTPConnection("127.0.0.1", _service(), timeout=_WAIT_S)
    try:
        named = {name.lower() for name, _ in headers}
        connection.putrequest(method, path, skip_host="host" in named, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        if "content-length" not in named:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        try:
            return answer.status, answer.read()
        except http.client.IncompleteRead as error:
            raise AssertionError("the answer broke off") from error
    finally:
        connection.close()


@contextmanager
def closing() -> Iterator[None]:
    """Ends the servers with the block."""
    with _stack:
        yield
