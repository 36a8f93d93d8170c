"""Options of an evaluation of answers."""

from pathlib import Path
from typing import Literal, Self

from pydantic import ConfigDict, Field

from gigamind.evaluation.options import (
    ContextOptions,
    EvalOptions,
    ModelRunOptions,
)
from gigamind.llm.redaction import without_secrets
from gigamind.retrieval.settings import DEFAULT_EMBEDDER, FusionName, Mode, RetrievalSettings
from gigamind.systems.settings import DAY_MS, SystemName, SystemOptions, shown_system

OF_SYSTEMS = ("system", "system_config", "system_name", "timeout_ms", "max_concurrency")
"""Options that only a system has; not in run.json where none answers."""


class AnswerEvalOptions(EvalOptions, ModelRunOptions, ContextOptions):
    """Everything an evaluation of answers is told.  Paths are relative to the working directory."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    task: Literal["answers"] = Field("answers", description="what is evaluated")  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    dataset: Path = Field(
        description="answers, one JSON object a line; with --answer-model, queries; with --system, questions or queries"
    )
    notes: Path | None = Field(  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]  rows may hold their notes
        None,
        description="the vault that the context notes are in; none if the rows, or the system, tell their text",
    )
    system: str | None = Field(
        None,
        description="what answers: run:FILE, http(s)://..., command:PROGRAM ... or python:MODULE:FUNCTION; without it,"
        " the answers stand in the dataset",
    )
    system_config: str | None = Field(
        None,
        description="how an http system is asked and read: plain, gigamind, openai, or a TOML file; plain without it",
    )
    system_name: SystemName = None
    timeout_ms: int = Field(
        120_000,
        ge=1,
        le=DAY_MS,
        description="time limit of one answer of the system, in milliseconds",
    )
    max_concurrency: int = Field(
        4, ge=1, le=256, description="questions that the system is asked at a time"
    )
    answer_model: str | None = Field(
        None, description="first let this model answer the queries from the notes that search finds"
    )
    answer_api_base: str | None = Field(
        None, description="address of its server; --api-base without it"
    )
    answer_max_tokens: int = Field(1_024, ge=64, le=64_000, description="of one such answer")
    mode: Mode = Field("hybrid", description="which legs search, with --answer-model")
    fusion: FusionName = Field(
        "weighted", description="how hybrid mode joins its legs, with --answer-model"
    )
    embedder: str = Field(
        DEFAULT_EMBEDDER,
        description="use-multilingual, e5-small, fastembed:<model or folder> or litellm:<model>",
    )
    checklist: bool = Field(
        default=False,
        description="also check each answer by the quality gate's checklist: one more request an answer",
    )
    feature: str = Field(
        "search_qa", description="whose checklist, with --checklist: a feature of its judge file"
    )
    checklist_judge: Path | None = Field(
        None, description="another file of checklists, with --checklist; see judges/README.md"
    )

    def for_report(self) -> dict[str, object]:
        """The options as run.json shows them: JSON values, without a password in an address."""
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
        """The part that opening a system is told; None where none answers."""
        if self.system is None:
            return None
        return SystemOptions(self.system, self.system_config, self.timeout_ms)

    @property
    def retrieval(self) -> RetrievalSettings:
        """How the notes are found that a model answers from."""
        return self.searched_by(self.mode, self.fusion, self.embedder, self.cache)

    def for_answering(self) -> ModelRunOptions:
        """How the model that answers is reached."""
        shared = {name: getattr(self, name) for name in ModelRunOptions.model_fields}
        own = {"model": self.answer_model, "api_base": self.answer_api_base or self.api_base}
        return ModelRunOptions.model_validate(shared | own)
