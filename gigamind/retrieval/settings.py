"""How notes are searched: everything that may change a ranking, and where its caches stand."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from platformdirs import user_cache_path

Mode = Literal["semantic", "hybrid", "keyword"]
FusionName = Literal["weighted", "balanced"]
DEFAULT_ALPHA = 0.7
DEFAULT_TITLE_WEIGHT = 0.1
DEFAULT_CHUNK_CHARS = 800
DEFAULT_EMBEDDER = "use-multilingual"
IN_BATCHES = " in batches"  # behind its name, where it embeds many names and phrases at once
FOLDER_VARIABLE = "GIGAMIND_CACHE_DIR"


def default_cache_folder() -> Path:
    """`$GIGAMIND_CACHE_DIR`, else the user's cache folder."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    return Path(chosen) if chosen else user_cache_path("gigamind", appauthor=False)


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """Settings of one retriever.

    Attributes:
        fusion: how hybrid mode joins its legs: by their shares (seed 4.1), or by `balanced.py`.
        alpha: share of the semantic score in hybrid mode with weighted fusion, in [0, 1].
        title_weight: what balanced fusion adds for a query that holds a note's whole title, in points of cosine.
        chunk_chars: how long chunks are to be, about.
        topk: length of a ranking, at least 1.
        graph_rerank: order by final_score with the link graph's boost.
        embedder: `use-multilingual`, `e5-small`, `fastembed:<model or folder>` or `litellm:<model>`.
        embedding_api_base: address of a litellm provider other than its usual one.
        qdrant_url: a Qdrant server; None keeps the vectors in this process.
        cache: folder of vectors and indexes between runs; None keeps nothing (a temporary folder holds the index).
        cold_start: use no vector or index of an earlier run, so that the whole start is measured.
    """

    mode: Mode = "hybrid"
    fusion: FusionName = "weighted"
    alpha: float = DEFAULT_ALPHA
    title_weight: float = DEFAULT_TITLE_WEIGHT
    chunk_chars: int = DEFAULT_CHUNK_CHARS
    topk: int = 10
    graph_rerank: bool = False
    embedder: str = DEFAULT_EMBEDDER
    embedding_api_base: str | None = None
    qdrant_url: str | None = None
    cache: Path | None = None
    cold_start: bool = False

    @property
    def balanced(self) -> bool:
        """Whether rankings are those of balanced fusion."""
        return self.mode == "hybrid" and self.fusion == "balanced"

    @property
    def bills(self) -> bool:
        """Whether each query that is embedded may cost money and an answer over the network."""
        return self.mode != "keyword" and self.embedder.startswith("litellm:")

    @property
    def semantic_share(self) -> float:
        """α as the mode has it: 1 for semantic, 0 for keyword."""
        return {"semantic": 1.0, "hybrid": self.alpha, "keyword": 0.0}[self.mode]
