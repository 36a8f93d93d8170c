"""What a checklist judge's file says: the features of a product, and what their responses are checked for."""

from collections import Counter
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from gigamind.judges.spec import LlmJudgeFile

# Part of the fingerprint.  Raise it whenever the code gives the same reply another verdict.
# 2: quotes that are too short, cut off a word or negation, or speak to the judge prove nothing.
RULES = 2

Text = Annotated[str, Field(min_length=1, pattern=r"\S")]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ChecklistItem(_Section):
    """One question of a checklist, in both languages.

    Attributes:
        quote: where the words that prove a yes must stand.
    """

    id: Name
    quote: Literal["answer", "notes", "either"] = "answer"
    ko: Text
    en: Text


class Checklist(_Section):
    """What the responses of one feature are checked for; passed when the share of yes is `min_pass_ratio` or more."""

    items: Annotated[tuple[ChecklistItem, ...], Field(min_length=1)]
    min_pass_ratio: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.75

    @field_validator("items")
    @classmethod
    def _check_ids(cls, items: tuple[ChecklistItem, ...]) -> tuple[ChecklistItem, ...]:
        repeated = [name for name, count in Counter(item.id for item in items).items() if count > 1]
        if repeated:
            raise ValueError(f"more than one item is called {', '.join(repeated)}")
        if any(item.id == "pass_rate" for item in items):
            # Comparisons hold each item's rate beside it, under the same block.
            raise ValueError(
                "no item can be called pass_rate: that is the share of answers that pass"
            )
        return items


class ChecklistJudgeFile(LlmJudgeFile):
    """A judge file of kind `checklist`.

    Attributes:
        unverified: what a yes counts as when its quote proves nothing.
        min_quote_chars: letters and digits that a quote must have, unless it is a whole line or cell, or a citation in
            brackets.
    """

    kind: Literal["checklist"]
    unverified: Literal["no", "as_told"] = "no"
    min_quote_chars: Annotated[int, Field(ge=1, le=100)] = 4
    features: Annotated[dict[Name, Checklist], Field(min_length=1)]
