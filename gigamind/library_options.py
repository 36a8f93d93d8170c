"""Options of the library's functions, for type checkers.

They have the ranges, defaults and meanings of the command line; see docs/reference.md.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict

from gigamind.choices import Phase, PromptLanguage, Relaxable, UnanswerableMode
from gigamind.i18n import LanguageChoice
from gigamind.interop.ranking import RankedNote
from gigamind.llm.settings import Mode as Structured
from gigamind.llm.settings import StoreMode
from gigamind.retrieval.settings import FusionName, Mode
from gigamind.systems.protocol import Answerer, Retriever

File = str | Path


class EvalKeywords(TypedDict, total=False):
    """Options of every evaluation; those from `format` on need an `out` folder."""

    seed: int
    deterministic: bool
    sample: str
    strict: bool
    min_rows: float
    notes_hash_mode: Literal["content", "mtime"]
    notes_hash_exclude: Sequence[str]
    compare: File
    changed: Sequence[Relaxable]
    phase: Phase
    gates: File
    judge_card: File
    format: Literal["json", "md", "both"]
    lang: LanguageChoice
    figures: Literal["svg"]
    save_snapshot: bool
    junit: File
    comment: File


class ModelKeywords(TypedDict, total=False):
    """Options of runs that query models: which models, and what they may cost.  Keys come from the environment."""

    model: str
    api_base: str
    key_variable: str
    structured: Structured
    model_timeout_s: float
    max_wait: float
    max_in_flight: int
    requests_per_minute: int
    tokens_per_minute: int
    prices: File
    max_cost_usd: float
    max_calls: int
    max_minutes: float
    store: File
    store_mode: StoreMode
    judge: File
    judge_lang: PromptLanguage
    batch: bool
    batch_poll: float
    fresh_fraction: float
    resume: File
    allow_partial: bool
    min_coverage: float
    cache_dir: File


class SearchKeywords(EvalKeywords, ModelKeywords, total=False):
    """Further options of a search evaluation; `system` may also be a retriever object."""

    system: str | Retriever[RankedNote]
    system_config: str
    system_name: str
    mode: Mode
    fusion: FusionName
    topk: int
    evidence_notes: int
    alpha: float
    title_weight: float
    chunk_chars: int
    graph_rerank: bool
    embedder: str
    embedding_api_base: str
    qdrant_url: str
    cold_start: bool
    unanswerable_mode: UnanswerableMode
    min_score: float
    context_notes: int
    context_chars: int
    warmup: int
    timeout_ms: int
    max_concurrency: int
    speed_passes: int


class TuneKeywords(SearchKeywords, total=False):
    """Further options of tuning: the metric to choose by, and the values of each axis of the grid."""

    metric: str
    modes: Sequence[Mode]
    fusions: Sequence[FusionName]
    alphas: Sequence[float]
    graph_reranks: Sequence[Literal["off", "on"]]
    title_weights: Sequence[float]
    chunk_sizes: Sequence[int]
    embedders: Sequence[str]


class LinkKeywords(EvalKeywords, total=False):
    """Further options of a link evaluation."""

    system: str
    allow_partial: bool
    topk: int
    min_confidence: float
    context_chars: int
    semantic: bool
    embedder: str
    exclude_linked: bool
    cache_dir: File


class AnswerKeywords(EvalKeywords, ModelKeywords, total=False):
    """Further options of an answer evaluation; `system` may also be an answerer object."""

    system: str | Answerer
    system_config: str
    system_name: str
    timeout_ms: int
    max_concurrency: int
    answer_model: str
    answer_api_base: str
    answer_max_tokens: int
    mode: Mode
    fusion: FusionName
    embedder: str
    checklist: bool
    feature: str
    checklist_judge: File
    context_notes: int
    context_chars: int
