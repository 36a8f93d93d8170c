"""Replies as models really write them: what a verdict can do without never costs it, and is counted."""

import json
from typing import Annotated, Literal

import pytest
from pydantic import Field, ValidationError
from pydantic.json_schema import SkipJsonSchema

from gigamind.judges.quality_gate import ChecklistReply
from gigamind.judges.search_qa.judge import LooksReply
from gigamind.judges.search_qa.reply import ClaimsReply, SearchQAReply
from gigamind.judges.unanswerable_llm import UnanswerableReply
from gigamind.llm.ask import _sent_schema
from gigamind.memory.extract import Statements
from gigamind.prompting.replies import (
    Auxiliary,
    ModelReply,
    Most,
    Quotation,
    ReportedConfidence,
    ReportedShare,
    _confidence_of,
    _share_of,
    unread_in,
)
from gigamind.tasks.answers.judging import AnswerReply
from gigamind.tasks.search.write_queries import WrittenQuestions

EVERY = (
    UnanswerableReply, SearchQAReply, ClaimsReply, LooksReply, ChecklistReply, Statements,
    WrittenQuestions, AnswerReply,
)  # fmt: skip


class Row(ModelReply, frozen=True):
    number: int = Field(ge=1)
    mood: Annotated[Literal["calm", "angry"], Auxiliary("calm")]


class Told(ModelReply, frozen=True):
    yes: bool
    rows: Annotated[tuple[Row, ...], Most(3)]
    quote: Annotated[Quotation, Auxiliary("")]
    notes: Annotated[tuple[str, ...], Auxiliary(()), Most(2)]
    summary: Annotated[str, Auxiliary(""), Most(5)]
    sure: Annotated[ReportedConfidence | SkipJsonSchema[None], Auxiliary()]
    share: Annotated[ReportedShare | SkipJsonSchema[None], Auxiliary()]


GOOD = {
    "yes": True, "rows": [{"number": 1, "mood": "angry"}], "quote": "q", "notes": ["n"],
    "summary": "s", "sure": "low", "share": 0.5,
}  # fmt: skip


def read(**changes):
    return Told.model_validate_json(json.dumps(GOOD | changes))


@pytest.mark.each("model", EVERY)
def test_every_array_and_string_that_a_model_may_write_is_bounded(model):
    def unbounded(schema, place):
        if schema.get("type") == "string" and "enum" not in schema and "maxLength" not in schema:
            yield place
        if schema.get("type") == "array":
            if "maxItems" not in schema:
                yield place
            yield from unbounded(schema["items"], f"{place}[]")
        for name, field in schema.get("properties", {}).items():
            yield from unbounded(field, f"{place}.{name}")

    schema = model.model_json_schema()
    parts = {"": schema, **schema.get("$defs", {})}
    assert [place for name, part in parts.items() for place in unbounded(part, name)] == []


@pytest.mark.each("model", EVERY)
def test_what_is_sent_is_what_strict_modes_take(model):
    allowed = {
        "string": {"enum"}, "array": {"items", "maxItems"},
        "object": {"properties", "required", "additionalProperties"}, "integer": {"minimum"},
        "number": {"minimum", "maximum"}, "boolean": set(), "null": set(),
    }  # fmt: skip

    def check(schema):
        words = schema.keys() - {"title", "description", "$defs"}
        if "$ref" in schema or "anyOf" in schema:
            assert len(words) == 1
        else:
            assert words - {"type"} <= allowed[schema["type"]]
        if schema.get("type") == "object":
            assert schema["required"] == list(schema["properties"])
            assert schema["additionalProperties"] is False
        inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
        for part in [*inner, *schema.get("anyOf", []), *filter(None, [schema.get("items")])]:
            check(part)

    check(_sent_schema(model.model_json_schema(), None))


@pytest.mark.parametrize(
    ("api_base", "told"),
    [
        (None, False), ("https://gateway.example.com/v1", False), ("https://8.8.8.8/v1", False),
        ("http://127.0.0.1:8080/v1", True), ("http://192.168.1.7:8000/v1", True),
        ("http://gpu-box:8000/v1", True), ("http://models.internal/v1", True),
    ],
)  # fmt: skip
def test_lengths_of_strings_are_told_to_servers_of_ones_own_as_far_as_grammars_go(api_base, told):
    strings = {
        "short": {"type": "string", "minLength": 1, "maxLength": 1_999},
        "long": {"type": "string", "maxLength": 2_000},
        "maxLength": {"type": "string"},
    }
    schema = {"type": "object", "properties": strings, "required": ["short"]}
    sent = _sent_schema(schema, api_base)
    assert sent["properties"]["short"] == (strings["short"] if told else {"type": "string"})
    assert sent["properties"]["long"] == sent["properties"]["maxLength"] == {"type": "string"}
    assert sent["required"] == ["short"]


