"""An answer that comes as server-sent events of OpenAI's protocol: told piece by piece, and put together."""

import json
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any

EVENT_STREAM = "text/event-stream"
_MARK = b"data:"
_END = b"[DONE]"


async def put_together(
    pieces: AsyncIterable[bytes], on_text: Callable[[str], Awaitable[None]]
) -> bytes:
    """The body that the same answer has where it is not streamed; an error that is sent instead is the body.

    A stream that ends before it says how has no finish: what came is no answer.
    """
    head: dict[str, Any] = {}
    parts: list[str] = []
    refusal: list[str] = []
    finish: str | None = None
    usage: Any = None
    async for line in _lines(pieces):
        data = line.strip().removeprefix(_MARK).strip()
        if not line.startswith(_MARK) or data == _END:
            continue
        try:
            chunk: dict[str, Any] = json.loads(data)
            choices: list[dict[str, Any]] = chunk.get("choices") or []
            choice = choices[0] if choices else {}
            delta: dict[str, Any] = choice.get("delta") or {}
            said = [delta.get(name) or "" for name in ("content", "refusal")]
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
            return data
        if "error" in chunk or not all(isinstance(text, str) for text in said):
            return data
        head = head or {name: chunk.get(name) for name in ("model", "system_fingerprint")}
        usage = chunk.get("usage") or usage
        finish = choice.get("finish_reason") or finish
        text, refused = said
        refusal.append(refused)
        if text:
            parts.append(text)
            await on_text(text)
    message = {"content": "".join(parts) or None, "refusal": "".join(refusal) or None}
    if finish is None:
        return b'{"error": {"message": "the answer broke off"}}'
    whole = {"message": message, "finish_reason": finish}
    return json.dumps({**head, "choices": [whole], "usage": usage}).encode()


async def _lines(pieces: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The lines of what comes in pieces, however long; aiohttp's own end at half a megabyte."""
    begun: list[bytes] = []
    async for piece in pieces:
        *ended, rest = piece.split(b"\n")
        for line in ended:
            yield b"".join((*begun, line))
            begun.clear()
        begun.append(rest)
    yield b"".join(begun)
