"""Search servers on loopback over real HTTP: a team's own in a few lines, and the protocols of well-known engines.

Requests that an engine would refuse are refused; replies have the shape of its documentation.  All of them rank by how
many words a document shares with the query.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from loopback import Answering, listening

Reply = tuple[int, Any]
"""Status, and what is sent: JSON, or a text as it is."""


@dataclass
class Asked:
    """One request."""

    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class SearchServer:
    """A server that answers as `respond` says.

    Attributes:
        respond: gives the reply to a request.
        asked: every request that came, in order.
    """

    respond: Callable[[Asked], Reply]
    retry_after: str = ""  # header of each reply
    url: str = ""
    asked: list[Asked] = field(default_factory=list)


class _Handler(Answering):
    protocol_version = "HTTP/1.1"

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        asked = Asked(
            self.command,
            parts.path,
            {name: values[0] for name, values in parse_qs(parts.query).items()},
            {name.lower(): value for name, value in self.headers.items()},
            json.loads(self.body() or b"null"),
        )
        self.server.searching.asked.append(asked)
        status, told = self.server.searching.respond(asked)
        with contextlib.suppress(ConnectionError):  # whoever asked does not wait any more
            if isinstance(told, str):
                kind = "text/html" if told.startswith("<") else "application/json"
                self.answer(status, told.encode(), kind)
            else:
                self.answer(status, told, retry_after=self.server.searching.retry_after)

    do_GET = do_POST = do_PATCH = _handle  # noqa: N815


@contextlib.contextmanager
def search_server(
    respond: Callable[[Asked], Reply], retry_after: str = ""
) -> Iterator[SearchServer]:
    """A server on loopback until the block ends."""
    searching = SearchServer(respond, retry_after)
    with listening(_Handler, searching=searching) as server:
        searching.url = server.url
        yield searching


def ranked(query: str, documents: dict[str, str]) -> list[tuple[str, float]]:
    """Documents with a word of the query, the share of its words that they have, best first."""
    wanted = set(re.findall(r"\w+", query.lower()))
    shared = {
        name: len(wanted & set(re.findall(r"\w+", f"{name} {text}".lower()))) / max(1, len(wanted))
        for name, text in documents.items()
    }
    return sorted(((n, s) for n, s in shared.items() if s), key=lambda hit: (-hit[1], hit[0]))


def plain(documents: dict[str, str]) -> Callable[[Asked], Reply]:
    """What `systems/plain.toml` asks."""

    def respond(asked: Asked) -> Reply:
        found = ranked(asked.body["query"], documents)[: asked.body["topk"]]
        return 200, {"hits": [{"note": n, "score": s, "text": documents[n]} for n, s in found]}

    return respond


def opensearch(documents: dict[str, str]) -> Callable[[Asked], Reply]:
    """`POST /notes/_search` of OpenSearch and Elasticsearch."""

    def respond(asked: Asked) -> Reply:
        if (asked.method, asked.path) != ("POST", "/notes/_search"):
            return 404, {"error": {"type": "index_not_found_exception"}, "status": 404}
        match = asked.body["query"]["multi_match"]
        assert set(asked.body) == {"size", "query"}
        assert match["fields"] == ["title^2", "text"]
        found = [(n, 12.5 * s) for n, s in ranked(match["query"], documents)][: asked.body["size"]]
        hits = [
            {
                "_index": "notes", "_id": n, "_score": s,
                "_source": {"title": n, "text": documents[n]},
            }
            for n, s in found
        ]  # fmt: skip
        total = {"value": len(hits), "relation": "eq"}
        best = hits[0]["_score"] if hits else None
        shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
        return 200, {
            "took": 1, "timed_out": False, "_shards": shards,
            "hits": {"total": total, "max_score": best, "hits": hits},
        }  # fmt: skip

    return respond


def meilisearch(documents: dict[str, str]) -> Callable[[Asked], Reply]:
    """`POST /indexes/notes/search` of Meilisearch, with a key."""

    def respond(asked: Asked) -> Reply:
        if asked.headers.get("authorization") != "Bearer masterKey-123":
            return 401, {"message": "missing authorization header", "type": "auth"}
        assert (asked.method, asked.path) == ("POST", "/indexes/notes/search")
        assert asked.body["showRankingScore"] is True
        found = ranked(asked.body["q"], documents)[: asked.body["limit"]]
        hits = [
            {"id": at, "path": n, "text": documents[n], "_rankingScore": s}
            for at, (n, s) in enumerate(found)
        ]
        told = {"query": asked.body["q"], "limit": asked.body["limit"], "offset": 0}
        return 200, {"hits": hits, "processingTimeMs": 0, "estimatedTotalHits": len(hits), **told}

    return respond


def typesense(documents: dict[str, str]) -> Callable[[Asked], Reply]:
    """`GET /collections/notes/documents/search` of Typesense, with a key."""

    def respond(asked: Asked) -> Reply:
        if asked.headers.get("x-typesense-api-key") != "typesense-key":
            return 401, {
                "message": "Forbidden - a valid `x-typesense-api-key` header must be sent."
            }
        assert (asked.method, asked.path) == ("GET", "/collections/notes/documents/search")
        assert asked.params["query_by"] == "title,text"
        found = ranked(asked.params["q"], documents)[: int(asked.params["per_page"])]
        hits = [
            {
                "document": {"id": str(at), "path": n, "text": documents[n]}, "highlight": {},
                "highlights": [], "text_match": 578_730_123_365_711_993 + int(1e6 * s),
            }
            for at, (n, s) in enumerate(found)
        ]  # fmt: skip
        return 200, {"found": len(hits), "hits": hits, "page": 1, "search_time_ms": 0}

    return respond
