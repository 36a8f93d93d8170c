"""What a server can send: any bytes, bombs, slow bodies.  Each ends as an answer or an LlmError, within the limits."""

import asyncio
import gzip
import json
import re
import resource
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_values import JSON
from loopback import Answering, listening
from pydantic import BaseModel

from gigamind.errors import LlmError
from gigamind.llm.ask import LanguageModel
from gigamind.llm.ledger import Price
from gigamind.llm.settings import ModelSettings

PROVIDERS = ("openai", "hosted_vllm", "ollama_chat", "anthropic", "gemini")
QUESTION = [{"role": "user", "content": "Is it so?"}]


class Verdict(BaseModel):
    holds: bool
    reason: str = ""


class Server:
    """Sends `body` in reply to everything, or runs `write` on the open connection."""

    def __init__(self) -> None:
        self.url, self.body, self.status, self.headers = "", b"", 200, {}
        self.requests = 0
        self.write = None


@pytest.fixture(scope="module")
def server():
    state = Server()

    class Handler(Answering):
        def do_POST(self):
            self.body()
            state.requests += 1
            self.send_response(state.status)
            headers = {"content-type": "application/json", **state.headers}
            if state.write is None:
                headers["content-length"] = str(len(state.body))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                state.write(self.wfile) if state.write else self.wfile.write(state.body)
            except OSError:  # the client closed the connection
                self.close_connection = True

    with listening(Handler) as http:
        state.url = f"{http.url}/v1"
        yield state


@pytest.fixture
def sends(server, monkeypatch):
    """Make the server send something."""
    monkeypatch.setenv("OUR_KEY", "sk-secret-1234567")

    def send(body=b"", status=200, write=None, **headers):
        server.body, server.status, server.write, server.requests = body, status, write, 0
        server.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    return send


def ask(server, provider="openai", **changes):
    """The reply or the error of one question, the ledger's totals, and how long the event loop was blocked."""
    given_settings = {
        "attempts": 1, "reasks": 0, "timeout_s": 20.0, "key_variable": "OUR_KEY",
    } | changes  # fmt: skip
    name = f"{provider}/m"
    model = LanguageModel(
        ModelSettings(name, api_base=server.url, **given_settings),
        prices={name: Price(1_000_000, 2_000_000, 500_000)},
    )

    async def run():
        blocked = 0.0

        async def beat():
            nonlocal blocked
            while True:
                before = time.monotonic()
                await asyncio.sleep(0.01)
                blocked = max(blocked, time.monotonic() - before - 0.01)

        beating = asyncio.create_task(beat())
        try:
            ended = await model.ask(QUESTION, Verdict, item_id="q")
        except LlmError as error:
            ended = error
        beating.cancel()
        await model.close()
        return ended, model.ledger.totals(), blocked

    return asyncio.run(run())


def completion(message, **more):
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": usage}
    return json.dumps({**whole, "choices": [choice], **more}).encode()


_FIELDS = ("content", "refusal", "tool_calls", "role", "reasoning_content")
MESSAGE = st.fixed_dictionaries({}, optional=dict.fromkeys(_FIELDS, JSON))
COMPLETION = st.fixed_dictionaries({}, optional={
    "choices": st.lists(
        st.fixed_dictionaries({}, optional={"message": MESSAGE | JSON, "finish_reason": JSON}), max_size=2
    ) | JSON,
    "usage": JSON | st.dictionaries(st.sampled_from(["prompt_tokens", "completion_tokens", "total_tokens"]), JSON),
    **dict.fromkeys(("model", "error", "id", "created", "system_fingerprint"), JSON),
})  # fmt: skip
ANYTHING = st.binary(max_size=200) | (COMPLETION | JSON).map(
    lambda value: json.dumps(value).encode()
)


