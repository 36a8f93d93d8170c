"""Options of an evaluation of answers."""

from pathlib import Path
from typing import Literal, Self

from pydantic import ConfigDict, Field

from gigamind.evaluation.options import ContextOptions, EvalOptions, ModelRunOptions
from gigamind.redaction import without_secrets
from gigamind.retrieval.settings import DEFAULT_EMBEDDER, FusionName, Mode, RetrievalSettings
from gigamind.systems.settings import DAY_MS, SystemName, SystemOptions, shown_system

OF_SYSTEMS = ("system", "system_config", "system_name", "timeout_ms", "max_concurrency")
"""Options of a system; not in run.json without a system."""


class AnswerEvalOptions(EvalOptions, ModelRunOptions, ContextOptions):
    """All options of an answer evaluation. Paths are relative to the working directory."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    task: Literal["answers"] = Field("answers", description="task to evaluate")  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    dataset: Path = Field(
        description=(
            "dataset, one JSON object per line: answers; or queries with --answer-model; or questions or queries"
            " with --system"
        )
    )
    notes: Path | None = Field(  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]  rows may hold their notes
        None,
        description="vault with the context notes; not needed if the dataset rows or the system provide their text",
    )
    system: str | None = Field(
        None,
        description="answering system: run:FILE, http(s)://..., command:PROGRAM ... or python:MODULE:FUNCTION (default:"
        " the answers in the dataset)",
    )
    system_config: str | None = Field(
        None,
        description="request and response format of an HTTP system: plain, gigamind, openai or a TOML file (default: "
        "plain)",
    )
    system_name: SystemName = None
    timeout_ms: int = Field(
        120_000, ge=1, le=DAY_MS, description="time limit per answer of the system in milliseconds"
    )
    max_concurrency: int = Field(
        4,
        ge=1,
        le=256,
        description="maximum number of questions to send to the system at the same time",
    )
    answer_model: str | None = Field(
        None,
        description="model that first answers the queries from the retrieved notes; its answers are then evaluated",
    )
    answer_api_base: str | None = Field(
        None, description="base URL of the answering model's server (default: --api-base)"
    )
    answer_max_tokens: int = Field(
        1_024, ge=64, le=64_000, description="maximum tokens in each answer of the --answer-model"
    )
    mode: Mode = Field(
        "hybrid",
        description="with --answer-model, search mode: keyword, semantic, or both (hybrid)",
    )
    fusion: FusionName = Field(
        "weighted",
        description="with --answer-model, how hybrid mode combines keyword and semantic scores: weighted or balanced",
    )
    embedder: str = Field(
        DEFAULT_EMBEDDER,
        description="embedding model: use-multilingual, e5-small, fastembed:<model or folder> or litellm:<model>",
    )
    checklist: bool = Field(
        default=False,
        description="also check each answer against the quality checklist; one more request per answer",
    )
    feature: str = Field(
        "search_qa", description="with --checklist, name of the feature whose checklist is used"
    )
    checklist_judge: Path | None = Field(
        None,
        description="with --checklist, checklist file to use instead of the default; see judges/README.md",
    )

    def for_report(self) -> dict[str, object]:
        shown = super().for_report()
        for name in ("api_base", "answer_api_base"):
            if isinstance(address := shown[name], str):
                shown[name] = without_secrets(address)
        if self.system is None:
            return {name: value for name, value in shown.items() if name not in OF_SYSTEMS}
        return shown | {"system": shown_system(self.system)}

    def in_any_folder(self) -> Self:
        placed = self.named_system.in_any_folder if self.named_system else {}
        return super().in_any_folder().model_copy(update=placed)

    @property
    def named_system(self) -> SystemOptions | None:
        if self.system is None:
            return None
        return SystemOptions(self.system, self.system_config, self.timeout_ms)

    @property
    def retrieval(self) -> RetrievalSettings:
        return self.searched_by(self.mode, self.fusion, self.embedder, self.cache)

    def for_answering(self) -> ModelRunOptions:
        shared = {name: getattr(self, name) for name in ModelRunOptions.model_fields}
        own = {"model": self.answer_model, "api_base": self.answer_api_base or self.api_base}
        return ModelRunOptions.model_validate(shared | own)
