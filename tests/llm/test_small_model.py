"""A real model, served by ourselves: small, but what its server does with requests is what larger ones get."""

import asyncio
import json
import time
import urllib.request
from importlib.util import find_spec

import pytest
from demo_llm import MODEL, serving
from pydantic import BaseModel

from gigamind.errors import LlmError
from gigamind.llm.ask import LanguageModel
from gigamind.llm.settings import ModelSettings

pytestmark = [
    pytest.mark.model,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not (find_spec("xllamacpp") and MODEL.exists()), reason="make test-model sets both up"
    ),
]


class Named(BaseModel, extra="forbid"):
    colour: str
    wheels: int


class Story(BaseModel, extra="forbid"):
    sentences: list[str]


@pytest.fixture(scope="module")
def url():
    with serving() as url:
        yield url


@pytest.fixture
def ask(url, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def asked(content, reply, **changes):
        given = {"max_tokens": 64, "timeout_s": 120.0, "attempts": 1, "reasks": 0} | changes
        model = LanguageModel(ModelSettings(f"openai/{MODEL.stem}", api_base=url, **given))

        async def once():
            try:
                return await model.ask([{"role": "user", "content": content}], reply, item_id="q")
            except LlmError as error:
                return error
            finally:
                await model.close()

        return asyncio.run(once()), model.ledger.rows

    return asked


def busy(url):
    """Whether the server computes on anything."""
    address = url.removesuffix("/v1") + "/slots"
    with urllib.request.urlopen(address, timeout=60) as response:
        return any(slot["is_processing"] for slot in json.load(response))


def test_a_reply_has_the_shape_of_its_schema_and_costs_nothing(ask):
    reply, rows = ask("A red bike has two wheels. Which colour, how many wheels?", Named)
    assert isinstance(reply, Named)
    assert [row.status for row in rows] == ["ok"]
    assert rows[0].prompt_tokens > 10
    assert rows[0].cost_pico_usd == 0


def test_a_reply_that_is_cut_off_is_asked_for_once_more_with_twice_the_room(ask):
    error, rows = ask("Tell a long story of a bike, in a hundred sentences.", Story, max_tokens=8)
    assert error.code == "truncated"
    assert [row.status for row in rows] == ["truncated", "truncated"]
    assert [row.completion_tokens for row in rows] == [8, 16]


def test_nothing_is_computed_for_a_request_that_was_given_up(ask, url):
    story = "Tell a long story of a bike, in a hundred sentences. " * 100
    begun = time.monotonic()
    error, _ = ask(story, Story, max_tokens=4096, timeout_s=1.0)
    assert error.code == "timeout"
    while busy(url):  # until its batch of 512 tokens is done; the whole would take minutes
        assert time.monotonic() - begun < 60
        time.sleep(0.2)