@settings(deadline=None, max_examples=25)
@given(body=ANYTHING, status=st.sampled_from([200, 200, 200, 400, 404, 500, 503]))
def test_whatever_a_server_sends_ends_as_a_reply_or_an_error(server, body, status):
    server.body, server.status, server.write, server.headers = body, status, None, {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OUR_KEY", "sk-secret-1234567")
        ended, totals, _ = ask(server)
    assert isinstance(ended, Verdict | LlmError)
    assert totals.http_calls >= 1
    assert 0 <= totals.pico_usd < 10**10


@pytest.mark.parametrize("usage", [
    {"prompt_tokens": 1e308, "completion_tokens": 9}, {"prompt_tokens": 1, "completion_tokens": 1},
    {"prompt_tokens": -9, "completion_tokens": 9}, {"prompt_tokens": 9.5, "completion_tokens": 9},
    {"promptTokens": 9, "completionTokens": 9}, None,
])  # fmt: skip
def test_a_usage_that_cannot_be_is_bounded_and_reserved(usage, server, sends):
    text = json.dumps({"holds": True, "reason": "The note says so in as many words. " * 4})
    sends(completion({"content": text}, usage=usage))

    ended, totals, _ = ask(server)

    assert ended.holds
    assert totals.cost_source == "estimated"
    assert 0 < totals.micro_usd == totals.reserved_micro_usd < 5_000


@pytest.mark.parametrize("text", [
    '{"holds": true, "reason": "x",}', "{'holds': True, 'reason': 'x'}",
    '{"holds": true, // because\n "reason": "x"}', '{"holds": true, "reason": "two\nlines"}',
    '{"result": {"holds": true}}', '{"결과": {"holds": true}}', "{“holds”: true, “reason”: “x”}",
])  # fmt: skip
def test_an_object_with_one_fault_is_repaired_and_counted(text, server, sends):
    sends(completion({"content": text}))

    ended, totals, _ = ask(server)

    assert isinstance(ended, Verdict), ended
    assert (ended.holds, totals.repaired) == (True, 1)


@pytest.mark.parametrize("between", [" ", ", ", "\nor rather ", "\n```\n"])
def test_of_two_objects_none_is_the_reply(between, server, sends):
    sends(completion({"content": f'{{"holds": false,}}{between}{{"holds": true}}'}))
    ended, totals, _ = ask(server)
    assert (ended.code, totals.repaired) == ("invalid_output", 0)


def test_a_tool_call_that_nobody_asked_for_is_read(server, sends):
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "f", "arguments": '{"holds": true}'},
    }
    sends(completion({"content": None, "tool_calls": [call]}))
    assert ask(server)[0].holds


@pytest.mark.parametrize("mode", ["json_schema", "tools", "md_json"])
def test_each_mode_of_instructor_gives_a_reply(mode, server, sends):
    message = {"content": '```json\n{"holds": true}\n```'}
    if mode == "tools":
        function = {"name": "Verdict", "arguments": '{"holds": true}'}
        message = {
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        }
    sends(completion(message))
    assert ask(server, mode=mode)[0].holds


def test_a_server_that_only_streams_is_read_with_one_more_request(server, sends):
    choice = {
        "index": 0,
        "delta": {"role": "assistant", "content": '{"holds": true}'},
        "finish_reason": "stop",
    }
    chunk = {
        "id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [choice],
    }  # fmt: skip
    sends(
        b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n",
        content_type="text/event-stream",
    )

    ended, totals, _ = ask(server)

    assert ended.holds
    assert totals.http_calls == server.requests == 2


@pytest.fixture(scope="module")
def bomb():
    return gzip.compress(b" " * (300 << 20), 1)


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_a_bomb_of_300_mb_is_refused_within_the_limits(provider, bomb, server, sends):
    sends(completion({"content": "warm"}))
    ask(server, provider)  # litellm loads parts of itself
    sends(bomb, content_encoding="gzip")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    ended, _, blocked = ask(server, provider)

    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert ended.code == "malformed_response"
    assert grown_kb < 50_000
    assert blocked < 3  # 0.1 s on a machine with nothing else to do


