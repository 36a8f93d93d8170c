"""Real HTTP servers on loopback that speak the OpenAI protocol, and misbehave on request."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from faulty_model import FakeServer, Seen, running
from loopback import Answering, listening
from pydantic import BaseModel, ConfigDict, Field

from gigamind.errors import LlmError
from gigamind.llm.ask import LanguageModel
from gigamind.llm.ledger import Attempt, Price, Totals
from gigamind.llm.settings import ModelSettings


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

    class Handler(Answering):
        def do_POST(self) -> None:
            authorization, body = self.headers["Authorization"], json.loads(self.body())
            self.answer(*state.answer(Request(self.path, authorization, body)))

    with listening(Handler) as server:
        state.url = f"{server.url}/v1"
        yield state


@dataclass
class Asked:
    """How one question to the fake model ended."""

    reply: BaseModel | None
    error: LlmError | None
    rows: list[Attempt]
    totals: Totals

    @property
    def statuses(self) -> list[str]:
        return [row.status for row in self.rows]


class Verdict(BaseModel):
    """The reply of the tests."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    unanswerable: bool
    confidence: float = Field(ge=0, le=1)
    reason: str


@pytest.fixture
def verdict() -> type[Verdict]:
    return Verdict


@pytest.fixture(scope="session")
def one_fake_server() -> Iterator[FakeServer]:
    with running() as server:
        yield server


@pytest.fixture
def fake_server(one_fake_server: FakeServer) -> FakeServer:
    """The fake model, which has seen nothing yet."""
    one_fake_server.seen = Seen()
    one_fake_server.script.clear()
    return one_fake_server


@pytest.fixture
def settings_of(fake_server):
    """Settings of a model that behaves as told; patient ones, for a busy machine answers late."""

    def settings(behaviour="", **changes):
        given = {"timeout_s": 20, "attempts": 3, "backoff_s": 0.001, "api_base": fake_server.url}
        return ModelSettings(f"openai/judge{behaviour}", **(given | changes))

    return settings


@pytest.fixture
def connected(settings_of):
    """A model that behaves as told; its prompt tokens cost 1 USD a million, its answers 2, cached ones 0.5."""

    def connect_to(
        behaviour="",
        *,
        priced=True,
        price=None,
        store=None,
        budget=None,
        ledger=None,
        limiters=None,
        **changes,
    ):
        settings = settings_of(behaviour, **changes)
        price = price or Price(prompt=1_000_000, completion=2_000_000, cached=500_000)
        prices = {settings.model: price} if priced else {}
        kept = {"store": store, "budget": budget, "ledger": ledger, "limiters": limiters}
        return LanguageModel(settings, prices=prices, **kept)

    return connect_to


@pytest.fixture
def ask(connected):
    """Asks a model that behaves as told one question, and tells how it ended."""

    def asked(behaviour="", content="Is it so?", **changes):
        model = connected(behaviour, **changes)

        async def once() -> Asked:
            reply, error = None, None
            try:
                reply = await model.ask(
                    [{"role": "user", "content": content}], Verdict, item_id="q1"
                )
            except LlmError as raised:
                error = raised
            await model.close()
            return Asked(reply, error, model.ledger.rows, model.ledger.totals())

        return asyncio.run(once())

    return asked
