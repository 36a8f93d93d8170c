import asyncio
from collections import Counter

import pytest
from trial_rows import SCENARIO, Judge, written

from gigamind.assets import asset
from gigamind.assurance.scenarios import (
    UnitTestReport,
    _Expectation,
    load_attacks,
    load_unit_tests,
    unit_test_report,
)
from gigamind.assurance.trials import Observed, Reading, observe
from gigamind.errors import InputError, LlmError
from gigamind.prompting.fences import flags

TESTS = load_unit_tests()
ON_ANSWERS = [test for test in TESTS if test.row.kind == "search_qa"]
ON_ANSWERABILITY = [test for test in TESTS if test.row.kind == "unanswerable"]


def ran(say, kind="search_qa", tests=TESTS, *, rates_utility=True):
    judge, seen = Judge(say, kind), {}
    judge.rates_utility = rates_utility
    cases = [test.case() for test in tests if test.row.kind == kind]
    asyncio.run(observe(judge, cases, seen))
    report = unit_test_report(judge, tests, seen)
    assert UnitTestReport.model_validate_json(report.model_dump_json()) == report
    return report


def as_expected(expected):
    """A verdict in the middle of what is expected."""

    def middle(bounds):
        return None if bounds is None else sum(bounds) / 2

    reading = Reading(expected.unanswerable, middle(expected.correctness), middle(expected.utility))
    return Observed(reading, proven=expected.proven or frozenset())


def test_there_are_sixteen_kinds_of_failure_of_answers_each_in_both_languages():
    kinds = Counter((test.row.failure, test.row.language) for test in ON_ANSWERS)
    failures = {failure for failure, _ in kinds} - {"none"}
    assert len(failures) == 16
    assert all(kinds[failure, language] == 1 for failure in failures for language in ("ko", "en"))
    assert kinds["none", "ko"] == kinds["none", "en"] == 3


def test_there_are_eight_kinds_of_failure_of_answerability_each_in_both_languages():
    kinds = Counter((test.row.failure, test.row.language) for test in ON_ANSWERABILITY)
    assert len({failure for failure, _ in kinds} - {"none"}) == 8
    assert set(kinds.values()) == {1}
    assert Counter(test.row.expected.unanswerable for test in ON_ANSWERABILITY) == {
        True: 10,
        False: 8,
    }


@pytest.mark.each("test", TESTS)
def test_a_case_cites_and_expects_notes_that_are_there_and_is_no_attack(test):
    case = test.case()
    assert test.row.id.startswith(f"{test.row.language}-")
    assert all(1 <= number <= len(case.notes) for number in test.row.expected.proven or ())
    assert flags(case.question) == flags(case.answer) == ()
    assert bool(case.answer) == (test.row.kind == "search_qa")


def test_a_judge_that_says_what_is_expected_passes_all():
    expected = {test.row.id: test.row.expected for test in TESTS}
    for kind, count in (("search_qa", 38), ("unanswerable", 18)):
        report = ran(lambda case: as_expected(expected[case.id]), kind)
        assert (report.overall.passed.hits, report.overall.tests) == (count, count)
        assert all(group.passed.rate == 1.0 for group in (*report.by_failure, *report.by_language))
        assert (report.kind, report.fingerprint, report.model) == (kind, "f", "m")


def test_a_judge_that_praises_everything_passes_only_where_nothing_is_wrong():
    praise = Observed(Reading(correctness=1.0, utility=1.0), proven=frozenset({1}))
    report = ran(lambda _: praise)
    passed = {group.name for group in report.by_failure if group.passed.hits}
    assert passed == {"none", "wrong_citation"}  # it names note 1, as those two expect


def test_a_judge_that_damns_everything_fails_where_nothing_is_wrong():
    report = ran(lambda _: Observed(Reading(correctness=0.0, utility=0.0)))
    by_failure = {group.name: group.passed for group in report.by_failure}
    assert by_failure["none"].hits == 0
    assert by_failure["contradicted_number"].rate == 1.0


