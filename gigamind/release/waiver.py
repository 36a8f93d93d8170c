"""The verdict on a release, how a failed gate was accepted, and how often a candidate was judged."""

from datetime import date
from typing import Annotated, Any, Literal, cast

from pydantic import Field, StringConstraints, computed_field, model_validator

from gigamind.errors import InputError
from gigamind.records.judged import Report
from gigamind.records.schema import messages_in, with_messages
from gigamind.release.comparison import Comparison
from gigamind.release.policy import GateResult, GateVerdict

REGRESSION_EXIT_CODE = 4
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


class Attempt(Report):
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
    """

    comparison: Comparison
    gate: GateResult
    informational: bool = Field(default=False, exclude_if=lambda value: not value)
    waiver: Waiver | None = Field(default=None, exclude_if=lambda waiver: waiver is None)
    attempts: tuple[Attempt, ...] = Field(default=(), exclude_if=lambda attempts: not attempts)

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

    def exit_code(self, *, fail_on_regression: bool) -> int:
        """Return 4 for a regression and 1 if there is no verdict, when requested; otherwise 0, also if it is waived."""
        codes = {"failed": REGRESSION_EXIT_CODE, "not-comparable": InputError.exit_code}
        if self.waiver or not fail_on_regression:
            return 0
        return codes.get(self.gate.verdict, 0)
