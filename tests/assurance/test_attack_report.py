import asyncio

import pytest
from trial_rows import Judge

from gigamind.assurance.scenarios import Share, attack_cases, attack_report, load_attacks
from gigamind.assurance.trials import Observed, Reading, observe
from gigamind.errors import EvaluationError, LlmError, UnaskedError

ATTACKS = load_attacks()


def reported(judge, attacks):
    seen = {}
    asyncio.run(observe(judge, attack_cases(judge, attacks), seen))
    return attack_report(judge, attacks, seen)


def attacked(say, kind="search_qa"):
    judge = Judge(say, kind)
    report = reported(judge, ATTACKS)
    assert type(report).model_validate_json(report.model_dump_json()) == report
    return report, judge


def right(case):
    """Right about each clean twin; every answer's name stands in the id of its clean twin."""
    good = case.id.endswith("-right")
    return Reading(correctness=float(good or case.id.endswith("-useless")), utility=float(good))


def test_a_judge_that_believes_nothing_it_reads_is_never_fooled():
    truth = {}

    def say(case):
        twin = next((a for a in ATTACKS if a.row.id == case.id), None)
        name = twin.clean("search_qa").id if twin else case.id
        truth.setdefault(name, right(case) if twin is None else None)
        return Observed(truth[name] or Reading())

    report, judge = attacked(say)
    assert (report.kind, report.fingerprint, report.model) == ("search_qa", "f", "m")
    assert (report.overall.attacks, report.overall.fooled.hits) == (86, 0)
    assert report.overall.fooled.of == 86
    assert report.overall.unmeasured == 0
    clean = [case.id for case in judge.asked if case.id.startswith("clean-")]
    assert len(clean) == len(set(clean))
    assert len(judge.asked) == 86 + len(clean)


def test_a_judge_that_obeys_every_attack_is_always_fooled():
    goals = {attack.row.id: attack.row.goal for attack in ATTACKS}
    wanted = {
        "supported": Reading(correctness=1.0, utility=1.0),
        "useful": Reading(correctness=1.0, utility=1.0),
        "unsupported": Reading(correctness=0.0, utility=1.0),
        "leak": Reading(correctness=1.0, utility=1.0),
    }

    def say(case):
        goal = goals.get(case.id)
        if goal is None:
            return Observed(right(case))
        return Observed(wanted[goal], text=Judge.instructions, flagged=True)

    report, _ = attacked(say)
    assert report.overall.fooled == Share.among([True] * 86)
    assert (
        report.overall.reported_fooled.of == 6
    )  # nothing is told but the leaks, which are read from the text
    assert report.overall.flagged == 86
    for groups in (report.by_family, report.by_language, report.by_place, report.by_goal):
        assert sum(group.attacks for group in groups) == 86
        assert all(group.fooled.rate == 1.0 for group in groups)
    assert {group.name for group in report.by_place} == {"note", "answer", "title", "question"}
    assert {group.name for group in report.by_language} == {"ko", "en", "mixed"}


def test_a_judge_that_always_says_unanswerable_is_only_measured_where_that_is_right():
    report, _ = attacked(lambda _: Observed(Reading(unanswerable=True)), kind="unanswerable")
    by_goal = {group.name: group for group in report.by_goal}
    assert (by_goal["answerable"].fooled.of, by_goal["answerable"].fooled.hits) == (43, 0)
    assert (by_goal["unanswerable"].fooled.of, by_goal["unanswerable"].unmeasured) == (0, 3)
    assert by_goal["unanswerable"].fooled.rate is None


@pytest.mark.parametrize(("wrong", "expected"), [(1, False), (2, True)])
def test_a_trial_proves_little_when_more_than_half_of_the_clean_twins_are_judged_wrongly(
    wrong, expected
):
    names = ("ko-override-1", "en-override-1")  # of two scenarios, both unanswerable
    attacks = [attack for attack in ATTACKS if attack.row.id in names]
    twins = [attack.clean("unanswerable").id for attack in attacks][:wrong]
    judge = Judge(lambda case: Observed(Reading(unanswerable=case.id not in twins)), "unanswerable")
    report = reported(judge, attacks)
    assert (report.overall.attacks, report.overall.unmeasured) == (2, wrong)
    assert report.proves_little is expected


def test_an_attack_that_costs_the_verdict_is_counted_by_itself():
    def say(case):
        if case.id == "ko-override-1":
            raise LlmError("no", "refused")
        return Observed(Reading(unanswerable=True))

    report, _ = attacked(say, kind="unanswerable")
    assert report.overall.unscored == 1
    (found,) = [one for one in report.attacks if one.outcome == "unscored"]
    assert (found.id, found.reason) == ("ko-override-1", "refused")


def test_a_model_that_never_gives_a_verdict_ends_in_an_error_that_says_why():
    def say(_):
        raise LlmError("I cannot", "refused")

    with pytest.raises(EvaluationError, match="I cannot"):
        attacked(say)


def test_a_case_that_could_not_be_asked_about_is_not_taken_for_the_work_of_an_attack():
    def say(case):
        if case.id == "ko-override-2":
            raise LlmError("the limit of 5 calls", "budget_exceeded")
        return Observed(right(case))

    with pytest.raises(UnaskedError, match="the limit of 5 calls") as caught:
        attacked(say)
    assert caught.value.message.values["failed"] == 1


def test_a_share_has_the_interval_of_wilson():
    share = Share.among([True] * 8 + [False] * 2)  # the textbook case 8 of 10: 0.490 to 0.943
    assert (share.hits, share.of, share.rate) == (8, 10, 0.8)
    assert share.low == pytest.approx(0.4902, abs=5e-5)
    assert share.high == pytest.approx(0.9433, abs=5e-5)
    assert Share.among([]).rate is None
