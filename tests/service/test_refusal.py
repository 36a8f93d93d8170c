"""Why a request is refused is said in the language that its sender asked for."""

import pytest
from korean import HANGUL
from starlette.datastructures import Headers

from gigamind.service.guard import _preferred_language


@pytest.mark.parametrize(
    ("asked", "language"),
    [
        ("", "en"), ("de-DE", "en"), ("ko", "ko"), ("ko-KR,ko;q=0.9,en-US;q=0.8", "ko"),
        ("en;q=0.5, ko;q=0.7", "ko"), ("ko;q=0.1, en", "en"), ("ko;q=much, en;q=0.1", "en"),
    ],
)  # fmt: skip
def test_the_language_liked_best_of_those_that_are_ours(asked, language):
    assert _preferred_language(Headers({"accept-language": asked})) == language
    assert _preferred_language(Headers()) == "en"


def test_errors_of_routes_and_of_the_guard_are_korean_where_korean_is_asked_for(service):
    korean = {"Accept-Language": "ko"}
    for path, status in (
        ("/api/notes/none.md", 404),
        ("/api/ai/answers/none", 404),
        ("/nowhere", 404),
        ("/locales/none.json", 404),
    ):
        found, told = service.get(path, **korean)
        assert (found, bool(HANGUL.search(told["detail"]))) == (status, True), path
    status, told = service.get("/api/notes", Host="other.example", **korean)
    assert (status, bool(HANGUL.search(told["detail"]))) == (421, True)
    status, told = service.get("/api/search", **korean)
    problem = told["detail"][0]
    assert (status, problem["type"], problem["loc"]) == (422, "missing", ["query", "q"])
    assert HANGUL.search(problem["msg"])
    status, told = service.get("/api/notes/none.md")
    assert status == 404
    assert not HANGUL.search(told["detail"])


def test_an_error_of_ours_is_korean_too(service):
    ask = {"content": "무엇입니까?", "options": {"note_id": "none.md"}}
    status, told = service.post("/api/ai/chat", ask, **{"Accept-Language": "ko-KR"})
    assert status == 400
    assert "none.md" in told["detail"]
    assert HANGUL.search(told["detail"])
