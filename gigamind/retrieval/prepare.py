"""Make a vault searchable: chunks, keyword index, vectors and link graph, from the cache if nothing changed."""

import contextlib
import hashlib
import re
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from gigamind.errors import IndexingError, InputError
from gigamind.retrieval.balanced import Balance, cosine_scale
from gigamind.retrieval.cache import Cache, Progress, cache_not_writable, embed_all, touch
from gigamind.retrieval.chunk import CHUNKING_VERSION, chunk_notes
from gigamind.retrieval.embed import Embedder
from gigamind.retrieval.embedders import load_embedder
from gigamind.retrieval.fuse import ChunkLayout, Fusion
from gigamind.retrieval.index import Chunk, IndexContent, VectorIndex
from gigamind.retrieval.keyword import KeywordIndex
from gigamind.retrieval.retriever import Retriever, SemanticLeg
from gigamind.retrieval.settings import DEFAULT_CHUNK_CHARS, RetrievalSettings
from gigamind.runs.folders import private_file
from gigamind.vault.graph import centrality, link_graph
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault

# Version of chunks, tokens and scores; indexes of another version cannot be compared with these.
RAG_SCHEMA_VERSION = f"1.{CHUNKING_VERSION}"


def open_retriever(
    vault: Vault,
    identities: Identities,
    settings: RetrievalSettings,
    progress: Progress,
    *,
    keeps_index: bool = True,
) -> Retriever:
    """Return a retriever over the vault with its index ready.

    Args:
        progress: Called with (embedded chunks, all chunks) while vectors are computed.
        keeps_index: Whether to cache the index as well as the vectors; not for notes that are searched once.

    Raises:
        InputError: There is no such embedder or reranker.
        IndexingError: The index or its cache cannot be built, read or reached.
        EmbeddingError: The embedding model failed.
    """
    chunks = chunk_notes(vault.notes, settings.chunk_chars)
    central = centrality(link_graph(vault, identities))
    centralities = np.array([central[note.path] for note in vault.notes])
    cache = Cache(settings.cache) if settings.cache else None
    indexes = cache if keeps_index else None
    content = _content_key(vault, settings.chunk_chars)
    layout = ChunkLayout.of(
        [len(list(own)) for _, own in groupby(chunks, key=lambda c: c.passage.note)]
    )
    keyword = _keyword_index(chunks, content, indexes, cold=settings.cold_start)
    semantic, balance = None, None
    if settings.mode != "keyword":
        embedder = load_embedder(settings.embedder, api_base=settings.embedding_api_base)
        known = cache.embeddings if cache and not settings.cold_start else None
        wanted = _vector_content(embedder, chunks, content, known, progress)
        semantic = SemanticLeg(embedder, _open_index(wanted, indexes, settings))
    if semantic and settings.mode == "hybrid":
        scale = cosine_scale(semantic.embedder.name)
        balance = Balance(keyword, layout, vault.notes, scale)
        if settings.balanced:
            balance.prepare()
    retriever = Retriever(
        notes=tuple(note.path for note in vault.notes),
        titles=tuple(note.title for note in vault.notes),
        centralities=centralities,
        chunks=chunks,
        layout=layout,
        keyword=keyword,
        semantic=semantic,
        fusion=Fusion.of(settings, centralities),
        balance=balance,
        balanced=settings.balanced,
        rerank_score=_load_reranker(settings.rerank) if settings.rerank else None,
    )
    if cache:
        cache.prune()
    return retriever


def _load_reranker(name: str) -> Callable[[str, str], float]:
    """Return the score in [0, 1] of a query and a text by a cross-encoder; raises as `load_embedder`."""
    provider, _colon, model = name.partition(":")
    if provider == "fastembed" and model:
        from gigamind.retrieval.fastembed import load_cross_encoder

        return load_cross_encoder(model)
    raise InputError('unknown reranker "{name}": use fastembed:<model or folder>', name=name)


def _content_key(vault: Vault, chunk_chars: int) -> str:
    digest = hashlib.sha256(RAG_SCHEMA_VERSION.encode())
    if chunk_chars != DEFAULT_CHUNK_CHARS:  # names of older versions had no chunk size
        digest.update(f" {chunk_chars}".encode())
    for note in vault.notes:
        digest.update(f"\n{len(note.path)} {note.path} {note.content_hash}".encode())
    return digest.hexdigest()[:24]


def _keyword_index(
    chunks: Sequence[Chunk], content: str, cache: Cache | None, *, cold: bool
) -> KeywordIndex:
    place = cache.keywords / f"{content}.bm25" if cache else None
    if place and not cold:
        # An incomplete file (full disk) counts as missing.
        with contextlib.suppress(OSError, ValueError):
            loaded = KeywordIndex.load(place)
            touch(place)
            return loaded
    built = KeywordIndex.of([chunk.indexed_text for chunk in chunks])
    if place:
        try:
            with private_file(place) as aside:
                built.save(aside)
        except OSError as error:
            raise IndexingError(cache_not_writable(place.parent, error)) from error
    return built


def vector_content(vault: Vault, settings: RetrievalSettings, progress: Progress) -> IndexContent:
    """Return the content of a vault's vector index; raise InputError if there is no such embedder."""
    embedder = load_embedder(settings.embedder, api_base=settings.embedding_api_base)
    known = Cache(settings.cache).embeddings if settings.cache else None
    chunks = chunk_notes(vault.notes, settings.chunk_chars)
    content = _content_key(vault, settings.chunk_chars)
    return _vector_content(embedder, chunks, content, known, progress)


def _vector_content(
    embedder: Embedder,
    chunks: Sequence[Chunk],
    content: str,
    known: Path | None,
    progress: Progress,
) -> IndexContent:
    readable = re.sub(r"[^a-z0-9]+", "-", embedder.name.lower()).strip("-")[:40]
    slug = f"{readable}-{hashlib.sha256(embedder.name.encode()).hexdigest()[:8]}"
    return IndexContent(
        name=f"{slug}-{content}",
        chunks=chunks,
        vectors=lambda: embed_all(embedder, [c.indexed_text for c in chunks], known, progress),
    )


def _open_index(
    wanted: IndexContent, cache: Cache | None, settings: RetrievalSettings
) -> VectorIndex:
    if settings.qdrant_url:
        from gigamind.retrieval.server import connect, open_collection

        return open_collection(wanted, connect(settings.qdrant_url), refill=settings.cold_start)
    from gigamind.retrieval.edge import open_edge

    if cache is None or settings.cold_start:
        return open_edge(wanted, None)
    index = open_edge(wanted, cache.indexes)
    touch(cache.indexes / wanted.name)
    return index
