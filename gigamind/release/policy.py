"""gates.toml: which regressions stop a release; the results of its rules, and how a failed gate was accepted."""

from collections.abc import Collection, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, LiteralString, Self, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    computed_field,
    model_validator,
)

from gigamind.assets import asset
from gigamind.choices import Phase, Relaxable
from gigamind.errors import REGRESSION_EXIT_CODE, InputError, reason_of
from gigamind.i18n import Message, Text, _, joined
from gigamind.loading import problem_of, toml_values
from gigamind.metrics.spec import blocks_of, units_of
from gigamind.metrics.table import label_text, use_of
from gigamind.records.card import CardRequirements
from gigamind.records.judged import Report
from gigamind.records.schema import messages_in, with_messages
from gigamind.release.comparison import Comparison

CardPolicy = Literal["require", "warn", "ignore"]
_Held = Literal["warn", "hold"]
_Block = Literal["search", "unanswerable", "links", "answers", "quality"]
_Limit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
COVERAGE = "coverage"
VERDICTS = "verdicts"
CHECKS = "checks"
PASSAGES = "passages"
WEAK = "weak_judge"
LOST = frozenset({COVERAGE, VERDICTS, CHECKS, PASSAGES})
"""Rules about items that this run lacks."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _PhaseRules(_Section):
    """The thresholds of one phase; `card` replaces keys of `[card]`.

    Attributes:
        drop: the largest allowed fall of a metric, absolute.
        soft: blocks ("links", "search", "unanswerable", "answers", "quality") whose failures only warn.
        at_worst: blocks whose metrics may be at their worst value in both runs, with a warning; else the runs are not
            comparable.
    """

    drop: _Limit
    soft: tuple[_Block, ...] = ()
    at_worst: tuple[_Block, ...] = ()
    card: CardRequirements = CardRequirements()


class _SmallSample(_Section):
    """`drop` replaces the drop of the phase for runs with fewer than `below` items."""

    below: Annotated[int, Field(ge=0)]
    drop: _Limit


_OF_JUDGES = "answers."  # the block in which a team's own judge may have metrics


def _unknown(name: str) -> Message:
    return _(
        "unknown metric {name!r}; use a metric name from summary.json, such as search.mrr",
        name=name,
    )


def _check_name(name: str) -> None:
    if not use_of(name).gate and not name.startswith(_OF_JUDGES):
        raise ValueError(_unknown(name))


class _Quality(_Section):
    """Which metrics are gated, by their names in summary.json with their block.

    Attributes:
        metrics: deterministic metrics, gated on the raw drop.
        judged: metrics given by a model, as all of `quality` are: they fail only on a significant drop, and may be
            inconclusive. With a model as judge, metrics of `unanswerable` belong here as well.
        cards: whether an LLM judge needs a valid judge report (`gigamind judge certify`) that meets `[card]`.
        weak_judges: whether the verdicts of a free judge gate although the baseline says that it is weak.
    """

    metrics: tuple[str, ...]
    judged: tuple[str, ...] = ()
    cards: CardPolicy = "warn"
    weak_judges: _Held = "warn"

    @model_validator(mode="after")
    def _check_names(self) -> "_Quality":
        for name in (*self.metrics, *self.judged):
            _check_name(name)
        return self


class _Comparable(_Section):
    """`relax`: differences of the runs that do not prevent a verdict; the verdict names them.  See `Relaxable`."""

    relax: tuple[Relaxable, ...] = ()


class _Coverage(_Section):
    """`max_lost`: largest allowed share of the baseline's items that this run could not evaluate, in [0, 1]."""

    max_lost: _Limit


class SpeedRule(_Section):
    """Fails above `ratio` times the baseline (measured once: only from `ratio_from_ms` on), or above +`rise_ms`."""

    ratio: Annotated[float, Field(ge=1, allow_inf_nan=False)]
    rise_ms: _Milliseconds
    ratio_from_ms: _Milliseconds = 0.0

    def limit_ms(self, before: float) -> float:
        """Return the longest allowed time in ms, given the baseline's; both were measured once."""
        return min(before + self.rise_ms, max(before * self.ratio, before + self.ratio_from_ms))


