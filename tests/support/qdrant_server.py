"""Stands in for a Qdrant server: its HTTP API, as far as gigamind asks for it, over qdrant-client's in-memory engine.

The client that speaks to it is the real one, over real HTTP.  Paths, bodies and status codes are those of Qdrant's REST
API; requests and answers are read and written by the models that qdrant-client generates from it, which takes a second
to import.
"""

import contextlib
import json
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loopback import Answering, listening
from pydantic import BaseModel, TypeAdapter

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

DROPPED = 0
"""A fault's answer: the connection is closed without one, as by a server that has died."""
Fault = Callable[[str, str], int | None]


@dataclass
class Standing:
    """A server that answers.

    Attributes:
        key, read_only_key: what it lets in; no key: everybody.
        fault: asked with method and path before each request, gives a status to answer instead; None: none.
        requests: method and path of each that came, those that a fault answered included.
    """

    url: str = ""
    key: str | None = None
    read_only_key: str | None = None
    fault: Fault = lambda _method, _path: None
    requests: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        from qdrant_client import QdrantClient

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.engine = QdrantClient(":memory:")
        self.lock = threading.Lock()

    @property
    def collections(self) -> list[str]:
        return sorted(entry.name for entry in self.engine.get_collections().collections)

    @property
    def aliases(self) -> dict[str, str]:
        found = self.engine.get_aliases().aliases
        return {alias.alias_name: alias.collection_name for alias in found}

    def refusal(self, method: str, path: str, key: str | None) -> int | None:
        """Status for a request that this key does not allow."""
        if self.key is None or key == self.key:
            return None
        if self.read_only_key is None or key != self.read_only_key:
            return 401
        reads = method == "GET" or path.endswith(("/query", "/count", "/points"))
        return None if reads else 403

    def answer(self, method: str, path: str, body: Any) -> Any:
        """Result of a request.

        Raises:
            LookupError: no such path.
            ValueError: the engine refuses: no such collection, or one that is there already.
        """
        for verb, pattern, call in _ROUTES:
            found = re.fullmatch(pattern, path)
            if verb == method and found:
                with self.lock, warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    return call(self.engine, body, *found.groups())
        raise LookupError(f"{method} {path}")


def _create(engine: "QdrantClient", body: Any, name: str) -> bool:
    from qdrant_client import models

    wanted = models.CreateCollection.model_validate(body)
    return engine.create_collection(name, vectors_config=wanted.vectors)


def _upsert(engine: "QdrantClient", body: Any, name: str) -> Any:
    from qdrant_client import models

    return engine.upsert(name, models.PointsList.model_validate(body).points)


def _query(engine: "QdrantClient", body: Any, name: str) -> Any:
    from qdrant_client import models

    asked = models.QueryRequest.model_validate(body)
    return engine.query_points(
        name,
        query=asked.query,
        query_filter=asked.filter,
        limit=asked.limit,
        with_payload=asked.with_payload,
    )


def _change_aliases(engine: "QdrantClient", body: Any) -> bool:
    from qdrant_client import models

    operations = TypeAdapter(list[models.AliasOperations]).validate_python(body["actions"])
    return engine.update_collection_aliases(operations)


_NAMED = "/collections/([^/]+)"
_ROUTES: list[tuple[str, str, Callable[..., Any]]] = [
    ("GET", "/collections", lambda engine, _: engine.get_collections()),
    ("GET", "/aliases", lambda engine, _: engine.get_aliases()),
    ("POST", "/collections/aliases", _change_aliases),
    ("GET", f"{_NAMED}/exists", lambda engine, _, name: {"exists": engine.collection_exists(name)}),
    ("PUT", _NAMED, _create),
    ("DELETE", _NAMED, lambda engine, _, name: engine.delete_collection(name)),
    ("PUT", f"{_NAMED}/index", lambda engine, body, name: engine.create_payload_index(name, **body)),
    ("PUT", f"{_NAMED}/points", _upsert),
    ("POST", f"{_NAMED}/points", lambda engine, body, name: engine.retrieve(name, body["ids"])),
    ("POST", f"{_NAMED}/points/count", lambda engine, _, name: engine.count(name)),
    ("POST", f"{_NAMED}/points/query", _query),
    ("POST", f"{_NAMED}/points/delete", lambda engine, body, name: engine.delete(name, body["points"])),
]  # fmt: skip


class _Handler(Answering):
    protocol_version = "HTTP/1.1"

    def _handle(self) -> None:
        standing, path = self.server.standing, self.path.split("?")[0]
        body = self.body()
        standing.requests.append((self.command, path))
        status = standing.fault(self.command, path)
        if status == DROPPED:
            self.close_connection = True
            return
        status = status or standing.refusal(self.command, path, self.headers.get("api-key"))
        if status:
            self.answer(status, {"status": {"error": "as the test wants it"}})
            return
        try:
            result = standing.answer(self.command, path, json.loads(body or b"null"))
        except LookupError as error:
            self.answer(404, {"status": {"error": f"no such path: {error}"}})
        except ValueError as error:
            self.answer(
                404 if "not found" in str(error) else 409, {"status": {"error": str(error)}}
            )
        else:
            self.answer(200, {"result": _plain(result), "status": "ok", "time": 0.0})

    do_GET = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815


def _plain(result: Any) -> Any:
    if isinstance(result, BaseModel):
        return result.model_dump(mode="json")
    return [_plain(entry) for entry in result] if isinstance(result, list) else result


@contextlib.contextmanager
def qdrant(**settings: Any) -> Iterator[Standing]:
    """A server on loopback until the block ends."""
    standing = Standing(**settings)
    try:
        with listening(_Handler, standing=standing) as server:
            standing.url = server.url
            yield standing
    finally:
        standing.engine.close()
