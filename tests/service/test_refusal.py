"""Why a request is refused is said in the language that its sender asked for."""

import pytest
from starlette.datastructures import Headers

from gigamind.service.guard import language_asked


@pytest.mark.parametrize(
    ("asked", "language"),
    [
        ("", "en"),
        ("de-DE", "en"),
        ("ko", "ko"),
        ("ko-KR,ko;q=0.9,en-US;q=0.8", "ko"),
        ("en;q=0.5, ko;q=0.7", "ko"),
        ("ko;q=0.1, en", "en"),
        ("ko;q=much, en;q=0.1", "en"),
    ],
)
def test_the_language_liked_best_of_those_that_are_ours(asked, language):
    assert language_asked(Headers({"accept-language": asked})) == language
    assert language_asked(Headers()) == "en"


def test_errors_of_routes_and_of_the_guard_are_korean_where_korean_is_asked_for(serve):
    service = serve()
    korean = {"Accept-Language": "ko"}
    for path, status, told in (
        ("/api/notes/none.md", 404, "그런 노트가 없습니다"),
        ("/api/ai/answers/none", 404, "그런 답변이 없거나 너무 오래되었습니다"),
        ("/nowhere", 404, "그런 주소가 없습니다"),
    ):
        assert service.get(path, **korean) == (status, {"detail": told})
    status, told = service.get("/api/notes", Host="other.example", **korean)
    assert (status, told["detail"]) == (
        421,
        "이 서비스는 이 컴퓨터의 이름으로 온 요청에만 답합니다",
    )
    status, told = service.get("/api/search", **korean)
    assert (status, told["detail"][0]["msg"]) == (422, "필요한 필드가 없음")
    status, told = service.get("/api/notes/none.md")
    assert (status, told["detail"]) == (404, "there is no such note")


def test_an_error_of_ours_is_korean_too(serve):
    ask = {"content": "무엇입니까?", "options": {"note_id": "없음.md"}}
    status, told = serve().post("/api/ai/chat", ask, **{"Accept-Language": "ko-KR"})
    assert status == 400
    assert told["detail"] == "없음.md: 그런 노트가 없습니다"
