"""Both engines behind the one protocol."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from plain_index import content_of
from qdrant_server import qdrant

from gigamind.errors import IndexingError
from gigamind.retrieval.edge import open_edge
from gigamind.retrieval.index import rounded
from gigamind.retrieval.server import _in_order_of, connect, open_collection


@pytest.fixture(scope="module", params=["edge in a temporary folder", "edge in a cache", "server"])
def index(request, tmp_path_factory, known):
    if request.param == "server":
        with qdrant() as standing:
            opened = open_collection(content_of(known.vectors), connect(standing.url))
            yield opened
            opened.close()
    else:
        in_cache = request.param == "edge in a cache"
        folder = tmp_path_factory.mktemp("indexes") if in_cache else None
        opened = open_edge(content_of(known.vectors), folder)
        yield opened
        opened.close()


@pytest.mark.parametrize("limit", [1, 10, 1_200])
def test_nearest_is_exact(index, limit, known):
    ids, cosines = index.nearest(known.query, limit)

    assert ids.tolist() == np.argsort(-known.exact, kind="stable")[:limit].tolist()
    assert cosines == pytest.approx(np.sort(known.exact)[::-1][:limit], abs=1e-6)


@pytest.mark.parametrize("wanted", [[1_199, 0, 7, 601, 600], range(1_200)], ids=["some", "every"])
def test_cosines_stand_in_the_order_that_was_asked(index, wanted, known):
    chunks = np.array(wanted)

    assert index.cosines(known.query, chunks) == pytest.approx(known.exact[chunks], abs=1e-6)


def test_an_index_answers_from_several_threads(index, known):
    expected = index.nearest(known.query, 10)[0].tolist()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: index.nearest(known.query, 10)[0].tolist(), range(20)))

    assert found == [expected] * 20


def test_a_chunk_that_the_engine_lacks_is_an_indexing_error():
    assert _in_order_of([1, 0], {0: 0.5, 1: 0.25}).tolist() == [0.25, 0.5]
    with pytest.raises(IndexingError) as caught:
        _in_order_of([1, 0], {1: 0.25})
    assert caught.value.message.values["n"] == 1


def test_cosines_are_kept_to_six_digits_and_within_their_range():
    assert rounded([0.12345649, 0.1234565001, 1.000001, -1.000001]).tolist() == [
        0.123456, 0.123457, 1.0, -1.0,
    ]  # fmt: skip
