"""Batch files, sent to a server that speaks the protocols of OpenAI and of Anthropic."""

import asyncio
import json
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from asked_model import Verdict
from batch_runs import POLL_S, PRICE, load_all
from fake_batch import BatchServer, FakeBatch
from faulty_model import run
from hypothesis import given
from hypothesis import strategies as st
from json_values import JSON

from gigamind.errors import InputError, LlmError
from gigamind.llm.ask import LanguageModel
from gigamind.llm.batches.batcher import Batches, _Entry, _parts, read_batches
from gigamind.llm.batches.providers import State, provider_of
from gigamind.llm.budget import Budget
from gigamind.llm.budget import Limits as BudgetLimits
from gigamind.llm.client import Answer, Request, Usage
from gigamind.llm.ledger import Attempt, Ledger, Totals, read_ledger
from gigamind.llm.loading import load_litellm
from gigamind.llm.sender import Call
from gigamind.llm.settings import ModelSettings

BOTH = pytest.mark.parametrize("provider", ["openai", "anthropic"])
ITEMS = 6
LOOKS = 30  # at a batch before it ends
LONG = f"judge;looks={LOOKS}"


@pytest.fixture(autouse=True, scope="module")
def loaded() -> None:
    load_all()  # takes longer than the shortest budget


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-anthropic")


@pytest.fixture
def batch_server() -> Iterator[BatchServer]:
    with run(BatchServer()) as server:
        yield server


@dataclass
class Asked:
    """How some questions ended, in their order."""

    ends: list[Verdict | LlmError]
    totals: Totals
    folder: Path
    notes: list[str]

    @property
    def codes(self) -> list[str]:
        return [end.code if isinstance(end, LlmError) else "ok" for end in self.ends]


@pytest.fixture
def ask(batch_server: BatchServer, tmp_path: Path) -> Callable[..., Asked]:
    """Asks a model in batches so many questions at once, as a run that may go on in the same folder."""

    def asked(
        model: str,
        items: int = ITEMS,
        *,
        budget: Budget | None = None,
        system: str = "",
        adjust: Callable[[LanguageModel], Any] = lambda _: None,
        **settings: Any,
    ) -> Asked:
        folder, notes = tmp_path / "run.unfinished", list[str]()
        path = folder / "attempts.jsonl"
        language_model = LanguageModel(
            ModelSettings(model, **({"api_base": batch_server.url} | settings)),
            prices={model: PRICE},
            budget=budget,
            ledger=Ledger(path),
            batches=Batches(tmp_path / "run", folder, POLL_S, notes.append),
        )
        adjust(language_model)
        first = [{"role": "system", "content": system}] if system else []

        async def one(number: int) -> Verdict | LlmError:
            messages = [*first, {"role": "user", "content": f"Is it so, {number}?"}]
            try:
                return await language_model.ask(messages, Verdict, item_id=f"q{number}")
            except LlmError as error:
                return error

        async def all_of_them() -> list[Verdict | LlmError]:
            try:
                return await asyncio.gather(*map(one, range(items)))
            finally:
                await language_model.close()

        ends = asyncio.run(all_of_them())
        return Asked(ends, Totals.of(read_ledger(path)), folder, notes)

    return asked


class UntilLookedAt(Budget):
    """Its minutes end when a batch was looked at, however long that takes."""

    def __init__(self, server: BatchServer) -> None:
        super().__init__(BudgetLimits(minutes=1))
        self._server = server

    @property
    def left_s(self) -> float | None:
        is_looked_at = any(batch.looks < LOOKS for batch in self._server.batches.values())
        return 0.0 if is_looked_at else super().left_s


@BOTH
def test_all_that_is_asked_at_once_is_one_batch_at_half_the_price(ask, batch_server, provider):
    asked = ask(f"{provider}/judge")
    assert asked.codes == ["ok"] * ITEMS
    assert [batch.count for batch in batch_server.batches.values()] == [ITEMS]
    billed, booked = batch_server.seen.generated, asked.totals
    assert booked.prompt_tokens == billed["prompt_tokens"]
    assert booked.completion_tokens == billed["completion_tokens"]
    assert booked.pico_usd == 500_000 * booked.prompt_tokens + 1_000_000 * booked.completion_tokens
    assert (booked.http_calls, booked.cost_source) == (ITEMS, "table")