class _Speed(_Section):
    """Rules for the p95 of a query and the cold start; `systems`: whether they gate another --system."""

    systems: _Held = "warn"
    search_p95: SpeedRule
    cold_start: SpeedRule


class Policy(_Section):
    """All of gates.toml."""

    schema_: Literal[1] = Field(alias="schema")
    phases: dict[Phase, _PhaseRules]
    small_sample: _SmallSample
    quality: _Quality
    floors: dict[str, _Limit] = {}
    ceilings: dict[str, _Limit] = {}
    comparable: _Comparable = _Comparable()
    card: CardRequirements = CardRequirements()
    coverage: _Coverage
    speed: _Speed

    @model_validator(mode="after")
    def _check_bounds(self) -> "Policy":
        for section, bounds, lower in (
            ("floors", self.floors, False),
            ("ceilings", self.ceilings, True),
        ):
            for name in bounds:
                _check_name(name)
                if use_of(name).gate and use_of(name).lower is not lower:
                    other = "floors" if lower else "ceilings"
                    message = _(
                        "{name} has no effect in [{section}]; move it to [{other}]",
                        name=name,
                        section=section,
                        other=other,
                    )
                    raise ValueError(message)
        return self

    @classmethod
    def read(cls, path: Path | None, relax: Collection[Relaxable] = ()) -> Self:
        """Return gigamind's default policy with the keys of the file at `path`, and `relax` in addition to the file's.

        Raises:
            InputError: the file is missing, not TOML, or has an unknown field or metric.
        """
        shipped = asset("deployments") / "gates.toml"
        file = path or shipped
        content = _read(shipped)
        try:
            policy = cls.model_validate(_merged(content, _read(path)) if path else content)
        except ValidationError as error:
            problems = joined(map(problem_of, error.errors()))
            raise InputError("{file}: {problems}", file=file, problems=problems) from error
        return policy.allowing(relax)

    def allowing(self, relax: Iterable[Relaxable]) -> Self:
        """Return a copy that also allows these differences."""
        allowed = tuple(dict.fromkeys((*self.comparable.relax, *relax)))
        return self.model_copy(update={"comparable": _Comparable(relax=allowed)})

    def bound(self, name: str) -> float | None:
        """Return the worst allowed value of a metric, whatever the baseline; None if there is no bound."""
        return (self.ceilings if use_of(name).lower else self.floors).get(name)

    def refuse_unknown(self, task: str) -> None:
        """Raise InputError if a gated metric of a task does not exist; first load its judge, which may define some."""
        for name in self.gated:
            if name.partition(".")[0] in blocks_of(task) and not use_of(name).gate:
                raise InputError("gates.toml: {problem}", problem=_unknown(name))

    @property
    def gated(self) -> tuple[str, ...]:
        """Return every gated metric, once."""
        quality = self.quality
        return tuple(
            dict.fromkeys((*quality.metrics, *quality.judged, *self.floors, *self.ceilings))
        )

    def card_requirements(self, phase: Phase) -> CardRequirements:
        """Return what a judge report must show in this phase."""
        own = self.phases[phase].card
        return self.card.model_copy(update={key: getattr(own, key) for key in own.model_fields_set})


def _read(file: Path) -> dict[str, object]:
    try:
        return toml_values(file.read_text("utf-8"))
    except OSError as error:
        reason = reason_of(error)
        raise InputError("{file} cannot be read: {reason}", file=file, reason=reason) from error
    except ValueError as error:
        raise InputError("{file}: invalid TOML: {reason}", file=file, reason=str(error)) from error


