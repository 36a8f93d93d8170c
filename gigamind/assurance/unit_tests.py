"""Unit tests of a judge: answers and questions with one known defect each, and the verdict of a correct judge.

The idea is from GroUSE (Muller et al., 2024): a judge can agree with human labels on average and still miss a whole
kind of failure.  The data are in `judges/trials/unit_tests.jsonl`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from gigamind.assurance.trials import (
    Case,
    JudgeKind,
    Observations,
    Observed,
    OnTrial,
    Scenario,
    ScenarioRow,
    Share,
    TrialReport,
    TrialText,
    read_scenario_rows,
)
from gigamind.errors import LlmError
from gigamind.evidence.schema import Strict
from gigamind.i18n import Language, Text, _
from gigamind.records.card import CardLiars
from gigamind.records.judged import Report

_Bound = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Expectation(Strict):
    """The verdict of a correct judge; an omitted field accepts any value.

    Attributes:
        correctness: Minimum and maximum.
        utility: Minimum and maximum.
        proven: Numbers (from 1) of the notes with verified quotes.
    """

    unanswerable: bool | None = None
    correctness: Annotated[tuple[_Bound, _Bound], Field(strict=False)] | None = None
    utility: Annotated[tuple[_Bound, _Bound], Field(strict=False)] | None = None
    proven: Annotated[frozenset[int], Field(strict=False)] | None = None

    def misses(self, seen: Observed) -> tuple[Text, ...]:
        """Describe each difference between the observed and the expected verdict."""
        differences: list[Text] = []
        verdict = seen.verdict
        if self.unanswerable is not None and verdict.unanswerable is not self.unanswerable:
            message = _(
                "the verdict `unanswerable` is {actual}, expected {expected}",
                actual=str(verdict.unanswerable),
                expected=str(self.unanswerable),
            )
            differences.append(message)
        for name, bounds, value in (
            (_("correctness"), self.correctness, verdict.correctness),
            (_("utility"), self.utility, verdict.utility),
        ):
            if bounds and (value is None or not bounds[0] <= value <= bounds[1]):
                low, high = bounds
                message = _(
                    "{metric} is {value}, expected {low:g} to {high:g}",
                    metric=name,
                    value=str(value),
                    low=low,
                    high=high,
                )
                differences.append(message)
        if self.proven is not None and seen.proven != self.proven:
            message = _(
                "verified quotes come from the notes with the numbers {actual}, expected {expected}",
                actual=str(sorted(seen.proven)),
                expected=str(sorted(self.proven)),
            )
            differences.append(message)
        return tuple(differences)


class UnitTestRow(ScenarioRow):
    """One unit test.

    Attributes:
        failure: The kind of failure that a poor judge misses, or `none` if the case has no defect.
        question: Replaces the question of the scenario.
        answer: Only for judges of answers.
    """

    failure: Annotated[str, Field(pattern=r"^[a-z_]+$")]
    language: Language
    kind: JudgeKind
    question: TrialText | None = None
    answer: TrialText | None = None
    expected: Expectation


@dataclass(frozen=True, slots=True)
class UnitTest:
    """A unit test and its scenario."""

    row: UnitTestRow
    scenario: Scenario

    def case(self) -> Case:
        """Return the case for the judge."""
        question = self.row.question or self.scenario.question
        return Case(self.row.id, question, self.scenario.sources, self.row.answer or "")


class UnitTestResult(Report):
    """The result of one unit test.

    Attributes:
        passed: None if the judge gave no verdict.
        misses: Differences from the expected verdict, or the code of the error.
    """

    id: str
    failure: str
    language: Language
    passed: bool | None
    misses: tuple[Text, ...]


class UnitTestGroup(Report):
    """Unit tests with the same value of one field.

    Attributes:
        passed: Share among the tests with a verdict.
        unscored: Number of tests without a verdict.
    """

    name: str
    tests: int
    passed: Share
    unscored: int


class UnitTestReport(TrialReport):
    """The failures that a judge detects.

    Attributes:
        tests: Empty, as are the groups, if no model was given.
        liars: Results of the deceptive judges; None for judges of questions.
    """

    overall: UnitTestGroup
    by_failure: tuple[UnitTestGroup, ...]
    by_language: tuple[UnitTestGroup, ...]
    tests: tuple[UnitTestResult, ...]
    liars: CardLiars | None = None


def load_unit_tests(folder: Path | None = None) -> tuple[UnitTest, ...]:
    """Read the unit tests of a trial folder, by default the packaged one; InputError names file and line."""
    rows = read_scenario_rows(folder, "unit_tests.jsonl", UnitTestRow)
    return tuple(UnitTest(row, scenario) for row, scenario in rows)


def unit_test_report(
    judge: OnTrial, tests: Sequence[UnitTest], liars: CardLiars | None, seen: Observations
) -> UnitTestReport:
    """Return the report of the tests in `seen`."""
    results = [_result(test.row, seen[test.row.id]) for test in tests if test.row.id in seen]
    return UnitTestReport.on(judge, results, _group, tests=tuple(results), liars=liars)


def _result(row: UnitTestRow, seen: Observed | LlmError) -> UnitTestResult:
    if isinstance(seen, LlmError):
        passed, misses = None, (seen.code,)
    else:
        misses = row.expected.misses(seen)
        passed = not misses
    return UnitTestResult.like(row, passed=passed, misses=misses)


def _group(name: str, results: Sequence[UnitTestResult]) -> UnitTestGroup:
    return UnitTestGroup(
        name=name,
        tests=len(results),
        passed=Share.among([result.passed for result in results if result.passed is not None]),
        unscored=sum(result.passed is None for result in results),
    )