def test_openai_is_sent_a_file_of_requests_as_it_documents_them(ask, batch_server):
    ask("openai/judge", 1)
    (content,) = [content for name, content in batch_server.files.items() if "file" in name]
    (row,) = map(json.loads, content.splitlines())
    assert set(row) == {"custom_id", "method", "url", "body"}
    assert (row["method"], row["url"]) == ("POST", "/v1/chat/completions")
    body = row["body"]
    assert set(body) == {
        "model", "messages", "max_tokens", "temperature", "seed", "response_format",
    }  # fmt: skip
    assert (body["model"], body["response_format"]["json_schema"]["strict"]) == ("judge", True)
    assert list(batch_server.seen.authorizations) == ["Bearer key-of-openai"]
    (batch,) = batch_server.batches.values()
    assert row["custom_id"].startswith("gm-")
    assert set(batch.tag) == {"gigamind"}


def test_openai_itself_is_told_the_limit_of_a_reply_by_the_name_that_all_its_models_take():
    request = Request(({"role": "user", "content": "?"},), None, {"max_tokens": 7})
    line = json.loads(provider_of(ModelSettings("openai/gpt-5-mini")).line("id", request))
    assert (line["body"].get("max_tokens"), line["body"]["max_completion_tokens"]) == (None, 7)


SCHEMA = {
    "type": "object",
    "properties": {
        "share": {"type": "number", "minimum": 0, "maximum": 1, "description": "of all"},
        "minimum": {"type": "string"},
        "parts": {"type": "array", "minItems": 1, "maxItems": 9, "items": {"$ref": "#/$defs/P"}},
    },
    "$defs": {"P": {"type": "object", "properties": {"n": {"oneOf": [{"type": "null"}]}}}},
}
ENFORCED = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "share": {"type": "number", "description": "of all\n\n{minimum: 0, maximum: 1}"},
        "minimum": {"type": "string"},
        "parts": {
            "type": "array", "minItems": 1, "items": {"$ref": "#/$defs/P"},
            "description": "{maxItems: 9}",
        },
    },
    "$defs": {
        "P": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"n": {"anyOf": [{"type": "null"}]}},
        }
    },
}  # fmt: skip
MESSAGES = ({"role": "system", "content": "You judge."}, {"role": "user", "content": "Is it?"})


