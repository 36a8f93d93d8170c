"""Start the service over the example vault with a scripted model that copies from notes, without a key.

    python examples/demo_serve.py [any option of `gigamind serve`]

The script answers with the sentences that are most similar to the question, and judges by looking up each sentence. It
understands nothing. For useful answers, run `gigamind serve --notes DIR --model MODEL`.
"""

import json
import re
import sys
from itertools import pairwise
from typing import Any, NoReturn

from gigamind.assets import asset
from gigamind.cli.main import main
from gigamind.fake_model.server import running

_NOTE = re.compile(
    r'<note-(\w+) index="(\d+)" title=("(?:[^"\\]|\\.)*")>\n(.*?)\n</note-\1>', re.DOTALL
)
_SENTENCE = re.compile(r"[^\n.!?]+(?:[.!?](?!\s)[^\n.!?]*)*[.!?]?")
_CITED = re.compile(r"\s*\[(?:노트|Note) \d+\]")
_ASKED = re.compile(r"^(?:질문|요청|Question|Request) \(.*?\): (\".*\")$", re.MULTILINE)
_SENTENCES = 3
_LEAST_CHARS = 12
_RIGHT = 0.7  # minimum similarity, relative to the best sentence


def respond(body: dict[str, Any]) -> dict[str, Any]:
    """Return the script's reply to a request."""
    prompt = "\n".join(str(message["content"]) for message in body["messages"])
    notes = {int(number): text for _, number, _, text in _NOTE.findall(prompt)}
    asked = _ASKED.search(prompt)
    question = json.loads(asked[1]) if asked else ""
    if body.get("stream"):
        return {"text": _answer(question, notes)}
    if '"claims"' in json.dumps(body["response_format"]):
        return _judgement(prompt, question, notes)
    return _checks(prompt)


def _pairs(text: str) -> set[str]:
    letters = re.sub(r"[\W_]+", " ", text.casefold())
    return {a + b for a, b in pairwise(letters) if " " not in a + b}


def _likeness(question: str, sentence: str) -> float:
    asked, stated = _pairs(question), _pairs(sentence)
    return len(asked & stated) / (len(asked) + 0.2 * len(stated) + 1)


def _sentences(notes: dict[int, str]) -> list[tuple[int, str]]:
    found = (
        (number, s[0].strip(" -*#|"))
        for number, text in notes.items()
        for s in _SENTENCE.finditer(text)
    )
    return [
        (number, s)
        for number, s in found
        if len(s) >= _LEAST_CHARS and ":" not in s[:20] and not re.search(r"\[\[|\|", s)
    ]


def _answer(question: str, notes: dict[int, str]) -> str:
    korean = bool(re.search("[가-힣]", question))
    worth = {one: _likeness(question, one[1]) / one[0] ** 0.5 for one in _sentences(notes)}
    ranked = sorted(worth, key=lambda one: -worth[one])
    best = worth[ranked[0]] if ranked else 0.0
    if best == 0.0:
        return "노트에서 찾을 수 없습니다." if korean else "I cannot find it in the notes."
    chosen = [one for one in ranked[:_SENTENCES] if worth[one] >= _RIGHT * best]
    name = "노트" if korean else "Note"
    return " ".join(f"{text.rstrip('.')} [{name} {number}]." for number, text in chosen)


def _judgement(prompt: str, question: str, notes: dict[int, str]) -> dict[str, Any]:
    listed = re.search(r"^(?:답변|Answer) \(.*?\): (\[.*\])$", prompt, re.MULTILINE)
    sentences: list[dict[str, Any]] = json.loads(listed[1]) if listed else []
    claims = [_claim(one, notes) for one in sentences if "id" in one]
    used = {claim["note"]: claim for claim in claims if claim["note"]}
    best = max(
        (claim["quote"] for claim in used.values()),
        key=lambda q: _likeness(question, q),
        default="",
    )
    where = next((number for number, claim in used.items() if claim["quote"] == best), None)
    helps = min(1.0, 0.25 + 2 * _likeness(question, best)) if best else 0.25
    return {
        "claims": claims,
        "source_coverage": [
            {"note_index": number, "relevant": number in used, "cited": number in used,
             "relevant_claim": used[number]["quote"] if number in used else "",
             "quote": used[number]["quote"] if number in used else ""}
            for number in notes
        ],
        "grounding_issues": [],
        "omissions": [],
        "answerable": bool(best),
        "answer_note": where,
        "answer_quote": best,
        "utility_reason": "",
        "utility": round(4 * helps) / 4,
        "correctness": 1.0,
        "summary": "",
    }  # fmt: skip


def _claim(sentence: dict[str, Any], notes: dict[int, str]) -> dict[str, Any]:
    words = _CITED.sub("", str(sentence.get("text", ""))).strip().rstrip(".")
    where = next((number for number, text in notes.items() if words and words in text), None)
    silent = re.match("노트에서 찾을 수 없|I cannot find", words)
    return {
        "id": sentence["id"],
        "role": "abstention" if silent else "claim",
        "abstention_quote": words if silent else "",
        "verdict": "supported" if where else "not_found",
        "note": where,
        "quote": words if where else "",
    }


def _checks(prompt: str) -> dict[str, Any]:
    answered = re.search(
        r"^(?:점검할 응답|Response to check|응답) ?\(.*?\): (\".*\")$", prompt, re.MULTILINE
    )
    answer = json.loads(answered[1]) if answered else ""
    names = re.findall(r'^\{"id": "(\w+)"', prompt, re.MULTILINE)
    first = (_SENTENCE.search(answer) or [""])[0]
    quotes = {
        "sources": (_CITED.search(answer) or [""])[0].strip(),
        "grounded": _CITED.sub("", first).rstrip("."),
    }
    items = [{"id": name, "yes": bool(answer), "quote": quotes.get(name, first)} for name in names]
    return {"items": items}


def demo(arguments: list[str]) -> NoReturn:
    """Run the service until Ctrl-C and exit with its exit code."""
    with running() as server:
        server.respond = respond
        model = [
            "--model",
            "openai/script;piece=40",
            "--api-base",
            server.url,
            "--store-mode",
            "off",
        ]
        main(["serve", "--notes", f"{asset('examples') / 'vault'}", *model, *arguments])


if __name__ == "__main__":
    demo(sys.argv[1:])
