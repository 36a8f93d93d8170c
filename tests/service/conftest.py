"""The real service on a port of its own, with the model of examples/demo_serve.py behind it."""

import contextlib
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fake_model import reply_to
from faulty_model import FakeServer, running
from served_app import serving
from sse import events
from vault_files import write_files

from gigamind.service.options import ServiceOptions

NOTES = {
    "휴가.md": "---\ntitle: 휴가 규정\n---\n연차는 입사 첫해에 15일을 준다.\n\n반차는 0.5일로 계산한다.\n",
    "garden.md": "# Garden\n\nThe garden has roses and tulips near the gate.\n",
    "attack.md": "# <script>alert(1)</script>\n\n<img src=x onerror=alert(1)> The depot opens at seven.\n",
    "parking.md": "# Parking\n\nCars stand behind the depot.\n",
    "invoices.md": "# Invoices\n\nInvoices are paid on Mondays.\n",
}


@dataclass(frozen=True)
class Service:
    """A running one."""

    url: str
    model: FakeServer
    server: uvicorn.Server

    def get(self, path: str, **headers: str) -> tuple[int, Any]:
        return self.send(urllib.request.Request(self.url + path, headers=headers))

    def post(self, path: str, body: Mapping[str, Any], **headers: str) -> tuple[int, Any]:
        return self.send(self.request(path, body, **headers))

    def request(self, path: str, body: Mapping[str, Any], **headers: str) -> urllib.request.Request:
        told = {"Content-Type": "application/json", **headers}
        return urllib.request.Request(
            self.url + path, json.dumps(body).encode(), headers=told, method="POST"
        )

    def send(self, request: urllib.request.Request) -> tuple[int, Any]:
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                status, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read().decode()
        with contextlib.suppress(ValueError):
            return status, json.loads(text)
        return status, text

    def stream(self, question: str, **body: Any) -> list[tuple[str, Any]]:
        """The events of an answer, in their order: name, JSON value."""
        request = self.request("/api/ai/stream", {"content": question, **body})
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.headers["Content-Type"].startswith("text/event-stream")
            return events(answer.read().decode())


@contextlib.contextmanager
def answering() -> Generator[FakeServer]:
    with running() as model:
        model.respond = reply_to
        yield model


@pytest.fixture
def model() -> Iterator[FakeServer]:
    with answering() as model:
        yield model


Start = Callable[..., Service]


@contextlib.contextmanager
def starting(model: FakeServer, folder: Path) -> Generator[Start]:
    vault = write_files(folder / "vault", NOTES)
    with contextlib.ExitStack() as stack:

        def start(chat: str = "chat", heartbeat_s: float = 15.0, **changes: Any) -> Service:
            given = {
                "notes": vault,
                "model": f"openai/{chat}",
                "judge_model": "openai/judge",
                "api_base": model.url,
                "mode": "keyword",
                "cache_dir": folder / "cache",
                **changes,
            }
            options = ServiceOptions.model_validate(given)
            url, server = stack.enter_context(serving(options, heartbeat_s))
            return Service(url, model, server)

        yield start


@pytest.fixture
def serve(model: FakeServer, tmp_path: Path) -> Iterator[Start]:
    """Starts services over a vault of five notes; `chat` behind `openai/` tells how the model behaves."""
    with starting(model, tmp_path) as start:
        yield start


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One with the options that it has by itself, for tests that count and change nothing."""
    with answering() as model, starting(model, tmp_path_factory.mktemp("service")) as start:
        yield start(asks_per_minute=100_000)
