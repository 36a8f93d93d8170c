"""What a model says of a whole answer, or of a query, as judges ask for it."""

from collections.abc import Iterable
from typing import Any

PROOF = "Leave is asked for at the team lead."
ANSWER = {
    "id": "a", "question": "Whom do I ask for leave?", "answer": "The team lead [note 1].",
    "context_notes": [{"title": "Leave", "text": PROOF}],
}  # fmt: skip
"""A row of answers.jsonl, which `PROOF` supports."""


def answer_reply(
    claims: Iterable[dict[str, Any]], quote: str = "", **changes: object
) -> dict[str, Any]:
    """These claims of an answer that is useful; a quote of the first note answers the question."""
    return {
        "claims": list(claims), "source_coverage": [], "grounding_issues": [], "omissions": [],
        "answerable": True, "answer_note": 1 if quote else None, "answer_quote": quote,
        "utility_reason": "답한다.", "utility": 1.0, "correctness": 1.0, "summary": "요약",
        **changes,
    }  # fmt: skip


def aside(role: str, words: str = "", number: int = 1) -> dict[str, Any]:
    """A sentence that is no claim; `words` are those by which an abstention says so."""
    return finding(number, "not_found") | {"role": role, "abstention_quote": words}


def finding(number: int, verdict: str, note: int | None = None, quote: str = "") -> dict[str, Any]:
    """What the model says of a claim."""
    return {"id": number, "verdict": verdict, "note": note, "quote": quote}


def supported(quote: str, number: int = 1) -> dict[str, Any]:
    """A claim that this quote of the first note proves."""
    return finding(number, "supported", 1, quote)


def verdict(quote: str = "", note: int = 1) -> dict[str, Any]:
    """What the model says of a query: answered by this quote of a note, or else unanswerable."""
    sources = [{"note": note, "quote": quote}] if quote else []
    return {"answer": "x", "sources": sources, "answered": bool(quote), "confidence": "high"}
