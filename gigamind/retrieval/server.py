"""A Qdrant server or cluster, through qdrant-client.

A collection is named by its content (model, chunking, notes), so it is never outdated and several vaults can share a
server.  Filling is idempotent: points are numbered by chunk, and an interrupted run is repeated over the same numbers.
When all points are present, the alias `NAME.complete` is set; a collection without it is filled and never read.  The
number of points is no sufficient check: a collection being refilled has old vectors among the new ones.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import numpy as np
from pydantic import ValidationError
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse
from tenacity import Retrying, retry_if_exception, stop_before_delay, wait_random_exponential

from gigamind.errors import IndexingError
from gigamind.i18n import Message, _, n_
from gigamind.llm.faults import is_reached
from gigamind.redaction import redacted
from gigamind.retrieval.embed import Vectors
from gigamind.retrieval.index import LAST_DIGIT, Cosines, Ids, IndexContent, flat_reason, rounded

_KEY_VARIABLE = "QDRANT_API_KEY"
_PATIENCE_S = 30.0
"""Seconds to retry a server that does not answer; after a restart it reads its collections first."""
_QUERY_PATIENCE_S = 5.0
"""The same for a search, which has its own time limit."""
_PREFIX = "gigamind-"
_COMPLETE = ".complete"
_BEFORE = ".before"
_BATCH = 256
_TIMEOUT_S = 60
_EXACT = models.SearchParams(exact=True)


class _ServerIndex:
    """One collection of a Qdrant server; several threads can query it."""

    def __init__(self, client: QdrantClient, collection: str) -> None:
        self._client = client
        self.collection = collection

    def nearest(self, query: Vectors, limit: int) -> tuple[Ids, Cosines]:
        points = self._points(query, limit, None)
        ids = np.array([point.id for point in points], np.int64)
        return ids, rounded([point.score for point in points])

    def shortlist(self, query: Vectors, limit: int) -> tuple[Ids, Cosines, float]:
        ids, cosines = self.nearest(query, limit)
        return ids, cosines, cosines[-1] + LAST_DIGIT  # the server orders by one digit more

    def cosines(self, query: Vectors, chunks: Ids) -> Cosines:
        wanted = chunks.tolist()
        points = self._points(query, len(wanted), wanted)
        return _in_order_of(wanted, {int(str(point.id)): point.score for point in points})

    def close(self) -> None:
        self._client.close()

    def _points(
        self, query: Vectors, limit: int, only: Sequence[int] | None
    ) -> list[models.ScoredPoint]:
        these = None if only is None else models.HasIdCondition(has_id=list(only))
        answer = _call(
            self._client.query_points,
            self.collection,
            query=query.tolist(),
            limit=limit,
            query_filter=models.Filter(must=[these]) if these else None,
            search_params=_EXACT,
            with_payload=False,
            patience_s=_QUERY_PATIENCE_S,
        )
        return answer.points


def _in_order_of(chunks: Sequence[int], scored: dict[int, float]) -> Cosines:
    """Return the rounded scores of `chunks` in their order; raise IndexingError if one is missing."""
    if missing := set(chunks) - scored.keys():
        message = n_(
            "{n} chunk of the notes is missing in the vector index. Rebuild the index with --cold-start.",
            "{n} chunks of the notes are missing in the vector index. Rebuild the index with --cold-start.",
            n=len(missing),
        )
        raise IndexingError(message)
    return rounded([scored[chunk] for chunk in chunks])


def connect(url: str) -> QdrantClient:
    """Connect to the server at `url`, with the key in `QDRANT_API_KEY` if it needs one.

    Raises:
        IndexingError: No Qdrant server answers within `_PATIENCE_S` (at once if the connection is refused), or it
            rejects the key.
    """
    key = os.environ.get(_KEY_VARIABLE)
    try:
        # The version check would only warn, and the first request detects the same.
        client = QdrantClient(url=url, api_key=key, timeout=_TIMEOUT_S, check_compatibility=False)
        begins = _retrying(_PATIENCE_S, lambda error: _passes(error) and is_reached(error))
        begins(client.get_collections)
    except Exception as error:
        reason = redacted((str(error) or type(error).__name__).splitlines()[0])
        text = _refusal(error) or _(
            "the Qdrant server does not respond: {reason}. Start the server, correct --qdrant-url, or set the API"
            " key in {variable}.",
            reason=reason,
            variable=_KEY_VARIABLE,
        )
        raise IndexingError("{url}: {reason}", url=redacted(url), reason=text) from error
    return client


def open_collection(
    content: IndexContent, client: QdrantClient, *, refill: bool = False
) -> _ServerIndex:
    """Return the collection of this content; fill it if it is incomplete or `refill` is set.

    Raises:
        IndexingError: The server failed for `_PATIENCE_S`; an incomplete collection is never read.
        EmbeddingError: The vectors of a new collection cannot be computed.
    """
    collection = _PREFIX + content.name
    if refill or not _holds(client, collection, len(content.chunks)):
        _fill(client, collection, content)
    return _ServerIndex(client, collection)


def alias_of(vault: str) -> str:
    """Return the alias under which other readers find the current content of a vault."""
    return _PREFIX + vault


def switch_vault(client: QdrantClient, vault: str, collection: str) -> list[str]:
    """Make a complete collection the current one of the vault, for all readers at once; return deleted collections.

    The previous collection is kept for active readers.  The one before it is deleted, unless another vault uses it.

    Raises:
        IndexingError: The server failed; the aliases are unchanged or already switched.
    """
    now, before = alias_of(vault), alias_of(vault) + _BEFORE
    aliases = _aliases(client)
    current, oldest = aliases.get(now), aliases.get(before)
    if current == collection:
        return []
    kept = {collection, current} | {
        target
        for alias, target in aliases.items()
        if alias not in {now, before} and not alias.endswith(_COMPLETE)
    }
    # Before the switch, so that a killed process leaves no collection without an alias.
    dropped = [oldest] if oldest and oldest not in kept else []
    for name in dropped:
        _call(client.delete_collection, name)
    _point(client, {now: collection, **({before: current} if current else {})})
    return dropped


def _holds(client: QdrantClient, collection: str, size: int) -> bool:
    if _aliases(client).get(collection + _COMPLETE) != collection:
        return False
    return _call(client.count, collection, exact=True).count == size


def _fill(client: QdrantClient, collection: str, content: IndexContent) -> None:
    vectors = content.vectors()
    _point(client, {collection + _COMPLETE: None})
    if not _call(client.collection_exists, collection):
        _create(client, collection, vectors.shape[1])
    _call(client.create_payload_index, collection, "note", models.PayloadSchemaType.KEYWORD)
    for start in range(0, len(vectors), _BATCH):
        rows = range(start, min(start + _BATCH, len(vectors)))
        points = [
            models.PointStruct(id=i, vector=vectors[i].tolist(), payload=content.chunks[i].payload)
            for i in rows
        ]
        _call(client.upsert, collection, points, wait=True)
    _point(client, {collection + _COMPLETE: collection})


def _create(client: QdrantClient, collection: str, dimensions: int) -> None:
    params = models.VectorParams(size=dimensions, distance=models.Distance.COSINE)
    try:
        _call(client.create_collection, collection, vectors_config=params)
    except IndexingError:
        if not _call(client.collection_exists, collection):  # else another run was first
            raise


def _aliases(client: QdrantClient) -> dict[str, str]:
    aliases = _call(client.get_aliases).aliases
    return {alias.alias_name: alias.collection_name for alias in aliases}


def _point(client: QdrantClient, wanted: Mapping[str, str | None]) -> None:
    """Point these aliases to these collections, or delete them (None), all at once."""
    known = _aliases(client)
    old = [
        models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
        for alias in wanted
        if alias in known
    ]
    new = [
        models.CreateAliasOperation(
            create_alias=models.CreateAlias(alias_name=alias, collection_name=name)
        )
        for alias, name in wanted.items()
        if name
    ]
    if changes := [*old, *new]:
        _call(client.update_collection_aliases, changes)


def _call(
    call: Callable[..., Any], *arguments: object, patience_s: float | None = None, **options: object
) -> Any:  # noqa: ANN401
    """Call the server and retry for `patience_s` seconds if that can help; raise IndexingError at last."""
    retrying = _retrying(_PATIENCE_S if patience_s is None else patience_s)
    try:
        return retrying(call, *arguments, **options)
    except Exception as error:
        reason = redacted(flat_reason(error))
        raise IndexingError(
            _refusal(error) or _("the Qdrant server failed: {reason}", reason=reason)
        ) from error


def _retrying(patience_s: float, passes: Callable[[BaseException], bool] | None = None) -> Retrying:
    return Retrying(
        retry=retry_if_exception(passes or _passes),
        stop=stop_before_delay(patience_s),
        wait=wait_random_exponential(0.2, max=4),
        reraise=True,
    )


def _passes(error: BaseException) -> bool:
    if isinstance(error, UnexpectedResponse):
        status = error.status_code or 0
        return status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS
    if isinstance(error, ResponseHandlingException):
        return not isinstance(error.source, ValidationError)  # the reply is not from Qdrant
    return isinstance(error, ResourceExhaustedResponse)


def _refusal(error: BaseException) -> Message | None:
    refused = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
    if not isinstance(error, UnexpectedResponse) or error.status_code not in refused:
        return None
    return _(
        "the Qdrant server rejected the API key (HTTP status {status}). Set {variable} to a key with read and"
        " write access.",
        status=error.status_code,
        variable=_KEY_VARIABLE,
    )
