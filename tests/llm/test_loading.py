"""What litellm and instructor do behind a call: once and no more, and only what is of use to it."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel

from gigamind.errors import LlmError
from gigamind.llm.client import Request
from gigamind.llm.loading import alone, load_instructor, load_litellm
from gigamind.llm.settings import ModelSettings
from gigamind.llm.transport import LitellmClient

HANDLER = "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER"
QUESTION = [{"role": "user", "content": "휴가는 누구에게 신청하나?"}]
SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "Answer",
        "strict": True,
        "schema": {"type": "object", "properties": {"yes": {"type": "boolean"}}},
    },
}
PROVIDERS = [
    *("openai", "custom_openai", "hosted_vllm", "openrouter", "together_ai", "mistral", "deepseek"),
    *("xai", "fireworks_ai", "deepinfra", "perplexity", "nvidia_nim", "cerebras", "sambanova"),
    *("lm_studio", "llamafile", "moonshot", "dashscope", "novita", "nebius", "wandb"),
    *("aiml", "docker_model_runner", "litellm_proxy", "xinference"),
]


@pytest.fixture
def own_handler(monkeypatch):
    """Turns litellm's own HTTP handler on or off; as it was after the test."""

    def turn(on):
        monkeypatch.setenv(HANDLER, str(on))

    load_litellm()
    turn(on=True)
    return turn


@pytest.fixture
def sent(fake_server, monkeypatch):
    """What a provider is sent, and the text that comes out."""
    monkeypatch.setenv("OUR_KEY", "k")

    async def send(provider):
        settings = ModelSettings(
            f"{provider}/judge", api_base=fake_server.url, key_variable="OUR_KEY", timeout_s=20
        )
        client = LitellmClient(settings)
        try:
            request = Request(tuple(QUESTION), SCHEMA, {"max_tokens": 9, "temperature": 0.0})
            return (await client.send(request)).text
        finally:
            await client.close()

    def sent_to(provider):
        fake_server.seen.bodies.clear()
        fake_server.seen.authorizations.clear()
        text = asyncio.run(send(provider))
        return text, list(fake_server.seen.bodies), list(fake_server.seen.authorizations)

    return sent_to


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_provider_is_sent_the_same_with_and_without_the_openai_client(
    provider, sent, own_handler
):
    mine = sent(provider)
    own_handler(on=False)
    theirs = sent(provider)

    assert mine == theirs
    assert len(mine[1]) == 1


def test_the_openai_client_takes_no_part(ask, fake_server, own_handler):
    ask()
    own_handler(on=False)
    ask()

    own, clients = fake_server.seen.headers
    assert "X-Stainless-Lang" not in own
    assert "X-Stainless-Lang" in clients


def test_the_account_of_openai_is_named_as_its_client_names_it(
    sent, fake_server, own_handler, monkeypatch
):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-2")
    sent("openai")
    own_handler(on=False)
    sent("openai")
    own_handler(on=True)
    monkeypatch.setenv("OPENAI_ORGANIZATION", "org-3")
    sent("openai")
    sent("together_ai")

    accounts = [
        (one.get("OpenAI-Organization"), one.get("OpenAI-Project"))
        for one in fake_server.seen.headers
    ]
    assert accounts == [("org-1", "proj-2"), ("org-1", "proj-2"), ("org-3", "proj-2"), (None, None)]


@pytest.mark.usefixtures("own_handler")
@pytest.mark.parametrize("provider", ["openai", "hosted_vllm", "together_ai", "xinference"])
def test_a_request_whose_connection_broke_is_not_sent_again_behind_our_back(
    provider, fake_server, monkeypatch
):
    monkeypatch.setenv("OUR_KEY", "k")

    async def send():
        settings = ModelSettings(
            f"{provider}/judge;fault=reset", api_base=fake_server.url, key_variable="OUR_KEY"
        )
        client = LitellmClient(settings)
        try:
            await client.send(Request(tuple(QUESTION), None, {"max_tokens": 9}))
        finally:
            await client.close()

    with pytest.raises(LlmError) as caught:
        asyncio.run(send())
    assert caught.value.code == "server_error"
    assert fake_server.seen.total == 1


@pytest.mark.usefixtures("own_handler")
def test_litellm_counts_the_cost_of_others_calls_and_not_of_ours(fake_server):
    litellm = load_litellm()

    async def cost():
        reply = await litellm.acompletion(
            model="openai/gpt-4o-mini", messages=QUESTION, api_base=fake_server.url, api_key="k"
        )
        return reply._hidden_params.get("response_cost")

    async def both():
        with alone():
            ours = await cost()
        others = await cost()
        await litellm.close_litellm_async_clients()
        litellm.in_memory_llm_clients_cache.flush_cache()
        return ours, others

    ours, others = asyncio.run(both())
    assert ours is None
    assert others > 0


def test_instructor_looks_a_class_of_replies_through_once(connected):
    load_instructor()
    from instructor.v2.validation.async_validators import reject_async_validators

    looks = reject_async_validators.cache_info

    class Answer(BaseModel):
        yes: bool

    async def run():
        model = connected(attempts=1, timeout_s=20)
        looked = []
        for _ in range(3):
            await model.ask(QUESTION, Answer, item_id="q1")
            looked.append(looks())
        await model.close()
        return looked

    first, second, third = asyncio.run(run())
    assert first.misses == second.misses == third.misses
    assert third.hits - second.hits >= 5


def test_a_reply_that_instructor_cannot_check_is_still_refused(connected):
    load_instructor()
    from instructor.v2.validation.async_validators import async_model_validator

    class Answer(BaseModel):
        yes: bool

        @async_model_validator()
        async def check(self):
            return self

    async def run():
        model = connected(attempts=1, timeout_s=20)
        try:
            await model.ask(QUESTION, Answer, item_id="q1")
        finally:
            await model.close()

    with pytest.raises(ValueError, match="async validators are not supported"):
        asyncio.run(run())


def test_connecting_and_asking_reach_no_other_machine_and_read_no_env_file(tmp_path, fake_server):
    (tmp_path / ".env").write_text("STRAY=1\n")
    code = f"""
import asyncio, os, sys
def refuse(event, arguments):
    told = repr(arguments)
    if event in {{"socket.connect", "socket.getaddrinfo", "socket.sendto"}} and "127.0.0.1" not in told:
        os.write(2, f"network: {{event}} {{told}}".encode())
        os._exit(9)
sys.addaudithook(refuse)
from pydantic import BaseModel
from gigamind.llm.ask import connect
from gigamind.llm.settings import ModelSettings
class Answer(BaseModel):
    yes: bool
async def run():
    model = connect(ModelSettings("openai/gpt-4o-mini", api_base={fake_server.url!r}))
    await model.ask([{{"role": "user", "content": "?"}}], Answer, item_id="q1")
    await model.close()
    print(model.price.source, model.ledger.rows[0].status, os.environ.get("STRAY"))
asyncio.run(run())
"""
    ours = ("LITELLM", "OPENAI", "EXPERIMENTAL")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    environment = {**kept, "PYTHONPATH": str(Path(__file__).parents[2])}

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.stderr == ""
    assert done.stdout.split()[-2:] == ["ok", "None"]
    assert "X-Stainless-Lang" not in fake_server.seen.headers[-1]  # nor is OpenAI's client used
