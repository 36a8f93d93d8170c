"""Search settings: everything that can change a ranking, and the folder of caches."""

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
IN_BATCHES = " in batches"  # suffix of its name if it embeds many names and phrases at once
FOLDER_VARIABLE = "GIGAMIND_CACHE_DIR"


def default_cache_folder() -> Path:
    """Return `$GIGAMIND_CACHE_DIR`, or the user's cache folder."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    return Path(chosen) if chosen else user_cache_path("gigamind", appauthor=False)


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """Settings of one retriever.

    Attributes:
        fusion: How hybrid mode fuses dense and sparse scores: weighted (seed 4.1) or balanced (`balanced.py`).
        alpha: Weight of the semantic score in hybrid mode with weighted fusion, in [0, 1].
        title_weight: Points of cosine that balanced fusion adds for a query with a note's whole title.
        chunk_chars: Approximate length of a chunk, in characters.
        topk: Length of a ranking, at least 1.
        graph_rerank: Order by final_score, with the boost of the link graph.
        embedder: `use-multilingual`, `e5-small`, `fastembed:<model or folder>` or `litellm:<model>`.
        embedding_api_base: Address of a litellm provider other than its default.
        qdrant_url: A Qdrant server; None keeps the vectors in this process.
        cache: Folder of vectors and indexes between runs; None stores nothing (the index is in a temporary folder).
        cold_start: Ignore cached vectors and indexes, so that the whole start is measured.
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
        """Whether balanced fusion determines the ranking."""
        return self.mode == "hybrid" and self.fusion == "balanced"

    @property
    def bills(self) -> bool:
        """Whether each embedded query can cost money and needs the network."""
        return self.mode != "keyword" and self.embedder.startswith("litellm:")

    @property
    def semantic_share(self) -> float:
        """α by mode: 1 for semantic, 0 for keyword."""
        return {"semantic": 1.0, "hybrid": self.alpha, "keyword": 0.0}[self.mode]
