"""Unit tests of a judge: answers and questions with one known defect each, and the verdict that a fit judge gives.

After the idea of GroUSE (Muller et al., 2024): a judge may agree with people on average, and still be blind to a whole
kind of failure.  The data are `judges/trials/unit_tests.jsonl`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from gigamind.assurance.scenarios import Scenario, ScenarioRow, TrialText, read_scenario_rows
from gigamind.assurance.trials import (
    Case,
    JudgeKind,
    Observed,
    OnTrial,
    Seen,
    Share,
    TrialReport,
    observe,
)
from gigamind.errors import InputError, LlmError
from gigamind.evidence.schema import Strict
from gigamind.records.card import CardLiars
from gigamind.records.judged import Report
from gigamind.wording import Language

_Bound = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Expectation(Strict):
    """What a fit judge says; a field that is left out may be anything.

    Attributes:
        correctness: the least and the most.
        utility: the least and the most.
        proven: numbers of the notes, from 1, that verified quotes come from.
    """

    unanswerable: bool | None = None
    correctness: Annotated[tuple[_Bound, _Bound], Field(strict=False)] | None = None
    utility: Annotated[tuple[_Bound, _Bound], Field(strict=False)] | None = None
    proven: Annotated[frozenset[int], Field(strict=False)] | None = None

    @model_validator(mode="after")
    def _can_fail(self) -> "Expectation":
        if not self.model_fields_set:
            raise ValueError("nothing is expected, so no judge can fail")
        for low, high in filter(None, (self.correctness, self.utility)):
            if low > high:
                raise ValueError(f"nothing lies between {low:g} and {high:g}")
        return self

    def misses(self, seen: Observed) -> tuple[str, ...]:
        """What was seen otherwise, as sentences."""
        differences: list[str] = []
        said = seen.verdict
        if self.unanswerable is not None and said.unanswerable is not self.unanswerable:
            differences.append(f"unanswerable is {said.unanswerable}, not {self.unanswerable}")
        for name, bounds, value in (
            ("correctness", self.correctness, said.correctness),
            ("utility", self.utility, said.utility),
        ):
            if bounds and (value is None or not bounds[0] <= value <= bounds[1]):
                differences.append(f"{name} is {value}, not {bounds[0]:g} to {bounds[1]:g}")
        if self.proven is not None and seen.proven != self.proven:
            differences.append(
                f"quotes come from notes {sorted(seen.proven)}, not {sorted(self.proven)}"
            )
        return tuple(differences)


class UnitTestRow(ScenarioRow):
    """One unit test.

    Attributes:
        failure: the kind of failure that a blind judge would not see; or `none`, where the judge must not see one.
        question: instead of that of the scenario.
        answer: only for judges of answers.
    """

    failure: Annotated[str, Field(pattern=r"^[a-z_]+$")]
    language: Language
    kind: JudgeKind
    question: TrialText | None = None
    answer: TrialText | None = None
    expected: Expectation


@dataclass(frozen=True, slots=True)
class UnitTest:
    """A unit test with the scenario that it is made from."""

    row: UnitTestRow
    scenario: Scenario

    def case(self) -> Case:
        """What the judge is shown."""
        question = self.row.question or self.scenario.question
        return Case(self.row.id, question, self.scenario.sources, self.row.answer or "")


class UnitTestResult(Report):
    """How one unit test ended.

    Attributes:
        passed: None when the judge gave no verdict.
        misses: what was otherwise than expected, or the code of the error.
    """

    id: str
    failure: str
    language: Language
    passed: bool | None
    misses: tuple[str, ...]


class UnitTestGroup(Report):
    """The unit tests that have something in common.

    Attributes:
        passed: among those with a verdict.
        unscored: those without.
    """

    name: str
    tests: int
    passed: Share
    unscored: int


class UnitTestReport(TrialReport):
    """Which failures a judge sees.

    Attributes:
        tests: empty, as are the groups, where no model was named.
        liars: what lying judges get away with; None of a judge that none can lie to.
    """

    overall: UnitTestGroup
    by_failure: tuple[UnitTestGroup, ...]
    by_language: tuple[UnitTestGroup, ...]
    tests: tuple[UnitTestResult, ...]
    liars: CardLiars | None = None


def load_unit_tests(folder: Path | None = None) -> tuple[UnitTest, ...]:
    """The unit tests of a folder of trials; by default, of the one that travels with the package.

    Raises:
        InputError: a file cannot be read, or a row is wrong; with file and line.
    """
    tests: list[UnitTest] = []
    for where, row, scenario in read_scenario_rows(folder, "unit_tests.jsonl", UnitTestRow):
        if (row.answer is None) == (row.kind == "search_qa"):
            raise InputError(f"{where}: answer: needed by search_qa tests, and by no others")
        tests.append(UnitTest(row, scenario))
    return tuple(tests)


async def run_unit_tests(
    judge: OnTrial,
    tests: Sequence[UnitTest],
    liars: CardLiars | None = None,
    seen: Seen | None = None,
) -> UnitTestReport:
    """Judge every test for its kind; the report has `liars` as they are given.

    Args:
        seen: to be filled with what is decided, for `unit_test_report` should this be stopped.

    Raises:
        EvaluationError: see `observe`.
    """
    seen = {} if seen is None else seen
    await observe(judge, [test.case() for test in tests if test.row.kind == judge.kind], seen)
    return unit_test_report(judge, tests, liars, seen)


def unit_test_report(
    judge: OnTrial, tests: Sequence[UnitTest], liars: CardLiars | None, seen: Seen
) -> UnitTestReport:
    """The report of the tests that were seen."""
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
