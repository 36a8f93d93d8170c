"""Test a judge on cases whose correct verdict is known, and keep its observable results.

Any kind of judge takes part through `OnTrial`.  Cases are in `judges/trials/`.  Models are called as in a run.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, Field

from gigamind.assets import asset
from gigamind.choices import PromptLanguage
from gigamind.errors import EvaluationError, InputError, LlmCode, LlmError, UnaskedError
from gigamind.evidence.schema import Encodable, Strict, read_text
from gigamind.i18n import Language, Text, _
from gigamind.judges.load import load_judge
from gigamind.judges.own import OwnJudge
from gigamind.judges.protocol import OF_THE_REPLY, AnswerCase, Asking, Judge, QuestionCase, Verdict
from gigamind.judges.search_qa.judgement import correctness
from gigamind.llm.ask import LanguageModel
from gigamind.loading import numbered_lines, parsed
from gigamind.prompting.fences import Source
from gigamind.records.judged import EvaluatedClaim, Report, SearchQAEvaluation
from gigamind.stats.intervals import Estimate
from gigamind.vault.language import question_language

JudgeKind = Literal["unanswerable", "search_qa"]
# Failures that an attack can cause.
_CAUSED_BY_ATTACKS: frozenset[LlmCode] = frozenset({
    *OF_THE_REPLY, "context_too_long",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """One case for a judge."""

    id: str
    question: str
    notes: tuple[Source, ...]
    answer: str = ""  # empty if the judge reads only question and notes
    counted_chars: int | None = None  # count claims only in this many first code points


@dataclass(frozen=True, slots=True)
class Reading:
    """The fields of a verdict that trials use; None if the judge does not decide on a field."""

    unanswerable: bool | None = None
    correctness: float | None = None  # in [0, 1]
    utility: float | None = None  # in [0, 1]


@dataclass(frozen=True, slots=True)
class Observed:
    """The observable results of one verdict."""

    verdict: Reading
    reported: Reading = field(default_factory=Reading)  # the verdict by the model's own statement
    proven: frozenset[int] = frozenset()  # numbers (from 1) of the notes with a verified quote
    text: str = ""  # all text of the model that a user can read
    flagged: bool = False  # whether the judge marked any of the input as suspicious
    claims: Mapping[int, EvaluatedClaim] = field(default_factory=dict[int, EvaluatedClaim])  # by id


@dataclass(frozen=True, slots=True)
class OnTrial:
    """A judge of any kind and its models by name."""

    tested: Judge[Any, Any]
    models: Mapping[str, LanguageModel]
    fence_key: bytes

    @property
    def kind(self) -> JudgeKind:
        return "search_qa" if "correctness" in self.tested.scales else "unanswerable"

    @property
    def fingerprint(self) -> str:
        return self.tested.fingerprint(self.model_name)

    @property
    def model_name(self) -> str:
        return ", ".join(self.models)

    @property
    def instructions(self) -> str:
        prompts = self.tested.prompts
        rendered = (prompt.render(**dict.fromkeys(prompt.variables, "")) for prompt in prompts)
        return "\n\n".join(str(messages[0]["content"]) for messages in rendered)

    async def judge(self, case: Case) -> Observed:
        """Judge one case; raise LlmError if the model gave no usable reply."""
        language = question_language(case.question)
        question: QuestionCase | AnswerCase = QuestionCase(case.question, case.notes, language)
        if self.kind == "search_qa":
            question = AnswerCase(case.question, case.answer, case.notes, language)
        verdict = await self.tested.judge(question, Asking(self.models, case.id, self.fence_key))
        return _observed(verdict, case.counted_chars)


_Result = TypeVar("_Result")


class TrialReport(Report):
    """The fields that reports of attacks and of unit tests share."""

    kind: JudgeKind
    fingerprint: str
    model: str

    @classmethod
    def on(
        cls,
        judge: OnTrial,
        results: Sequence[_Result],
        group: Callable[[str, Sequence[_Result]], BaseModel],
        **others: object,
    ) -> Self:
        """Return the report: `overall` groups all results, and `by_FIELD` groups them by the values of a field."""
        by: dict[str, object] = {}
        for name in cls.model_fields:
            if name.startswith("by_"):
                parts: dict[str, list[_Result]] = {}
                for result in results:
                    parts.setdefault(getattr(result, name.removeprefix("by_")), []).append(result)
                by[name] = tuple(group(key, own) for key, own in parts.items())
        overall = group("all", results)
        return cls.like(judge, model=judge.model_name, overall=overall, **by, **others)


class Share(Report):
    """A proportion with its 95 % Wilson interval; rate and interval are None if `of` is 0."""

    hits: int
    of: int
    rate: float | None
    low: float | None
    high: float | None

    @classmethod
    def among(cls, outcomes: Sequence[bool]) -> "Share":
        """Return the share of true outcomes."""
        hits, of = sum(outcomes), len(outcomes)
        share = Estimate.share(hits, of)
        return cls(hits=hits, of=of, rate=share.value, low=share.low, high=share.high)


Observations = dict[str, Observed | LlmError]
"""Verdicts by case id; an error for a case without a usable reply."""


async def observe(judge: OnTrial, cases: Sequence[Case], seen: Observations) -> None:
    """Judge each case and store the verdicts in `seen`, which keeps them if this is interrupted.

    Raises:
        UnaskedError: Some case could not be sent to the model.  An incomplete trial proves nothing.
        EvaluationError: No case was scored.
    """

    async def observe_case(case: Case) -> None:
        try:
            seen[case.id] = await judge.judge(case)
        except LlmError as error:
            seen[case.id] = error

    await asyncio.gather(*map(observe_case, cases))
    errors = [outcome for outcome in seen.values() if isinstance(outcome, LlmError)]
    unasked = [error for error in errors if error.code not in _CAUSED_BY_ATTACKS]
    if unasked:
        raise UnaskedError(
            "test cases that could not be sent to the judge's model: {failed} of {n} ({reason})",
            n=len(seen),
            failed=len(unasked),
            reason=unasked[0].message,
        )
    if errors and len(errors) == len(seen):
        raise EvaluationError(
            "the judge gave no verdict on any test case ({n}): {reason}",
            n=len(seen),
            reason=errors[0].message,
        )


def _observed(verdict: Verdict[Any], counted_chars: int | None) -> Observed:
    scores, reported_scores = verdict.scores, verdict.told
    claims = verdict.detail.claims if isinstance(verdict.detail, SearchQAEvaluation) else ()
    if claims and counted_chars is not None:
        counted = [claim for claim in claims if claim.end <= counted_chars]
        supported = [claim.reported_verdict == "supported" for claim in counted]
        share = sum(supported) / len(supported) if supported else None
        scores = {**scores, "correctness": correctness(counted)}
        reported_scores = {**reported_scores, "correctness": share}
    return Observed(
        verdict=_reading(scores),
        reported=_reading(reported_scores),
        proven=frozenset(proof.note for proof in verdict.proof if proof.proven),
        text=verdict.text,
        flagged=bool(verdict.flags),
        claims={claim.id: claim for claim in claims},
    )


def _reading(scores: Mapping[str, float | None]) -> Reading:
    unanswerable = scores.get("unanswerable")
    return Reading(
        None if unanswerable is None else bool(unanswerable),
        scores.get("correctness"),
        scores.get("utility"),
    )


def load_on_trial(name: str, language: PromptLanguage) -> Judge[Any, Any]:
    """Load a judge that can be tested; raises InputError as `load_judge`, or if no test knows its scales."""
    judge = load_judge(name, language)
    if isinstance(judge, OwnJudge) and "correctness" not in judge.scales:
        raise InputError(
            "{judge}: cannot be tested, because it has no scale named correctness.", judge=name
        )
    return judge


AnswerName = Literal["right", "wrong", "useless"]
TrialText = Annotated[Encodable, Field(min_length=1)]
_MAX_BYTES = 10_000_000


class _TrialRow(Strict):
    """A row of a file in `judges/trials/`."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]


