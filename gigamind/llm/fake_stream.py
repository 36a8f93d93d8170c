"""Send an answer of the mock server in pieces, as OpenAI does with `stream`."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from aiohttp import web

_PIECES = re.compile(r"\S+\s*|\s+")


async def stream(
    request: web.Request, completion: Mapping[str, Any], piece_s: float, *, breaks: bool
) -> web.StreamResponse:
    """Send a completion word by word; with `breaks`, the connection ends in the middle."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    chunks = list(_chunks(completion))
    for chunk in chunks[: len(chunks) // 2] if breaks else chunks:
        await response.write(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode())
        await asyncio.sleep(piece_s)
    if breaks and request.transport:
        request.transport.close()
    else:
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
    return response


def _chunks(completion: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    head = {**completion, "object": "chat.completion.chunk"}
    usage = head.pop("usage", None)
    for choice in completion["choices"]:
        for piece in _PIECES.findall(choice["message"]["content"] or ""):
            delta = {"index": 0, "delta": {"content": piece}, "finish_reason": None}
            yield {**head, "choices": [delta]}
        ended: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
        yield {**head, "choices": [ended]}
    yield {**head, "choices": [], "usage": usage}
