"""Options of a search evaluation: one model for the command line, the flow and the tests (seed 2.1, 2.2)."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from gigamind.evals.option_errors import validated
from gigamind.evals.option_types import SampleText
from gigamind.evals.release_options import ReleaseOptions
from gigamind.judges.unanswerable import PromptLanguage, UnanswerableMode
from gigamind.llm.options import ModelOptions
from gigamind.retrieval.cache import default_cache_folder
from gigamind.retrieval.embed import DEFAULT_EMBEDDER
from gigamind.retrieval.settings import DEFAULT_ALPHA, Mode, RetrievalSettings

_DAY_MS = 86_400_000
_PASSWORD = re.compile(r"(?<=//)[^/@]*@")


class SearchEvalOptions(ReleaseOptions, ModelOptions):
    """Everything a search evaluation is told.  Paths are relative to the working directory."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset: Path = Field(description="queries, one JSON object a line")
    notes: Path = Field(description="the vault: a folder of Markdown notes")
    out: Path | None = Field(None, description="folder for the results; eval/out/<time> without it")
    format: Literal["json", "md", "both"] = Field(
        "both", description="summary.json, or summary.md and report.html, or all"
    )
    lang: Literal["en", "ko"] = Field("en", description="language of report.html")
    figures: Literal["svg", "png"] | None = Field(
        None, description="also write the report's figures as files"
    )
    seed: int = Field(42, ge=0, description="of sampling and of the bootstrap intervals")
    sample: SampleText | None = Field(
        None, description="evaluate only so many queries: 50, or a share: 0.2"
    )
    warmup: int = Field(10, ge=0, description="queries run before the clock starts")
    timeout_ms: int = Field(
        15_000, ge=1, le=_DAY_MS, description="time limit of one query, in milliseconds"
    )
    max_concurrency: int = Field(4, ge=1, le=256, description="queries at a time")
    strict: bool = Field(
        default=False, description="stop with exit code 1 at a bad row or an identifier collision"
    )
    dry_run: bool = Field(default=False, description="check the dataset and the notes, then stop")
    notes_hash_mode: Literal["content", "mtime"] = Field(
        "content", description="hash the notes' bytes, or only their names and times"
    )
    notes_hash_exclude: tuple[str, ...] = Field((), description="patterns the hash leaves out, too")
    mode: Mode = Field("hybrid", description="which legs search")
    topk: int = Field(10, ge=1, le=1_000, description="length of a ranking")
    min_score: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = Field(
        None,
        description="a Top-1 with a base score below this means: unanswerable; 0.3 without it, or what --judge says",
    )
    unanswerable_mode: UnanswerableMode = Field(
        "threshold", description="which judge decides what is unanswerable; llm asks a model"
    )
    judge: Path | None = Field(
        None, description="another judge file, of any kind; see judges/README.md"
    )
    judge_lang: PromptLanguage = Field(
        "auto", description="language of the judge's prompt; auto: that of the query"
    )
    fresh_fraction: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        0.0,
        description="share of the queries that the model judges a second time, to see what flips",
    )
    resume: Path | None = Field(
        None, description="continue the run that was to write this out folder and was stopped"
    )
    allow_partial: bool = Field(
        default=False, description="exit code 0 even if the budget left queries unjudged"
    )
    alpha: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        DEFAULT_ALPHA, description="share of the semantic score in hybrid mode"
    )
    graph_rerank: bool = Field(default=False, description="let the link graph change the order")
    cold_start: bool = Field(default=False, description="use no cache, and measure the whole start")
    embedder: str = Field(
        DEFAULT_EMBEDDER,
        description="use-multilingual, fastembed:<model or folder> or litellm:<model>",
    )
    embedding_api_base: str | None = Field(None, description="address of the litellm provider")
    qdrant_url: str | None = Field(
        None,
        description="a Qdrant server (key: $QDRANT_API_KEY); without it the engine runs in-process",
    )
    cache_dir: Path | None = Field(
        None, description="folder of vectors and indexes; the user's cache folder without it"
    )
    save_snapshot: bool = Field(
        default=False, description="write snapshot.json, to compare later runs with"
    )
    compare: Path | None = Field(
        None,
        description="hold the run against this baseline: a snapshot.json, an out folder, or a folder of baselines",
    )

    def for_report(self) -> dict[str, object]:
        """The options as run.json shows them: JSON values, without a password in an address."""
        shown: dict[str, object] = self.model_dump(mode="json")
        for name in ("api_base", "embedding_api_base", "qdrant_url"):
            if isinstance(address := shown[name], str):
                shown[name] = _PASSWORD.sub("***@", address)
        return shown

    @property
    def replies(self) -> Path:
        """Folder of the answers of models."""
        return self.store or (self.cache_dir or default_cache_folder()) / "replies"

    @property
    def retrieval(self) -> RetrievalSettings:
        """The part that retrieval is told."""
        return RetrievalSettings(
            mode=self.mode,
            alpha=self.alpha,
            topk=self.topk,
            graph_rerank=self.graph_rerank,
            embedder=self.embedder,
            embedding_api_base=self.embedding_api_base,
            qdrant_url=self.qdrant_url,
            cache=self.cache_dir or default_cache_folder(),
            cold_start=self.cold_start,
        )


def read_options(values: dict[str, object]) -> SearchEvalOptions:
    """The options in `values`, by field name.

    Raises:
        InputError: names every option that cannot be, its value and what it must be.
    """
    return validated(SearchEvalOptions, values)
