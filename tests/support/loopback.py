"""Servers on loopback, whose handlers say only what they answer."""

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any


class Answering(http.server.BaseHTTPRequestHandler):
    """Reads and writes whole bodies, and tells nobody."""

    def body(self) -> bytes:
        """What came with the request."""
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def answer(self, status: int, content: object, kind: str = "application/json") -> None:
        """Send bytes as they are, and anything else as JSON."""
        sent = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        """Nothing."""


class Server(http.server.ThreadingHTTPServer):
    """One whose handlers share what was given with it, by those names."""

    def __init__(self, handler: type[Answering], shared: dict[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        vars(self).update(shared)


@contextlib.contextmanager
def listening(handler: type[Answering], **shared: Any) -> Iterator[Server]:
    """A server until the block ends."""
    server = Server(handler, shared)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