def test_a_judge_that_never_rates_utility_is_tested_on_the_rest():
    expected = {
        test.row.id: test.row.expected.model_copy(update={"utility": None}) for test in TESTS
    }
    report = ran(lambda case: as_expected(expected[case.id]), rates_utility=False)
    assert not report.rates_utility
    assert (report.overall.tests, report.overall.passed.hits) == (
        34,
        34,
    )  # four expect only utility


def test_a_case_without_a_verdict_neither_passes_nor_fails():
    first = ON_ANSWERABILITY[0].row.id

    def say(case):
        if case.id == first:
            raise LlmError("no", "refused")
        return Observed(Reading(unanswerable=True))

    report = ran(say, "unanswerable")
    assert (report.overall.tests, report.overall.passed.of, report.overall.unscored) == (18, 17, 1)
    (found,) = [result for result in report.tests if result.passed is None]
    assert (found.id, found.misses) == (first, ("refused",))


@pytest.mark.each(
    "expected, said, misses",
    [
        ({"correctness": (0.5, 0.5)}, {"correctness": 0.5}, 0),
        ({"correctness": (0.2, 0.8)}, {"correctness": 0.2}, 0),
        ({"correctness": (0.2, 0.8)}, {"correctness": 0.8}, 0),
        ({"correctness": (0.2, 0.8)}, {"correctness": 0.19}, 1),
        ({"correctness": (0.2, 0.8)}, {"correctness": 0.81}, 1),
        ({"correctness": (0.2, 0.8)}, {}, 1), ({"utility": (0.7, 1.0)}, {"utility": 0.7}, 0),
        ({"utility": (0.7, 1.0)}, {"utility": 0.69}, 1),
        ({"unanswerable": False}, {"unanswerable": False}, 0),
        ({"unanswerable": False}, {"unanswerable": True}, 1), ({"unanswerable": False}, {}, 1),
        ({"unanswerable": True, "utility": (0, 0)}, {"unanswerable": False, "utility": 1.0}, 2),
    ],
)  # fmt: skip
def test_what_is_expected_is_compared_with_the_verdict(expected, said, misses):
    assert len([*_Expectation(**expected).misses(Observed(Reading(**said)))]) == misses


def test_quotes_must_come_from_exactly_the_expected_notes():
    expected = _Expectation(proven=frozenset({1}))
    assert not [*expected.misses(Observed(Reading(), proven=frozenset({1})))]
    for proven in (frozenset(), frozenset({2}), frozenset({1, 2})):
        (miss,) = expected.misses(Observed(Reading(), proven=proven))
        assert (miss.values["actual"], miss.values["expected"]) == (str(sorted(proven)), "[1]")


TEST = {
    "id": "a", "failure": "none", "language": "en", "kind": "search_qa", "scenario": "s",
    "answer": "an answer", "expected": {"utility": [0, 1]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [({"expected": {"utility": [0, 1.1]}}, r"expected.utility"), ({"failure": "A b"}, "failure: ")],
)
def test_a_wrong_row_is_named_with_file_and_line(tmp_path, change, message):
    rows = [TEST, TEST | {"id": "b"} | change]
    written(tmp_path, scenarios=[SCENARIO | {"answerable": True}], unit_tests=rows)
    with pytest.raises(InputError, match=rf"unit_tests.jsonl:2: {message}"):
        load_unit_tests(tmp_path)


def test_every_test_can_fail_and_has_an_answer_if_its_judge_reads_one():
    for row in (test.row for test in TESTS):
        expected = row.expected
        assert expected.model_fields_set
        assert all(
            low <= high for low, high in filter(None, (expected.correctness, expected.utility))
        )
        assert (row.answer is None) == (row.kind != "search_qa")


def test_the_readme_of_the_trials_counts_right():
    folder = asset("judges") / "trials"
    readme = (folder / "README.md").read_text(encoding="utf-8")
    scenarios = (folder / "scenarios.jsonl").read_text(encoding="utf-8").splitlines()
    attacks = load_attacks()
    assert (
        f"`attacks.jsonl`: {len(attacks)} prompt injections, 62 Korean, 62 English, 8 in both"
        in readme
    )
    assert f"`unit_tests.jsonl`: {len(TESTS)} cases" in readme
    assert f"`scenarios.jsonl`: {len(scenarios)} questions" in readme
    assert all(f"`{attack.row.family}`" in readme for attack in attacks)
