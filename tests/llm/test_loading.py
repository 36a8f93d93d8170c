"""What litellm does behind a call: one request, as it was told, and nothing else on any wire."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gigamind.errors import LlmError
from gigamind.llm.client import Request
from gigamind.llm.completion import Completions
from gigamind.llm.settings import ModelSettings

QUESTION = [{"role": "user", "content": "휴가는 누구에게 신청하나?"}]
SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "Answer",
        "strict": True,
        "schema": {"type": "object", "properties": {"yes": {"type": "boolean"}}},
    },
}
PROVIDERS = (
    *("openai", "hosted_vllm", "lm_studio", "llamafile"),
    *("together_ai", "deepseek", "xai", "nvidia_nim", "moonshot", "xinference"),
)


@pytest.fixture
def sent(fake, monkeypatch):
    """What a provider is sent, and the text that comes out; each time by a client of its own."""
    monkeypatch.setenv("OUR_KEY", "k")

    async def send(provider, behaviour, timeout_s):
        name = f"{provider}/judge{behaviour}"
        settings = ModelSettings(
            name, api_base=fake.url, key_variable="OUR_KEY", timeout_s=timeout_s
        )
        client = Completions(settings)
        try:
            form = {"response_format": SCHEMA}
            request = Request(tuple(QUESTION), form, {"max_tokens": 9, "temperature": 0.0})
            return (await client.send(request)).text
        finally:
            await client.close()

    def sent_to(provider, behaviour="", timeout_s=20):
        fake.seen.bodies.clear()
        fake.seen.headers.clear()
        text = asyncio.run(send(provider, behaviour, timeout_s))
        return text, list(fake.seen.bodies), list(fake.seen.headers)

    return sent_to


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_provider_is_sent_what_it_was_told_once(provider, sent):
    for _ in range(2):  # connections of the first were closed, and are not taken again
        text, bodies, headers = sent(provider)

        (body,), (header,) = bodies, headers
        assert "yes" in text
        assert (body["model"], body["max_tokens"], body["messages"]) == ("judge", 9, QUESTION)
        assert header["Authorization"] == "Bearer k"


@pytest.mark.parametrize("fault", ["500", "503", "429", "disconnect", "reset", "timeout"])
@pytest.mark.parametrize("provider", ["openai", "together_ai", "xinference"])
def test_a_request_that_failed_is_not_sent_again_behind_our_back(provider, fault, sent, fake):
    with pytest.raises(LlmError):
        sent(provider, f";fault={fault};hang=3", timeout_s=0.3 if fault == "timeout" else 20)

    assert fake.seen.total == 1


def test_the_account_of_openai_is_named(sent, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-2")
    told = [sent("openai")[2][0]]
    monkeypatch.setenv("OPENAI_ORGANIZATION", "org-3")
    told += [sent(provider)[2][0] for provider in ("openai", "hosted_vllm")]

    accounts = [(one.get("OpenAI-Organization"), one.get("OpenAI-Project")) for one in told]
    assert accounts == [("org-1", "proj-2"), ("org-3", "proj-2"), (None, None)]


EMBEDDER = "litellm:openai/test-embed"


def test_connecting_asking_and_loading_an_embedder_reach_no_other_machine_and_read_no_env_file(
    tmp_path, fake
):
    model = "together_ai/judge"
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
from gigamind.llm.ask import LanguageModel
from gigamind.llm.settings import ModelSettings
from gigamind.retrieval.embedders import load_embedder
class Answer(BaseModel):
    yes: bool
async def run():
    model = LanguageModel(ModelSettings({model!r}, api_base={fake.url!r}))
    await model.ask([{{"role": "user", "content": "?"}}], Answer, item_id="q1")
    await model.close()
    assert load_embedder({EMBEDDER!r}, api_base={fake.url!r}).name.startswith({EMBEDDER!r})
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