class ScenarioRow(_TrialRow):
    """A row that refers to a scenario."""

    scenario: str


class _TrialNote(Strict):
    """A note of a scenario."""

    title: TrialText
    text: TrialText


class _Answers(Strict):
    """Answers to a scenario's question: right (grounded and useful), wrong (not grounded), useless (off topic)."""

    right: TrialText
    wrong: TrialText
    useless: TrialText


class Scenario(_TrialRow):
    """A question about notes, without any attack.

    Attributes:
        answerable: Whether the notes answer it.  If not, the right answer says so.
    """

    language: Language
    question: TrialText
    answerable: bool
    notes: tuple[_TrialNote, ...] = Field(min_length=1, strict=False)
    answers: _Answers

    @property
    def sources(self) -> tuple[Source, ...]:
        """The notes as the judge reads them."""
        return tuple(Source(note.title, note.text) for note in self.notes)


_Row = TypeVar("_Row", bound=_TrialRow)
_OfScenario = TypeVar("_OfScenario", bound=ScenarioRow)


def _read_rows(path: Path, model: type[_Row]) -> dict[str, _Row]:
    lines = numbered_lines(read_text(path, _MAX_BYTES))
    rows = (parsed(model, line, f"{path}:{number}") for number, line in lines)
    return {row.id: row for row in rows}


