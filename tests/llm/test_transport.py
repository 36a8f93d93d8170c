import asyncio
import gc
import subprocess
import sys
import warnings

import pytest
from pydantic import BaseModel

from gigamind.errors import LlmError
from gigamind.llm.client import Request
from gigamind.llm.faults import error_from
from gigamind.llm.settings import ModelSettings
from gigamind.llm.transport import LitellmClient, accepted


class Verdict(BaseModel):
    unanswerable: bool


@pytest.mark.each(
    "model, names",
    [
        ("openai/gpt-4o-mini", {"max_tokens", "temperature", "seed"}),
        ("openai/o3", {"max_tokens", "seed"}),
        ("openai/gpt-5", {"max_tokens", "seed"}),
        ("anthropic/claude-3-5-haiku-latest", {"max_tokens", "temperature"}),
        ("gemini/gemini-2.5-flash", {"max_tokens", "temperature"}),
        ("ollama_chat/llama3", {"max_tokens", "temperature", "seed"}),
        ("hosted_vllm/x", {"max_tokens", "temperature", "seed"}),
    ],
)
def test_only_parameters_that_the_model_takes_are_sent(model, names):
    assert set(accepted(ModelSettings(model))) == names


def test_a_parameter_that_is_none_is_not_sent():
    assert accepted(ModelSettings("openai/x", temperature=None, seed=None)) == {"max_tokens": 768}


def test_a_model_without_a_provider_is_refused():
    with pytest.raises(LlmError) as caught:
        accepted(ModelSettings("nonsense"))
    assert caught.value.code == "bad_request"


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai/gpt-4o-mini", "OPENAI_API_KEY"),
        ("anthropic/claude-3-5-haiku-latest", "ANTHROPIC_API_KEY"),
    ],
)
def test_without_a_key_nothing_is_sent_and_the_variable_is_named(model, variable, monkeypatch):
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(LlmError, match=f"set {variable} in the environment") as caught:
        LitellmClient(ModelSettings(model))
    assert caught.value.code == "auth_failed"
    monkeypatch.setenv(variable, "k")
    LitellmClient(ModelSettings(model))


def test_a_server_of_ones_own_needs_no_key(ask, fake_server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert ask().reply
    assert fake_server.seen.authorizations[-1] == "Bearer none"


def test_the_key_comes_from_the_providers_variable_or_the_one_named(ask, fake_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "first")
    monkeypatch.setenv("OUR_KEY", "second")
    ask()
    ask(key_variable="OUR_KEY")
    assert list(fake_server.seen.authorizations) == ["Bearer first", "Bearer second"]


def test_a_named_variable_that_is_not_set_is_refused(connected, monkeypatch):
    monkeypatch.delenv("OUR_KEY", raising=False)
    with pytest.raises(LlmError, match="set OUR_KEY in the environment"):
        connected(key_variable="OUR_KEY")


def test_a_server_that_is_not_there_is_a_server_error_with_its_address():
    settings = ModelSettings("openai/x", api_base="http://127.0.0.1:9/v1", timeout_s=5)
    client = LitellmClient(settings)

    async def send():
        try:
            await client.send(Request(({"role": "user", "content": "?"},), None, {"max_tokens": 9}))
        finally:
            await client.close()

    with pytest.raises(LlmError) as caught:
        asyncio.run(send())
    assert caught.value.code == "server_error"
    assert str(caught.value).endswith("; is there a server at http://127.0.0.1:9/v1?")


def test_the_password_in_an_address_is_not_told():
    error = error_from(OSError("Connection error."), "m", "http://me:word@127.0.0.1:9/v1")
    assert str(error) == "m: cannot connect; is there a server at http://127.0.0.1:9/v1?"


def test_importing_the_whole_layer_loads_no_heavy_library():
    code = (
        "import sys, pkgutil, importlib, gigamind.llm as room\n"
        "apart = {'embeddings', 'fake', 'fake_batch'}\n"  # the server of a model needs aiohttp, asking one does not
        "names = [m.name for m in pkgutil.iter_modules(room.__path__) if m.name not in apart]\n"
        "[importlib.import_module(f'gigamind.llm.{name}') for name in names]\n"
        "print(len(names), sorted({'litellm', 'instructor', 'openai', 'jinja2', 'aiohttp'} & set(sys.modules)))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, _, heavy = ended.stdout.strip().partition(" ")
    assert int(count) >= 15
    assert heavy == "[]"


def test_closing_one_model_leaves_the_connections_of_another_open(connected):
    closed, kept = (
        connected(";sid=closed", attempts=1, timeout_s=20),
        connected(";sid=kept", attempts=1, timeout_s=20),
    )

    async def run():
        await asked_of(closed, "q1")
        await asked_of(kept, "q1")
        await closed.close()
        await asked_of(kept, "q2")
        await kept.close()

    asyncio.run(run())
    assert [row.status for row in kept.ledger.rows] == ["ok", "ok"]


def test_a_model_opened_after_all_were_closed_is_asked_at_once(connected):
    async def run():
        for _ in range(2):
            model = connected(attempts=1, timeout_s=20)
            await asked_of(model, "q1")
            await model.close()
            assert [row.status for row in model.ledger.rows] == ["ok"]

    asyncio.run(run())


# What an earlier test left, such as a loop of Prefect's, is not this call's: it is collected first, in silence.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_call_that_is_cancelled_leaves_nothing_that_python_complains_of(settings_of):
    client = LitellmClient(settings_of(";lat=2000"))
    asked = Request(({"role": "user", "content": "?"},), None, {"max_tokens": 9})

    async def cancelled(steps):
        task = asyncio.ensure_future(client.send(asked))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def often():
        for steps in range(1, 30):
            await cancelled(steps)
        await client.close()

    gc.collect()
    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        asyncio.run(often())
        gc.collect()
    assert [str(one.message) for one in complaints] == []


def test_a_call_leaves_nothing_of_litellm_at_work_behind_it(connected):
    async def run():
        model = connected(attempts=1, timeout_s=20)
        await asked_of(model, "q1")
        await asyncio.sleep(0.05)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        await model.close()
        return left

    assert asyncio.run(run()) == set()


async def asked_of(model, item_id):
    messages = [{"role": "user", "content": "Is it so?"}]
    await model.ask(messages, Verdict, item_id=item_id)