@pytest.mark.each(
    "given, share",
    [
        *((0, 0), (0.0, 0), (0.75, 0.75), (1, 1), (1.0, 1), (10.5, 0.105), (11, 0.11), (85, 0.85)),
        *((100, 1), ("0.9", 0.9), ("1", 1), ("85%", 0.85), (" 85 % ", 0.85), ("1％", 0.01)),
    ],
)  # fmt: skip
def test_a_share_is_read_in_whatever_way_it_is_told(given, share):
    assert _share_of(given) == pytest.approx(share)


@pytest.mark.each(
    "given", [-0.1, 1.01, 7, 10, 100.1, "101%", "-1%", "much", "", "nan", "inf", True, None, [0.5]]
)
def test_a_number_of_a_scale_that_nobody_knows_is_no_share(given):
    with pytest.raises(ValueError, match=r"share|number|float"):
        _share_of(given)


@pytest.mark.each(
    "given, word",
    [
        *(("low", "low"), ("Medium", "medium"), (" HIGH. ", "high"), ("높음", "high")),
        *(("보통", "medium"), ("낮음", "low"), (0, "low"), (0.49, "low"), (0.5, "medium")),
        *((0.79, "medium"), (0.8, "high"), (1, "high"), (49, "low"), (50, "medium")),
        *((80, "high"), (100, "high"), ("85%", "high")),
    ],
)  # fmt: skip
def test_a_confidence_is_read_in_words_and_numbers(given, word):
    assert _confidence_of(given) == word


@pytest.mark.each(
    "changes, expected, unread",
    [
        ({"sure": 100}, {"sure": "high"}, {}),
        ({"sure": "perhaps"}, {"sure": None}, {"sure": 1}),
        ({"sure": 7}, {"sure": None}, {"sure": 1}),
        ({"share": 85}, {"share": 0.85}, {}),
        ({"share": "x"}, {"share": None}, {"share": 1}),
        ({"summary": None}, {"summary": ""}, {"summary": 1}),
        ({"summary": {"a": 1}}, {"summary": ""}, {"summary": 1}),
        ({"summary": "123456"}, {"summary": "12345"}, {"summary": 1}),
        ({"summary": "12345"}, {"summary": "12345"}, {}),
        ({"quote": "q" * 601}, {"quote": "q" * 601}, {}),  # cut, it would prove nothing
        ({"notes": ["a", "b", "c"]}, {"notes": ["a", "b"]}, {"notes": 1}),
        ({"notes": ["a", 7]}, {"notes": ["a"]}, {"notes": 1}),
        ({"notes": [7]}, {"notes": []}, {"notes": 1}),
        ({"notes": "none"}, {"notes": []}, {"notes": 1}),
        ({"surprise": {"x": 1}, "more": 2}, {}, {"unknown field": 2}),
        (
            {"rows": [{"number": 0, "mood": "calm"}, {"number": 2, "mood": "calm"}, "row"]},
            {"rows": [{"number": 2, "mood": "calm"}]},
            {"rows": 2},
        ),
        (
            {"rows": [{"number": "1", "mood": "sad", "why": "x"}, {"number": 2}]},
            {"rows": [{"number": 1, "mood": "calm"}, {"number": 2, "mood": "calm"}]},
            {"rows.mood": 2, "rows.unknown field": 1},
        ),
        ({"rows": []}, {"rows": []}, {}),
    ],
)
def test_what_a_verdict_can_do_without_is_dropped_and_counted(changes, expected, unread):
    reply = read(**changes)
    kept = json.loads(reply.model_dump_json())
    kept = {name: _bare(value) for name, value in kept.items() if name != "unread_fields"}
    assert kept == GOOD | expected
    assert unread_in(reply) == unread


def _bare(value):
    if not isinstance(value, list):
        return value
    return [
        {k: v for k, v in row.items() if k != "unread_fields"} if isinstance(row, dict) else row
        for row in value
    ]


def test_missing_fields_are_counted():
    reply = Told.model_validate({"yes": "true", "rows": GOOD["rows"]})
    assert reply.yes is True
    assert unread_in(reply) == dict.fromkeys(("quote", "notes", "summary", "sure", "share"), 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"yes": "maybe", "sure": "x"},
        {"yes": None},
        {"rows": None},
        {"rows": [{"number": 0, "mood": "calm"}, "row"]},  # not one that can be read
    ],
)
def test_what_a_verdict_needs_is_asked_for(changes):
    with pytest.raises(ValidationError) as caught:
        read(**changes)
    assert next(iter(changes)) in {error["loc"][0] for error in caught.value.errors()}


def test_a_stored_reply_counts_what_it_lost_once():
    reply = read(sure="x", extra=1, rows=[{"number": 1}, {"number": 2, "mood": "calm"}])
    again = Told.model_validate(json.loads(reply.model_dump_json()))
    assert again == reply
    assert unread_in(again) == {"sure": 1, "unknown field": 1, "rows.mood": 1}


@pytest.mark.parametrize("claimed", ["x", {"a": 1}, [1] * 10_000, ["sure"]])
def test_a_model_that_writes_the_count_itself_costs_no_verdict(claimed):
    reply = read(unread_fields=claimed)
    assert reply.yes
    assert unread_in(reply).total() <= 1_000
