"""Run a mock model server on loopback that answers like OpenAI's, for trials and demonstrations without a key.

    python examples/fake_model.py [--port 8911]

Its replies quote the sentence of the notes that shares most words with a question, or abstain; it understands nothing.
Requests that it does not know get a reply that fits their schema. The model name controls it, because any client passes
it on unchanged:

judge                            a reply at once
judge;lat=100                    after 100 ms
judge;piece=30                   a streamed answer comes word by word, 30 ms apart
"""

import argparse
import asyncio
import json
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from aiohttp import web

from gigamind.evidence.proof import is_question
from gigamind.i18n import translator
from gigamind.judges.search_qa.passage import HEADING, is_row
from gigamind.judges.search_qa.roles import ASKED_FOR, denies_knowledge
from gigamind.judges.search_qa.segments import without_note_names
from gigamind.judges.search_qa.words import Reading
from gigamind.llm.ledger import SCRIPTED
from gigamind.tasks.answers import NO_NOTES
from gigamind.text import sentences, unwrapped

Json = dict[str, Any]


def schema_of(body: Mapping[str, Any]) -> Json | None:
    """Return the schema of the reply, from the request's parameters or its messages; None for plain text."""
    wanted: Json = body.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        return wanted["json_schema"]["schema"]
    for message in body["messages"]:  # without structured output, one of them has the schema
        text = str(message.get("content"))
        start = text.find("{", text.find("json_schema"))
        if "json_schema" in text and start >= 0:
            return json.JSONDecoder().raw_decode(text, start)[0]
    return None


def made_by(schema: Json) -> Json:
    """Return a reply that fits the schema."""

    def value_of(part: Json) -> Any:  # noqa: ANN401
        if "$ref" in part:
            return value_of(schema["$defs"][part["$ref"].rpartition("/")[2]])
        if options := next(
            (part[name] for name in ("anyOf", "oneOf", "allOf") if name in part), None
        ):
            return value_of(options[0])
        if "const" in part or "enum" in part:
            return part.get("const", part.get("enum", [None])[0])
        kind = part.get("type")
        if kind == "object":
            return {name: value_of(of) for name, of in part.get("properties", {}).items()}
        if kind == "array":
            return [value_of(part["items"])] * part.get("minItems", 1)
        plain: Json = {"boolean": False, "null": None, "string": "scripted"}
        return plain.get(str(kind), part.get("minimum", 0))

    return value_of(schema)


# Share of a question's words, by rarity, that an answer needs. Of the questions in examples/queries.jsonl (ko and en),
# 20% of the 158 answerable ones are answered, 94% of them with the right sentence, and 18% of the 44 unanswerable ones.
# At 0.5 these are 29%, 87% and 45%; at 0.7 17%, 96% and 14%.
_ENOUGH = 0.65
_SUPPORTED = 0.8  # share of a claim's words that its quote needs
_NOTE = re.compile(
    r'<note-(\w+) index="(\d+)" title=("(?:[^"\\]|\\.)*")>\n(.*?)\n</note-\1>', re.DOTALL
)
_FRONT_MATTER = re.compile(r"---\n.*?\n---(?:\n|$)", re.DOTALL)
_INPUT = re.compile(
    r"^[^\n\"]*?\): (\"(?:[^\"\\]|\\.)*\"|\[\{.*\}\])$", re.MULTILINE
)  # Question (a JSON string): "..."
_CITATION = re.compile(r"\[(?:노트|Note) \d+\]")
_MARKER = re.compile(r"^[\s>]*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(?:\[[ xX]\]\s+)?")
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")


@dataclass(frozen=True)
class _Line:
    """A sentence or table row of a note, and the headings above it."""

    note: int
    quote: str  # as in the note
    above: str  # title, heading, question, table header

    @cached_property
    def words(self) -> AbstractSet[str]:
        return Reading(self.quote).content

    @cached_property
    def words_above(self) -> AbstractSet[str]:
        return Reading(self.above).content - self.words

    @property
    def sentence(self) -> str:
        """The line as a sentence of an answer, without its full stop."""
        text = _LINK.sub(r"\1", " ".join(self.quote.split()))
        if is_row(text):
            text = ", ".join(cell.strip() for cell in text.strip("| ").split("|"))
        return text.strip(" .*_")


