"""Requests as they are sent through litellm: once, with the right key, to the right place."""

import asyncio
import gc
import subprocess
import sys
import warnings
from dataclasses import replace

import pytest
from asked_model import reply_to

from gigamind.errors import InputError, LlmError
from gigamind.llm.ask import LanguageModel
from gigamind.llm.client import ParameterRefusedError, Request, Usage
from gigamind.llm.completion import Completions, _usage_of, accepted
from gigamind.llm.settings import ModelSettings
from gigamind.llm.transport import exchange


@pytest.mark.parametrize(
    ("model", "names"),
    [
        ("openai/gpt-4o-mini", {"max_tokens", "temperature", "seed"}),
        ("openai/o3", {"max_tokens", "seed"}),
        ("openai/gpt-5", {"max_tokens", "seed"}),
        ("openai/gpt-5-chat-latest", {"max_tokens", "temperature", "seed"}),
        ("azure/o3", {"max_tokens", "seed"}),
        ("anthropic/claude-3-5-haiku-latest", {"max_tokens", "temperature"}),
        ("ollama_chat/llama3", {"max_tokens", "temperature", "seed"}),
        ("hosted_vllm/x", {"max_tokens", "temperature", "seed"}),
    ],
)
def test_only_parameters_that_the_model_takes_are_sent(model, names, monkeypatch):
    monkeypatch.setenv("OUR_KEY", "k")
    settings = ModelSettings(model, api_base="http://127.0.0.1:9/v1", key_variable="OUR_KEY")
    assert set(LanguageModel(settings).parameters) == names


def test_a_parameter_that_is_none_is_not_sent():
    settings = ModelSettings("openai/x", temperature=None, seed=None)
    assert accepted(settings) == {"max_tokens": 768}


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai/gpt-4o-mini", "OPENAI_API_KEY"),
        ("anthropic/claude-3-5-haiku-latest", "ANTHROPIC_API_KEY"),
    ],
)
def test_without_a_key_nothing_is_sent_and_the_variable_is_named(model, variable, monkeypatch):
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(InputError, match=variable):
        Completions(ModelSettings(model))
    monkeypatch.setenv(variable, "k")
    Completions(ModelSettings(model))


