"""gates.toml: when a release is stopped, and what its rules gave."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gigamind.assets import asset
from gigamind.choices import Phase, Relaxable
from gigamind.errors import InputError
from gigamind.loading import problem_of, toml_values
from gigamind.metrics.spec import blocks_of
from gigamind.metrics.table import is_lower_better, label, may_gate, metric_of
from gigamind.records.card import CardRequirements
from gigamind.wording import Words

CardPolicy = Literal["require", "warn", "ignore"]
Block = Literal["search", "unanswerable", "links", "answers", "quality"]
Limit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
COVERAGE = "coverage"
VERDICTS = "verdicts"
CHECKS = "checks"
PASSAGES = "passages"
LOST = frozenset({COVERAGE, VERDICTS, CHECKS, PASSAGES})
"""What rules say of that a run lacks."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PhaseRules(_Section):
    """The thresholds of one phase.

    Attributes:
        drop: by how much a metric may fall, absolute.
        soft: blocks ("links", "search", "unanswerable", "answers", "quality") whose failures are told but do not stop
            the release.
        at_worst: blocks whose metrics may be at their worst in both runs, where they cannot get worse: that a gate
            holds nothing of them is told; of any other block there is no verdict then.
        card: what takes the place of `[card]` in this phase, key by key.
    """

    drop: Limit
    soft: tuple[Block, ...] = ()
    at_worst: tuple[Block, ...] = ()
    card: CardRequirements = CardRequirements()


class SmallSample(_Section):
    """`drop` takes the phase's place in a run of fewer than `below` items."""

    below: Annotated[int, Field(ge=0)]
    drop: Limit


OF_JUDGES = "answers."  # the block in which a team's own judge may have figures
_UNKNOWN = 'unknown metric "{}"; metrics are named as in summary.json, such as search.mrr'


def _check_name(name: str) -> None:
    if not may_gate(name) and not name.startswith(OF_JUDGES):
        raise ValueError(_UNKNOWN.format(name))


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
            _check_name(name)
        return self


class Comparable(_Section):
    """`relax`: differences in spite of which a verdict is given, which then says so; see `Relaxable`."""

    relax: tuple[Relaxable, ...] = ()


class Coverage(_Section):
    """`max_lost`: share of the baseline's items that the current run may have been unable to evaluate."""

    max_lost: Limit


class SpeedRule(_Section):
    """Fails above `ratio` times the baseline, or on a rise above `rise_ms`.

    Attributes:
        ratio_from_ms: rise from which the ratio counts for a time that was taken once.
    """

    ratio: Annotated[float, Field(ge=1, allow_inf_nan=False)]
    rise_ms: Milliseconds
    ratio_from_ms: Milliseconds = 0.0

    def limit_ms(self, before: float) -> float:
        """The longest time that is allowed after a baseline's, where each was taken once."""
        return min(before + self.rise_ms, max(before * self.ratio, before + self.ratio_from_ms))


class Speed(_Section):
    """Rules for the p95 of a query and for the cold start.

    Attributes:
        systems: whether the speed of another --system may stop a release: its time is that of a network and of another
            machine as well.
    """

    systems: Literal["warn", "hold"] = "warn"
    search_p95: SpeedRule
    cold_start: SpeedRule


class Policy(_Section):
    """All of gates.toml."""

    schema_: Literal[1] = Field(alias="schema")
    phases: dict[Phase, PhaseRules]
    small_sample: SmallSample
    quality: Quality
    floors: dict[str, Limit] = {}
    ceilings: dict[str, Limit] = {}
    comparable: Comparable = Comparable()
    card: CardRequirements = CardRequirements()
    coverage: Coverage
    speed: Speed

    @model_validator(mode="after")
    def _check_bounds(self) -> "Policy":
        for section, bounds, lower in (
            ("floors", self.floors, False),
            ("ceilings", self.ceilings, True),
        ):
            for name in bounds:
                _check_name(name)
                if may_gate(name) and is_lower_better(name) is not lower:
                    other = "floors" if lower else "ceilings"
                    raise ValueError(f"{name} bounds nothing in [{section}]; write it in [{other}]")
        return self

    @property
    def bounds(self) -> Mapping[str, float]:
        """All floors and ceilings."""
        return {**self.floors, **self.ceilings}

    def bound(self, name: str) -> float | None:
        """The worst value that a metric may have, whatever the baseline's was; None where anything goes."""
        return (self.ceilings if is_lower_better(name) else self.floors).get(name)

    def refuse_unknown(self, task: str) -> None:
        """See to it that the figures of a task exist, once its judge is loaded, which may give some of its own.

        Raises:
            InputError: one does not.
        """
        for name in self.gated:
            if name.partition(".")[0] in blocks_of(task) and not may_gate(name):
                raise InputError(f"gates.toml: {_UNKNOWN.format(name)}")

    @property
    def gated(self) -> tuple[str, ...]:
        """Every metric that a rule is about, once."""
        quality = self.quality
        return tuple(
            dict.fromkeys((*quality.metrics, *quality.judged, *self.floors, *self.ceilings))
        )

    def allowed_drop(self, phase: Phase, n: int) -> float:
        """By how much a metric may fall in this phase in a run of `n` items."""
        return self.small_sample.drop if n < self.small_sample.below else self.phases[phase].drop

    def card_requirements(self, phase: Phase) -> CardRequirements:
        """What a judge card must show in this phase."""
        own = self.phases[phase].card
        return self.card.model_copy(
            update={name: getattr(own, name) for name in own.model_fields_set}
        )


