"""Judges answerability without a model: one score against a threshold; free and deterministic.

For kind `threshold` (seed 4.1), the score is the base_score of the top result by final_score, which no link boost
changes. For kind `answer_score`, it is `Retriever.answer_score`.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from pydantic import Field

from gigamind.judges.spec import JudgeFile


class ThresholdJudge(JudgeFile):
    """A judge file of kind `threshold` or `answer_score`; `min_score` in [0, 1] or on the system's own scale."""

    kind: Literal["threshold", "answer_score"]
    min_score: Annotated[float, Field(allow_inf_nan=False)]

    @property
    def fingerprint(self) -> str:
        definition = json.dumps({"kind": self.kind, "min_score": self.min_score}, sort_keys=True)
        return hashlib.sha256(definition.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class AnswerabilityVerdict:
    """Whether a query is unanswerable over this vault; the score is None without a result.

    `across_languages`: the nearest note is in another language, so the verdict is weak; None if not checked.
    """

    unanswerable: bool
    score: float | None
    across_languages: bool | None = None


class Scored(Protocol):
    """A result of any search."""

    @property
    def base_score(self) -> float | None:
        """The score; None if the search gives no scores."""
        ...


def judge_by_threshold(ranking: Sequence[Scored], min_score: float) -> AnswerabilityVerdict:
    """Judge a query unanswerable with no result, or with a top base_score below `min_score`; ValueError without it."""
    if not ranking:
        return AnswerabilityVerdict(unanswerable=True, score=None)
    top = ranking[0].base_score
    if top is None:
        raise ValueError("the first hit has no score to judge by")
    return AnswerabilityVerdict(unanswerable=top < min_score, score=top)
