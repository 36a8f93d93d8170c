"""The real service as a system that is evaluated."""

from contextlib import closing

from gigamind.systems.dialect import ANSWERS, rankings
from gigamind.systems.open import open_system
from gigamind.systems.protocol import Query
from gigamind.systems.settings import SystemOptions

QUERY = Query("q", "roses & tulips?")


def asked(address, dialect):
    options = SystemOptions(address, "gigamind", 20_000)
    with closing(open_system(options, dialect)) as system:
        return system.ask(QUERY)


def test_the_service_is_searched_by_its_preset(serve, monkeypatch):
    monkeypatch.setenv("GIGAMIND_SERVICE_TOKEN", "a-token-of-the-service")
    service = serve(token="a-token-of-the-service")
    first, *_ = asked(f"{service.url}/api/search", rankings(100)).hits
    assert (first.note, first.base_score) == ("garden.md", 1.0)
    assert first.text.endswith("The garden has roses and tulips near the gate.")


def test_the_service_answers_by_its_preset_and_names_its_notes(serve, monkeypatch):
    monkeypatch.setenv("GIGAMIND_SERVICE_TOKEN", "a-token-of-the-service")
    service = serve(token="a-token-of-the-service")
    reply = asked(f"{service.url}/api/ai/chat", ANSWERS)
    assert "The garden has roses and tulips near the gate" in reply.answer
    assert [(one.note, one.text) for one in reply.contexts] == [("garden.md", "")]
    roles = [
        body["response_format"]["json_schema"]["name"]
        for body in service.model.seen.bodies
        if "response_format" in body
    ]
    assert roles == []  # its own evaluation is not asked for
