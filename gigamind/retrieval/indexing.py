"""Build the collection of a vault on a Qdrant server, so that evaluations on any machine can use it."""

from pathlib import Path
from typing import Annotated, TypedDict

from pydantic import BaseModel, Field

from gigamind.retrieval.cache import quiet
from gigamind.retrieval.prepare import vector_content
from gigamind.retrieval.settings import DEFAULT_EMBEDDER, RetrievalSettings, default_cache_folder
from gigamind.vault.notes import Vault


class IndexOptions(BaseModel, extra="forbid", frozen=True):
    """A vault and its Qdrant server.  Paths are relative to the working directory."""

    notes: Path = Field(description="the vault (folder of Markdown notes)")
    # A folder's name is not enough: two vaults called "notes" would delete each other's collections.
    vault: Annotated[str, Field(pattern="^[a-z0-9][a-z0-9-]*$", max_length=100)] = Field(
        description="name of the vault on the Qdrant server, different for each vault; use only a-z, 0-9 and -"
    )
    qdrant_url: str = Field(
        description="URL of the Qdrant server; set its API key in the environment variable QDRANT_API_KEY"
    )
    embedder: str = Field(
        DEFAULT_EMBEDDER,
        description=(
            "embedding model; use the same one as in evaluations. Each model has its own collections on the Qdrant"
            " server"
        ),
    )
    embedding_api_base: str | None = Field(
        None, description="base URL of the server for litellm embedding models"
    )
    cache_dir: Path | None = Field(
        None,
        description="folder in which computed vectors are cached (default: the user's cache folder)",
    )


class _IndexReport(TypedDict):
    """The state of the server after indexing, as JSON values."""

    collection: str
    alias: str  # name under which other readers find the collection
    chunks: int  # points in the collection
    dropped: list[str]  # deleted collections of the vault: older than the previous one


def index_vault(options: IndexOptions) -> _IndexReport:
    """Fill the collection for the vault's current content if needed, then switch the vault's alias to it.

    Raises:
        InputError: There is no such embedder.
        NotesError: The vault cannot be read.
        IndexingError: The server failed or does not answer; the alias is unchanged.
        EmbeddingError: The embedding model failed.
    """
    from gigamind.retrieval.server import alias_of, connect, open_collection, switch_vault

    settings = RetrievalSettings(
        embedder=options.embedder,
        embedding_api_base=options.embedding_api_base,
        cache=options.cache_dir or default_cache_folder(),
    )
    content = vector_content(Vault.read(options.notes), settings, quiet)
    client = connect(options.qdrant_url)
    try:
        collection = open_collection(content, client).collection
        return {
            "collection": collection,
            "alias": alias_of(options.vault),
            "chunks": len(content.chunks),
            "dropped": switch_vault(client, options.vault, collection),
        }
    finally:
        client.close()
