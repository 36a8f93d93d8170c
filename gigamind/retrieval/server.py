"""A Qdrant server or cluster, through qdrant-client.

A collection is named by its content (model, chunking, notes), so it never goes stale and several vaults share a server.
Filling it is idempotent: points are numbered by chunk, and an interrupted filling is done again over the same numbers.
Whoever has seen to it that all of them are there sets the alias `NAME.complete`; a collection without it is filled, and
never read.  The number of points alone would not tell: one that is filled anew holds old vectors among the new ones.
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
from gigamind.llm.faults import is_reached
from gigamind.llm.redaction import redacted
from gigamind.retrieval.embed import Vectors
from gigamind.retrieval.index import (
    LAST_DIGIT,
    Cosines,
    Ids,
    IndexContent,
    guarded,
    payload,
    rounded,
)

KEY_VARIABLE = "QDRANT_API_KEY"
PATIENCE_S = 30.0
"""How long a server that does not answer is asked again: one that is started anew reads its collections first."""
QUERY_PATIENCE_S = 5.0
"""The same for a search, which has a time limit of its own."""
_PREFIX = "gigamind-"
_COMPLETE = ".complete"
_BEFORE = ".before"
_BATCH = 256
_TIMEOUT_S = 60
_EXACT = models.SearchParams(exact=True)


class ServerIndex:
    """One collection of a Qdrant server; queries may come from several threads."""

    def __init__(self, client: QdrantClient, collection: str) -> None:
        self._client = client
        self.collection = collection

    def nearest(self, query: Vectors, limit: int) -> tuple[Ids, Cosines]:
        points = self._points(query, limit, None)
        ids = np.array([point.id for point in points], np.int64)
        return ids, rounded([point.score for point in points])

    def shortlist(self, query: Vectors, limit: int) -> tuple[Ids, Cosines, float]:
        ids, cosines = self.nearest(query, limit)
        return ids, cosines, cosines[-1] + LAST_DIGIT  # it orders by one digit more

    def cosines(self, query: Vectors, chunks: Ids) -> Cosines:
        wanted = chunks.tolist()
        points = self._points(query, len(wanted), wanted)
        return in_order_of(wanted, {int(str(point.id)): point.score for point in points})

    def close(self) -> None:
        self._client.close()

    def _points(
        self, query: Vectors, limit: int, only: Sequence[int] | None
    ) -> list[models.ScoredPoint]:
        these = None if only is None else models.HasIdCondition(has_id=list(only))
        answer = _asked(
            self._client.query_points,
            self.collection,
            query=query.tolist(),
            limit=limit,
            query_filter=models.Filter(must=[these]) if these else None,
            search_params=_EXACT,
            with_payload=False,
            patience_s=QUERY_PATIENCE_S,
        )
        return answer.points


def in_order_of(chunks: Sequence[int], scored: dict[int, float]) -> Cosines:
    """Rounded scores of `chunks` in their order, from what an engine answered in its own.

    Raises:
        IndexingError: the engine lacks one of them.
    """
    if missing := set(chunks) - scored.keys():
        raise IndexingError(
            f"the vector index lacks {len(missing)} of its chunks: build it again with --cold-start"
        )
    return rounded([scored[chunk] for chunk in chunks])


def connect(url: str) -> QdrantClient:
    """A client of the server at `url`; its key, if it wants one, stands in `QDRANT_API_KEY`.

    Raises:
        IndexingError: nothing that speaks Qdrant answers there within `PATIENCE_S`, at once where nothing listens; or
            it refuses the key.
    """
    key = os.environ.get(KEY_VARIABLE)
    try:
        # The look at the server's version would warn, and say nothing that the first request does not.
        client = QdrantClient(url=url, api_key=key, timeout=_TIMEOUT_S, check_compatibility=False)
        _retrying(PATIENCE_S, _may_begin)(client.get_collections)
    except Exception as error:
        reason = redacted((str(error) or type(error).__name__).splitlines()[0])
        raise IndexingError(
            f"{redacted(url)}: "
            + (
                _refusal(error)
                or f"no Qdrant server answers ({reason}): start it, mend --qdrant-url, or set {KEY_VARIABLE}"
            )
        ) from error
    return client


def open_collection(
    content: IndexContent, client: QdrantClient, *, refill: bool = False
) -> ServerIndex:
    """The collection of this content, filled unless the server holds all of it already (and `refill` is off).

    Raises:
        IndexingError: the server failed, and went on to for `PATIENCE_S`; what was filled by then is never read.
        EmbeddingError: the vectors of a new collection cannot be computed.
    """
    collection = _PREFIX + content.name
    if refill or not _holds(client, collection, len(content.chunks)):
        _fill(client, collection, content)
    return ServerIndex(client, collection)


def alias_of(vault: str) -> str:
    """The name under which other readers find what a vault holds now."""
    return _PREFIX + vault


def switch_vault(client: QdrantClient, vault: str, collection: str) -> list[str]:
    """Make a complete collection that of the vault, for all readers at once; the collections dropped for it.

    The one before is kept, for what still reads it, and the one before that goes, unless it is another vault's, too.

    Raises:
        IndexingError: the server failed; every alias is then as it was, or as it is to be.
    """
    now, before = alias_of(vault), alias_of(vault) + _BEFORE
    aliases = _aliases(client)
    current, oldest = aliases.get(now), aliases.get(before)
    if current == collection:
        return []
    kept = {collection, current} | {
        held
        for alias, held in aliases.items()
        if alias not in {now, before} and not alias.endswith(_COMPLETE)
    }
    # Before the switch: a process that is killed in between leaves nothing that no alias names.
    dropped = [oldest] if oldest and oldest not in kept else []
    for name in dropped:
        _asked(client.delete_collection, name)
    _point(client, {now: collection, **({before: current} if current else {})})
    return dropped


def _holds(client: QdrantClient, collection: str, size: int) -> bool:
    if _aliases(client).get(collection + _COMPLETE) != collection:
        return False
    return _asked(client.count, collection, exact=True).count == size


def _fill(client: QdrantClient, collection: str, content: IndexContent) -> None:
    vectors = content.vectors()
    _point(client, {collection + _COMPLETE: None})
    if not _asked(client.collection_exists, collection):
        _create(client, collection, vectors.shape[1])
    _asked(client.create_payload_index, collection, "note", models.PayloadSchemaType.KEYWORD)
    for start in range(0, len(vectors), _BATCH):
        rows = range(start, min(start + _BATCH, len(vectors)))
        points = [
            models.PointStruct(id=i, vector=vectors[i].tolist(), payload=payload(content.chunks[i]))
            for i in rows
        ]
        _asked(client.upsert, collection, points, wait=True)
    _point(client, {collection + _COMPLETE: collection})


def _create(client: QdrantClient, collection: str, dimensions: int) -> None:
    params = models.VectorParams(size=dimensions, distance=models.Distance.COSINE)
    try:
        _asked(client.create_collection, collection, vectors_config=params)
    except IndexingError:
        if not _asked(client.collection_exists, collection):  # else another run was first
            raise


def _aliases(client: QdrantClient) -> dict[str, str]:
    """Every alias of the server, and the collection that it names."""
    aliases = _asked(client.get_aliases).aliases
    return {alias.alias_name: alias.collection_name for alias in aliases}


def _point(client: QdrantClient, wanted: Mapping[str, str | None]) -> None:
    """Let these aliases name these collections, or nothing (None), all of them at once."""
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
        _asked(client.update_collection_aliases, changes)


def _asked(
    call: Callable[..., Any],
    *arguments: object,
    patience_s: float | None = None,
    **options: object,
) -> Any:  # noqa: ANN401
    """Call the server, again and again for `patience_s` seconds (`PATIENCE_S` without it) where that may help.

    Raises:
        IndexingError: it failed.
    """
    retrying = _retrying(PATIENCE_S if patience_s is None else patience_s)
    try:
        return guarded("Qdrant server", retrying, call, *arguments, **options)
    except IndexingError as error:
        raise IndexingError(_refusal(error.__cause__) or redacted(str(error))) from error


def _retrying(patience_s: float, passes: Callable[[BaseException], bool] | None = None) -> Retrying:
    return Retrying(
        retry=retry_if_exception(passes or _passes),
        stop=stop_before_delay(patience_s),
        wait=wait_random_exponential(0.2, max=4),
        reraise=True,
    )


def _passes(error: BaseException) -> bool:
    """Whether the same may be answered later: nobody is there, or the server is starting or overloaded."""
    if isinstance(error, UnexpectedResponse):
        status = error.status_code or 0
        return status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS
    if isinstance(error, ResponseHandlingException):
        return not isinstance(error.source, ValidationError)  # what answers is no Qdrant
    return isinstance(error, ResourceExhaustedResponse)


def _may_begin(error: BaseException) -> bool:
    """The same of the first request: where nothing listens, the address is wrong more often than the time."""
    return _passes(error) and is_reached(error)


def _refusal(error: BaseException | None) -> str | None:
    """What a server says to the wrong key, and to one that may only read; None for another error."""
    refused = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
    if not isinstance(error, UnexpectedResponse) or error.status_code not in refused:
        return None
    return f"the Qdrant server refuses the key ({error.status_code}): set {KEY_VARIABLE} to one that may read and write"
