"""A Qdrant server: filled once, completed when half full, waited for when it is away, and named when it stays away."""

import itertools
import time
from dataclasses import replace

import numpy as np
import pytest
from loopback import free_ports
from plain_index import content_of
from qdrant_server import DROPPED
from search_servers import search_server

from gigamind.errors import IndexingError
from gigamind.retrieval import server as of_server
from gigamind.retrieval.server import _KEY_VARIABLE, connect, open_collection, switch_vault

# What stands in for a server here says once that it would search exactly without being asked to, and has no index of
# payloads.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning"),
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning"),
]


NAME = "gigamind-model-content"
MARK = f"{NAME}.complete"


@pytest.fixture
def engine(standing):
    """What the server has in memory."""
    return standing.engine


@pytest.fixture
def opened(standing, known):
    """Opens the collection of the known vectors, or of others, over HTTP."""
    indexes = []

    def open_(vectors=known.vectors, **options):
        content = content_of(vectors)
        indexes.append(open_collection(content, connect(standing.url), **options))
        return indexes[-1]

    yield open_
    for index in indexes:
        index.close()


def test_a_filled_collection_is_not_filled_again_unless_asked(engine, known):
    computed = []
    content = replace(
        content_of(known.vectors), vectors=lambda: computed.append(True) or known.vectors
    )

    open_collection(content, engine)
    open_collection(content, engine)
    assert len(computed) == 1
    index = open_collection(content, engine, refill=True)

    assert len(computed) == 2
    assert engine.count(NAME).count == 1_200
    assert index.nearest(known.query, 5)[0].tolist() == np.argsort(-known.exact)[:5].tolist()


def test_a_half_filled_collection_is_completed(engine, known):
    open_collection(content_of(known.vectors), engine)
    engine.delete(NAME, list(range(300, 900)))
    assert engine.count(NAME).count == 600

    index = open_collection(content_of(known.vectors), engine)

    assert engine.count(NAME).count == 1_200
    assert index.cosines(known.query, np.arange(1_200)) == pytest.approx(known.exact, abs=1e-6)


def test_a_point_tells_other_readers_where_its_chunk_stands(engine, known):
    open_collection(content_of(known.vectors), engine)

    (point,) = engine.retrieve(NAME, [7])

    assert point.payload == {"note": "note2.md", "start": 7, "end": 11}


def test_a_collection_that_another_run_has_just_created_is_filled(engine, known, monkeypatch):
    from qdrant_client import models

    looks = []

    def outpaced(name):
        """Another run creates the collection between this one's look and its own attempt."""
        looks.append(name)
        if len(looks) > 1:
            return True
        engine.create_collection(name, models.VectorParams(size=16, distance="Cosine"))
        return False

    monkeypatch.setattr(engine, "collection_exists", outpaced)

    index = open_collection(content_of(known.vectors), engine)

    assert looks
    assert index.nearest(known.query, 1)[0].tolist() == [int(np.argmax(known.exact))]


@pytest.fixture
def impatient(monkeypatch):
    """What waits for half a minute waits for a third of a second."""
    monkeypatch.setattr(of_server, "_PATIENCE_S", 0.3)


@pytest.mark.usefixtures("impatient")
def test_a_server_that_is_not_there_is_named_without_its_key(monkeypatch):
    monkeypatch.setenv(_KEY_VARIABLE, "secret-key-123")
    url = f"http://127.0.0.1:{free_ports()[0]}"

    with (
        pytest.raises(IndexingError) as caught,
        pytest.warns(UserWarning, match="insecure connection"),
    ):
        connect(url)

    assert caught.value.exit_code == 2
    assert str(caught.value).startswith(url + ":")
    assert _KEY_VARIABLE in str(caught.value)
    assert "secret-key-123" not in str(caught.value)


