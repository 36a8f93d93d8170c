"""Options of an evaluation of answers."""

from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field

from gigamind.evaluation.options import (
    ContextOptions,
    EvalOptions,
    ModelRunOptions,
)
from gigamind.llm.redaction import without_secrets
from gigamind.retrieval.settings import DEFAULT_EMBEDDER, FusionName, Mode, RetrievalSettings


class AnswerEvalOptions(EvalOptions, ModelRunOptions, ContextOptions):
    """Everything an evaluation of answers is told.  Paths are relative to the working directory."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    task: Literal["answers"] = Field("answers", description="what is evaluated")  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    dataset: Path = Field(
        description="answers, one JSON object a line; with --answer-model, queries"
    )
    notes: Path | None = Field(  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]  rows may hold their notes
        None,
        description="the vault that the context notes are in; none if the rows hold their text",
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
        return shown

    @property
    def retrieval(self) -> RetrievalSettings:
        """How the notes are found that a model answers from."""
        return RetrievalSettings(
            mode=self.mode,
            fusion=self.fusion,
            topk=self.context_notes,
            embedder=self.embedder,
            cache=self.cache,
        )

    def for_answering(self) -> ModelRunOptions:
        """How the model that answers is reached."""
        shared = {name: getattr(self, name) for name in ModelRunOptions.model_fields}
        own = {"model": self.answer_model, "api_base": self.answer_api_base or self.api_base}
        return ModelRunOptions.model_validate(shared | own)
