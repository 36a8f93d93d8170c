"""Waivers and attempts: how a failed gate was accepted, and how often a candidate was judged."""

from datetime import date
from typing import Annotated, Literal, NamedTuple

from pydantic import StringConstraints

from gigamind.records.judged import Report
from gigamind.release.policy import GateResult, GateVerdict

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


class Attempt(NamedTuple):
    """An earlier verdict on the same candidate, with the metrics that failed."""

    run_id: str
    verdict: GateVerdict
    metrics: tuple[str, ...] = ()
