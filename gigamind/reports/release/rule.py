"""One rule of the release gates, applied."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Status = Literal["passed", "failed", "warned", "skipped", "inconclusive"]


class RuleResult(BaseModel):
    """One rule on one metric.

    Attributes:
        metric: as in summary.json, or `coverage`, `verdicts`, `checks`, `search_p95`, `cold_start`, `judge_card`.
        status: "warned" is a failure that the phase only tells.
        current: of a judge card, kappa on the scale where it could be lowest.
        limit: what the current value is held against, in the metric's unit.
        explanation: one sentence with the figures that decided.
        scale, low, high, n: of a judge card, which scale that is, the 95 % interval of its kappa, and its labels.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: str
    status: Status
    baseline: float | None
    current: float | None
    limit: float | None
    explanation: str
    scale: str | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
