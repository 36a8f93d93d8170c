"""Endpoints over real HTTP: each preset against a server of its protocol, and servers that misbehave."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from qdrant_server import qdrant
from search_servers import meilisearch, opensearch, plain, search_server, typesense

from gigamind.errors import InputError, SystemFailedError
from gigamind.interop.ranking import RankedNote, Reply
from gigamind.retrieval.embedders import load_embedder
from gigamind.systems.dialect import ANSWERS, _AnswerPreset, _at, _Preset, rankings
from gigamind.systems.http import HttpSystem
from gigamind.systems.protocol import Query

DOCUMENTS = {
    "garden.md": "The garden has roses.",
    "휴가.md": "휴가는 팀장에게 신청한다.",
    "deploy.md": "The deploy runs every Friday.",
}
QUERY = Query("q-1", 'the "roses"\nof {the} garden')


def of_search(name: str) -> _Preset:
    return _Preset.load(name)[0]


@contextmanager
def asking(url: str, preset: str | _Preset = "plain", topk: int = 2) -> Iterator[HttpSystem]:
    chosen = preset if isinstance(preset, _Preset) else of_search(preset)
    retriever = HttpSystem(url, chosen, rankings(topk))
    try:
        yield retriever
    finally:
        retriever.close()


def found(url: str, preset: str | _Preset = "plain") -> list[tuple[str, float | None]]:
    with asking(url, preset) as retriever:
        return [(hit.note, hit.base_score) for hit in retriever.ask(QUERY).hits]


def test_a_plain_endpoint_is_told_id_query_and_topk():
    with search_server(plain(DOCUMENTS)) as server, asking(server.url + "/search") as retriever:
        hits = retriever.ask(QUERY).hits
    [asked] = server.asked
    assert asked.body == {"id": "q-1", "query": QUERY.text, "topk": 2}
    assert (asked.method, asked.path) == ("POST", "/search")
    assert hits[0] == RankedNote("garden.md", 0.75, "The garden has roses.")
    assert hits[1].note == "deploy.md"


def test_opensearch():
    with search_server(opensearch(DOCUMENTS)) as server:
        assert found(f"{server.url}/notes/_search", "opensearch") == [
            ("garden.md", 9.375),
            ("deploy.md", 3.125),
        ]
        assert "authorization" not in server.asked[0].headers
        address = server.url.replace("//", "//user:p%40ss@") + "/notes/_search"
        found(address, "opensearch")
    assert server.asked[1].headers["authorization"] == "Basic dXNlcjpwQHNz"


def test_meilisearch(monkeypatch):
    monkeypatch.setenv("MEILI_API_KEY", "masterKey-123")
    with search_server(meilisearch(DOCUMENTS)) as server:
        hits = found(f"{server.url}/indexes/notes/search", "meilisearch")
    assert hits == [("garden.md", 0.75), ("deploy.md", 0.25)]


def test_typesense(monkeypatch):
    monkeypatch.setenv("TYPESENSE_API_KEY", "typesense-key")
    with search_server(typesense(DOCUMENTS)) as server:
        hits = found(f"{server.url}/collections/notes/documents/search", "typesense")
    assert [note for note, _ in hits] == ["garden.md", "deploy.md"]
    assert hits[0][1] == 578_730_123_366_461_993.0


@pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning")
def test_qdrant_is_asked_with_the_vector_of_the_query(monkeypatch):
    from qdrant_client import models

    monkeypatch.setenv("QDRANT_API_KEY", "secret-key")
    embedder = load_embedder("use-multilingual")
    vectors = {name: embedder.embed_query(text) for name, text in DOCUMENTS.items()}
    with qdrant(key="secret-key") as server:
        size = models.VectorParams(size=512, distance=models.Distance.COSINE)
        server.engine.create_collection("notes", vectors_config=size)
        points = [
            models.PointStruct(id=at, vector=vectors[name].tolist(), payload={"note": name})
            for at, name in enumerate(DOCUMENTS)
        ]
        server.engine.upsert("notes", points)
        hits = found(f"{server.url}/collections/notes/points/query", "qdrant")
    wanted = embedder.embed_query(QUERY.text)
    cosines = {name: float(np.dot(vector, wanted)) for name, vector in vectors.items()}
    first, second, _ = sorted(cosines, key=cosines.__getitem__, reverse=True)
    assert [note for note, _ in hits] == [first, second]
    assert hits[0][1] == pytest.approx(cosines[first], abs=1e-5)


def test_a_key_that_is_not_set_is_named_when_it_is_missed(monkeypatch):
    monkeypatch.delenv("MEILI_API_KEY", raising=False)
    with (
        search_server(meilisearch(DOCUMENTS)) as server,
        asking(f"{server.url}/indexes/notes/search", "meilisearch") as retriever,
        pytest.raises(SystemFailedError, match=r"status 401.*\$MEILI_API_KEY"),
    ):
        retriever.ask(QUERY)


@pytest.mark.each(
    "reply, message",
    [
        ((200, "<html>Log in</html>"), "HTML.*--system.*<html>Log in</html>"),
        ((200, "{cut"), "application/json.*{cut"), ((200, {"error": "x"}), '"hits" .*error'),
        ((200, {"hits": [{"id": 3}]}), 'hit 1 .*"note" .*id'), ((200, "[[]]"), "hit 1 "),
        ((200, '"a.md"'), '"hits" .*str'), ((200, ""), "status 200"), ((204, ""), "status 204"),
        ((404, {"no": 1}), 'status 404: {"no": 1}.*--system'), ((302, ""), "status 302"),
        ((500, "down"), r"status 500: down .*2\)"),
    ],
)  # fmt: skip
def test_a_reply_that_is_no_ranking_fails_its_query_and_says_what_came(reply, message):
    preset = _Preset(retries=1)
    with (
        search_server(lambda _: reply) as server,
        asking(server.url, preset) as retriever,
        pytest.raises(SystemFailedError) as refusal,
    ):
        retriever.ask(QUERY)
    assert re.match(f"POST {server.url}: .*{message}", str(refusal.value))


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    "hits",
    [
        ["a.md", "b.md"], [["a.md", 0.5], ["b.md", 0.25]],
        [{"note": "a.md", "score": 0.5, "text": "x", "start": 0, "end": 1}, {"note": "b.md"}], [],
    ],
)  # fmt: skip
def test_the_simplest_endpoint_may_reply_whatever_a_function_may_return(hits, whole):
    reply = {"hits": hits} if whole else hits
    preset, _ = _Preset.load("plain")
    with (
        search_server(lambda _: (200, json.dumps(reply))) as server,
        asking(server.url, preset) as retriever,
    ):
        assert retriever.ask(QUERY).hits == rankings(3).read(reply).hits


def test_names_and_numbers_are_read_at_the_paths_of_a_preset_where_there_are_objects():
    preset = _Preset(hits="found", note="id", score="points")
    reply = {"found": [{"id": 7, "points": 2}, ["b.md", 1], "c.md"]}
    assert [(hit.note, hit.base_score) for hit in preset.read(reply).hits] == [
        ("7", 2.0),
        ("b.md", 1.0),
        ("c.md", None),
    ]
    with pytest.raises(ValueError, match='"found"'):
        preset.read(["a.md"])


@pytest.mark.parametrize(
    ("template", "is_needed"),
    [("{{ query", False), ("{{ nothing }}", False), ("{{ vector | tojson }}", True)],
)
def test_an_embedder_is_asked_for_only_where_a_template_needs_a_vector(
    tmp_path, template, is_needed
):
    file = tmp_path / "ours.toml"
    file.write_text(f"body = '{template}'\n", "utf-8")
    with pytest.raises(InputError, match=r"ours\.toml") as refused:
        _Preset.load(str(file))
    assert ('"embedder"' in str(refused.value)) == is_needed


@pytest.mark.parametrize("status", [405, 501])
def test_a_server_that_takes_another_method_is_asked_once_and_the_preset_named(status):
    with (
        search_server(lambda _: (status, "no")) as server,
        asking(server.url) as retriever,
        pytest.raises(SystemFailedError, match=r'method = "GET" .*--system-config'),
    ):
        retriever.ask(QUERY)
    assert len(server.asked) == 1


def test_a_path_of_scores_or_texts_that_is_in_no_hit_is_counted():
    reply = {"hits": [{"note": "a.md", "rank": 2, "text": ""}, {"note": "b.md", "text": "b"}]}
    preset = _Preset(score="scor", text="text")
    with search_server(lambda _: (200, reply)) as server, asking(server.url, preset) as retriever:
        assert retriever.ask(QUERY).oddities == {"no_scores": 2}
    none_sought = _Preset(text="snippet")
    with search_server(lambda _: (200, reply)) as server, asking(server.url, none_sought) as asked:
        assert asked.ask(QUERY).oddities == {"no_texts": 2}


def test_a_busy_server_is_asked_again_and_that_is_counted(waits):
    replies = iter([(429, "later"), (503, "later"), (200, {"hits": [{"note": "a.md"}]})])
    with search_server(lambda _: next(replies)) as server, asking(server.url) as retriever:
        ranking = retriever.ask(QUERY)
    assert ranking.hits == (RankedNote("a.md"),)
    assert ranking.oddities == {"asked_again": 2, "no_scores": 1, "no_texts": 1}
    assert waits == pytest.approx([0.2, 0.4])


def test_a_wait_that_the_server_requests_is_kept_and_a_long_one_ends_the_query(waits):
    replies = iter([(429, {}), (200, {"hits": [{"note": "a.md"}]})])
    with search_server(lambda _: next(replies), "35") as server:
        assert found(server.url) == [("a.md", None)]
    assert waits == [35]
    with (
        search_server(lambda _: (503, {}), "3600") as server,
        pytest.raises(SystemFailedError, match="3600 s"),
    ):
        found(server.url)
    assert len(server.asked) == 1


def test_a_server_that_is_not_there_fails_its_query():
    with search_server(lambda _: (200, {})) as server:
        gone = server.url
    with (
        asking(gone, _Preset(retries=0)) as retriever,
        pytest.raises(SystemFailedError, match=r"refused.*1\).*--system"),
    ):
        retriever.ask(QUERY)


def test_a_slow_server_is_not_waited_for():
    def slow(_asked):
        time.sleep(0.5)
        return 200, {}

    with (
        search_server(slow) as server,
        asking(server.url, _Preset(timeout_s=0.05)) as retriever,
        pytest.raises(SystemFailedError, match=r"0\.05 .*timeout_s"),
    ):
        retriever.ask(QUERY)


def test_a_secret_that_a_server_says_back_is_not_told(monkeypatch):
    monkeypatch.setenv("OUR_HEADER", "value-that-nobody-may-see")
    preset = _Preset(headers={"X-Team": "id ${OUR_HEADER}"})
    with (
        search_server(lambda asked: (400, f"bad {asked.headers['x-team']}")) as server,
        asking(server.url, preset) as retriever,
        pytest.raises(SystemFailedError, match=r"status 400: bad id \[redacted\]$"),
    ):
        retriever.ask(QUERY)


def test_parameters_of_the_address_are_kept_beside_those_of_the_preset():
    preset = _Preset(method="GET", params={"q": "{{ query }}"}, hits="")
    with search_server(lambda _: (200, [])) as server:
        assert found(f"{server.url}/find?site=ko", preset) == []
    assert server.asked[0].params == {"site": "ko", "q": QUERY.text}


def test_a_preset_of_a_teams_own_is_a_file(tmp_path):
    file = tmp_path / "ours.toml"
    file.write_text(
        'body = \'{"q": {{ query | tojson }}}\'\nhits = "data.0.rows"\nnote = "doc.path"\n', "utf-8"
    )
    reply = {"data": [{"rows": [{"doc": {"path": "a.md"}}, {"doc": {"path": 7}}]}]}
    with search_server(lambda _: (200, reply)) as server:
        assert found(server.url, str(file)) == [("a.md", None), ("7", None)]
    assert server.asked[0].body == {"q": QUERY.text}


def answered(url: str, preset: str | _AnswerPreset) -> Reply:
    named = isinstance(preset, str)
    chosen = _AnswerPreset.load(preset)[0] if named else preset
    system = HttpSystem(url, chosen, ANSWERS)
    try:
        return system.ask(QUERY)
    finally:
        system.close()


def test_a_chat_interface_answers_with_its_citations(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "chat-key")
    cited = {
        "citations": [{"filepath": "garden.md", "content": "The garden has roses.", "url": None}]
    }
    message = {"role": "assistant", "content": "It has roses [1].", "context": cited}
    reply = {"choices": [{"index": 0, "message": message}], "usage": {}}
    with search_server(lambda _: (200, reply)) as server:
        told = answered(f"{server.url}/v1/chat/completions", "openai")
    assert told == Reply(
        "It has roses [1].", (RankedNote("garden.md", None, "The garden has roses."),)
    )
    [asked] = server.asked
    assert asked.headers["authorization"] == "Bearer chat-key"
    assert asked.body["messages"] == [{"role": "user", "content": QUERY.text}]


def test_contexts_may_be_texts_by_themselves_or_stand_where_a_teams_own_preset_says(tmp_path):
    file = tmp_path / "ours.toml"
    file.write_text(
        'method = "GET"\nparams = { q = "{{ question }}" }\nanswer = "out.text"\n'
        'contexts = "out.docs"\nnote = "meta.path"\ntext = "chunk"\n',
        "utf-8",
    )
    docs = [{"meta": {"path": "a.md"}, "chunk": "A."}, "B.", {"meta": {"path": "c.md"}}]
    with search_server(lambda _: (200, {"out": {"text": "Yes.", "docs": docs}})) as server:
        told = answered(server.url, str(file))
    assert told.contexts == (
        RankedNote("a.md", None, "A."),
        RankedNote("", None, "B."),
        RankedNote("c.md"),
    )
    assert server.asked[0].params == {"q": QUERY.text}


def test_an_answer_without_contexts_is_an_answer():
    with search_server(lambda _: (200, {"answer": "Yes."})) as server:
        assert answered(server.url, "plain") == Reply("Yes.")
        assert answered(server.url, _AnswerPreset(contexts=None)) == Reply("Yes.")


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        (_Preset, "hitz = 'a'", "hits"),
        (_Preset, 'body = \'{"q": "{{ query }}"}\'', "{{ query | tojson }}"),
        (_Preset, "body = '{{ qurey }}'", "'qurey' is undefined"),
        (_Preset, "body = '{{ vector | tojson }}'", "embedder"),
        (_Preset, "body = '{{ query'", "template"),
        (_Preset, "method = 'PUT'", "method: "),
        (_Preset, "[", "system file"),
        # Those of a search are none of answers.
        (_AnswerPreset, "body = '{\"q\": {{ query | tojson }}}'", "template"),
        (_AnswerPreset, "hits = 'docs'", "hits"),
        (_AnswerPreset, 'body = \'{"q": "{{ question }}"}\'', "{{ question | tojson }}"),
    ],
)
def test_a_preset_that_cannot_work_is_refused_before_anything_is_asked(
    tmp_path, kind, content, message
):
    file = tmp_path / "ours.toml"
    file.write_text(content, "utf-8")
    with pytest.raises(InputError) as refusal:
        kind.load(str(file))
    assert str(refusal.value).startswith(f"{file}: ")
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("address", "key", "why"),
    [
        ("http:///x", "k", "the address has no host"), ("http://host:port/", "k", "Invalid port"),
        ("http://[::1/", "k", "Invalid IPv6 URL"), ("http://host/", "키", "codec can't encode"),
    ],
)  # fmt: skip
def test_an_address_or_a_key_that_cannot_be_sent_is_refused(monkeypatch, address, key, why):
    monkeypatch.setenv("OUR_KEY", key)
    with pytest.raises(InputError, match=rf"^--system: .*{why}"):
        HttpSystem(address, _Preset(headers={"X": "$OUR_KEY"}), rankings(1))


def test_an_unknown_preset_is_refused_with_those_that_there_are():
    with pytest.raises(InputError, match=r"--system-config solr: .* gigamind, m"):
        of_search("solr")


@pytest.mark.parametrize(
    ("path", "value"),
    [("", {"a": [{"b": 1}]}), ("a.0.b", 1), ("a.1.b", None), ("a.b", None), ("a.0.b.c", None)],
)
def test_a_path_leads_through_objects_and_lists(path, value):
    assert _at({"a": [{"b": 1}]}, path) == value


def test_a_fingerprint_tells_presets_apart_and_knows_no_key(monkeypatch):
    preset = _Preset(headers={"X": "$OUR_KEY"})
    before = preset.fingerprint
    monkeypatch.setenv("OUR_KEY", "another-key")
    assert preset.fingerprint == before != _Preset(headers={"X": "$OUR_KEY"}, note="id").fingerprint
    assert json.dumps(preset.model_dump()).count("another-key") == 0
