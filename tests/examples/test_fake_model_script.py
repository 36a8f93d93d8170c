"""The script of examples/fake_model.py, asked with the prompts of the product."""

import json

import pytest
from fake_model import reply_to

from gigamind.assets import asset
from gigamind.i18n import translator
from gigamind.judges.search_qa.reply import SearchQAReply
from gigamind.judges.search_qa.roles import denies_knowledge
from gigamind.judges.unanswerable_llm import UnanswerableReply
from gigamind.prompting.fences import Source, fence
from gigamind.prompting.prompts import Prompt, as_json
from gigamind.tasks.answers import NO_NOTES

KEY = b"k" * 32
LEAVE = Source("휴가 규정", "# 휴가\n\n연차는 15일이다.\n\n- 반차는 0.5일로 계산한다.\n")
GARDEN = Source(
    "Garden",
    "# Garden\n\nThe garden behind the old depot has roses and\ntulips near the northern gate.\n",
)
NOTES = (GARDEN, LEAVE)


def asked(name, question, notes=NOTES, language="ko", version="v1", **given):
    fenced = fence(notes, KEY)
    values = {"nonce": fenced.nonce, "notes": fenced.text, "question": as_json(question), **given}
    file = asset("prompts") / name / version / f"{language}.jinja"
    return Prompt.load(file, tuple(values)).render(**values)


def answered(question, notes=NOTES, language="ko"):
    return reply_to({"messages": asked("search_chat", question, notes, language), "stream": True})[
        "text"
    ]


def judged(messages, reply):
    schema = {"schema": reply.model_json_schema()}
    format_ = {"type": "json_schema", "json_schema": schema}
    return reply.model_validate(reply_to({"messages": messages, "response_format": format_}))


def judged_answer(question, *texts):
    rows = [{"id": number, "text": text} for number, text in enumerate(texts, start=1)]
    ids = ", ".join(str(row["id"]) for row in rows)
    given = {"answer": json.dumps(rows, ensure_ascii=False), "ids": ids, "part": "whole"}
    return judged(asked("search_qa", question, version="v2", **given), SearchQAReply)


def test_the_answer_is_the_sentence_with_the_words_of_the_question_and_names_its_note():
    assert answered("반차는 며칠로 계산하나요?") == "반차는 0.5일로 계산한다 [노트 2]."
    english = answered("Are there tulips near the northern gate?", language="en")
    assert (
        english
        == "The garden behind the old depot has roses and tulips near the northern gate [Note 1]."
    )


@pytest.mark.parametrize(
    ("language", "question"),
    [("ko", "구내식당 점심은 얼마인가요?"), ("en", "Who pays the dentist in Tokyo?")],
)
def test_a_question_that_shares_too_little_with_the_notes_gets_the_products_abstention(
    language, question
):
    abstention = translator(language)(NO_NOTES)
    assert denies_knowledge(abstention)
    assert answered(question, language=language) == abstention
    assert answered(question, (), language) == abstention


def test_a_question_is_answerable_with_a_quote_from_the_notes_or_unanswerable_without():
    reply = judged(asked("unanswerable", "반차는 며칠로 계산하나요?"), UnanswerableReply)
    (source,) = reply.sources
    assert (reply.answered, source.note) == (True, 2)
    assert source.quote in LEAVE.text

    lacking = judged(asked("unanswerable", "구내식당 점심은 얼마인가요?"), UnanswerableReply)
    assert (lacking.answered, lacking.sources) == (False, ())


def test_claims_are_supported_by_quotes_from_the_notes_and_others_are_not_found():
    reply = judged_answer(
        "정원에는 무엇이 있나요?",
        "The garden behind the old depot has roses and tulips near the northern gate [Note 1].",
        "The depot opens at seven.",
        "노트에서 찾을 수 없습니다.",
    )
    right, wrong, silent = reply.claims
    assert (right.verdict, right.note, right.role) == ("supported", 1, "claim")
    assert right.quote in GARDEN.text
    assert (wrong.verdict, wrong.note, wrong.quote) == ("not_found", None, "")
    assert (silent.role, silent.abstention_quote) == ("abstention", "노트에서 찾을 수 없습니다.")
    assert [use.cited for use in reply.source_coverage] == [True, False]


def test_a_request_of_another_kind_gets_a_reply_that_fits_its_schema():
    schema = {
        "properties": {
            "kind": {"enum": ["x", "y"]},
            "count": {"type": "integer", "minimum": 5},
            "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}, "minItems": 2},
            "maybe": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        },
        "type": "object",
        "$defs": {"part": {"type": "object", "properties": {"text": {"type": "string"}}}},
    }
    format_ = {"type": "json_schema", "json_schema": {"schema": schema}}
    reply = reply_to({"messages": [{"role": "user", "content": "?"}], "response_format": format_})
    part = {"text": "scripted"}
    assert reply == {"kind": "x", "count": 5, "parts": [part, part], "maybe": False}