def test_a_server_of_ones_own_needs_no_key(ask, fake, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert ask().reply
    assert fake.seen.authorizations[-1] == "Bearer none"  # litellm's clients send one


def test_the_key_comes_from_the_providers_variable_or_the_one_named(ask, fake, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "first")
    monkeypatch.setenv("OUR_KEY", "second")
    ask()
    ask(key_variable="OUR_KEY")
    assert list(fake.seen.authorizations) == ["Bearer first", "Bearer second"]


def test_a_named_variable_that_is_not_set_is_refused(connected, monkeypatch):
    monkeypatch.delenv("OUR_KEY", raising=False)
    with pytest.raises(InputError, match="OUR_KEY"):
        connected(key_variable="OUR_KEY")


async def sent_by(client, request=None):
    """What a client is answered; its connections are closed."""
    try:
        return await client.send(request or QUESTION)
    finally:
        await client.close()


QUESTION = Request(({"role": "user", "content": "휴가는?"},), None, {"max_tokens": 9})


@pytest.mark.parametrize(
    ("model", "user"), [("openai/x", "me:word@"), ("together_ai/x", ""), ("anthropic/x", "")]
)
def test_a_server_that_is_not_there_is_a_server_error_with_its_address(model, user, monkeypatch):
    monkeypatch.setenv("OUR_KEY", "k")
    address = f"http://{user}127.0.0.1:9/v1"
    settings = ModelSettings(model, api_base=address, key_variable="OUR_KEY", timeout_s=5)

    with pytest.raises(LlmError) as caught:
        asyncio.run(sent_by(Completions(settings)))
    assert (caught.value.code, caught.value.may_cost) == ("server_error", False)
    assert caught.value.message.values["address"] == "http://127.0.0.1:9"


def test_importing_the_whole_layer_loads_no_heavy_library():
    code = (
        "import sys, pkgutil, importlib, gigamind.llm as room\n"
        "apart = {'embeddings'}\n"
        "names = [m.name for m in pkgutil.iter_modules(room.__path__) if m.name not in apart]\n"
        "[importlib.import_module(f'gigamind.llm.{name}') for name in names]\n"
        "print(len(names), sorted({'litellm', 'instructor', 'openai', 'jinja2', 'aiohttp'} & set(sys.modules)))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, _, heavy = ended.stdout.strip().partition(" ")
    assert int(count) >= 13
    assert heavy == "[]"


async def test_closing_one_model_leaves_the_connections_of_another_open(connected):
    closed, kept = (
        connected(";sid=closed", attempts=1, timeout_s=20),
        connected(";sid=kept", attempts=1, timeout_s=20),
    )

    await reply_to(closed)
    await reply_to(kept)
    await closed.close()
    await reply_to(kept, item_id="q2")
    await kept.close()
    assert [row.status for row in kept.ledger.rows] == ["ok", "ok"]


async def test_a_model_opened_after_all_were_closed_is_asked_at_once(connected):
    for _ in range(2):
        model = connected(attempts=1, timeout_s=20)
        await reply_to(model)
        await model.close()
        assert [row.status for row in model.ledger.rows] == ["ok"]


# What an earlier test left, such as a loop of Prefect's, is not this call's: it is collected first, in silence.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("provider", ["openai", "hosted_vllm"])  # with two clients of litellm
def test_a_call_that_is_cancelled_leaves_nothing_that_python_complains_of(provider, settings_of):
    settings = settings_of(";lat=2000")
    client = Completions(replace(settings, model=settings.model.replace("openai", provider)))

    async def cancelled(steps):
        task = asyncio.ensure_future(client.send(QUESTION))
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
        await reply_to(model)
        await asyncio.sleep(0.05)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        await model.close()
        return left

    # A worker of litellm waits for records, of which we have it make none.
    assert [task for task in asyncio.run(run()) if "LoggingWorker" not in repr(task)] == []


async def test_a_call_that_is_cancelled_stops_the_server(settings_of, fake):
    client = Completions(settings_of(";lat=60000"))

    async def until_in_flight(count):
        while fake.seen.in_flight != count:  # noqa: ASYNC110  it is counted in another thread
            await asyncio.sleep(0.01)

    task = asyncio.ensure_future(client.send(QUESTION))
    await until_in_flight(1)
    task.cancel()
    await until_in_flight(0)
    await client.close()


@pytest.mark.parametrize("name", ["OPENAI_API_BASE", "OPENAI_BASE_URL"])
def test_the_address_comes_from_the_environment_as_litellm_documents_it(
    name, settings_of, fake, monkeypatch
):
    for each in ("OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv(name, f"{fake.url}/")

    assert asyncio.run(sent_by(Completions(settings_of(api_base=None)))).text
    assert fake.seen.total == 1


def test_an_address_may_end_in_the_path_of_the_method(settings_of, fake):
    settings = settings_of(api_base=f"{fake.url}/chat/completions")
    assert asyncio.run(sent_by(Completions(settings))).text


def test_a_provider_without_an_address_says_how_to_give_one(monkeypatch):
    monkeypatch.delenv("HOSTED_VLLM_API_BASE", raising=False)
    with pytest.raises(LlmError, match=r"--api-base.*HOSTED_VLLM_API_BASE"):
        Completions(ModelSettings("hosted_vllm/x"))


def test_a_name_and_a_password_in_an_address_are_sent_as_such(settings_of, fake):
    address = fake.url.replace("//", "//me:w%40rd@")
    asyncio.run(sent_by(Completions(settings_of(api_base=address))))
    assert list(fake.seen.authorizations) == ["Basic bWU6d0ByZA=="]


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_used_except_for_this_machine(
    name, settings_of, fake, monkeypatch
):
    for each in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, fake.url.replace("//", "//me:word@").removesuffix("/v1"))

    elsewhere = settings_of(api_base="http://models.invalid/v1")
    assert asyncio.run(sent_by(Completions(elsewhere))).text
    assert fake.seen.headers[-1]["Proxy-Authorization"] == "Basic bWU6d29yZA=="
    assert asyncio.run(sent_by(Completions(settings_of()))).text
    assert "Proxy-Authorization" not in fake.seen.headers[-1]
    monkeypatch.setenv("NO_PROXY", "models.invalid")
    with pytest.raises(LlmError, match=r"http://models\.invalid"):
        asyncio.run(sent_by(Completions(elsewhere)))


@pytest.mark.parametrize(
    ("fault", "sent", "left"),
    [
        ("temperature", {"max_tokens", "seed"}, {"max_tokens", "seed"}),
        ("max_tokens", {"max_completion_tokens", "temperature", "seed"}, {"max_tokens", "temperature", "seed"}),
    ],
)  # fmt: skip
async def test_a_parameter_that_the_model_refuses_is_left_out_from_then_on(
    fault, sent, left, connected, fake
):
    model = connected(f";fault={fault}", attempts=1)

    for number in range(3):
        await reply_to(model, item_id=f"q{number}")
    await model.close()

    known = {"max_tokens", "max_completion_tokens", "temperature", "seed"}
    assert [known & body.keys() for body in fake.seen.bodies][1:] == [sent] * 3
    assert [row.status for row in model.ledger.rows] == ["bad_request", "ok", "ok", "ok"]
    assert set(model.parameters) == left


def test_a_parameter_that_litellm_refuses_is_left_out_from_then_on(fake, monkeypatch):
    monkeypatch.setenv("OUR_KEY", "k")
    settings = ModelSettings("perplexity/x", api_base=fake.url, key_variable="OUR_KEY")
    client = Completions(settings)
    request = Request(QUESTION.messages, None, {"max_tokens": 9, "seed": 1, "temperature": 0.0})

    async def run():
        with pytest.raises(ParameterRefusedError) as caught:
            await client.send(request)
        await client.send(request)
        await client.close()
        return caught.value.parameter

    assert asyncio.run(run()) == "seed"
    assert "seed" not in fake.seen.bodies[-1]


def test_requests_that_start_together_keep_the_client_that_their_provider_accepts(
    fake, monkeypatch
):
    monkeypatch.setenv("OUR_KEY", "k")
    settings = ModelSettings("nvidia_nim/x", api_base=fake.url, key_variable="OUR_KEY")
    client = Completions(settings)

    async def together():
        await asyncio.gather(*(client.send(QUESTION) for _ in range(4)))
        await client.close()

    async def once():
        await sent_by(client)
        return exchange.get().requests

    asyncio.run(together())
    assert asyncio.run(once()) == 1  # over our transport


def counted(prompt, completion, cached=None):
    details = {"prompt_tokens_details": {"cached_tokens": cached}}
    return {"prompt_tokens": prompt, "completion_tokens": completion, **details}


@pytest.mark.each(
    "usage, told",
    [
        (None, None), ({}, None), (counted(0, 0), None), (counted(7, 2), Usage(7, 2)),
        (counted(7.0, 2.0), Usage(7, 2)), (counted(7.5, 2), Usage(-1, 2)),
        (counted(7, "2"), Usage(7, -1)), (counted(True, 2), Usage(-1, 2)),
        (counted(7, 2, cached=3), Usage(7, 2, 3)), (counted(7, 2, cached=0.5), Usage(7, 2, -1)),
        ({"prompt_tokens": 7}, Usage(7, 0)),
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 12}, Usage(7, 5)),
        ({"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": None}, Usage(7, 2)),
    ],
)  # fmt: skip
def test_tokens_are_taken_as_told_and_what_is_no_number_of_tokens_is_marked(usage, told):
    assert _usage_of(usage) == told
