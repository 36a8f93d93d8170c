"""OpenAI's batches: an uploaded file of requests becomes a batch, which leaves files of answers and of errors.

See https://platform.openai.com/docs/guides/batch.  A batch has our tag in its metadata.
"""

import json
import os
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

from gigamind.errors import LlmError
from gigamind.i18n import _
from gigamind.llm.batches.provider import (
    Json,
    Limits,
    Provider,
    RequestOutcome,
    State,
    code_of,
    table,
)
from gigamind.llm.client import Answer, Request
from gigamind.llm.completion import usage_of
from gigamind.llm.faults import scrub

_ENDPOINT = "/v1/chat/completions"
_TAG = "gigamind"
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_CLOCKS_S = 3600.0  # tolerance for clock differences


class OpenAiBatches(Provider):
    """The batches of one model of OpenAI, or of a server with its protocol."""

    name = "OpenAI"
    is_tagged = True
    key_variable = "OPENAI_API_KEY"
    address = "https://api.openai.com/v1"
    address_variables = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
    limits = Limits(requests=50_000, bytes=200 * 10**6)
    _path = "/batches"

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}", **account_headers()}

    def line(self, custom_id: str, request: Request) -> bytes:
        body: Json = {"model": self._model, "messages": list(request.messages)}
        body |= request.parameters
        if self._is_itself:  # newer models reject the older name, others may require it
            body["max_completion_tokens"] = body.pop("max_tokens")
        body |= request.form or {}
        row = {"custom_id": custom_id, "method": "POST", "url": _ENDPOINT, "body": body}
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"

    async def upload(self, tag: str, lines: Sequence[bytes]) -> str:
        import aiohttp

        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        form.add_field(
            "file", b"".join(lines), filename=f"{tag}.jsonl", content_type="application/jsonl"
        )
        return (await self._wire.send("POST", "/files", data=form))["id"]

    async def create(self, tag: str, file_id: str, lines: Sequence[bytes]) -> State:
        del lines  # they are in the file
        wanted = {
            "input_file_id": file_id,
            "endpoint": _ENDPOINT,
            "completion_window": "24h",
            "metadata": {_TAG: tag},
        }
        return self._state(await self._wire.send("POST", self._path, json=wanted))

    async def find(self, tag: str, since: float, count: int) -> list[State]:
        del count  # the tag is sufficient
        async for row in self._listed():
            if table(row.get("metadata")).get(_TAG) == tag:
                return [self._state(row)]
            if row["created_at"] < since - _CLOCKS_S:
                break
        return []

    async def discard(self, file_id: str) -> None:
        await self._wire.send("DELETE", f"/files/{file_id}")

    async def download(self, state: State, path: Path) -> None:
        await self._wire.download([f"/files/{name}/content" for name in state.results], path)

    def _state(self, row: Json) -> State:
        counts = table(row.get("request_counts"))
        status = row["status"]
        files = (row.get("output_file_id"), row.get("error_file_id"))
        kind = f"batch_{status}"
        message = _(
            "the batch has the status {status} and no result for this request", status=status
        )
        if problems := table(row.get("errors")).get("data"):
            first = table(problems[0])
            kind, message = str(first.get("code")), str(first.get("message"))
        problem = LlmError(
            _(
                "{model}: {batch}: {reason}",
                model=self._settings.model,
                batch=row["id"],
                reason=scrub(message),
            ),
            code_of(HTTPStatus.BAD_REQUEST if status == "failed" else None, kind, message),
        )
        return State(
            batch_id=row["id"],
            status=status,
            ended=status in _ENDED,
            done=counts.get("completed", 0) + counts.get("failed", 0),
            total=counts.get("total", 0),
            results=tuple(name for name in files if name) if status in _ENDED else (),
            problem=self._without_result(row["id"]) if status == "completed" else problem,
        )

    def read(self, line: Json) -> tuple[str, RequestOutcome]:
        given = table(line.get("response"))
        body = table(given.get("body"))
        if given.get("status_code") == HTTPStatus.OK:
            try:
                return line["custom_id"], answer_of(body)
            except (ValueError, TypeError, AttributeError, LookupError):
                reason = _(
                    "{model}: the batch result contains no model reply", model=self._settings.model
                )
                return line["custom_id"], LlmError(reason, "malformed_response", may_cost=True)
        error = table(line.get("error")) or table(body.get("error"))
        message = str(error.get("message") or "no reason given")
        kind = str(error.get("code") or error.get("type") or "")
        return line["custom_id"], self._error(kind, message, given.get("status_code"))


_ACCOUNT = {  # of several names, the last one that is set counts
    "OpenAI-Organization": ("OPENAI_ORG_ID", "OPENAI_ORGANIZATION"),
    "OpenAI-Project": ("OPENAI_PROJECT_ID",),
}


def account_headers() -> dict[str, str]:
    """Return the headers that name the paying account of OpenAI, for keys with several accounts."""
    return {
        header: os.environ[name]
        for header, names in _ACCOUNT.items()
        for name in names
        if os.environ.get(name)
    }


def answer_of(reply: Any) -> Answer:  # noqa: ANN401  what a server sent
    """Return the answer in a chat completion.

    Raises:
        ValueError, TypeError, AttributeError, LookupError: It is not a chat completion.
    """
    choices: list[Any] = reply["choices"]
    usage = usage_of(reply.get("usage"))
    if not choices:
        return Answer(None, "none", usage=usage)
    message: Any = choices[0]["message"]
    return Answer(
        text=_text(message.get("content")),
        finish=choices[0].get("finish_reason") or "stop",
        refusal=message.get("refusal"),
        usage=usage,
        model=str(reply.get("model") or ""),
        fingerprint=str(reply.get("system_fingerprint") or ""),
    )


def _text(content: Any) -> str | None:  # noqa: ANN401  what a server sent
    if content is None or isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part["type"] == "text")
