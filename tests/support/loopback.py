"""Servers on loopback: some whose handlers say only what they answer, and processes."""

import contextlib
import http.server
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any


class Answering(http.server.BaseHTTPRequestHandler):
    """Reads and writes whole bodies, and tells nobody."""

    disable_nagle_algorithm = True  # else a body waits 40 ms behind its headers

    def body(self) -> bytes:
        """What came with the request."""
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def answer(
        self, status: int, content: object, kind: str = "application/json", retry_after: str = ""
    ) -> None:
        """Send bytes as they are, and anything else as JSON."""
        sent = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(sent)))
        if retry_after:
            self.send_header("Retry-After", retry_after)
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


def free_ports() -> tuple[int, int]:
    """Two ports of loopback that nobody listens at."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


@contextlib.contextmanager
def process_at(port: int, *command: object) -> Iterator[str]:
    """The address of a process of Python that listens at that port, until the block ends."""
    with subprocess.Popen([sys.executable, *map(str, command)]) as server:
        try:
            for _ in range(600):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()
