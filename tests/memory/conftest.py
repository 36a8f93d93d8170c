import pytest
from memory_rows import entry, extracted

from gigamind.memory.sessions import Extraction, Message, Session

MESSAGES = (
    ("user", "DuckDB의 JSONB를 JSON으로 변경하자."),
    ("assistant", "좋습니다. 삭제한 노트는 휴지통에 30일 동안 보관한 다음 완전히 지웁니다."),
)
FLIPPED = "삭제한 노트는 휴지통에 90일 동안 보관한 다음 완전히 지웁니다."


@pytest.fixture
def session():
    messages = tuple(Message(role=role, content=content) for role, content in MESSAGES)
    return Session("s1", messages)


@pytest.fixture
def extraction():
    """One good entry, one misquoted, one with a flipped number, one without evidence."""
    proven = ("JSONB를 JSON으로 변경하자", (1, "휴지통에 30일 동안"))
    found = extracted(
        entry("good", "JSONB를 JSON으로 변경한다.", *proven),
        entry("misquoted", "벡터를 쓴다.", "JSONB를 JSON으로", "벡터 검색을 도입하자"),
        entry("flipped", "90일 보관한다.", (1, FLIPPED)),
        entry("empty", "근거가 없다."),
    )
    return Extraction.model_validate(found)


@pytest.fixture
def session_of():
    """A session of these messages, all of one role."""

    def of(*contents, role="user"):
        return Session("s", tuple(Message(role=role, content=content) for content in contents))

    return of


@pytest.fixture
def key():
    """The key of the fences."""
    return b"k" * 32