def _lines(number: int, title: str, note: str) -> Iterator[_Line]:
    front = _FRONT_MATTER.match(note)
    text = unwrapped(note)
    heading = asked = header = ""
    end = front.end() if front else 0
    for span in sentences(text):
        if span.start < end:
            continue
        if "\n" in text[end : span.start]:
            asked = ""
        end, line = span.end, span.slice(text)
        if not is_row(line):
            header = ""
        if HEADING.fullmatch(line):
            heading = line
        elif is_question(line):
            asked = line
        elif is_row(line) and not header:
            header = line
        elif any(map(str.isalnum, line)):
            yield _Line(
                number, _MARKER.sub("", span.slice(note)), f"{title} {heading} {asked} {header}"
            )


class _Prompt:
    """What a request of the product contains."""

    def __init__(self, messages: Sequence[Mapping[str, Any]]) -> None:
        self.system, *rest = (str(message.get("content")) for message in messages)
        self.user = "\n".join(rest) or self.system
        self.notes = [
            (int(number), json.loads(title), text)
            for _, number, title, text in _NOTE.findall(self.user)
        ]
        self.lines = [line for note in self.notes for line in _lines(*note)]
        inputs: list[Any] = [json.loads(text) for text in _INPUT.findall(_NOTE.sub("", self.user))]
        texts: list[str] = [value for value in inputs if isinstance(value, str)]
        self.question, self.answer = (texts[0], texts[-1]) if texts else ("", "")
        lists: list[list[Json]] = [value for value in inputs if isinstance(value, list)]
        self.rows = lists[0] if lists else []

    @property
    def language(self) -> str:
        return "ko" if re.search("[가-힣]", self.system) else "en"

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """The question's words by rarity in the notes, with the sum 1; an unknown one is as rare as the mean."""
        words = Reading(self.question).content
        words = words - ASKED_FOR or words
        seen = Counter(word for line in self.lines for word in line.words | line.words_above)
        idf = {
            word: math.log(1 + (len(self.lines) - seen[word] + 0.5) / (seen[word] + 0.5))
            for word in words
            if seen[word]
        }
        unknown = len(words) - len(idf)
        total = sum(idf.values()) * (1 + unknown / len(idf)) if idf else 0.0
        return {word: weight / total for word, weight in idf.items()}

    def share(self, words: AbstractSet[str]) -> float:
        """Return the share of the question's words that a text has, in [0, 1]."""
        return sum(weight for word, weight in self.weights.items() if word in words)

    @cached_property
    def best(self) -> _Line | None:
        """The sentence in the question's language that answers it; None if none does."""
        korean = Reading(self.question).is_korean
        ranked = [
            (self.share(line.words | line.words_above), -line.note, own, line)
            for line in self.lines
            if (own := self.share(line.words)) and Reading(line.quote).is_korean == korean
        ]
        worth, *_rest, line = max(ranked, key=lambda row: row[:3], default=(0.0, 0, 0.0, None))
        return line if worth >= _ENOUGH else None

    def quote_of(self, claim: str) -> _Line | None:
        """Return the line that has nearly all words of a claim; None if no line has them."""
        words = Reading(without_note_names(claim)).content
        best = max(self.lines, key=lambda line: len(words & line.words), default=None)
        enough = best and words and len(words & best.words) >= _SUPPORTED * len(words)
        return best if enough else None


def _answer(prompt: _Prompt) -> str:
    name = "노트" if prompt.language == "ko" else "Note"
    best = prompt.best
    return (
        f"{best.sentence} [{name} {best.note}]." if best else translator(prompt.language)(NO_NOTES)
    )


def _answerability(prompt: _Prompt) -> Json:
    best = prompt.best
    return {
        "answered": best is not None,
        "answer": _answer(prompt) if best else "",
        "sources": [{"note": best.note, "quote": best.quote}] if best else [],
        "confidence": "medium",
    }


