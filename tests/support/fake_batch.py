"""The mock model behind the batch files of OpenAI and Anthropic, and Anthropic's own protocol.

A batch is generated and billed when it is created.  Its results are available after some polls, in another order.
The name of its first model controls the batch, in addition to the faults of each request:

judge;batch=failed               OpenAI only: the batch is rejected as a whole, at no cost
judge;batch=expired              half of it is done in time, the rest expired; the same with cancelled
judge;looks=3                    in progress at the first three polls
"""

import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from aiohttp import BodyPartReader, web
from faulty_model import ERRORS, FakeServer, error_response, read_behaviour

Json = dict[str, Any]
Api = Literal["openai", "anthropic"]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_RULE = re.compile(r"[{,] ?((?:min|max)[A-Za-z]+): (-?\d+(?:\.\d+)?)(?=[,}])")
_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_TRANSPORT_FAULTS = frozenset({"timeout", "disconnect", "reset", "html", "badjson"})
_CHARS_PER_TOKEN = 4
_UNDONE = {"expired": "expired", "cancelled": "canceled"}  # values: spelling of Anthropic
_LEAST_CACHED = 1024  # tokens
_PAGE = 20


@dataclass(slots=True)
class FakeBatch:
    """One batch."""

    batch_id: str
    api: Api
    tag: Json
    count: int
    status: str
    ends_as: str
    looks: int  # further polls at which it is in progress
    created_at: float
    file_id: str = ""
    lines: list[Json] = field(default_factory=list[Json])  # results and errors, one per request
    failed: list[Json] = field(default_factory=list[Json])
    problem: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether its results are available."""
        return self.status in {"completed", "failed", "expired", "cancelled", "ended"}

    def advance(self) -> None:
        """Move to the status for the next poll."""
        steps = {"validating": "in_progress", "finalizing": self.ends_as, "cancelling": "cancelled"}
        if self.status == "in_progress" and self.looks > 0:
            self.looks -= 1
        elif self.status == "in_progress":
            self.status = "finalizing" if self.api == "openai" else "ended"
        elif self.status == "canceling":
            self.status = "ended"
        else:
            self.status = steps.get(self.status, self.status)


def _go_on(_stage: str) -> bool:
    return False


class BatchServer(FakeServer):
    """The mock model with batches.

    Attributes:
        at_stage: Called at each stage, in the server's thread; if it returns True, the client gets an error instead of
            an answer.  `upload`, `create`: before the action; `uploaded`, `created`: after it, before the answer;
            `look:STATUS`; `results`: after half of them is sent.
        most_requests, most_bytes: Limits of one batch.
    """

    def __init__(self) -> None:
        super().__init__()
        self.at_stage: Callable[[str], bool] = _go_on
        self.batches: dict[str, FakeBatch] = {}
        self.files: dict[str, bytes] = {}
        self.most_requests = {"openai": 50_000, "anthropic": 100_000}
        self.most_bytes = {"openai": 200 * 10**6, "anthropic": 256 * 10**6}
        self._prefixes: set[str] = set()
        self._made = 0

    def application(self) -> web.Application:
        application = super().application()
        application.add_routes([
            web.post("/v1/files", self._upload),
            web.get("/v1/files/{id}/content", self._content),
            web.delete("/v1/files/{id}", self._delete_file),
            *_batch_routes("/v1/batches", self._create, self._list, self._look, self._cancel),
            web.post("/v1/messages", self._message),
            *_batch_routes(
                "/v1/messages/batches", self._create_messages, self._list_messages,
                self._look_at_messages, self._cancel_messages,
            ),
            web.get("/v1/messages/batches/{id}/results", self._results),
        ])  # fmt: skip
        return application

    def _stage(self, name: str) -> None:
        if self.at_stage(name):
            raise web.HTTPServiceUnavailable(text="the test wants it so")

    def _next(self, kind: str) -> str:
        self._made += 1
        return f"{kind}_{self._made:06d}"

    def _batch(self, request: web.Request) -> FakeBatch:
        batch = self.batches.get(request.match_info["id"])
        if batch is None:
            raise web.HTTPNotFound(text="no such batch")
        return batch

    def _page(self, request: web.Request, api: Api, after: str) -> tuple[list[FakeBatch], bool]:
        rows = [batch for batch in reversed(self.batches.values()) if batch.api == api]
        ids = [batch.batch_id for batch in rows]
        start = ids.index(request.query[after]) + 1 if after in request.query else 0
        end = start + int(request.query.get("limit", _PAGE))
        return rows[start:end], end < len(rows)

    def _new(self, api: Api, model: str, count: int) -> FakeBatch:
        given = dict(part.split("=", 1) for part in model.split(";") if "=" in part)
        status = "validating" if api == "openai" else "in_progress"
        last = given.get("batch", "completed")
        looks = int(given.get("looks", 1))
        batch = FakeBatch(
            self._next("batch" if api == "openai" else "msgbatch"), api, {}, count, status, last,
            looks, time.time(),
        )  # fmt: skip
        self.batches[batch.batch_id] = batch
        return batch

    def _ended(self, body: Json, batch: FakeBatch, place: int) -> Json | tuple[int, str, str]:
        """Return the billed completion of a request, or status (0: not processed), text and code of its error."""
        if batch.ends_as in _UNDONE and place >= batch.count // 2:
            return 0, f"The batch was {batch.ends_as} before its turn.", f"batch_{batch.ends_as}"
        behaviour = read_behaviour(body["model"])
        self.seen.calls[behaviour.scenario] += 1
        self.seen.bodies.append(body)
        fault = behaviour.fault_of(self.seen.calls[behaviour.scenario])
        if fault in ERRORS:
            status, message, code = ERRORS[fault]
            return status, message, code or "error"
        if fault == "429":
            return 429, "Rate limit reached", "rate_limit_exceeded"
        if fault in _TRANSPORT_FAULTS:  # batch requests have no transport of their own
            return 500, "The server had an error", "server_error"
        return self.completion(body, fault)

    # OpenAI

    async def _upload(self, request: web.Request) -> web.Response:
        self._stage("upload")
        purpose, content = "", b""
        async for part in await request.multipart():
            if isinstance(part, BodyPartReader) and part.name == "purpose":
                purpose = await part.text()
            elif isinstance(part, BodyPartReader) and part.name == "file":
                content = bytes(await part.read())
        if purpose != "batch" or len(content) > self.most_bytes["openai"]:
            return error_response(400, "no file for a batch, or too large a one", "invalid_file")
        file_id = self._next("file")
        self.files[file_id] = content
        self._stage("uploaded")
        return web.json_response({"id": file_id, "object": "file", "purpose": purpose})

    async def _content(self, request: web.Request) -> web.StreamResponse:
        content = self.files.get(request.match_info["id"])
        if content is None:
            return error_response(404, "no such file", "not_found")
        return await self._in_halves(request, content)

    async def _in_halves(self, request: web.Request, content: bytes) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(content[: len(content) // 2])
        if self.at_stage("results") and request.transport:
            request.transport.abort()
            return response
        await response.write(content[len(content) // 2 :])
        await response.write_eof()
        return response

    async def _delete_file(self, request: web.Request) -> web.Response:
        content = self.files.pop(request.match_info["id"], None)
        return web.json_response({"deleted": content is not None})

    async def _create(self, request: web.Request) -> web.Response:
        self.seen.authorizations.append(request.headers.get("Authorization", ""))
        wanted: Json = await request.json()
        content = self.files.get(wanted["input_file_id"])
        if content is None or wanted["completion_window"] != "24h":
            return error_response(
                400, "no such file, or another window than 24h", "invalid_request"
            )
        self._stage("create")
        rows: list[Json] = [json.loads(line) for line in content.splitlines()]
        batch = self._new("openai", rows[0]["body"]["model"], len(rows))
        batch.tag, batch.file_id = wanted.get("metadata") or {}, wanted["input_file_id"]
        batch.problem = self._problem_of(rows)
        if batch.problem or batch.ends_as == "failed":
            batch.problem = batch.problem or "The file is refused, as the test wants it."
            batch.status = batch.ends_as = "failed"
        else:
            for place, row in enumerate(rows):
                self._answer_row(batch, row, self._ended(row["body"], batch, place))
            self.files[f"{batch.batch_id}_output"] = _lines(batch.lines)
            self.files[f"{batch.batch_id}_error"] = _lines(batch.failed)
        self._stage("created")
        return web.json_response(_openai_state(batch))

    def _problem_of(self, rows: Sequence[Json]) -> str:
        if len(rows) > self.most_requests["openai"]:
            return f"more than {self.most_requests['openai']} requests"
        if len({row["custom_id"] for row in rows}) < len(rows):
            return "two requests have one custom_id"
        if len({row["body"]["model"] for row in rows}) > 1:
            return "the file asks more than one model"
        return ""

    @staticmethod
    def _answer_row(batch: FakeBatch, row: Json, ended: Json | tuple[int, str, str]) -> None:
        line: Json = {"id": f"batch_req_{row['custom_id']}", "custom_id": row["custom_id"]}
        if isinstance(ended, dict):
            response = {"status_code": 200, "request_id": "req", "body": ended}
            batch.lines.append({**line, "response": response, "error": None})
            return
        status, message, code = ended
        if not status:
            error = {"code": code, "message": message}
            batch.failed.append({**line, "response": None, "error": error})
            return
        body = {"error": {"message": message, "type": "error", "code": code}}
        response = {"status_code": status, "request_id": "req", "body": body}
        batch.failed.append({**line, "response": response, "error": None})

    async def _list(self, request: web.Request) -> web.Response:
        rows, has_more = self._page(request, "openai", "after")
        data = [_openai_state(batch) for batch in rows]
        return web.json_response({"object": "list", "data": data, "has_more": has_more})

    async def _look(self, request: web.Request) -> web.Response:
        batch = self._batch(request)
        batch.advance()
        self._stage(f"look:{batch.status}")
        return web.json_response(_openai_state(batch))

    async def _cancel(self, request: web.Request) -> web.Response:
        batch = self._batch(request)
        if not batch.has_ended:
            batch.status = "cancelling"
        return web.json_response(_openai_state(batch))

    # Anthropic

    async def _message(self, request: web.Request) -> web.Response:
        self.seen.headers.append(request.headers)
        params: Json = await request.json()
        self.seen.bodies.append(params)
        behaviour = read_behaviour(params["model"])
        self.seen.calls[behaviour.scenario] += 1
        completion = self.completion(_as_chat(params), None)
        return web.json_response(self._as_message(params, completion))

    async def _create_messages(self, request: web.Request) -> web.Response:
        self.seen.headers.append(request.headers)
        content = await request.content.read()
        rows: list[Json] = json.loads(content)["requests"]
        if "x-api-key" not in request.headers or "anthropic-version" not in request.headers:
            return _refusal(401, "authentication_error", "x-api-key header is required")
        if len(content) > self.most_bytes["anthropic"]:
            return _refusal(413, "request_too_large", "the batch is larger than 256 MB")
        ids = [row["custom_id"] for row in rows]
        if len(rows) > self.most_requests["anthropic"] or len(set(ids)) < len(ids):
            return _refusal(
                400, "invalid_request_error", "too many requests, or one custom_id twice"
            )
        if not all(map(_CUSTOM_ID.fullmatch, ids)):
            return _refusal(400, "invalid_request_error", "a custom_id has other characters")
        self._stage("create")
        batch = self._new("anthropic", rows[0]["params"]["model"], len(rows))
        for place, row in enumerate(rows):
            ended = self._ended(_as_chat(row["params"]), batch, place)
            if isinstance(ended, dict):
                message = self._as_message(row["params"], ended)
                result: Json = {"type": "succeeded", "message": message}
            elif ended[0]:
                result = {"type": "errored", "error": _anthropic_error(ended[0], ended[1])}
            else:
                result = {"type": _UNDONE[batch.ends_as]}
            batch.lines.append({"custom_id": row["custom_id"], "result": result})
        self._stage("created")
        return web.json_response(self._anthropic_state(batch))

    async def _list_messages(self, request: web.Request) -> web.Response:
        rows, has_more = self._page(request, "anthropic", "after_id")
        data = [self._anthropic_state(batch) for batch in rows]
        last_id = rows[-1].batch_id if rows else None
        return web.json_response({"data": data, "has_more": has_more, "last_id": last_id})

    async def _look_at_messages(self, request: web.Request) -> web.Response:
        batch = self._batch(request)
        batch.advance()
        self._stage(f"look:{batch.status}")
        return web.json_response(self._anthropic_state(batch))

    async def _results(self, request: web.Request) -> web.StreamResponse:
        return await self._in_halves(request, _lines(self._batch(request).lines))

    async def _cancel_messages(self, request: web.Request) -> web.Response:
        batch = self._batch(request)
        if not batch.has_ended:
            batch.status = "canceling"
        return web.json_response(self._anthropic_state(batch))

    def _as_message(self, params: Json, completion: Json) -> Json:
        """Return a completion in Anthropic's form, with its cache usage."""
        choice: Json = completion["choices"][0]
        text = choice["message"]["content"] or ""
        blocks: list[Json] = [{"type": "text", "text": text}]
        if params.get("tools"):
            name = params["tools"][0]["name"]
            blocks = [{"type": "tool_use", "id": "t", "name": name, "input": json.loads(text)}]
        stops = {"length": "max_tokens", "stop": "end_turn"}
        refused = choice["message"].get("refusal")
        usage: Json = completion.get("usage") or {}
        sent, prefix = usage.get("prompt_tokens", 0), _marked_tokens(params)
        part = min(prefix, sent) if prefix >= _LEAST_CACHED else 0
        known = json.dumps(params.get("system")) in self._prefixes
        if part and not known:
            self._prefixes.add(json.dumps(params.get("system")))
        read, written = (part, 0) if known else (0, part)
        self.seen.generated["cached_tokens"] += read
        self.seen.generated["written_tokens"] += written
        return {
            "id": completion["id"],
            "type": "message",
            "role": "assistant",
            "model": completion["model"],
            "content": blocks,
            "stop_reason": "refusal" if refused else stops.get(choice["finish_reason"], "end_turn"),
            "stop_sequence": None,
            "usage": {
                "input_tokens": sent - part,
                "cache_read_input_tokens": read,
                "cache_creation_input_tokens": written,
                "output_tokens": usage.get("completion_tokens", 0),
            },
        }

    def _anthropic_state(self, batch: FakeBatch) -> Json:
        ended = batch.status == "ended"
        types = [line["result"]["type"] for line in batch.lines] if ended else []
        names = ("succeeded", "errored", "canceled", "expired")
        counts = {name: types.count(name) for name in names}
        created_at = datetime.fromtimestamp(batch.created_at, UTC)
        place = f"{self.url}/messages/batches/{batch.batch_id}/results"
        return {
            "id": batch.batch_id, "type": "message_batch", "processing_status": batch.status,
            "request_counts": {"processing": batch.count - len(types), **counts},
            "created_at": created_at.isoformat().replace("+00:00", "Z"), "ended_at": None,
            "results_url": place if ended else None,
        }  # fmt: skip


