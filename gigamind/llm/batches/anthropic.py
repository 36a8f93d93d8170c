"""Anthropic's batches: created with all their requests, and read from one stream of results.

See https://platform.claude.com/docs/en/build-with-claude/batch-processing.  A batch has no tag of ours, only the ids of
its requests, which appear only in its results.  A batch whose id was lost is searched by creation time and number of
requests, and recognised by its first result.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from gigamind.i18n import _
from gigamind.llm.batches.provider import (
    Json,
    Limits,
    Provider,
    RequestOutcome,
    State,
    own_path,
    table,
)
from gigamind.llm.client import Answer, Message, Request
from gigamind.llm.dialects import with_marked_prefix
from gigamind.llm.loading import load_litellm
from gigamind.llm.usage import Usage

_VERSION = "2023-06-01"
_EARLIER_S, _LATER_S = 600.0, 7200.0  # tolerance for clock differences, and for a long upload
_FINISH = {"max_tokens": "length", "model_context_window_exceeded": "length"}
_TOOL = "answer"
# Keywords that their grammar cannot enforce go into descriptions; validation is ours.
_NOT_ENFORCED = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
)


class AnthropicBatches(Provider):
    """The batches of one Anthropic model."""

    name = "Anthropic"
    key_variable = "ANTHROPIC_API_KEY"
    address = "https://api.anthropic.com"
    address_variables = ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL")
    limits = Limits(requests=100_000, bytes=256 * 10**6)
    _path = "/v1/messages/batches"
    _cursor = "after_id"

    def _root_of(self, address: str) -> str:
        return address.rstrip("/").removesuffix("/messages").removesuffix("/v1")

    def _headers(self) -> dict[str, str]:
        return {"x-api-key": self._key, "anthropic-version": _VERSION}

    def line(self, custom_id: str, request: Request) -> bytes:
        params = self._params(request)
        row = {"custom_id": custom_id, "params": params}
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"

    def _params(self, request: Request) -> Json:
        messages = with_marked_prefix(request.messages, self._settings.model)
        system = [block for message in messages for block in _system_blocks(message)]
        params: Json = {
            "model": self._model,
            "messages": [message for message in messages if message["role"] != "system"],
            **request.parameters,
        }
        if system:
            params["system"] = system
        if request.schema:
            params |= _shape(self._model, request.schema)
        return params

    async def upload(self, tag: str, lines: Sequence[bytes]) -> str:
        del tag, lines
        return ""

    async def create(self, tag: str, file_id: str, lines: Sequence[bytes]) -> State:
        del tag, file_id  # the ids of the requests begin with the tag
        body = b'{"requests":[' + b",".join(line.rstrip(b"\n") for line in lines) + b"]}"
        headers = {"Content-Type": "application/json"}
        return self._state(await self._wire.send("POST", self._path, data=body, headers=headers))

    async def find(self, tag: str, since: float, count: int) -> list[State]:
        del tag
        states: list[State] = []
        async for row in self._listed():
            created_at = datetime.fromisoformat(row["created_at"]).timestamp()
            if created_at < since - _EARLIER_S:
                break
            state = self._state(row)
            if state.total == count and created_at < since + _LATER_S:
                states.append(state)
        return states

    async def discard(self, file_id: str) -> None:
        del file_id  # there are no files

    async def download(self, state: State, path: Path) -> None:
        await self._wire.download(state.results, path)

    def _state(self, row: Json) -> State:
        counts: Mapping[str, int] = row["request_counts"]
        status, results = row["processing_status"], row.get("results_url")
        total = sum(counts.values())
        return State(
            batch_id=row["id"],
            status=status,
            ended=status == "ended",
            done=total - counts.get("processing", 0),
            total=total,
            results=(own_path(results),) if results else (),
            problem=self._without_result(row["id"]),
        )

    def read(self, line: Json) -> tuple[str, RequestOutcome]:
        result: Json = line["result"]
        match result["type"]:
            case "succeeded":
                return line["custom_id"], answer_of(result["message"])
            case "errored":
                fields = table(result["error"])
                fields = table(fields.get("error")) or fields
                error = self._error(str(fields.get("type")), str(fields.get("message")))
            case "expired":
                error = self._error(
                    "batch_expired", _("the batch expired before this request was processed")
                )
            case _other:
                error = self._error(
                    "batch_cancelled",
                    _("the batch was cancelled before this request was processed"),
                )
        return line["custom_id"], error


def _system_blocks(message: Message) -> list[Json]:
    if message["role"] != "system":
        return []
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _shape(model: str, schema: Mapping[str, Any]) -> Json:
    if _takes_schemas(model):
        return {"output_config": {"format": {"type": "json_schema", "schema": enforced(schema)}}}
    tool = {"name": _TOOL, "description": "Gives the answer.", "input_schema": dict(schema)}
    return {"tools": [tool], "tool_choice": {"type": "tool", "name": _TOOL}}


def _takes_schemas(model: str) -> bool:
    row: Json | None = load_litellm().model_cost.get(model)
    return row is None or bool(row.get("supports_native_structured_output"))


def enforced(schema: Any) -> Any:  # noqa: ANN401  JSON values
    """Return a schema with the keywords that Anthropic's grammar supports; the others go into descriptions."""
    if isinstance(schema, list):
        return [enforced(each) for each in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, dict):
        return schema
    given = table(schema)
    rules = [f"{name} {given[name]}" for name in _NOT_ENFORCED if _is_rule(given, name)]
    kept: Json = {}
    for name, value in given.items():
        if _is_rule(given, name):
            continue
        if name in {"properties", "$defs"}:
            kept[name] = {key: enforced(each) for key, each in value.items()}
        else:
            kept["anyOf" if name == "oneOf" else name] = enforced(value)
    if rules:
        kept["description"] = " ".join(
            [*filter(None, [given.get("description")]), f"({', '.join(rules)})"]
        )
    if given.get("type") == "object":
        kept["additionalProperties"] = False
    return kept


def _is_rule(schema: Json, name: str) -> bool:
    if name not in _NOT_ENFORCED or name not in schema:
        return False
    return not (name == "minItems" and schema[name] in (0, 1))


def answer_of(message: Mapping[str, Any]) -> Answer:
    """Return the answer in a message of a model."""
    blocks: Sequence[Json] = message.get("content") or ()
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    tools = [json.dumps(block["input"]) for block in blocks if block["type"] == "tool_use"]
    stop = str(message.get("stop_reason"))
    text = "".join(tools or texts) if tools or texts else None
    return Answer(
        text=text,
        finish=_FINISH.get(stop, "stop"),
        refusal=(text or "no reason given") if stop == "refusal" else None,
        usage=usage_of(message.get("usage")),
        model=message.get("model") or "",
    )


def usage_of(usage: Mapping[str, Any] | None) -> Usage | None:
    """Return the tokens in our terms; Anthropic does not count tokens read from or written to its cache as input."""
    if usage is None:
        return None
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    fresh, read, written = (int(usage.get(name) or 0) for name in names)
    return Usage(fresh + read + written, int(usage.get("output_tokens") or 0), read, written)
