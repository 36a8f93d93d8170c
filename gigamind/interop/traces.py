"""Import answers from traces of OpenTelemetry: OTLP JSON with the attributes of OpenInference or of gen_ai.

The id of an answer is TRACE-SPAN (both hexadecimal), so `gigamind export` can attach scores to that span.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import cast

from gigamind.datasets.sample import sample as draw
from gigamind.errors import InputError
from gigamind.i18n import _
from gigamind.interop.collection import Imported
from gigamind.interop.column_map import answers_of
from gigamind.interop.source import Fields, json_lines
from gigamind.loading import read_text

SPAN_ID = re.compile(r"(?P<traceId>[0-9a-f]{32})-(?P<spanId>[0-9a-f]{16})")
_DOCUMENT = re.compile(
    r"(?:retrieval\.|reranker\.output_)documents\.(\d{1,6})\.document\.(content|id)"
)
_DIGITS = 20  # of nanoseconds since the epoch, which are an unsigned integer of 64 bits
_PERSONAL = (
    ("email", re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}", re.ASCII)),
    ("number", re.compile(r"(?<![\w.])\+?\d(?:[ ().-]{0,2}\d){8,15}(?![\w.]\d)")),
)


def read_traces(path: Path, *, size: int | None, seed: int, mask: bool) -> Imported:
    """Read one answer for each trace with a question and an answer; equal ones count once.

    Args:
        path: one OTLP JSON object, or one on each line, as the file exporter of a collector writes them.
        size: number of answers to draw with `seed`; all if None.
        mask: replace email addresses and numbers of 9 to 16 digits (phones, cards, identity numbers).

    Raises:
        InputError: the file cannot be read, or no trace has a question and an answer.
    """
    traces: dict[str, list[Fields]] = defaultdict(list)
    for span in _spans(path):
        traces[str(span.get("traceId", "")).lower()].append(span)
    rows: dict[tuple[str, ...], Fields] = {}
    for trace, spans in traces.items():
        if row := _answer(trace, spans, mask=mask):
            contexts = cast("list[str]", row["contexts"])
            rows.setdefault((str(row["question"]), str(row["answer"]), *contexts), row)
    if not rows:
        raise InputError(
            "{file}: no trace has a question and an answer (input.value and output.value, or gen_ai.input.messages and"
            " gen_ai.output.messages) among {n:,} traces",
            file=path,
            n=len(traces),
        )
    drawn = draw([*rows.values()], size or len(rows), seed)
    return answers_of(path, [(f"{path}: {row['id']}", row) for row in drawn])


def _spans(path: Path) -> Iterator[Fields]:
    what = _("the traces")
    try:
        parts = [cast("object", json.loads(read_text(path, what)))]
    except (ValueError, RecursionError):
        parts = [part for _place, part in json_lines(path, what)]
    for part in parts:
        for resource in _listed(part, "resourceSpans"):
            for scope in _listed(resource, "scopeSpans"):
                yield from _listed(scope, "spans")


def _listed(value: object, name: str = "") -> list[Fields]:
    """Return the objects of a list, or of the list with that name in an object."""
    listed = cast("Fields", value).get(name) if isinstance(value, dict) else value
    entries = cast("list[object]", listed) if isinstance(listed, list) else []
    return [cast("Fields", entry) for entry in entries if isinstance(entry, dict)]


def _answer(trace: str, spans: list[Fields], *, mask: bool) -> Fields | None:
    """Return question, answer and contexts of a trace; the first span that has the two is evaluated."""
    spans = sorted(spans, key=lambda span: str(span.get("startTimeUnixNano") or 0).zfill(_DIGITS))
    attributes = [_attributes(span) for span in spans]
    kinds = [str(own.get("openinference.span.kind", "")) for own in attributes]
    for span, own, kind in zip(spans, attributes, kinds, strict=True):
        question, answer = _asked(own)
        if not (question and answer) or kind in {"RETRIEVER", "RERANKER", "EMBEDDING", "TOOL"}:
            continue
        # A reranker's documents are those of the retriever in a better order.
        found = [_documents(other) for other in attributes]
        by_kind = dict(zip(kinds, found, strict=True))
        documents = by_kind.get("RERANKER") or next(filter(None, found), list[tuple[str, str]]())
        known: dict[str, str] = {}
        hide = partial(_masked, known=known) if mask else str
        return {
            "id": f"{trace}-{str(span.get('spanId', '')).lower()}",
            "question": hide(question),
            "answer": hide(answer),
            "contexts": [hide(text) for _name, text in documents],
            "retrieved_context_ids": [name for name, _text in documents],
        }
    return None


def _attributes(span: Fields) -> Fields:
    return {str(one.get("key")): _value(one.get("value")) for one in _listed(span, "attributes")}


def _value(value: object) -> object:
    """Return a value of OTLP's JSON, such as {"stringValue": "a"}."""
    if not isinstance(value, Mapping):
        return value
    held: object = next(iter(cast("Fields", value).values()), None)
    if not isinstance(held, Mapping):
        return held
    return [_value(one) for one in _listed(cast("Fields", held), "values")]


def _asked(own: Fields) -> tuple[str, str]:
    """Return question and answer of a span; "" for what it lacks."""
    return (
        _text(own.get("input.value") or own.get("gen_ai.input.messages"), "user"),
        _text(own.get("output.value") or own.get("gen_ai.output.messages"), "assistant"),
    )


_TEXTS = ("content", "text", "query", "question", "input", "answer", "output", "response")


def _text(value: object, role: str) -> str:
    """Return a text, or the last message of a role in JSON."""
    if isinstance(value, str):
        text = value.strip()
        try:
            value = json.loads(text) if text[:1] in {"{", "["} else text
        except (ValueError, RecursionError):
            return text
    if isinstance(value, list):
        own = [one for one in _listed(cast("object", value)) if one.get("role", role) == role]
        return _text(own[-1], role) if own else ""
    if isinstance(value, dict):
        fields = cast("Fields", value)
        parts = [str(part["content"]) for part in _listed(fields, "parts") if part.get("content")]
        named = (fields.get(name) for name in ("messages", *_TEXTS))
        return "\n".join(parts) or next((text for one in named if (text := _text(one, role))), "")
    return value if isinstance(value, str) else ""


def _documents(own: Fields) -> list[tuple[str, str]]:
    """Return names and texts of the documents that a span retrieved, best first."""
    found: dict[int, dict[str, str]] = defaultdict(dict)
    for name, value in own.items():
        if match := _DOCUMENT.fullmatch(name):
            found[int(match[1])][match[2]] = str(value)
    documents = [found[number] for number in sorted(found)]
    return [
        (one.get("id") or f"context {at}", one["content"])
        for at, one in enumerate(documents, 1)
        if one.get("content")
    ]


def _masked(text: str, known: dict[str, str]) -> str:
    """Return a text with a placeholder for each value; the same for equal values, so that other ones stay other."""
    for name, pattern in _PERSONAL:

        def placeholder(found: re.Match[str], name: str = name) -> str:
            value = (
                re.sub(r"[ ().-]", "", found[0]).lower() if name == "number" else found[0].lower()
            )
            return known.setdefault(value, f"[{name} {len(known) + 1}]")

        text = pattern.sub(placeholder, text)
    return text
