"""Replies of the tests' mock model: valid by the schema of a request, or broken in the way of a fault."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from fake_model import schema_of

Json = dict[str, Any]
_MARKED = re.compile(r"<<ANSWER (\{.*?\})>>", re.DOTALL)
_ID = re.compile(r'\{"id": (\d{1,9}|"\w{1,100}")[,}]')
_NO_SCHEMA: Json = {"type": "object", "properties": {"answer": {"type": "string"}}}
_STEPS = 1000
_REFUSAL = "I'm sorry, but I can't help with that."


def answer_to(body: Mapping[str, Any]) -> Json:
    """Return the text between `<<ANSWER` and `>>` in the last message as the answer, or an answer by the schema.

    A list whose rows have ids gets one row for each id in the messages.
    """
    messages: Sequence[Mapping[str, Any]] = body["messages"]
    marked = _MARKED.search(str(messages[-1].get("content")))
    if marked:
        return json.loads(marked[1])
    schema = schema_of(body) or _NO_SCHEMA
    return _Maker(schema, seed_of(messages), _given_ids(messages)).make(schema, "$")


def _given_ids(messages: Sequence[Mapping[str, Any]]) -> list[int | str]:
    text = "\n".join(str(message.get("content")) for message in messages)
    return list(dict.fromkeys(json.loads(literal) for literal in _ID.findall(text)))


def seed_of(messages: object) -> str:
    """Return a hash of the messages, in hexadecimal."""
    return hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()


def spoilt(answer: Json, fault: str | None) -> str | None:
    """Return the text of an answer after a fault; None for no text at all."""
    text = json.dumps(_spoilt_fields(answer, fault), ensure_ascii=False)
    half = text[: max(1, len(text) // 2)]
    spoilt: dict[str | None, str | None] = {
        "nan": re.sub(r"(: )(\d+\.\d+|\d+|true|false)", r"\1NaN", text, count=1), "truncated": half,
        "truncated_stop": half, "refusal": None, "refusal_text": _REFUSAL, "empty": "",
        "null_content": None, "content_filter": "",
        "prose": f"Sure! Here is my verdict:\n{text}\nHope it helps.",
        "codeblock": f"```json\n{text}\n```",
        "block_in_prose": f"Here you go:\n\n```json\n{text}\n```\n\nIs there anything else?",
        "listed": f"[{text}]", "same_twice": f"{text}\n\nOnce more, as asked for:\n{text}",
        "two_json": f'The note said {{"unanswerable": true, "hijacked": true}} but my answer is {text}',
        "think": f'<think>The schema {{}} is long {{"a": 1}}</think>\n{text}',
    }  # fmt: skip
    return spoilt.get(fault, text)


def _spoilt_fields(answer: Json, fault: str | None) -> Json:
    match fault:
        case "missing_field":
            return dict(list(answer.items())[1:])
        case "extra_field":
            return {**answer, "surprise": 1}
        case "wrong_types":
            return {k: "banana" if isinstance(v, int | float) else v for k, v in answer.items()}
        case "coercible_types":
            return {
                k: json.dumps(v) if isinstance(v, int | float) else v for k, v in answer.items()
            }
        case _:
            return answer


def plain_answer(body: Json) -> str | None:
    """Return the maximum number of tokens for a request without JSON; None for a request with JSON."""
    if "max_tokens" not in body or schema_of(body) is not None:
        return None
    return "word" * (body["max_tokens"] - 1)


class _Maker:
    """Creates values of a schema, each determined by its place in the answer."""

    def __init__(self, root: Json, seed: str, ids: Sequence[int | str]) -> None:
        self._root = root
        self._seed = seed
        self._ids = ids

    def make(self, schema: Json, place: str) -> Any:
        if "$ref" in schema:
            return self.make(self._resolved(schema["$ref"]), place)
        for several in ("anyOf", "oneOf", "allOf"):
            if several in schema:
                options = [option for option in schema[several] if option.get("type") != "null"]
                return self.make(options[0], place)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return schema["enum"][self._draw(place) % len(schema["enum"])]
        return self._of_type(schema, place)

    def _of_type(self, schema: Json, place: str) -> Any:
        drawn = self._draw(place)
        match schema.get("type"):
            case "object":
                fields = schema.get("properties", {})
                return {name: self.make(of, f"{place}.{name}") for name, of in fields.items()}
            case "array":
                return self._rows(schema, place)
            case "boolean":
                return drawn % 2 == 0
            case "integer":
                low, high = schema.get("minimum", 0), schema.get("maximum", 10)
                return low + drawn % (high - low + 1)
            case "number":
                low, high = schema.get("minimum", 0.0), schema.get("maximum", 1.0)
                return round(low + drawn % (_STEPS + 1) / _STEPS * (high - low), 3)
            case kind:
                return None if kind == "null" else f"scripted {drawn % 10**6:06d}"

    def _rows(self, schema: Json, place: str) -> list[Any]:
        """Return as few rows as possible, or one row per given id if rows have ids."""
        row: Json = schema["items"]
        fields = (self._resolved(row["$ref"]) if "$ref" in row else row).get("properties", {})
        kind = {"integer": int, "string": str}.get(fields.get("id", {}).get("type", ""))
        ids = [name for name in self._ids if type(name) is kind]
        count = len(ids) or max(schema.get("minItems", 0), 1)
        rows = [self.make(row, f"{place}[{i}]") for i in range(count)]
        return (
            [{**instance, "id": name} for instance, name in zip(rows, ids, strict=True)]
            if ids
            else rows
        )

    def _resolved(self, reference: str) -> Json:
        node = self._root
        for part in reference.removeprefix("#/").split("/"):
            node = node[part]
        return node

    def _draw(self, place: str) -> int:
        digest = hashlib.sha256(f"{self._seed}|{place}".encode()).digest()
        return int.from_bytes(digest[:8], "big")
