"""Which units are drawn to be labelled, and in which order."""

import itertools
from collections import Counter

import pytest

from gigamind.assurance.label_file import LabelPlan, _merge_small, strata


def plan(**changes):
    fields = {"task": "answers", "dataset_hash": "d", "runs": ("r",), "budget": 40, "seed": 1}
    fields["strata"] = {}
    return LabelPlan.model_validate(fields | changes)


def test_strata_are_languages_by_verdicts_by_thirds_of_doubt():
    given = [*itertools.product(("en", "ko"), (0, 1), (0.1, 0.5, 0.9))] * 10
    assert sorted(Counter(strata(given)).values()) == [10] * 12


def test_small_strata_join_the_neighbour_with_the_same_verdict_and_language():
    keys = [(0, 0, 0)] * 20 + [(0, 0, 1)] * 3 + [(0, 1, 0)] * 20 + [(1, 0, 1)] * 20
    numbers = _merge_small(keys)
    assert numbers[20] == numbers[0]
    assert len(set(numbers)) == 3
    assert set(_merge_small([(0, 0, 0)] * 3)) == {0}
    assert _merge_small([]) == []


def test_there_are_at_most_twelve_strata():
    numbers = _merge_small([(at, 0, 0) for at in range(20) for _ in range(9)])
    assert len(set(numbers)) == 12


def test_the_pilot_comes_first_and_the_rest_goes_where_errors_are():
    groups = [0] * 100 + [1] * 100
    pilot = plan().drawn(groups, {})
    assert len(pilot) == 16
    assert Counter(groups[at] for at in pilot) == {0: 8, 1: 8}
    errors = {at: float(groups[at]) / 2 for at in pilot}
    queue = plan().drawn(groups, errors)
    assert queue[:16] == pilot
    assert (len(queue), len(set(queue))) == (40, 40)
    assert Counter(groups[at] for at in queue[16:])[1] > 12
    # later labels change nothing: the allocation rests on the pilot alone
    assert plan().drawn(groups, errors | {queue[20]: 1.0}) == queue


def test_no_stratum_is_shown_after_another():
    pilot = plan(budget=100).drawn([0] * 100 + [1] * 100, {})
    assert all(len({at >= 100 for at in pilot[i : i + 2]}) == 2 for i in range(0, 40, 2))


def test_the_seed_decides_and_a_skipped_unit_ends_no_pilot():
    groups = [0] * 30
    assert plan().drawn(groups, {}) == plan().drawn(groups, {})
    assert plan().drawn(groups, {}) != plan(seed=2).drawn(groups, {})
    pilot = plan(budget=20).drawn(groups, {})
    assert len(plan(budget=20).drawn(groups, dict.fromkeys(pilot))) == 20


def test_random_draws_ignore_strata():
    assert len(plan(random=True, budget=7).drawn([0] * 5 + [1] * 5, {})) == 7


@pytest.mark.parametrize(
    ("budget", "looks"), [(60, (12, 24, 36, 48, 60)), (3, (1, 2, 3)), (1, (1,))]
)
def test_at_most_five_looks_are_planned(budget, looks):
    assert plan(budget=budget).looks == looks
    assert plan(budget=budget).last_look(looks[0] - 1) is None
    assert plan(budget=budget).last_look(looks[-1] + 5) == looks[-1]