def line_of(model: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The line of a batch for a request with a schema."""
    wanted = {"type": "json_schema", "json_schema": {"name": "V", "schema": schema, "strict": True}}
    form, parameters = {"response_format": wanted}, {"max_tokens": 99, "temperature": 0.0}
    request = Request(MESSAGES, form, parameters)
    return json.loads(provider_of(ModelSettings(model)).line("gm-1-0", request))


def test_anthropic_is_sent_messages_with_a_schema_that_it_can_enforce(ask, batch_server):
    ask("anthropic/judge", 1, system="You judge.")
    (headers,) = batch_server.seen.headers
    assert headers["x-api-key"] == "key-of-anthropic"
    assert "Authorization" not in headers
    assert headers["anthropic-version"] == "2023-06-01"
    assert line_of("anthropic/claude-sonnet-4-5", SCHEMA) == {
        "custom_id": "gm-1-0",
        "params": {
            "model": "claude-sonnet-4-5",
            "system": [
                {"type": "text", "text": "You judge.", "cache_control": {"type": "ephemeral"}}
            ],
            "messages": [{"role": "user", "content": "Is it?"}],
            "max_tokens": 99,
            "temperature": 0.0,
            "output_config": {"format": {"type": "json_schema", "schema": ENFORCED}},
        },
    }


@pytest.mark.parametrize(
    ("model", "schema"), [("old", SCHEMA), ("claude-sonnet-4-5", {"properties": {"a": {}}})]
)
def test_where_anthropic_cannot_enforce_a_schema_the_answer_comes_through_a_tool(
    model, schema, monkeypatch
):
    monkeypatch.setitem(load_litellm().model_cost, "old", {"litellm_provider": "anthropic"})
    params = line_of(f"anthropic/{model}", schema)["params"]
    assert "output_config" not in params
    assert params["tools"][0]["input_schema"] == schema
    assert params["tool_choice"] == {"type": "tool", "name": params["tools"][0]["name"]}


def test_the_answer_of_a_tool_is_read(ask, monkeypatch):
    monkeypatch.setitem(load_litellm().model_cost, "judge", {"litellm_provider": "anthropic"})
    assert ask("anthropic/judge", 2).codes == ["ok", "ok"]


@BOTH
@pytest.mark.parametrize(("state", "code"), [("expired", "timeout"), ("cancelled", "server_error")])
def test_of_a_batch_that_stops_halfway_the_half_that_is_done_counts_and_the_rest_costs_nothing(
    ask, batch_server, provider, state, code
):
    asked = ask(f"{provider}/judge;batch={state}")
    assert asked.codes == ["ok"] * 3 + [code] * 3
    assert asked.totals.by_status == {"ok": 3, code: 3}
    assert asked.totals.prompt_tokens == batch_server.seen.generated["prompt_tokens"]


def test_a_batch_that_is_refused_as_a_whole_costs_nothing_and_says_why(ask):
    asked = ask("openai/judge;batch=failed")
    assert asked.codes == ["bad_request"] * ITEMS
    assert "The file is refused" in str(asked.ends[0])
    assert asked.totals.pico_usd == 0


@BOTH
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("429", "rate_limited"), ("500", "server_error"), ("401", "auth_failed"),
        ("quota", "quota_exhausted"), ("400ctx", "context_too_long"), ("refusal", "refused"),
    ],
)  # fmt: skip
def test_a_request_of_a_batch_fails_with_the_code_it_would_have_by_itself(
    ask, provider, fault, code
):
    asked = ask(f"{provider}/judge;fault={fault};times=1")
    assert asked.codes == [code, *["ok"] * 5]
    assert asked.totals.http_calls == ITEMS


@BOTH
@pytest.mark.parametrize("fault", ["missing_field", "truncated"])
def test_what_must_be_asked_again_makes_the_next_smaller_batch(ask, batch_server, provider, fault):
    asked = ask(f"{provider}/judge;fault={fault};times=2")
    assert asked.codes == ["ok"] * ITEMS
    assert [batch.count for batch in batch_server.batches.values()] == [ITEMS, 2]
    spoilt = {"missing_field": "invalid_output"}.get(fault, fault)
    assert asked.totals.by_status == {"ok": ITEMS, spoilt: 2}
    assert asked.totals.completion_tokens == batch_server.seen.generated["completion_tokens"]


@BOTH
@pytest.mark.parametrize("stage", ["create", "created"])
def test_a_batch_whose_creation_ends_in_an_error_is_looked_for_before_it_is_created_again(
    ask, batch_server, provider, stage
):
    failures = [stage]

    def fail_once(reached: str) -> bool:
        return reached in failures and failures.remove(reached) is None

    batch_server.at_stage = fail_once
    asked = ask(f"{provider}/judge", backoff_s=0.01)
    assert asked.codes == ["ok"] * ITEMS
    assert not failures
    assert (len(batch_server.batches), batch_server.seen.total) == (1, ITEMS)
    assert asked.totals.http_calls == ITEMS


def test_what_others_have_sent_at_that_time_is_not_taken_for_ours(ask, batch_server, tmp_path):
    ask("anthropic/judge", 2)
    (tmp_path / "run.unfinished").rename(tmp_path / "another")
    failures = ["created"]
    batch_server.at_stage = lambda stage: stage in failures and failures.remove(stage) is None
    asked = ask("anthropic/judge;sid=b", 2)
    assert asked.codes == ["ok", "ok"]
    (batch,) = read_batches(asked.folder)
    assert batch.batch_id == list(batch_server.batches)[1]


@BOTH
def test_a_refused_creation_is_given_up_at_no_cost(ask, batch_server, provider):
    batch_server.most_bytes["anthropic"] = 10
    batch_server.most_bytes["openai"] = 10
    asked = ask(f"{provider}/judge", attempts=2, backoff_s=0.01)
    assert set(asked.codes) == {"bad_request"}
    assert (asked.totals.http_calls, asked.totals.pico_usd) == (0, 0)


@BOTH
@pytest.mark.parametrize(
    ("limit", "most", "sizes"), [("most_requests", 2, [1, 2, 2]), ("most_bytes", 3_000, None)]
)
def test_requests_are_split_into_as_many_batches_as_the_provider_asks_for(
    ask, batch_server, provider, limit, most, sizes
):
    getattr(batch_server, limit)[provider] = most
    asked = ask(
        f"{provider}/judge",
        5,
        adjust=lambda model: setattr(model._sender._provider, limit, most),
    )
    assert asked.codes == ["ok"] * 5
    counts = sorted(batch.count for batch in batch_server.batches.values())
    assert counts == sizes if sizes else 1 < len(counts) < 5


@BOTH
def test_no_batch_is_larger_than_documented(provider):
    documented = {"openai": (50_000, 200 * 10**6), "anthropic": (100_000, 256 * 10**6)}
    made = provider_of(ModelSettings(f"{provider}/judge"))
    assert (made.most_requests, made.most_bytes) == documented[provider]
    made.most_requests, made.most_bytes = 100, 5_000
    request = Request(({"role": "user", "content": "x" * 1000},), None, {"max_tokens": 9})
    line = made.line("id", request)

    async def split() -> list[list[int]]:
        entries = [
            _Entry(line, Attempt("q", 1, "http", "ok", "m"), "", Call("q", "")) for _ in range(10)
        ]
        within = _parts(entries, made)
        return [[len(entry.line) for entry in part] for part in within]

    found = asyncio.run(split())
    assert sum(map(len, found)) == 10
    assert all(sum(sizes) <= 5_000 < sum(sizes) + sizes[0] for sizes in found[:-1])


@BOTH
def test_the_budget_holds_for_the_worst_that_a_batch_may_cost(ask, batch_server, provider):
    model = f"{provider}/judge"
    free = ask(model, 1).totals
    # 768 tokens of a reply at 1 micro-USD each are most of what one may cost: there is room for three at a time.
    cap = 3 * 800 + free.micro_usd
    batch_server.batches.clear()
    asked = ask(f"{model};sid=b", budget=Budget(BudgetLimits(micro_usd=cap)))
    assert asked.codes == ["ok"] * ITEMS  # as their worst is given back, the next three are sent
    assert next(batch.count for batch in batch_server.batches.values()) <= 3
    assert asked.totals.micro_usd <= cap


def test_what_a_budget_leaves_no_room_for_is_not_in_the_batch(ask, batch_server):
    asked = ask("openai/judge", budget=Budget(BudgetLimits(calls=4)))
    assert sorted(asked.codes) == ["budget_exceeded"] * 2 + ["ok"] * 4
    assert [batch.count for batch in batch_server.batches.values()] == [4]


@BOTH
def test_a_run_out_of_time_leaves_its_batch_and_the_next_one_reads_it(ask, batch_server, provider):
    model = f"{provider}/{LONG}"
    late = ask(model, budget=UntilLookedAt(batch_server))
    assert late.codes == ["budget_exceeded"] * ITEMS
    assert late.totals.by_status == {"unfinished": ITEMS}  # it may be done, and be billed
    assert "--cancel" in late.notes[-1]
    assert "--resume" in late.notes[-1]
    (batch,) = batch_server.batches.values()
    batch.looks = 0

    spent = late.totals
    budget = Budget(spent_pico_usd=spent.pico_usd, calls=spent.http_calls)
    asked = ask(model, budget=budget)
    assert asked.codes == ["ok"] * ITEMS
    assert (len(batch_server.batches), batch_server.seen.total) == (1, ITEMS)
    assert asked.totals.by_status == {"ok": ITEMS}
    assert budget.spent_pico_usd == asked.totals.pico_usd
    assert budget.calls == ITEMS


def test_anthropic_keeps_a_marked_prefix_which_is_booked_as_it_is_billed(ask, batch_server):
    system = "You judge with care. " * 300
    asked = ask("anthropic/judge", system=system)
    assert asked.codes == ["ok"] * ITEMS
    sent, billed = batch_server.seen.bodies[-1], batch_server.seen.generated
    assert sent["messages"][0]["content"] == system
    prefix = len(system.strip()) // 4
    assert billed["written_tokens"] in {prefix, prefix + 1}
    assert billed["cached_tokens"] == (ITEMS - 1) * billed["written_tokens"]
    fresh = billed["prompt_tokens"] - billed["written_tokens"] - billed["cached_tokens"]
    assert asked.totals.prompt_tokens == billed["prompt_tokens"]
    assert asked.totals.cached_tokens == billed["cached_tokens"]
    assert asked.totals.pico_usd == (
        500_000 * fresh
        + 625_000 * billed["written_tokens"]
        + 50_000 * billed["cached_tokens"]
        + 1_000_000 * billed["completion_tokens"]
    )


def test_a_provider_without_batches_is_named():
    with pytest.raises(InputError, match=r"--batch: .*gemini/gemini-2\.5-flash"):
        provider_of(ModelSettings("gemini/gemini-2.5-flash"))


def test_a_missing_key_is_told_before_anything_is_sent(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(InputError, match="ANTHROPIC_API_KEY"):
        provider_of(ModelSettings("anthropic/claude-sonnet-4-5"))


def test_no_key_is_on_the_disk(ask):
    asked = ask("openai/judge;fault=401;times=1")
    kept = b"".join(path.read_bytes() for path in asked.folder.rglob("*") if path.is_file())
    assert b"custom_id" in kept
    assert b"key-of-openai" not in kept


@BOTH
def test_the_address_of_the_environment_is_where_a_batch_goes(
    ask, batch_server, provider, monkeypatch
):
    monkeypatch.setenv(f"{provider.upper()}_BASE_URL", batch_server.url)
    asked = ask(f"{provider}/judge", 2, api_base=None)
    assert asked.codes == ["ok", "ok"]
    assert len(batch_server.batches) == 1


def test_a_request_whose_line_was_lost_in_a_power_cut_is_booked_all_the_same(ask, batch_server):
    late = ask(f"openai/{LONG}", budget=UntilLookedAt(batch_server))
    path = late.folder / "attempts.jsonl"
    lines = path.read_text("utf-8").splitlines()
    path.write_text("".join(f"{line}\n" for line in lines if '"q3"' not in line), "utf-8")
    next(iter(batch_server.batches.values())).looks = 0
    asked = ask(f"openai/{LONG}")
    assert asked.codes == ["ok"] * ITEMS
    assert asked.totals.by_status == {"ok": ITEMS}
    assert asked.totals.prompt_tokens == batch_server.seen.generated["prompt_tokens"]


def near(whole: Any) -> st.SearchStrategy[Any]:
    """JSON like `whole`, of which any part may be missing or anything else."""
    if isinstance(whole, dict):
        parts = {name: near(value) for name, value in whole.items()}
        return st.fixed_dictionaries({}, optional=parts) | JSON
    if isinstance(whole, list):
        return st.tuples(*map(near, whole)).map(list) | JSON
    return st.just(whole) | JSON


ERROR = {"type": "error", "error": {"type": "billing_error", "message": "no", "code": "x"}}
CALL = {"id": "c", "type": "function", "function": {"name": "V", "arguments": "{}"}}
REPLY = {"role": "assistant", "content": "{}", "refusal": None, "tool_calls": [CALL]}
COUNTS = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
CHAT = {"choices": [{"message": REPLY, "finish_reason": "stop"}], "usage": COUNTS, "model": "m"}
BLOCKS = [{"type": "text", "text": "{}"}, {"type": "tool_use", "id": "t", "name": "a", "input": {}}]
TOKENS = {"input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 1}
MESSAGE = {"content": BLOCKS, "stop_reason": "end_turn", "usage": TOKENS, "model": "m"}
LINES = {
    "openai": [
        {"response": {"status_code": 200, "body": CHAT}},
        {"response": {"status_code": 400, "body": ERROR}, "error": {"code": "x", "message": "y"}},
    ],
    "anthropic": [
        {"result": {"type": "succeeded", "message": MESSAGE}},
        {"result": {"type": "errored", "error": ERROR}},
    ],
}
RESULTS = {provider: st.one_of(*map(near, lines)) for provider, lines in LINES.items()}
TYPES = {"text": str | None, "finish": str, "refusal": str | None, "usage": Usage | None}


@BOTH
@given(data=st.data())
def test_whatever_a_result_holds_it_is_an_answer_or_an_error(provider, data, tmp_path_factory):
    row = data.draw(RESULTS[provider])
    line = row | {"custom_id": "a"} if isinstance(row, dict) else row
    path = tmp_path_factory.mktemp("results") / "lines"
    path.write_text(json.dumps(line) + "\n", "utf-8")
    outcomes = provider_of(ModelSettings(f"{provider}/judge")).read(path)
    assert set(outcomes) == ({"a"} if isinstance(row, dict) else set())
    for outcome in outcomes.values():
        if isinstance(outcome, LlmError):
            continue
        assert isinstance(outcome, Answer)
        assert all(isinstance(getattr(outcome, name), kind) for name, kind in TYPES.items())
        if outcome.usage:
            counts = [getattr(outcome.usage, field.name) for field in fields(Usage)]
            assert all(type(count) is int for count in counts)


def test_a_line_that_is_no_json_or_has_no_id_leaves_the_others_readable(tmp_path):
    path = tmp_path / "lines"
    good = json.dumps({"custom_id": "a", "response": {"status_code": 200, "body": CHAT}}).encode()
    path.write_bytes(b"\xff\xfe{\n[1]\n" + b"[" * 100_000 + b'\n{"custom_id": []}\n' + good)
    outcomes = provider_of(ModelSettings("openai/judge")).read(path)
    assert outcomes == {"a": Answer("{}", "stop", None, Usage(3, 2), "m")}


def on(server: BatchServer, path: str, answer: Callable[[web.Request], Any]) -> None:
    """Let the server answer requests to a path in this way."""
    before = server.application

    def application() -> web.Application:
        found = before()

        @web.middleware
        async def instead(request: web.Request, handler: Any) -> web.StreamResponse:
            return await answer(request) if request.path == path else await handler(request)

        found.middlewares.append(instead)
        return found

    server.application = application


@BOTH
def test_a_redirect_is_not_followed(provider):
    path = {"openai": "/v1/batches/b1", "anthropic": "/v1/messages/batches/b1"}[provider]
    elsewhere = list[str]()

    async def redirect(_: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    async def arrived(request: web.Request) -> web.Response:
        elsewhere.append(request.path)
        return web.json_response({})

    server = BatchServer()
    on(server, path, redirect)
    on(server, "/elsewhere", arrived)
    with run(server):
        made = provider_of(ModelSettings(f"{provider}/judge", api_base=server.url, attempts=1))
        with pytest.raises(LlmError) as caught:
            asyncio.run(closed(made, made.look("b1")))
    assert caught.value.status == 307
    assert elsewhere == []


async def closed(provider: Any, call: Any) -> Any:
    """What a call gives; the connections are closed."""
    try:
        return await call
    finally:
        await provider.close()


@BOTH
def test_large_results_are_streamed_to_a_file_completely_or_not_at_all(provider, tmp_path):
    block, blocks, cut = b"x" * (1 << 20), 100, list[int]()

    async def content(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for number in range(blocks):
            if number in cut and request.transport:
                request.transport.abort()
                return response
            await response.write(block)
        return response

    server, paths = BatchServer(), {"openai": "/v1/files/f1/content", "anthropic": "/v1/results"}
    on(server, paths[provider], content)
    state = State("b1", "ended", True, 1, 1, (paths[provider].removeprefix("/v1"),), NO_RESULT)
    if provider == "anthropic":
        state = replace(state, results=(paths[provider],))
    path = tmp_path / "lines"
    with run(server):
        made = provider_of(ModelSettings(f"{provider}/judge", api_base=server.url, attempts=1))
        cut.append(blocks // 2)
        with pytest.raises(LlmError) as caught:
            asyncio.run(closed(made, made.download(state, path)))
        assert caught.value.code == "server_error"
        assert not path.exists()
        cut.clear()
        tracemalloc.start()
        asyncio.run(closed(made, made.download(state, path)))
        _now, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert path.stat().st_size == blocks * len(block)
    assert peak < 30 << 20


NO_RESULT = LlmError("none", "server_error")


@BOTH
def test_a_lost_batch_is_found_among_hundreds(provider, batch_server):
    for number in range(250):  # newest last; a page has 100
        name = f"b{number}"
        tag, count = {"gigamind": name}, 7 if number == 10 else 1
        made_at = time.time() - 250 + number
        batch_server.batches[name] = FakeBatch(
            name, provider, tag, count, "in_progress", "completed", 0, made_at
        )
    made = provider_of(ModelSettings(f"{provider}/judge", api_base=batch_server.url))
    found = asyncio.run(closed(made, made.find("b10", time.time() - 240, 7)))
    assert [state.batch_id for state in found] == ["b10"]


@BOTH
def test_what_a_server_sends_as_a_state_ends_in_an_error_of_ours(provider):
    path = {"openai": "/v1/batches", "anthropic": "/v1/messages/batches"}[provider]
    given: dict[str, Any] = {}

    async def send(_: web.Request) -> web.Response:
        return web.json_response(given["body"])

    server = BatchServer()
    on(server, f"{path}/b1", send)
    on(server, path, send)
    bodies = [None, 5, "text", [], {}, {"id": 7}, {"id": "b1"}, {"id": "b1", "request_counts": 3}]
    with run(server):
        made = provider_of(ModelSettings(f"{provider}/judge", api_base=server.url, attempts=1))

        async def look_and_create() -> list[LlmError]:
            errors = []
            for body in bodies:
                given["body"] = body
                for call in (made.look("b1"), made.create("tag", "f1", [b"{}"])):
                    with pytest.raises(LlmError) as caught:
                        await call
                    errors.append(caught.value)
            return errors

        errors = asyncio.run(closed(made, look_and_create()))
    assert {(error.code, error.may_cost) for error in errors} == {("malformed_response", True)}


@pytest.mark.parametrize("tokens", [-1, 1e308, "many"])
def test_counts_that_cannot_be_are_estimated_within_the_upper_bound_when_resumed(
    ask, batch_server, tokens
):
    late = ask(f"openai/{LONG}", budget=UntilLookedAt(batch_server))
    (batch,) = batch_server.batches.values()
    batch.looks = 0
    name = f"{batch.batch_id}_output"
    rows = list(map(json.loads, batch_server.files[name].splitlines()))
    for row in rows:
        row["response"]["body"]["usage"]["prompt_tokens"] = tokens
    batch_server.files[name] = "".join(json.dumps(row) + "\n" for row in rows).encode()
    asked = ask(f"openai/{LONG}")
    assert asked.codes == ["ok"] * ITEMS
    assert asked.totals.cost_source == "estimated"
    assert asked.totals.prompt_tokens >= batch_server.seen.generated["prompt_tokens"]
    assert 0 < asked.totals.pico_usd <= late.totals.pico_usd
