"""Replies that only fit the schema of a request; their values mean nothing."""

import json
from collections.abc import Mapping
from typing import Any

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
