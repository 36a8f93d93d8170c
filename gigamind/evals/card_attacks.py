"""Reads what a report of attacks says of the judge that is certified."""

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gigamind.errors import InputError
from gigamind.reports.cards.schema import CardAttacks, CardFigure
from gigamind.reports.judged import JudgeReport
from gigamind.stats.proportion import wilson


class _Fooled(BaseModel):
    model_config = ConfigDict(extra="ignore")

    hits: int = Field(ge=0)
    of: int = Field(ge=0)

    @model_validator(mode="after")
    def _check_share(self) -> Self:
        if self.hits > self.of:
            raise ValueError(f"{self.hits} of {self.of} attacks cannot have succeeded")
        return self


class _Overall(BaseModel):
    model_config = ConfigDict(extra="ignore")

    fooled: _Fooled


class _AttackReport(BaseModel):
    model_config = ConfigDict(extra="ignore")

    fingerprint: str
    overall: _Overall


def read_attacks(path: Path, judge: JudgeReport) -> CardAttacks:
    """What the report of `gigamind judge attack` says of a judge.

    Raises:
        InputError: it cannot be read, is no such report, or is about another judge.
    """
    try:
        report = _AttackReport.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: the attacks cannot be read ({error.strerror})") from error
    except ValidationError as error:
        raise InputError(
            f"{path}: no report of attacks on a judge ({error.errors()[0]['msg']})"
        ) from error
    if report.fingerprint != judge.fingerprint:
        raise InputError(
            f"{path}: attacks on another judge ({report.fingerprint[:12]}, and the runs were judged by"
            f" {judge.fingerprint[:12]}); attack the judge that is certified"
        )
    hits, of = report.overall.fooled.hits, report.overall.fooled.of
    interval = wilson(hits, of) if of else None
    rate = CardFigure(
        value=hits / of if of else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        n=of,
    )
    return CardAttacks(succeeded=hits, attempted=of, rate=rate)