def test_a_server_that_is_not_there_is_told_at_once_and_a_silent_one_is_waited_for(
    standing, monkeypatch
):
    begun, (free_port, _other) = time.monotonic(), free_ports()
    with pytest.raises(IndexingError, match=str(free_port)):
        connect(f"http://127.0.0.1:{free_port}")
    assert time.monotonic() - begun < of_server._PATIENCE_S

    monkeypatch.setattr(of_server, "_PATIENCE_S", 1.0)
    standing.fault = lambda _method, _path: DROPPED if len(standing.requests) < 2 else None
    connect(standing.url).close()
    assert len(standing.requests) == 2


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("url", ["http://foo bar:6333", "http://"])
def test_an_address_that_is_none_is_an_indexing_error_that_names_it(url):
    with pytest.raises(IndexingError, match="--qdrant-url") as caught:
        connect(url)
    assert str(caught.value).startswith(url)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("status", "body"), [(500, "oops"), (200, "<html>not Qdrant</html>"), (404, "{}")]
)
def test_something_else_at_the_address_is_an_indexing_error(status, body):
    with (
        search_server(lambda _: (status, body)) as other,
        pytest.raises(IndexingError, match=other.url),
    ):
        connect(other.url)


def fails_for_the_first(count, status):
    """A fault of the first so many requests."""
    numbers = itertools.count()
    return lambda _method, _path: status if next(numbers) < count else None


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_over_http_a_collection_is_filled_marked_and_read(standing, opened, known, monkeypatch):
    monkeypatch.setenv(_KEY_VARIABLE, "secret")
    standing.key = "secret"
    index = opened()

    assert index.nearest(known.query, 1)[0].tolist() == [int(np.argmax(known.exact))]
    assert standing.aliases == {MARK: NAME}
    assert standing.requests.count(("PUT", f"/collections/{NAME}/points")) == 5  # 1 200 by 256


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
@pytest.mark.parametrize(("key", "status"), [(None, 401), ("wrong", 401), ("reader", 403)])
def test_a_key_that_is_refused_is_said_at_once_and_nothing_is_filled(
    key, status, standing, opened, monkeypatch
):
    if key:
        monkeypatch.setenv(_KEY_VARIABLE, key)
    standing.key, standing.read_only_key = "secret", "reader"
    with pytest.raises(IndexingError) as caught:
        opened()

    refusal = caught.value.message.values
    refusal = refusal.get("reason", caught.value.message).values
    assert (refusal["status"], refusal["variable"]) == (status, _KEY_VARIABLE)
    assert (key or "secret") not in str(caught.value)
    assert caught.value.exit_code == 2
    assert standing.requests.count(("GET", "/collections")) == 1
    assert standing.requests.count(("PUT", f"/collections/{NAME}")) <= 1
    assert standing.collections == []


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_no_message_says_a_key_or_a_password(standing, monkeypatch):
    monkeypatch.setattr(of_server, "_PATIENCE_S", 0.3)
    with pytest.raises(IndexingError) as away:
        connect("http://me:pass-word-1@127.0.0.1:9")
    assert str(away.value).startswith("http://[redacted]@127.0.0.1:9: ")
    monkeypatch.setenv(_KEY_VARIABLE, "secret-key-123")
    client = connect(standing.url)
    with pytest.raises(IndexingError) as caught:
        # A server says back what it was sent.
        switch_vault(client, "a", "gigamind-secret-key-123-gone")
    client.close()
    assert "gigamind-[redacted]-gone" in str(caught.value)


@pytest.mark.usefixtures("waits")
@pytest.mark.parametrize("status", [503, 429, DROPPED])
def test_a_server_that_is_away_for_a_moment_is_waited_for(status, standing, opened):
    standing.fault = fails_for_the_first(3, status)
    opened()

    assert standing.requests[:4] == [("GET", "/collections")] * 4
    assert standing.aliases == {MARK: NAME}


def dies_after(batches):
    """A fault of everything, once so many batches of points have come."""
    seen = itertools.count()

    def fault(_method, path):
        dead.extend([True] if path.endswith("/points") and next(seen) == batches else [])
        return DROPPED if dead else None

    dead: list[bool] = []
    return fault


