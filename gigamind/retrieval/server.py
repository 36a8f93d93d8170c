"""A Qdrant server or cluster, through qdrant-client.

A collection is named by its content (model, chunking, notes), so it never goes stale and several vaults share a server.
Filling it is idempotent: points are numbered by chunk, and an interrupted filling is done again over the same numbers.
"""

import os
from collections.abc import Sequence
from functools import partial

from qdrant_client import QdrantClient, models

from gigamind.errors import IndexingError
from gigamind.retrieval.embed import Vectors
from gigamind.retrieval.index import EngineIndex, IndexContent, guarded, payload

KEY_VARIABLE = "QDRANT_API_KEY"
_BATCH = 256
_TIMEOUT_S = 60
_guarded = partial(guarded, "Qdrant server")
_EXACT = models.SearchParams(exact=True)


class ServerIndex(EngineIndex):
    """One collection of a Qdrant server; queries may come from several threads."""

    def __init__(self, client: QdrantClient, collection: str) -> None:
        self._client = client
        self._collection = collection

    def close(self) -> None:
        self._client.close()

    def _points(
        self, query: Vectors, limit: int, only: Sequence[int] | None
    ) -> list[models.ScoredPoint]:
        these = None if only is None else models.HasIdCondition(has_id=list(only))
        answer = _guarded(
            self._client.query_points,
            self._collection,
            query=query.tolist(),
            limit=limit,
            query_filter=models.Filter(must=[these]) if these else None,
            search_params=_EXACT,
            with_payload=False,
        )
        return answer.points


def connect(url: str) -> QdrantClient:
    """A client of the server at `url`; its key, if it wants one, stands in `QDRANT_API_KEY`.

    Raises:
        IndexingError: nothing that speaks Qdrant answers there.
    """
    key = os.environ.get(KEY_VARIABLE)
    try:
        # The look at the server's version would warn, and say nothing that the first request does not.
        client = QdrantClient(url=url, api_key=key, timeout=_TIMEOUT_S, check_compatibility=False)
        client.get_collections()
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise IndexingError(
            f"{url}: no Qdrant server answers ({reason}): start it, mend --qdrant-url, or set {KEY_VARIABLE}"
        ) from error
    return client


def open_collection(
    content: IndexContent, client: QdrantClient, *, refill: bool = False
) -> ServerIndex:
    """The collection of this content, filled unless the server holds all of it already (and `refill` is off).

    Raises:
        IndexingError: the server failed.
        EmbeddingError: the vectors of a new collection cannot be computed.
    """
    collection = f"gigamind-{content.name}"
    if refill or not _holds(client, collection, len(content.chunks)):
        _fill(client, collection, content)
    return ServerIndex(client, collection)


def _holds(client: QdrantClient, collection: str, size: int) -> bool:
    if not _guarded(client.collection_exists, collection):
        return False
    return _guarded(client.count, collection, exact=True).count == size


def _fill(client: QdrantClient, collection: str, content: IndexContent) -> None:
    vectors = content.vectors()
    if not _guarded(client.collection_exists, collection):
        _create(client, collection, vectors.shape[1])
    _guarded(client.create_payload_index, collection, "note", models.PayloadSchemaType.KEYWORD)
    for start in range(0, len(vectors), _BATCH):
        rows = range(start, min(start + _BATCH, len(vectors)))
        points = [
            models.PointStruct(id=i, vector=vectors[i].tolist(), payload=payload(content.chunks[i]))
            for i in rows
        ]
        _guarded(client.upsert, collection, points, wait=True)


def _create(client: QdrantClient, collection: str, dimensions: int) -> None:
    params = models.VectorParams(size=dimensions, distance=models.Distance.COSINE)
    try:
        _guarded(client.create_collection, collection, vectors_config=params)
    except IndexingError:
        if not _guarded(client.collection_exists, collection):  # else another run was first
            raise
