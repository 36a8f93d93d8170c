"""Errors in Korean: each message that the code makes has its template, and what comes of it reads as Korean."""

import re
import tomllib

import pytest
from messages_in_code import PACKAGE, messages, texts

from gigamind.messages import PLACE, message_in, templates
from gigamind.text import ends_in_consonant

# For programmers alone: no file and no option of a user leads there.
INTERNAL = ("gigamind/metrics/", "gigamind/stats/", "gigamind/llm/fake.py")
# The same in every language: what is typed, rows as they are written, and lists of values.
SAME = re.compile(
    r'(pip install|export |  gigamind |\{"id"|threads:4|gigamind \{\}, Python|\{\} MB)'
    r"|(\{\} of \{\}|\{\}, or \{\}|\{\} with \{\})$"  # what they join is translated
)
TABLES = tomllib.loads((PACKAGE / "translations" / "messages.ko.toml").read_text("utf-8"))
FOREIGN = {
    "system",
    "parsers",
    "click",
    "joined",
}  # of Python, pydantic and click; of several texts


def plain(template):
    return PLACE.sub("{}", template)


def test_every_message_of_the_code_has_its_korean():
    known = {plain(english) for table in TABLES.values() for english in table}
    missing = [
        f"{place}: {template}"
        for template, place in messages().items()
        if template not in known and not SAME.match(template) and not place.startswith(INTERNAL)
    ]
    assert missing == []


def test_no_template_is_left_of_a_message_that_is_gone():
    source = "\n".join(texts())
    parts = {
        english: max(re.split(r"\{[^}]*\}|[\"'.,;:()]", english), key=len).strip()
        for name, table in TABLES.items()
        for english in table
        if name not in FOREIGN
    }
    assert [english for english, part in parts.items() if part not in source] == []


def test_each_value_has_its_place_in_korean():
    for template in templates():
        if any(
            template.english in TABLES[name] for name in FOREIGN
        ):  # what Python adds is left out
            continue
        places = range(len(PLACE.findall(template.english)))
        told = {int(number) for number in re.findall(r"\{(\d+)\}", template.korean)}
        assert told <= set(places), template
        # Only the plural of an English word, and what a word of the sentence says already, may be left out.
        left_out = template.english.count("problem{}") + template.english.count(
            "the budget left {} {}"
        )
        assert len(set(places) - told) == left_out, template


def test_a_template_has_words_of_its_own():
    assert [
        one.english for one in templates() if not re.search("[A-Za-z]", plain(one.english))
    ] == []


@pytest.mark.parametrize(
    ("english", "korean"),
    [
        ("none.toml: cannot be read (Permission denied)", "none.toml: 읽을 수 없습니다(권한이 없음)"),
        ("--topk 0: must be 1 or more", "--topk 0: 1 이상이어야 합니다"),
        (
            'a.jsonl:3: field "query": missing. Add it: every row needs it.',
            'a.jsonl:3: 필드 "query": 없음. 더하십시오. 모든 행에 필요합니다.',
        ),
        ("every query failed, the first so: query q1: the answer is empty; see out/errors.jsonl",
         "질의 전부가 실패했습니다. 첫 까닭: 질의 q1: 답변이 비어 있음. out/errors.jsonl을 보십시오"),
        ("question q1: no answer within 9 ms; raise --timeout-ms if the query is right",
         "질문 q1: 9ms 안에 응답이 없음. 질의가 맞다면 --timeout-ms를 늘리십시오"),
        ("the system gave no answer to 7 questions (23%): question q1: the answer is empty",
         "시스템이 질문 7건(23%)에 답하지 않았습니다. 질문 q1: 답변이 비어 있음"),
        ("--host 0.0.0.0: must be {}", "--host 0.0.0.0: {} 가운데 하나여야 합니다"),
        ("query: no such file or folder; give a snapshot.json or the out folder of a run",
         "query: 파일도 폴더도 없습니다. snapshot.json이나 실행의 출력 폴더를 지정하십시오"),
        ("openai/m: The engine is overloaded right now", "openai/m: The engine is overloaded right now"),
    ],
)  # fmt: skip
def test_a_message_is_korean_as_a_whole_and_in_its_parts_but_for_what_others_wrote(english, korean):
    assert message_in("ko", english) == korean
    assert message_in("en", english) == english


def test_a_long_text_of_others_takes_no_time():
    text = "the server said: " + ", ".join(
        f"part {number}; and more: of it. Or" for number in range(300)
    )
    assert message_in("ko", text) == text


def test_a_particle_in_a_phrase_agrees_with_the_word_before_it():
    """Of nouns of two syllables and more; 짝지은 is a form of a verb."""
    phrases = "".join(path.read_text("utf-8") for path in PACKAGE.rglob("*ko.toml"))
    attached = re.findall(r"(?<![가-힣])([가-힣]{2,})([은을과를와])(?![가-힣])", phrases)
    open_only, closed_only = "를와", "은을과"
    wrong = {
        word + particle
        for word, particle in attached
        if particle in (open_only if ends_in_consonant(word) else closed_only)
    }
    assert wrong == {"짝지은"}