def _judgement(prompt: _Prompt) -> Json:
    best, rows = prompt.best, [row for row in prompt.rows if "id" in row]
    quotes = [prompt.quote_of(row["text"]) for row in rows]
    cited = {line.note: line for line in quotes if line}
    answer = Reading(" ".join(row["text"] for row in rows)).content
    return {
        "claims": [_claim(row, line) for row, line in zip(rows, quotes, strict=True)],
        "source_coverage": [
            {
                "note_index": number,
                "relevant": number in cited or (best is not None and best.note == number),
                "cited": number in cited,
                "relevant_claim": cited[number].sentence if number in cited else "",
                "quote": cited[number].quote if number in cited else "",
            }
            for number, _title, _text in prompt.notes
        ],
        "grounding_issues": [],
        "omissions": [{"what": best.sentence[:300], "note": best.note, "quote": best.quote}]
        if best and best not in quotes
        else [],
        "answerable": best is not None,
        "answer_note": best.note if best else None,
        "answer_quote": best.quote if best else "",
        "utility_reason": "",
        "utility": round(4 * prompt.share(answer)) / 4,
        "correctness": sum(map(bool, quotes)) / (len(rows) or 1),
        "summary": "",
    }


def _claim(row: Json, line: _Line | None) -> Json:
    abstains = denies_knowledge(row["text"])
    return {
        "id": row["id"],
        "role": "abstention" if abstains else "claim",
        "abstention_quote": row["text"] if abstains else "",
        "verdict": "supported" if line else "not_found",
        "note": line.note if line else None,
        "quote": line.quote if line else "",
    }


def _checks(prompt: _Prompt) -> Json:
    first = next((span.slice(prompt.answer) for span in sentences(prompt.answer)), "")
    line, citation = prompt.quote_of(first), _CITATION.search(prompt.answer)
    quotes = {"notes": line.quote if line else "", "answer": without_note_names(first)}
    quotes["either"] = quotes["notes"] or quotes["answer"]
    items: list[Json] = []
    for item in map(json.loads, re.findall(r'^\{"id": .*\}$', prompt.system, re.MULTILINE)):
        quote = quotes[item["quote_from"]]
        if item["id"] == "sources":
            quote = citation[0] if citation else ""
        items.append({"id": item["id"], "yes": bool(quote), "quote": quote})
    return {"items": items}


def _second_looks(prompt: _Prompt) -> Json:
    looks: list[Json] = []
    for row in prompt.rows:
        reading, known = Reading(row["statement"]), Reading(f"{row['heading']}\n{row['text']}")
        pairs = zip(reading.words, reading.keys, strict=True)
        missing = reading.content - known.content
        unsaid = next((word.whole for word, key in pairs if key in missing), "")
        looks.append({"id": row["id"], "unsaid": unsaid, "said": not unsaid})
    return {"looks": looks}


def _parts(prompt: _Prompt) -> Json:
    return {"sentences": [{"id": row["id"], "parts": [row["text"]]} for row in prompt.rows]}


# By a field of the reply.
_REPLIES: Mapping[str, Callable[[_Prompt], Json]] = {
    "claims": _judgement,
    "answered": _answerability,
    "items": _checks,
    "looks": _second_looks,
    "sentences": _parts,
}


def reply_to(body: Json) -> Json:
    """Return the reply to a request; text without a schema is in the field "text"."""
    schema = schema_of(body)
    if schema is None:
        return {"text": _answer(_Prompt(body["messages"]))}
    fields: Mapping[str, Any] = schema.get("properties", {})
    write = next((_REPLIES[name] for name in fields if name in _REPLIES), None)
    if write:
        reply = write(_Prompt(body["messages"]))
        return {name: reply[name] for name in fields if name in reply}
    if list(fields) == ["answer"]:
        return {"answer": _answer(_Prompt(body["messages"]))}
    return made_by(schema)


_CHARS_PER_TOKEN = 4
_PIECES = re.compile(r"\S+\s*|\s+")


