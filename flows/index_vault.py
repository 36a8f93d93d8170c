"""Indexing of a vault on a Qdrant server as a Prefect flow, for evaluations with `qdrant_url`."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger

from gigamind.errors import GigamindError
from gigamind.i18n import _
from gigamind.publish.allowed import check_allowed
from gigamind.publish.ends import failed, in_run_language
from gigamind.publish.server import flow_timeout_s
from gigamind.retrieval import indexing
from gigamind.retrieval.indexing import IndexOptions


@flow(name="index-vault", persist_result=False, timeout_seconds=flow_timeout_s())
def index_vault(options: IndexOptions) -> dict[str, Any] | State[Any]:
    """Fill a collection with the current vault, switch its alias to it, and drop the oldest of three collections.

    Ends Failed, named after the exit code, if this fails; the alias then stays where it was.
    """
    try:
        check_allowed(options)
        indexed = indexing.index_vault(options)
    except GigamindError as error:
        return failed(error)
    line = _(
        "The alias {alias} points to the collection {collection} ({chunks:,} chunks). Deleted old collections:"
        " {dropped}",
        alias=indexed["alias"],
        collection=indexed["collection"],
        chunks=indexed["chunks"],
        dropped=indexed["dropped"] or _("none"),
    )
    get_run_logger().info(in_run_language(line))
    return dict(indexed)
