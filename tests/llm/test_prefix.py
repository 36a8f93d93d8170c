"""Where a mark of what may be kept is sent, and that what it costs is booked."""

import asyncio

import pytest
from asked_model import Verdict
from fake_batch import BatchServer
from faulty_model import run

from gigamind.llm.ask import LanguageModel
from gigamind.llm.ledger import Price
from gigamind.llm.settings import ModelSettings

QUESTION = {"role": "user", "content": "Is it so?"}
LONG = "You judge with care. " * 250  # 1 312 tokens, and at most 2 100


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_request_by_itself_is_marked_for_anthropic_and_booked_as_it_is_billed(
    provider, monkeypatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    model = f"{provider}/judge"
    price = Price(1_000_000, 2_000_000, 100_000)

    async def twice(url: str):
        asked = LanguageModel(ModelSettings(model, api_base=url), prices={model: price})
        for number in (1, 2):
            messages = [{"role": "system", "content": LONG}, QUESTION]
            await asked.ask(messages, Verdict, item_id=f"q{number}")
        await asked.close()
        return asked.ledger

    with run(BatchServer()) as server:
        url = server.url if provider == "openai" else server.url.removesuffix("/v1")
        ledger = asyncio.run(twice(url))
        sent, billed = server.seen.bodies, server.seen.generated
    first, second = ledger.rows
    if provider == "openai":
        assert [body["messages"][0]["content"] for body in sent] == [LONG, LONG]
        return
    mark = [block.get("cache_control") for block in sent[0]["system"]]
    assert mark[0] == {"type": "ephemeral"}
    assert first.written_tokens == second.cached_tokens == billed["written_tokens"] > 1024
    assert first.prompt_tokens + second.prompt_tokens == billed["prompt_tokens"]
    for row, price_of_prefix in ((first, 1_250_000), (second, 100_000)):
        prefix = row.written_tokens + row.cached_tokens
        assert row.cost_pico_usd == (
            (row.prompt_tokens - prefix) * 1_000_000
            + prefix * price_of_prefix
            + row.completion_tokens * 2_000_000
        )
