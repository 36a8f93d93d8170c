"""Server-sent events as a client reads them."""

import json
from typing import Any


def events(text: str) -> list[tuple[str, Any]]:
    """Those of a stream, comments aside; [DONE] is itself."""
    found: list[tuple[str, Any]] = []
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        fields = dict(line.split(": ", 1) for line in lines)
        if "data" in fields:
            data = fields["data"]
            value = data if data == "[DONE]" else json.loads(data)
            found.append((fields.get("event", ""), value))
    return found