def _batch_routes(
    path: str, create: Handler, every: Handler, look: Handler, cancel: Handler
) -> list[web.RouteDef]:
    batch_path = f"{path}/{{id}}"
    return [
        web.post(path, create), web.get(path, every), web.get(batch_path, look),
        web.post(f"{batch_path}/cancel", cancel),
    ]  # fmt: skip


def _openai_state(batch: FakeBatch) -> Json:
    done = batch.has_ended
    state: Json = {
        "id": batch.batch_id,
        "object": "batch",
        "endpoint": "/v1/chat/completions",
        "input_file_id": batch.file_id,
        "completion_window": "24h",
        "status": batch.status,
        "created_at": int(batch.created_at),
        "metadata": batch.tag,
        "request_counts": {
            "total": batch.count,
            "completed": len(batch.lines) if done else 0,
            "failed": len(batch.failed) if done else 0,
        },
        "output_file_id": f"{batch.batch_id}_output" if done and batch.lines else None,
        "error_file_id": f"{batch.batch_id}_error" if done and batch.failed else None,
        "errors": None,
    }
    if batch.problem:
        problem = {"code": "invalid_request", "message": batch.problem, "line": 1, "param": None}
        state["errors"] = {"object": "list", "data": [problem]}
    return state


def _lines(rows: Sequence[Json]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in reversed(rows))