@pytest.mark.usefixtures("impatient")
def test_a_filling_during_which_the_server_dies_is_never_read_as_whole(standing, opened, known):
    standing.fault = dies_after(batches=3)
    with pytest.raises(IndexingError) as caught:
        opened()
    assert caught.value.exit_code == 2
    assert standing.engine.count(NAME).count == 768
    assert standing.aliases == {}

    standing.fault = lambda _method, _path: None
    index = opened()

    assert index.cosines(known.query, np.arange(1_200)) == pytest.approx(known.exact, abs=1e-6)
    assert standing.aliases == {MARK: NAME}


@pytest.mark.usefixtures("impatient")
def test_a_collection_that_was_being_filled_anew_is_not_whole_though_every_point_is_there(
    standing, opened, known
):
    opened()
    standing.fault = dies_after(batches=3)
    turned = np.ascontiguousarray(-known.vectors)  # another model behind the same name
    with pytest.raises(IndexingError):
        opened(turned, refill=True)
    assert standing.engine.count(NAME).count == 1_200
    standing.fault = lambda _method, _path: None

    index = opened(turned)

    assert index.cosines(known.query, np.arange(1_200)) == pytest.approx(-known.exact, abs=1e-6)


def test_of_two_that_fill_at_the_same_time_neither_reads_a_half(standing, opened, known):
    """The second opens while the first has written two batches of five, and so fills, too."""
    found = []

    def second(_method, _path):
        batches = standing.requests.count(("PUT", f"/collections/{NAME}/points"))
        if batches == 3 and not found:
            found.append(None)
            found.append(opened().cosines(known.query, np.arange(1_200)))

    standing.fault = second
    opened()

    assert found[1] == pytest.approx(known.exact, abs=1e-6)
    assert standing.requests.count(("PUT", f"/collections/{NAME}/points")) == 10
    assert standing.engine.count(NAME).count == 1_200


def test_a_search_asks_again_for_less_time_than_a_query_has(standing, opened, known, monkeypatch):
    monkeypatch.setattr(of_server, "_QUERY_PATIENCE_S", 1.0)
    index = opened()
    standing.fault = fails_for_the_first(1, 503)
    assert index.nearest(known.query, 1)[0].tolist() == [int(np.argmax(known.exact))]
    standing.fault = lambda _method, _path: 503

    with pytest.raises(IndexingError, match="Unexpected Response: 503") as caught:
        index.nearest(known.query, 1)

    assert "\n" not in str(caught.value)


@pytest.fixture
def switch(standing, known):
    """Switches a vault to one of four complete collections; the collections that were dropped."""
    client = connect(standing.url)
    for name in "abcd":
        open_collection(content_of(known.vectors[:20], name), client)
    yield lambda name, vault="handbook": switch_vault(client, vault, f"gigamind-{name}")
    client.close()


def test_a_vault_keeps_the_collection_before_and_drops_the_one_before_that(standing, switch):
    assert [switch(name) for name in "aabc"] == [[], [], [], ["gigamind-a"]]
    assert standing.collections == ["gigamind-b", "gigamind-c", "gigamind-d"]
    assert standing.aliases == {
        "gigamind-handbook": "gigamind-c",
        "gigamind-handbook.before": "gigamind-b",
        **{f"gigamind-{name}.complete": f"gigamind-{name}" for name in "bcd"},
    }


def test_a_vault_that_is_as_it_was_before_swaps_with_the_one_before(standing, switch):
    assert [switch(name) for name in "abab"] == [[]] * 4
    assert standing.aliases["gigamind-handbook"] == "gigamind-b"
    assert standing.aliases["gigamind-handbook.before"] == "gigamind-a"


def test_a_collection_of_another_vault_too_is_not_dropped(standing, switch):
    switch("a", vault="handbook-ko")
    for name in "abcd":
        switch(name)

    assert standing.collections == ["gigamind-a", "gigamind-c", "gigamind-d"]
    assert standing.aliases["gigamind-handbook-ko"] == "gigamind-a"


def test_both_aliases_of_a_vault_are_switched_by_one_request(standing, switch):
    switch("a")
    standing.requests.clear()

    switch("b")

    changes = [path for verb, path in standing.requests if verb != "GET"]
    assert changes == ["/collections/aliases"]
