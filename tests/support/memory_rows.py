"""What was extracted from a conversation, as `gigamind memory` reads it."""

from typing import Any


def entry(name: str, text: str, *quotes: str | tuple[int, str]) -> dict[str, Any]:
    """An entry with its quotes, of the first message or of the one that is named."""
    places = [(0, quote) if isinstance(quote, str) else quote for quote in quotes]
    evidence = [{"messageIndex": place, "quote": quote} for place, quote in places]
    return {"entryId": name, "text": text, "evidence": evidence}


def extracted(*entries: dict[str, Any]) -> dict[str, Any]:
    """An extraction of these entries."""
    return {"entries": [*entries]}
