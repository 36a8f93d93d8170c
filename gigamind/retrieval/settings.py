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
_FOLDER_VARIABLE = "GIGAMIND_CACHE_DIR"


def default_cache_folder() -> Path:
    """Return `$GIGAMIND_CACHE_DIR`, or the user's cache folder."""
    chosen = os.environ.get(_FOLDER_VARIABLE)
    return Path(chosen) if chosen else user_cache_path("gigamind", appauthor=False)


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """Settings of one retriever."""

    mode: Mode = "hybrid"
    fusion: FusionName = "weighted"  # of dense and sparse scores: spec 4.1 or `balanced.py`
    alpha: float = DEFAULT_ALPHA  # weight of the semantic score with weighted fusion, in [0, 1]
    title_weight: float = DEFAULT_TITLE_WEIGHT  # points of balanced fusion for a whole title
    chunk_chars: int = DEFAULT_CHUNK_CHARS  # approximate length of a chunk, in characters
    topk: int = 10  # at least 1
    graph_rerank: bool = False  # order by final_score, with the boost of the link graph
    rerank: str | None = None  # sorts the topk notes again: `fastembed:<model or folder>`
    embedder: str = DEFAULT_EMBEDDER  # `e5-small`, `fastembed:<model or folder>`, `litellm:<model>`
    embedding_api_base: str | None = None  # of a litellm provider, other than its default
    qdrant_url: str | None = None  # None keeps the vectors in this process
    cache: Path | None = None  # folder of vectors and indexes between runs; None stores nothing
    cold_start: bool = False  # ignore cached vectors and indexes, to measure the whole start

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