def _anthropic_error(status: int, message: str) -> Json:
    kinds = {
        400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error",
        429: "rate_limit_error",
    }  # fmt: skip
    error = {"type": kinds.get(status, "api_error"), "message": message}
    return {"type": "error", "error": error}


def _refusal(status: int, kind: str, message: str) -> web.Response:
    error = {"type": kind, "message": message}
    return web.json_response({"type": "error", "error": error}, status=status)


def _as_chat(params: Mapping[str, Any]) -> Json:
    blocks: Any = params.get("system") or []
    blocks = [{"text": blocks}] if isinstance(blocks, str) else blocks
    system = "".join(block["text"] for block in blocks)
    messages: list[Json] = [{"role": "system", "content": system}] if system else []
    for message in params["messages"]:
        content: Any = message["content"]
        if not isinstance(content, str):
            content = "".join(block.get("text", "") for block in content)
        messages.append({"role": message["role"], "content": content})
    chat: Json = {"model": params["model"], "messages": messages}
    config: Json = params.get("output_config") or {}
    shape: Json = config.get("format") or params.get("output_format") or {}
    if params.get("tools"):
        shape = {"schema": params["tools"][0]["input_schema"]}
    if shape:
        schema = {"name": "reply", "schema": _obeyed(shape["schema"])}
        chat["response_format"] = {"type": "json_schema", "json_schema": schema}
    return chat


def _obeyed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_obeyed(each) for each in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, dict):
        return schema
    given: Json = schema  # pyright: ignore[reportUnknownVariableType]
    description = given.get("description")
    rules = dict(_RULE.findall(description)) if isinstance(description, str) else {}
    kept = {name: _obeyed(each) for name, each in given.items()}
    return kept | {name: json.loads(limit) for name, limit in rules.items()}


def _marked_tokens(params: Json) -> int:
    blocks: Any = params.get("system") or []
    if isinstance(blocks, str) or not any("cache_control" in block for block in blocks):
        return 0
    return sum(len(block["text"]) for block in blocks) // _CHARS_PER_TOKEN