def _merged(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    merged = {**below, **above}
    for name in below.keys() & above.keys():
        tables = below[name], above[name]
        if all(isinstance(table, dict) for table in tables):
            merged[name] = _merged(*cast("tuple[dict[str, object], dict[str, object]]", tables))
    return merged


Status = Literal["passed", "failed", "warned", "skipped", "inconclusive", "not-comparable"]
_ORDER: tuple[Status, ...] = (
    "failed", "not-comparable", "inconclusive", "warned", "skipped", "passed",
)  # fmt: skip


class RuleResult(BaseModel, frozen=True, extra="forbid"):
    """One rule on one metric.

    Attributes:
        metric: as in summary.json, or a key of `RULES`.
        status: "warned" is a failure that the phase only reports; "not-comparable": the baseline has no usable value.
        current: for a judge report, kappa on the scale where it could be lowest.
        limit: the limit for the current value, in the metric's unit.
        scale, low, high, n: for a judge report, that scale, the 95 % interval of its kappa, and the number of labels.
        why, remarks, values: codes of the reason and of its remarks, and the values in them; empty for a judge report.
    """

    metric: str
    status: Status
    baseline: float | None
    current: float | None
    limit: float | None
    explanation: Text
    scale: str | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    why: str = ""
    remarks: tuple[str, ...] = ()
    values: dict[str, str] = {}

    @property
    def reason(self) -> Text:
        """Return what the rule found, without remarks; a rule on a judge report has no other text."""
        return self._filled(_REASONS[self.why]) if self.why else self.explanation

    def remark(self, code: str) -> Message:
        """Return a remark that several rules share: why metrics of a weak judge or at their worst value do not gate."""
        return self._filled(_REMARKS[code])

    def explained(self) -> "RuleResult":
        """Return the rule with its reason and remarks as explanation."""
        remarks = (code for code in (self.why, *self.remarks) if code in _REMARKS)
        texts = (self._filled(_REASONS[self.why]), *map(self.remark, remarks))
        return self.model_copy(update={"explanation": joined(texts, " ")})

    def _filled(self, template: str) -> Message:
        name, task = self.values.get("metric", ""), self.values.get("units", "search")
        named = {"metric": rule_label(name), "name": name, "units": units_of(task)}
        return Message(template, {**self.values, **named})


RULES: Mapping[str, Message] = {
    COVERAGE: _("evaluated items"),
    PASSAGES: _("expected passages"),
    VERDICTS: _("items with a verdict"),
    CHECKS: _("items checked with the checklist"),
    "metrics": _("metrics"),
    "search_p95": _("query latency (p95)"),
    "cold_start": _("cold start"),
    "judge_card": _("judge report"),
}
"""Labels of what rules are about, other than metrics."""


def N_(template: LiteralString) -> str:  # noqa: N802  gettext's name
    """Mark a template for the catalogues; a rule fills it."""
    return template


_OF_UNANSWERABLE = {"unanswerable.precision", "unanswerable.recall", "unanswerable.f1"}


def rule_label(name: str) -> Text:
    """Return the label of what a rule is about; metrics of unanswerable queries are marked."""
    if name in RULES:
        return RULES[name]
    label = label_text(name)
    return _("{metric} (unanswerable)", metric=label) if name in _OF_UNANSWERABLE else label


_GONE = N_("{metric} was measured in the baseline, but not in this run.")
_REASONS: Mapping[str, str] = {
    "drop": N_("{metric}: {before} in the baseline, {after} now; worse by {drop} (limit {limit})."),
    "gone": _GONE,
    "speed_gone": _GONE,
    "unchecked": N_("{metric}: this run used no checklist. Run again with --checklist."),
    "other_checklist": N_("{metric}: the runs used different checklists. Create a new baseline."),
    "no_such_item": N_("{metric}: the gates name this checklist item, but the checklist lacks it."),
    "unmeasured": N_("{metric} was not measured in either run."),
    "new": N_("{metric} is not in the baseline, so a new baseline has to gate it."),
    "worst": N_("{metric} is at its worst value ({before}) in both runs."),
    "floor": N_("{metric} is {after} in this run; the gates require at least {limit}."),
    "ceiling": N_("{metric} is {after} in this run; the gates require at most {limit}."),
    "floor_gone": N_("{metric} has no value in this run, but the gates require at least {limit}."),
    "ceiling_gone": N_("{metric} has no value in this run, but the gates require at most {limit}."),
    "nothing_held": N_("No gated metric of these {units} was measured in both runs."),
    "lost_coverage": N_("{count} of {total} {units} could not be evaluated (limit: {limit})."),
    "lost_passages": N_("{count} of {total} {units} lost their expected passage (limit: {limit})."),
    "lost_verdicts": N_("{count} of {total} {units} lost their verdict (limit: {limit})."),
    "lost_checks": N_("{count} of {total} {units} lost their checklist result (limit: {limit})."),
    "other_hardware": N_("{metric} is not compared, because the runs used different hardware."),
    "speed_of_file": N_(
        "{metric}: the baseline has a time, but the results file of this run (--system run:FILE) has no"
        " times. To gate the speed, evaluate the system itself: --system with its address or command."
    ),
    "slower": N_("{metric}: {before} ms before, {after} ms in this run (limit {limit} ms)."),
    "normalised": N_(
        "A query takes {ratio} times as long as before (99% CI {low} to {high}, limit {limit})."
    ),
}
_AGAIN = N_(
    "Run again with the baseline's options (for times: --cold-start, --speed-passes). If the change is intentional,"
    " promote a new baseline."
)
_REMARKS: Mapping[str, str] = {
    "gone": _AGAIN,
    "speed_gone": _AGAIN,
    "worst": N_(
        "A gated metric is at its worst value in both runs, so its gate cannot detect a regression. Promote a better"
        " baseline, or set a limit under [floors] or [ceilings] in a file for --gates."
    ),
    "normalised": N_(
        "Measured in {passes} passes relative to a reference load. p95 in ms: {before} in the baseline, {after} in this"
        " run."
    ),
    "small": N_("Small sample: of {n} {units}, one can change the metric by {weight}."),
    "soft": N_("In the phase {phase}, this result is only reported and does not stop the release."),
    "wide": N_("The confidence interval (CI) is too wide to decide."),
    "apart": N_("Measured on {before_n} {units} in the baseline and on {after_n} in this run."),
    "of_verdicts": N_(
        "The judge of both runs does not separate answerable from unanswerable questions. Choose"
        " another `--unanswerable-mode` by its errors in report.html, and create a new baseline with it."
    ),
    WEAK: N_(
        "The judge accepts {accepts} of the unanswerable queries and wrongly refuses {refuses} of the answerable ones"
        " (limits 50% and 20%), so gates only report its metrics. Use `--unanswerable-mode llm`, or set"
        ' weak_judges = "hold" under [quality] in a file for --gates.'
    ),
    "needs": N_("About {needed} items would be enough for a decision."),
    "needs_all": N_("The drop equals the allowed drop, so more items would not help."),
    "untested": N_("No paired significance test fits this metric, which is a ratio."),
    "such_as": N_("First affected item: {example}."),
    "one_pass": N_(
        "The speed was measured without repeated passes, so a slower search and a busy machine look the"
        " same. Create a new baseline with several passes (--speed-passes)."
    ),
    "more_allowed": N_("To allow more, raise ratio or rise_ms under [speed.{name}] for --gates."),
    "of_system": N_(
        'The speed of another system (--system) is only reported. To gate it, set systems = "hold" under'
        " [speed] in a file for --gates."
    ),
    "few_passes": N_("A decision needs more passes of the speed measurement (--speed-passes)."),
}

GateVerdict = Literal["passed", "failed", "warned", "inconclusive", "not-comparable"]


class GateResult(BaseModel, frozen=True, extra="forbid"):
    """The verdict; its reasons are the deciding rules, missing values first, then the `relaxed` differences.

    Attributes:
        then: of runs that are not comparable, the rules that fail if `--changed` allows the differences.
    """

    phase: Phase
    verdict: GateVerdict
    rules: tuple[RuleResult, ...]
    reasons: tuple[Text, ...]
    relaxed: tuple[Relaxable, ...] = ()
    then: tuple[RuleResult, ...] = Field(default=(), exclude_if=lambda rules: not rules)

    @property
    def is_refused(self) -> bool:
        """Whether the runs cannot be compared, so that no rule was applied."""
        return self.verdict == "not-comparable" and not self.rules

    @property
    def lacks_verdicts(self) -> bool:
        """Whether nothing but missing verdicts of the judge or checklist stops the release."""
        return bool(self.failed) and {rule.metric for rule in self.failed} <= {VERDICTS, CHECKS}

    @property
    def failed(self) -> tuple[RuleResult, ...]:
        """Return the rules that stop the release."""
        return tuple(rule for rule in self.rules if rule.status == "failed")


_Said = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class Waiver(Report):
    """waiver.json: a named person accepts the failed gates of a candidate until a date, which is included.

    Attributes:
        metrics: the gates that had failed; a gate that fails later is not waived.
        baseline: run id of the baseline that the candidate was compared with.
    """

    version: Literal["1.0"] = "1.0"
    run_id: str
    baseline: str
    created_at: str
    reason: _Said
    until: date
    by: _Said
    metrics: tuple[str, ...]

    def covers(self, gate: GateResult, today: date) -> bool:
        """Return whether all failed gates are waived on this day."""
        failed = {rule.metric for rule in gate.failed}
        return bool(failed) and today <= self.until and failed <= set(self.metrics)


class Earlier(Report):
    """An earlier verdict on the same candidate, with the metrics that failed."""

    run_id: str
    verdict: GateVerdict
    metrics: tuple[str, ...] = ()


class Release(Report, extra="ignore"):
    """compare.json: a comparison and the verdict of the gates.

    Attributes:
        waiver: who accepted the failed gates, until when.
        attempts: earlier verdicts on the same candidate.
        informational: whether it decides on no release, because the options name no baseline.
        incomplete: whether the run ended with exit code 3, so that it decides nothing.
    """

    comparison: Comparison
    gate: GateResult
    informational: bool = Field(default=False, exclude_if=lambda value: not value)
    incomplete: bool = Field(default=False, exclude_if=lambda value: not value)
    waiver: Waiver | None = Field(default=None, exclude_if=lambda waiver: waiver is None)
    attempts: tuple[Earlier, ...] = Field(default=(), exclude_if=lambda attempts: not attempts)

    @computed_field
    @property
    def messages(self) -> dict[str, dict[str, Any]]:
        """Return id and values of each message by its English, for translation."""
        return {str(text): text.as_json() for text in messages_in((self.comparison, self.gate))}

    @model_validator(mode="before")
    @classmethod
    def _restore(cls, data: object) -> object:
        if not isinstance(data, dict) or "messages" not in data:
            return cast("object", data)
        fields = cast("dict[str, Any]", data)
        return with_messages(
            {x: y for x, y in fields.items() if x != "messages"}, fields["messages"]
        )

    @property
    def worst_first(self) -> list[RuleResult]:
        """Return the rules by result, worst first: lost items, then drops beyond the limit, then others."""
        return self.ordered(self.gate.rules)

    def ordered(self, rules: Iterable[RuleResult]) -> list[RuleResult]:
        """Return other rules on this comparison in that order."""
        return sorted(rules, key=self._order)

    def _order(self, rule: RuleResult) -> tuple[int, int, float]:
        place, change = _ORDER.index(rule.status), self.comparison.metric(rule.metric)
        if rule.status in {"passed", "skipped"}:
            return place, 0, 0.0
        if rule.metric in LOST:
            return place, 0, rule.current or 0.0
        if rule.why == "drop" and change and change.drop is not None:
            return place, 1, (rule.limit or 0.0) - change.drop
        return place, 2, rule.current or 0.0

    def exit_code(self, *, fail_on_regression: bool) -> int:
        """Return 4 for a regression and 1 if there is no verdict, when requested; otherwise 0, also if it is waived."""
        codes = {"failed": REGRESSION_EXIT_CODE, "not-comparable": InputError.exit_code}
        if self.waiver or not fail_on_regression:
            return 0
        return codes.get(self.gate.verdict, 0)
