"""gates.toml: when a release is stopped, and what its rules gave."""

import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gigamind.assets import asset
from gigamind.choices import Phase
from gigamind.errors import InputError
from gigamind.metrics.spec import blocks_of
from gigamind.metrics.table import may_gate
from gigamind.records.card import CardRequirements

CardPolicy = Literal["require", "warn", "ignore"]
Block = Literal["search", "unanswerable", "links", "answers", "quality"]
Limit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PhaseRules(_Section):
    """The thresholds of one phase.

    Attributes:
        drop: by how much a metric may fall, absolute.
        soft: blocks ("links", "search", "unanswerable", "answers", "quality") whose failures are told but do not stop
            the release.
        card: what takes the place of `[card]` in this phase, key by key.
    """

    drop: Limit
    soft: tuple[Block, ...] = ()
    card: CardRequirements = CardRequirements()


class SmallSample(_Section):
    """`drop` takes the phase's place when a metric stands on fewer than `below` items."""

    below: Annotated[int, Field(ge=0)]
    drop: Limit


OF_JUDGES = "answers."  # the block in which a team's own judge may have figures
_UNKNOWN = 'unknown metric "{}"; metrics are named as in summary.json, such as search.mrr'


class Quality(_Section):
    """Which metrics are gated, by their names in summary.json with their block.

    Attributes:
        metrics: deterministic ones, held to the raw drop.
        judged: those that vary between equal runs because a model gives them: they fail only on a drop that chance does
            not explain, and may stay inconclusive.  Those of the block `unanswerable` are held so, wherever they are
            named, when the run's judge asks a model; those of `quality`, which a checklist gives, always.
        cards: whether a judge that asks a model needs a valid card (`gigamind judge certify`) that meets `[card]`.
    """

    metrics: tuple[str, ...]
    judged: tuple[str, ...] = ()
    cards: CardPolicy = "warn"

    @model_validator(mode="after")
    def _check_names(self) -> "Quality":
        for name in (*self.metrics, *self.judged):
            if not may_gate(name) and not name.startswith(OF_JUDGES):
                raise ValueError(_UNKNOWN.format(name))
        return self

    def refuse_unknown(self, task: str) -> None:
        """See to it that the figures of a task exist, once its judge is loaded, which may give some of its own.

        Raises:
            InputError: one does not.
        """
        for name in (*self.metrics, *self.judged):
            if name.partition(".")[0] in blocks_of(task) and not may_gate(name):
                raise InputError(f"gates.toml: quality: {_UNKNOWN.format(name)}")


class Coverage(_Section):
    """`lost_share`: share of the baseline's items that the current run may have been unable to evaluate."""

    lost_share: Limit


class SpeedRule(_Section):
    """Fails above `ratio` times the baseline once the rise is `ratio_from_ms`, or on a rise above `rise_ms`."""

    ratio: Annotated[float, Field(ge=1, allow_inf_nan=False)]
    rise_ms: Milliseconds
    ratio_from_ms: Milliseconds = 0.0


class Speed(_Section):
    """Rules for the p95 of a query and for the cold start."""

    search_p95: SpeedRule
    cold_start: SpeedRule


class Policy(_Section):
    """All of gates.toml."""

    schema_: Literal[1] = Field(alias="schema")
    phases: dict[Phase, PhaseRules]
    small_sample: SmallSample
    quality: Quality
    card: CardRequirements = CardRequirements()
    coverage: Coverage
    speed: Speed

    def allowed_drop(self, phase: Phase, n: int) -> float:
        """By how much a metric over `n` items may fall in this phase."""
        return self.small_sample.drop if n < self.small_sample.below else self.phases[phase].drop

    def card_requirements(self, phase: Phase) -> CardRequirements:
        """What a judge card must show in this phase."""
        own = self.phases[phase].card
        return self.card.model_copy(
            update={name: getattr(own, name) for name in own.model_fields_set}
        )


def read_policy(path: Path | None, phase: Phase) -> Policy:
    """The policy of that file, or the one that comes with gigamind.

    Raises:
        InputError: the file is missing, not TOML, has an unknown field or metric, or lacks the phase.
    """
    file = path or asset("deployments") / "gates.toml"
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: not TOML: {error}") from error
    try:
        policy = Policy.model_validate(content)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in e['loc'])}: {e['msg'].removeprefix('Value error, ')}"
            for e in error.errors()
        )
        raise InputError(f"{file}: {problems}") from error
    if phase not in policy.phases:
        raise InputError(f"{file}: has no [phases.{phase}]; add it, or choose another --phase")
    return policy


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


Verdict = Literal["passed", "failed", "warned", "inconclusive", "not-comparable"]


class GateResult(BaseModel):
    """The verdict and its reasons."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    phase: Phase
    verdict: Verdict
    rules: tuple[RuleResult, ...]
    reasons: tuple[str, ...]

    @property
    def failed(self) -> tuple[RuleResult, ...]:
        """The rules that stop the release."""
        return tuple(rule for rule in self.rules if rule.status == "failed")