def read_policy(path: Path | None, relax: Collection[Relaxable] = ()) -> Policy:
    """The policy that comes with gigamind, with what that file says instead, key by key.

    Args:
        relax: in what the runs may differ beside what the file allows.

    Raises:
        InputError: the file is missing, not TOML, or has an unknown field or metric.
    """
    shipped = asset("deployments") / "gates.toml"
    file = path or shipped
    content = _read(shipped)
    try:
        policy = Policy.model_validate(_merged(content, _read(path)) if path else content)
    except ValidationError as error:
        problems = "; ".join(map(problem_of, error.errors()))
        raise InputError(f"{file}: {problems}") from error
    allowed = tuple(dict.fromkeys((*policy.comparable.relax, *relax)))
    return policy.model_copy(update={"comparable": Comparable(relax=allowed)})


def _read(file: Path) -> dict[str, object]:
    try:
        return toml_values(file.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}); check its path") from error
    except ValueError as error:
        raise InputError(f"{file}: not TOML: {error}") from error


def _merged(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    """Tables are merged; any other value, a list too, takes the place of the one below."""
    merged = {**below, **above}
    for name in below.keys() & above.keys():
        tables = below[name], above[name]
        if all(isinstance(table, dict) for table in tables):
            merged[name] = _merged(*cast("tuple[dict[str, object], dict[str, object]]", tables))
    return merged


Status = Literal["passed", "failed", "warned", "skipped", "inconclusive", "not-comparable"]


class RuleResult(BaseModel):
    """One rule on one metric.

    Attributes:
        metric: as in summary.json, or `coverage`, `passages`, `verdicts`, `checks`, `search_p95`, `cold_start`,
            `judge_card`.
        status: "warned" is a failure that the phase only tells; "not-comparable": the baseline is none for this rule.
        current: of a judge card, kappa on the scale where it could be lowest.
        limit: what the current value is held against, in the metric's unit.
        explanation: one sentence with the figures that decided.
        scale, low, high, n: of a judge card, which scale that is, the 95 % interval of its kappa, and its labels.
        why, remarks, values: phrases of the table "rule" that say the explanation in any language, and what they name;
            empty where only the explanation says it.
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
    why: str = ""
    remarks: tuple[str, ...] = ()
    values: dict[str, str] = {}

    def told(self, say: Words) -> str:
        """The explanation in the language of the phrases."""
        return explain(say, self.why, self.remarks, self.values) if self.why else self.explanation


def explain(say: Words, why: str, remarks: Sequence[str], values: Mapping[str, str]) -> str:
    """One sentence with its remarks; "units" among the values is a task, whose items are named in that language."""
    given = {**values, "units": say(f"units.{values.get('units', 'search')}")}
    sentences = "".join(say(f"rule.{remark}", **given) for remark in remarks)
    return say(f"rule.{why}", **given | _called(values, say), remarks=sentences)


def _called(values: Mapping[str, str], say: Words) -> dict[str, str]:
    """What a rule holds, as people call it; of a metric with its name, for that is what gates.toml knows it by."""
    name = values.get("metric", "")
    of_rule = f"decision.rule_{name}"
    if say.language == "en":
        return {}
    if say.knows(of_rule):
        return {"metric": say(of_rule)}
    return {"metric": f"{label(name, say.language)}({name})"} if metric_of(name) else {}


GateVerdict = Literal["passed", "failed", "warned", "inconclusive", "not-comparable"]


class GateResult(BaseModel):
    """The verdict and its reasons.

    Attributes:
        reasons: what decided, first what cannot be known; then what of the policy was relaxed, whatever the verdict.
        relaxed: differences of the runs in spite of which there is a verdict, for the policy says so.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    phase: Phase
    verdict: GateVerdict
    rules: tuple[RuleResult, ...]
    reasons: tuple[str, ...]
    relaxed: tuple[Relaxable, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Whether the runs themselves cannot be compared, so that no rule was applied."""
        return self.verdict == "not-comparable" and not self.rules

    @property
    def failed(self) -> tuple[RuleResult, ...]:
        """The rules that stop the release."""
        return tuple(rule for rule in self.rules if rule.status == "failed")
