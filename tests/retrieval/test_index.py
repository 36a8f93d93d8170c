"""Both engines behind the one protocol."""

import threading

import numpy as np
import pytest
from qdrant_client import QdrantClient
from qdrant_server import qdrant

from gigamind.errors import IndexingError
from gigamind.retrieval.edge import open_edge
from gigamind.retrieval.index import rounded
from gigamind.retrieval.server import connect, in_order_of, open_collection

# What stands in for a server here says once that it would search exactly without being asked to, and has no index of
# payloads.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning"),
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning"),
]


@pytest.fixture(params=["edge in a temporary folder", "edge in a cache", "server"])
def index(request, content_of, tmp_path, known):
    if request.param == "server":
        with qdrant() as standing:
            opened = open_collection(content_of(known.vectors), connect(standing.url))
            yield opened
            opened.close()
    else:
        folder = tmp_path / "indexes" if request.param == "edge in a cache" else None
        opened = open_edge(content_of(known.vectors), folder)
        yield opened
        opened.close()


@pytest.mark.parametrize("limit", [1, 10, 1_200])
def test_nearest_is_exact(index, limit, known):
    ids, cosines = index.nearest(known.query, limit)

    assert ids.tolist() == np.argsort(-known.exact, kind="stable")[:limit].tolist()
    assert cosines == pytest.approx(np.sort(known.exact)[::-1][:limit], abs=1e-6)


def test_cosines_stand_in_the_order_that_was_asked(index, known):
    wanted = np.array([1_199, 0, 7, 601, 600])

    assert index.cosines(known.query, wanted) == pytest.approx(known.exact[wanted], abs=1e-6)


def test_cosines_of_every_chunk_can_be_asked_at_once(index, known):
    assert index.cosines(known.query, np.arange(1_200)) == pytest.approx(known.exact, abs=1e-6)


def test_both_engines_agree_but_for_the_last_digit(content_of, known):
    edge = open_edge(content_of(known.vectors), folder=None)
    server = open_collection(content_of(known.vectors), QdrantClient(":memory:"))

    assert (
        edge.nearest(known.query, 300)[0].tolist() == server.nearest(known.query, 300)[0].tolist()
    )
    assert edge.cosines(known.query, np.arange(1_200)) == pytest.approx(
        server.cosines(known.query, np.arange(1_200)), abs=1.01e-6
    )
    edge.close()
    server.close()


def test_an_index_answers_from_several_threads(index, known):
    expected = index.nearest(known.query, 10)[0].tolist()
    found: list[list[int]] = []
    threads = [
        threading.Thread(
            target=lambda: [
                found.append(index.nearest(known.query, 10)[0].tolist()) for _ in range(20)
            ]
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [expected] * 80


def test_a_chunk_that_the_engine_lacks_is_an_indexing_error():
    assert in_order_of([1, 0], {0: 0.5, 1: 0.25}).tolist() == [0.25, 0.5]
    with pytest.raises(IndexingError) as caught:
        in_order_of([1, 0], {1: 0.25})
    assert caught.value.message.values["n"] == 1


def test_cosines_are_kept_to_six_digits_and_within_their_range():
    assert rounded([0.12345649, 0.1234565001, 1.000001, -1.000001]).tolist() == [
        0.123456, 0.123457, 1.0, -1.0,
    ]  # fmt: skip
