"""gates.toml: when a release is stopped."""

import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gigamind.assets import asset
from gigamind.errors import InputError
from gigamind.reports.cards.requirements import CardRequirements

Phase = Literal["mvp", "beta", "ga"]
CardPolicy = Literal["require", "warn", "ignore"]
Block = Literal["search", "unanswerable", "links", "answers", "quality"]
Limit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]

# Metrics that may be gated, by block.
_GATED: dict[Block, re.Pattern[str]] = {
    "search": re.compile(r"(hit|ndcg|recall)_at_\d+|mrr|span_precision|span_recall"),
    "unanswerable": re.compile("precision|recall|f1|far"),
    "links": re.compile(r"(precision|recall)_at_\d+"),
    "answers": re.compile(
        "correctness|utility|contradiction|source_coverage|context_utilisation|citation_(precision|recall)"
    ),
    "quality": re.compile("[a-z][a-z0-9_]*"),  # pass_rate, or an item of whichever checklist
}
LOWER_IS_BETTER = frozenset(
    {
        "unanswerable.far",
        *(
            f"answers.{name}"
            for name in ("contradiction", "distraction", "noise_sensitivity", "hallucination")
        ),
    }
)


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
            block, _, metric = name.partition(".")
            if not any(block == b and gated.fullmatch(metric) for b, gated in _GATED.items()):
                raise ValueError(
                    f'unknown metric "{name}"; metrics are named as in summary.json, such as search.mrr'
                )
        return self


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
