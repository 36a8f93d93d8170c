"""Options of all commands that align quotes; named as in seed 003, section 2.3."""

from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from gigamind.evidence.result import DEFAULT, LEAST_FUZZY, AlignConfig


class AlignOptions(BaseModel):
    """Options of the aligner."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fuzzy_threshold: Annotated[float, Field(ge=LEAST_FUZZY, le=1, allow_inf_nan=False)] = Field(
        DEFAULT.fuzzy_threshold,
        description="lowest similarity (0 to 1) at which a passage that differs by a few edits counts as found",
    )
    max_quote_length: int = Field(
        DEFAULT.max_quote_chars,
        ge=1,
        description="maximum length of a quote in characters; longer quotes are rejected",
    )
    enable_fuzzy: bool = Field(
        default=DEFAULT.fuzzy,
        description="also accept quotes that differ from the source by a few characters",
    )

    @property
    def alignment(self) -> AlignConfig:
        accepting = DEFAULT.accepting(self.fuzzy_threshold)
        return replace(accepting, fuzzy=self.enable_fuzzy, max_quote_chars=self.max_quote_length)
