import pytest

from gigamind.errors import InputError
from gigamind.memory.sessions import Extraction, Session


def entry(**changes):
    return {"entryId": "e", "text": "t", "evidence": []} | changes


def test_a_session_is_its_messages_in_order():
    lines = [(1, '{"role": "user", "content": "가"}'), (3, '{"role": "assistant", "content": ""}')]
    session = Session.parse("s", lines, "s.jsonl")
    assert [message.content for message in session.messages] == ["가", ""]


@pytest.mark.each(
    "lines, problem",
    [
        ([], "s.jsonl"),
        ([(2, "{")], "s.jsonl:2"),
        ([(2, '{"role": "user"}')], "s.jsonl:2: content"),
        ([(2, '{"role": "", "content": "a"}')], "s.jsonl:2: role: "),
        ([(2, '{"role": "user", "content": "\\ud800"}')], "s.jsonl:2: content: "),
        ([(2, '{"role": "user", "content": "a", "name": "b"}')], "s.jsonl:2: name: "),
    ],
)
def test_a_bad_message_is_refused_with_file_and_line(lines, problem):
    with pytest.raises(InputError) as refusal:
        Session.parse("s", lines, "s.jsonl")
    assert problem in str(refusal.value)


def test_an_extraction_may_be_empty():
    assert Extraction.parse('{"entries": []}', "e.json").entries == []


@pytest.mark.each(
    "entries, problem",
    [
        ('[{"entryId": "e", "text": "t"}]', "entries[0].evidence"),
        (
            '[{"entryId": "e", "text": "t", "evidence": [{"messageIndex": 0}]}]',
            "entries[0].evidence[0].quote",
        ),
        (
            '[{"entryId": "e", "text": "t", "evidence": [{"messageIndex": -1, "quote": "q"}]}]',
            "entries[0].evidence[0].messageIndex: ",
        ),
        (
            '[{"entryId": "e", "text": "t", "evidence": [{"messageIndex": 0, "quote": "q", "spanStart": 1}]}]',
            "entries[0].evidence[0].spanStart: ",
        ),
        (
            '[{"entryId": "e", "text": "t", "evidence": []}, {"entryId": "e", "text": "u", "evidence": []}]',
            "entryId 'e'",
        ),
        ("nope", "e.json"),
    ],
)
def test_a_bad_extraction_is_refused_with_its_place(entries, problem):
    with pytest.raises(InputError) as refusal:
        Extraction.parse(f'{{"entries": {entries}}}', "e.json")
    assert problem in str(refusal.value)
