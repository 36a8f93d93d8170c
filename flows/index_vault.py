"""Builds the collection of a vault on a Qdrant server as a Prefect flow, for evaluations with its `qdrant_url`."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger

from gigamind.errors import GigamindError
from gigamind.publish.ends import failed, in_its_language
from gigamind.retrieval import indexing
from gigamind.retrieval.indexing import IndexOptions


@flow(name="index-vault", persist_result=False)
def index_vault(options: IndexOptions) -> dict[str, Any] | State[Any]:
    """Fill the collection of what the vault holds now, switch its alias to it, and drop the one before the one before.

    Ends Failed, named by the meaning of the exit code, where it could not; the alias is then where it was.
    """
    try:
        made = indexing.index_vault(options)
    except GigamindError as error:
        return failed(error)
    dropped = ", ".join(made["dropped"]) or "none"
    line = f"{made['alias']} is {made['collection']}: {made['chunks']} chunks; dropped: {dropped}"
    get_run_logger().info(in_its_language(line))
    return dict(made)
