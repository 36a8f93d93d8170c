"""An answer that is streamed: told as it comes, booked like any other, and never asked for twice."""

import asyncio
import time
from typing import Any

import pytest
from faulty_model import FakeServer, Seen, run, running

from gigamind.errors import LlmError
from gigamind.llm.ask import LanguageModel
from gigamind.llm.budget import Budget, Limits
from gigamind.llm.settings import ModelSettings

MESSAGES = [{"role": "user", "content": "연차는 며칠인가요?"}]
TEXT = "연차는 15일입니다 [노트 1]. 나머지는 노트에 없습니다."


@pytest.fixture
def server():
    with running() as server:
        server.respond = lambda body: {"text": TEXT} if body.get("stream") else None
        yield server


def model_of(server: FakeServer, name: str, provider: str = "openai", **more: Any) -> LanguageModel:
    settings = ModelSettings(
        f"{provider}/{name}", api_base=server.url, key_variable=None, timeout_fixed=True,
        in_flight_fixed=True, backoff_s=0.01, **more.pop("settings", {}),
    )  # fmt: skip
    return LanguageModel(settings, **more)


async def told_by(model: LanguageModel) -> tuple[list[tuple[float, str]], str | LlmError]:
    pieces: list[tuple[float, str]] = []
    begun = time.monotonic()

    async def on_text(text: str) -> None:
        pieces.append((time.monotonic() - begun, text))

    try:
        ended: str | LlmError = await model.tell(MESSAGES, on_text, item_id="q")
    except LlmError as error:
        ended = error
    await model.close()
    return pieces, ended


@pytest.mark.parametrize("provider", ["openai", "together_ai"])  # with two clients of litellm
def test_an_answer_is_told_piece_by_piece_and_booked_once(server, provider, monkeypatch):
    monkeypatch.setenv("TOGETHERAI_API_KEY", "sk-test")
    asyncio.run(told_by(model_of(server, "chat", provider)))  # litellm loads parts of itself
    server.seen = Seen()
    model = model_of(server, "chat;piece=50", provider)
    pieces, ended = asyncio.run(told_by(model))
    assert ended == TEXT
    assert "".join(text for _, text in pieces) == TEXT
    assert len(pieces) > 4
    assert pieces[-1][0] - pieces[0][0] > 0.05
    (row,) = model.ledger.rows
    assert row.status == "ok"
    assert row.completion_tokens == server.seen.completion_tokens


def test_a_connection_that_breaks_in_the_middle_is_not_asked_again(server):
    model = model_of(server, "chat;fault=broken;piece=5")
    pieces, ended = asyncio.run(told_by(model))
    assert TEXT.startswith("".join(text for _, text in pieces))
    assert pieces
    assert isinstance(ended, LlmError)
    assert server.seen.total == 1
    assert model.ledger.rows[0].status != "ok"


def test_a_server_that_fails_before_the_first_word_is_asked_again(server):
    pieces, ended = asyncio.run(told_by(model_of(server, "chat;fault=503;times=1;sid=late")))
    assert ended == TEXT
    assert "".join(text for _, text in pieces) == TEXT
    assert server.seen.total == 2


class Still(FakeServer):
    """Knows no streams."""

    async def _answer(self, request: Any, body: Any, behaviour: Any, fault: Any) -> Any:
        return await super()._answer(request, {**body, "stream": False}, behaviour, fault)


def test_a_server_that_does_not_stream_gives_all_at_once():
    with run(Still()) as server:
        server.respond = lambda _: {"answer": "whole"}
        pieces, ended = asyncio.run(told_by(model_of(server, "chat")))
    assert [text for _, text in pieces] == [ended]
    assert "word" in ended or "whole" in ended


def test_an_answer_that_the_budget_does_not_allow_is_not_asked_for(server):
    model = model_of(server, "chat", budget=Budget(Limits(None, 0, None)))
    pieces, ended = asyncio.run(told_by(model))
    assert pieces == []
    assert isinstance(ended, LlmError)
    assert ended.code == "budget_exceeded"
    assert server.seen.total == 0


def test_a_reader_that_leaves_stops_the_model(server):
    model = model_of(server, "chat;piece=200")

    async def leave() -> None:
        first = asyncio.Event()

        async def on_text(_: str) -> None:
            first.set()

        asked = asyncio.ensure_future(model.tell(MESSAGES, on_text, item_id="q"))
        await first.wait()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await model.close()

    asyncio.run(leave())
    deadline = time.monotonic() + 5
    while server.seen.in_flight and time.monotonic() < deadline:
        time.sleep(0.02)
    assert server.seen.in_flight == 0
