import pytest
from memory_rows import entry, extracted

from gigamind.checksum import text_hash
from gigamind.memory.events import EventLog, read_events
from gigamind.memory.sessions import Extraction, Message, Session, _entries_of


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


def run(path, session, extraction):
    with EventLog(path) as log:
        return session.graduate(extraction, log)


def test_exactly_the_proven_entry_is_verified_and_each_refusal_explained(path, session, extraction):
    entries = {entry.entry_id: entry for entry in run(path, session, extraction)}
    assert {name: (entry.stage, entry.evidence_aligned) for name, entry in entries.items()} == {
        "good": ("verified", True),
        "misquoted": ("candidate", False),
        "flipped": ("candidate", True),
        "empty": ("candidate", False),
    }
    reasons = {name: entry.promotion_block_reason for name, entry in entries.items()}
    assert reasons.pop("good") is None
    for name, part in (("misquoted", "1 of 2"), ("flipped", "number"), ("empty", "no evidence")):
        assert part in reasons[name]
    assert entries["misquoted"].failed_quotes == ("벡터 검색을 도입하자",)
    assert entries["flipped"].failed_quotes == (
        "삭제한 노트는 휴지통에 90일 동안 보관한 다음 완전히 지웁니다.",
    )
    spans = [(one["source_index"], one["start"], one["end"]) for one in entries["good"].evidence]
    assert spans == [(0, 8, 26), (1, 14, 25)]


def test_every_step_is_an_event_in_its_order(path, session, extraction):
    run(path, session, extraction)
    events = list(read_events(path))
    graduation = ["session_ingested", "memory_extracted", "evidence_aligned", "entry_promoted"]
    assert [event.event_type for event in events] == [*graduation, *["promotion_blocked"] * 3]
    ingested, extracted, aligned = events[:3]
    assert extracted.content["source_event_id"] == ingested.event_id
    assert aligned.content["source_event_id"] == ingested.event_id
    assert (aligned.content["aligned_count"], aligned.content["failed_count"]) == (4, 1)
    assert len(aligned.content["evidence"]) == 4
    assert aligned.content["failed_quotes"][0]["quote"] == "벡터 검색을 도입하자"
    assert events[4].content["failed_quotes"] == ["벡터 검색을 도입하자"]


def test_aligned_evidence_has_the_fields_of_the_document_in_utf16_units(path, session_of):
    session = session_of("🌴 DuckDB의 JSONB를 JSON으로 변경하자.")
    found = extracted(entry("a", "t", "JSONB를 JSON으로"))
    run(path, session, Extraction.model_validate(found))
    [evidence] = next(
        event.content["evidence"]
        for event in read_events(path)
        if event.event_type == "evidence_aligned"
    )
    assert evidence["messageIndex"] == 0
    assert evidence["quoteHash"] == text_hash("JSONB를 JSON으로")
    assert (evidence["spanStart"], evidence["spanEnd"]) == (11, 24)
    assert (evidence["confidence"], evidence["matchMethod"]) == (1.0, "exact")


def test_the_conversation_itself_is_not_in_the_log(path, session, extraction):
    run(path, session, extraction)
    ingested = next(iter(read_events(path)))
    assert "좋습니다" not in str(ingested.content)


def test_graduating_a_session_twice_adds_nothing(path, session, extraction):
    first = run(path, session, extraction)
    log = list(read_events(path))
    assert run(path, session, extraction) == first
    assert list(read_events(path)) == log


def test_a_replay_of_the_log_rebuilds_every_entry(path, session, extraction):
    first = run(path, session, extraction)
    other = Session("s2", (*session.messages, Message(role="user", content="끝")))
    second = run(path, other, extraction)
    assert _entries_of(read_events(path)) == first + second


def test_a_replay_that_stops_anywhere_shows_no_entry_half_promoted(path, session, extraction):
    run(path, session, extraction)
    events = list(read_events(path))
    for stop in range(len(events) + 1):
        decided = {
            event.content["entry_id"]: event.event_type
            for event in events[:stop]
            if "entry_id" in event.content
        }
        for one in _entries_of(events[:stop]):
            decision = decided.get(one.entry_id)
            assert (one.stage == "verified") == (decision == "entry_promoted")
            assert one.promotion_blocked == (decision == "promotion_blocked")


def test_evidence_that_is_looked_up_anew_takes_a_promotion_back(path, session, extraction):
    run(path, session, extraction)
    events = list(read_events(path))
    again = _entries_of([*events, events[2]])
    assert [entry.stage for entry in again] == ["candidate"] * 4


def test_a_message_index_beyond_the_session_blocks_the_entry(path, session):
    found = extracted(entry("e", "t", (2, "DuckDB")))
    (blocked,) = run(path, session, Extraction.model_validate(found))
    assert "source_index_out_of_range" in blocked.promotion_block_reason


def test_a_session_without_entries_leaves_no_entry(path, session):
    assert run(path, session, Extraction(entries=[])) == []
    found = [event.event_type for event in read_events(path)]
    assert found == ["session_ingested", "memory_extracted", "evidence_aligned"]
