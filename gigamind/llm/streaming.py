"""An answer that comes as server-sent events of OpenAI's protocol: told piece by piece, and put together."""

import json
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Any

EVENT_STREAM = "text/event-stream"
_MARK = b"data:"
_END = b"[DONE]"


async def put_together(
    lines: AsyncIterable[bytes], on_text: Callable[[str], Awaitable[None]]
) -> bytes:
    """The body that the same answer has where it is not streamed; an error that is sent instead is the body.

    A stream that ends before it says how has no finish: what came is no answer.
    """
    head: dict[str, Any] = {}
    parts: list[str] = []
    refusal: list[str] = []
    finish: str | None = None
    usage: Any = None
    async for line in lines:
        data = line.strip().removeprefix(_MARK).strip()
        if not line.startswith(_MARK) or data == _END:
            continue
        try:
            chunk: dict[str, Any] = json.loads(data)
        except ValueError:
            return data
        if "error" in chunk:
            return data
        head = head or {name: chunk.get(name) for name in ("model", "system_fingerprint")}
        usage = chunk.get("usage") or usage
        choices: list[dict[str, Any]] = chunk.get("choices") or []
        for choice in choices[:1]:
            delta: dict[str, Any] = choice.get("delta") or {}
            finish = choice.get("finish_reason") or finish
            refusal += [delta["refusal"]] if delta.get("refusal") else []
            if delta.get("content"):
                parts.append(delta["content"])
                await on_text(delta["content"])
    message = {"content": "".join(parts) or None, "refusal": "".join(refusal) or None}
    if finish is None:
        return b'{"error": {"message": "the answer broke off"}}'
    whole = {"message": message, "finish_reason": finish}
    return json.dumps({**head, "choices": [whole], "usage": usage}).encode()