def read_scenario_rows(
    folder: Path | None, name: str, model: type[_OfScenario]
) -> Iterator[tuple[_OfScenario, Scenario]]:
    """Yield the rows of a trial file, by default a packaged one, with their scenarios; InputError for a bad row."""
    folder = folder or asset("judges") / "trials"
    scenarios = _read_rows(folder / "scenarios.jsonl", Scenario)
    for row in _read_rows(folder / name, model).values():
        yield row, scenarios[row.scenario]


_Bound = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class _Expectation(Strict):
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

    def misses(self, seen: Observed) -> Iterator[Text]:
        """Describe each difference between the observed and the expected verdict."""
        verdict, differ = seen.verdict, list[tuple[Text, object, object]]()
        if self.unanswerable is not None and verdict.unanswerable is not self.unanswerable:
            differ.append((_("unanswerable"), verdict.unanswerable, self.unanswerable))
        for name, bounds, value in (
            (_("correctness"), self.correctness, verdict.correctness),
            (_("utility"), self.utility, verdict.utility),
        ):
            if bounds and (value is None or not bounds[0] <= value <= bounds[1]):
                differ.append((name, value, f"{bounds[0]:g}–{bounds[1]:g}"))
        if self.proven is not None and seen.proven != self.proven:
            notes = _("numbers of the notes with verified quotes")
            differ.append((notes, sorted(seen.proven), sorted(self.proven)))
        for what, actual, expected in differ:
            values = {"actual": str(actual), "expected": str(expected)}
            yield _("{what}: {actual}, expected {expected}", what=what, **values)


class _UnitTestRow(ScenarioRow):
    """One unit test: an answer or question with one known defect, and the verdict of a correct judge.

    The idea is from GroUSE (Muller et al., 2024): a judge can agree with human labels on average and still miss a whole
    kind of failure. The data are in `judges/trials/unit_tests.jsonl`.

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
    expected: _Expectation


@dataclass(frozen=True, slots=True)
class _UnitTest:
    """A unit test and its scenario."""

    row: _UnitTestRow
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
    """The failures that a judge detects."""

    overall: UnitTestGroup
    by_failure: tuple[UnitTestGroup, ...]
    by_language: tuple[UnitTestGroup, ...]
    tests: tuple[UnitTestResult, ...]


def load_unit_tests(folder: Path | None = None) -> tuple[_UnitTest, ...]:
    """Read the unit tests of a trial folder, by default the packaged one; InputError names file and line."""
    rows = read_scenario_rows(folder, "unit_tests.jsonl", _UnitTestRow)
    return tuple(_UnitTest(row, scenario) for row, scenario in rows)


def unit_test_report(
    judge: OnTrial, tests: Sequence[_UnitTest], seen: Observations
) -> UnitTestReport:
    """Return the report of the tests in `seen`."""
    results = [_result(test.row, seen[test.row.id]) for test in tests if test.row.id in seen]
    return UnitTestReport.on(judge, results, _group, tests=tuple(results))


def _result(row: _UnitTestRow, seen: Observed | LlmError) -> UnitTestResult:
    if isinstance(seen, LlmError):
        passed, misses = None, (seen.code,)
    else:
        misses = tuple(row.expected.misses(seen))
        passed = not misses
    return UnitTestResult.like(row, passed=passed, misses=misses)


def _group(name: str, results: Sequence[UnitTestResult]) -> UnitTestGroup:
    return UnitTestGroup(
        name=name,
        tests=len(results),
        passed=Share.among([result.passed for result in results if result.passed is not None]),
        unscored=sum(result.passed is None for result in results),
    )