@pytest.mark.parametrize("provider", PROVIDERS)
def test_of_a_long_error_only_the_beginning_is_read(provider, server, sends):
    sends(b'{"error": {"message": "' + b"E" * (30 << 20) + b'"}}', status=400)

    ended, totals, _ = ask(server, provider)

    assert ended.code == "bad_request"
    assert len(str(ended)) < 1_000
    assert totals.micro_usd == 0


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream", "text/html"])
def test_a_long_body_that_is_no_json_does_not_block_the_event_loop(content_type, server, sends):
    sends(completion({"content": "warm"}))
    ask(server)
    sends(b"data: " + b"x" * (7 << 20), content_type=content_type)

    ended, _, blocked = ask(server)

    assert ended.code == "malformed_response"
    assert blocked < 3  # 0.1 s on a machine with nothing else to do


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_body_that_trickles_ends_at_the_time_limit(provider, server, sends):
    def trickle(file):
        for _ in range(100):
            file.write(b" ")
            file.flush()
            time.sleep(0.1)

    sends(completion({"content": "warm"}))
    ask(server, provider)
    sends(write=trickle, connection="close")
    began = time.monotonic()

    ended, totals, _ = ask(server, provider, timeout_s=0.4)

    assert ended.code == "timeout"
    assert time.monotonic() - began < 6
    assert server.requests == 1
    assert totals.reserved_micro_usd == totals.micro_usd > 0


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_redirect_is_not_followed_and_names_its_target(provider, server, sends):
    sends(status=307, location="http://127.0.0.1:1/elsewhere")

    ended, totals, _ = ask(server, provider)

    assert "127.0.0.1:1" in str(ended)
    assert (server.requests, totals.micro_usd) == (1, 0)


@pytest.mark.parametrize(
    ("provider", "status"),
    [
        *(("openai", status) for status in (408, 409, 425, 429, 500, 502)),
        *((provider, 503) for provider in PROVIDERS),
    ],
)
def test_a_passing_status_is_one_request_for_each_attempt(provider, status, server, sends):
    sends(b'{"error": {"message": "later"}}', status=status)

    ended, totals, _ = ask(server, provider, attempts=2, backoff_s=0.01)

    codes = {408: "timeout", 429: "rate_limited"}
    assert ended.code == codes.get(status, "server_error")
    assert server.requests == totals.http_calls == 2
    assert (totals.micro_usd == 0) == (status != 408)


@pytest.mark.parametrize("error", [
    {"message": "overloaded", "code": 429}, {"message": "slow", "type": "rate_limit_error"},
])  # fmt: skip
def test_a_rate_limit_inside_a_good_status_is_a_rate_limit(error, server, sends):
    sends(json.dumps({"error": error}).encode())
    assert ask(server)[0].code == "rate_limited"


def test_a_refusal_of_any_type_is_a_refusal(server, sends):
    sends(completion({"content": None, "refusal": {"reason": "x"}}))
    assert ask(server)[0].code == "refused"


def test_a_provider_that_litellm_calls_past_our_transport_is_refused(server, sends, monkeypatch):
    monkeypatch.setenv("COHERE_API_KEY", "sk-secret-1234567")
    usage = {"tokens": {"input_tokens": 9, "output_tokens": 9}}
    message = {"content": [{"type": "text", "text": '{"holds": true}'}]}
    both = {"text": '{"holds": true}', "finish_reason": "COMPLETE", "message": message}
    sends(json.dumps({"id": "x", "usage": usage, **both}).encode())

    ended, totals, _ = ask(server, "cohere_chat", attempts=3, mode="md_json")

    assert (ended.code, ended.may_cost) == ("bad_request", True)
    assert (server.requests, totals.http_calls) == (1, 1)
    assert totals.reserved_micro_usd > 0


@pytest.mark.parametrize("provider", ["azure", "bedrock/converse"])
def test_providers_of_clouds_are_called_over_our_transport(provider, server, sends, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AZURE_API_KEY"):
        monkeypatch.setenv(name, "sk-secret-1234567")
    monkeypatch.setenv("AWS_REGION_NAME", "us-east-1")
    sends(b"{}", status=307, location="http://127.0.0.1:9/elsewhere")

    ended, totals, _ = ask(server, provider, key_variable=None)

    assert (ended.status, server.requests, totals.micro_usd) == (307, 1, 0)


def test_what_never_leaves_the_machine_costs_nothing(server, monkeypatch):
    monkeypatch.setenv("OUR_KEY", "sk-secret-1234567")
    for url in (
        "http://127.0.0.1:1/v1",
        "http://no.such.host.invalid/v1",
        re.sub("^http", "https", server.url),
    ):
        elsewhere = Server()
        elsewhere.url = url
        ended, totals, _ = ask(elsewhere, timeout_s=2.0)
        assert isinstance(ended, LlmError)
        assert (totals.http_calls, totals.pico_usd) == (1, 0)
