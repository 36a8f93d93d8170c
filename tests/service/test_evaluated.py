"""The real service as a system that is evaluated."""

from gigamind.systems.http import HttpRetriever
from gigamind.systems.preset import read_preset
from gigamind.systems.protocol import Query


def test_the_service_is_searched_by_its_preset(serve, monkeypatch):
    monkeypatch.setenv("GIGAMIND_SERVICE_TOKEN", "a-token-of-the-service")
    service = serve(token="a-token-of-the-service")
    retriever = HttpRetriever(f"{service.url}/api/search", read_preset("gigamind")[0], topk=100)
    try:
        first, *_ = retriever.search(Query("q", "roses & tulips?")).hits
    finally:
        retriever.close()
    assert (first.note, first.base_score) == ("garden.md", 1.0)
    assert first.text.endswith("The garden has roses and tulips near the gate.")