class MockServer:
    """The mock model."""

    def __init__(self) -> None:
        self.url = ""
        self.fingerprint = SCRIPTED
        """Fingerprint in its answers; `SCRIPTED` says that it is not a model, which a run warns about."""
        self.respond: Callable[[Json], Json | None] = reply_to
        """Returns the reply to a request body; the script answers where it returns None."""

    def application(self) -> web.Application:
        """Return the routes."""
        application = web.Application(client_max_size=64 * 2**20)
        application.add_routes([
            web.post("/v1/chat/completions", self._chat),
            web.get("/v1/models", self._models),
        ])  # fmt: skip
        return application

    async def _models(self, _request: web.Request) -> web.Response:
        model = {"id": "script", "object": "model", "owned_by": self.fingerprint}
        return web.json_response({"object": "list", "data": [model]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body: Json = await request.json()
        given = dict(part.split("=", 1) for part in body["model"].split(";")[1:])
        await asyncio.sleep(float(given.get("lat", 0)) / 1000)
        completion = completion_of(body, self._text(body), self.fingerprint)
        if body.get("stream"):
            return await streamed(request, completion, float(given.get("piece", 0)) / 1000)
        return web.json_response(completion)

    def _text(self, body: Json) -> str:
        is_text = schema_of(body) is None
        if is_text and "max_tokens" in body and not body.get("stream"):
            return "word" * (body["max_tokens"] - 1)  # a measurement of speed
        reply = self.respond(body) or reply_to(body)
        return reply["text"] if is_text else json.dumps(reply, ensure_ascii=False)


def completion_of(body: Json, text: str | None, fingerprint: str) -> Json:
    """Return a reply in OpenAI's form, with its usage."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-script",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body["model"].partition(";")[0],
        "system_fingerprint": fingerprint,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": usage_of(body, text),
    }


def usage_of(body: Json, text: str | None) -> Json:
    """Return the tokens of a request and its reply, four characters each."""
    letters = sum(len(str(message.get("content") or "")) for message in body["messages"])
    prompt = letters // _CHARS_PER_TOKEN + 4 * len(body["messages"])
    completion = len(text or "") // _CHARS_PER_TOKEN + 1
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


async def streamed(
    request: web.Request, completion: Json, piece_s: float, *, breaks: bool = False
) -> web.StreamResponse:
    """Send a reply word by word, as OpenAI streams; with `breaks`, close the connection in the middle."""
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


def _chunks(completion: Json) -> Iterator[Json]:
    head = {**completion, "object": "chat.completion.chunk"}
    usage = head.pop("usage", None)
    for choice in completion["choices"]:
        pieces = [{"content": text} for text in _PIECES.findall(choice["message"]["content"] or "")]
        for delta in (*pieces, {}):
            finish = None if delta else choice["finish_reason"]
            yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    yield {**head, "choices": [], "usage": usage}


Server = TypeVar("Server", bound=MockServer)


@contextmanager
def run(server: Server, port: int = 0) -> Generator[Server]:
    """Run a server in its own thread, at `server.url`, which ends in `/v1`; raises OSError if the port is in use."""
    loop = asyncio.new_event_loop()
    runner = web.AppRunner(
        server.application(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1
    )
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(_start(runner, port), loop).result()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(_stop(runner), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _start(runner: web.AppRunner, port: int) -> None:
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, backlog=4096).start()


async def _stop(runner: web.AppRunner) -> None:
    await runner.cleanup()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:  # a handler that still waits
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Run a mock model on 127.0.0.1.")
    parser.add_argument("--port", type=int, default=8911, help="0 picks a free port")
    try:
        with run(MockServer(), parser.parse_args().port) as server:
            print(
                f"The mock model is ready at {server.url} until you press Ctrl-C. To test it, run in another shell:\n"
                f"  gigamind llm check --model openai/judge --api-base {server.url}\n"
                "A script replies: it compares words and understands nothing. Its figures show how gigamind works.",
                flush=True,
            )
            threading.Event().wait()
    except KeyboardInterrupt:
        print("Stopped.")
    except OSError as error:
        parser.error(f"--port: {error}")


if __name__ == "__main__":
    main()
