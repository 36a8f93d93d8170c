"""The cost of a search in units of the load, on a clock that the test moves."""

import time

import pytest

from gigamind.errors import EvaluationError
from gigamind.evaluation import workers
from gigamind.evaluation.workers import Effort, load

QUERIES = {f"q{n}": f"text {n}" for n in range(40)}


def spin(times):
    for _ in range(times):
        load()


@pytest.mark.parametrize("clock", ["cpu", "wall"])
def test_a_query_that_does_the_loads_work_twice_costs_two_units(clock):
    for _ in range(20):  # on a busy machine, until it has a quiet moment
        found = Effort(6, 1, 300.0, clock).measure(QUERIES, lambda _: spin(2))
        assert (found.clock, len(found.costs)) == (clock, 6)
        costs = sorted(sum(row) / len(row) for row in found.costs)
        if costs[2] == pytest.approx(2, rel=0.35):
            break
    assert costs[2] == pytest.approx(2, rel=0.35)  # nearly 2.00 where nothing else runs


def test_the_queries_are_drawn_by_the_seed_and_alike_in_every_run():
    asked = []
    for seed in (1, 1, 2):
        found = Effort(1, seed, 60.0).measure(QUERIES, lambda _: spin(1))
        asked.append(found.queries)
    one, again, other = asked
    shared = min(len(one), len(again))
    assert one[:shared] == again[:shared]
    assert one[0] != other[0]
    assert [len(row) for row in found.costs] == [len(found.queries)]


def test_time_bounds_how_many_queries_are_searched():
    few = Effort(1, 1, 40.0).measure(QUERIES, lambda _: spin(20))
    many = Effort(1, 1, 400.0).measure(QUERIES, lambda _: spin(1))
    assert len(few.queries) == 1  # 20 units are past the 10 ms that one pass has for queries
    assert len(many.queries) > 5


def test_the_effort_is_a_share_of_the_runs_time_within_bounds():
    limits = [Effort.within(ms, 8, 1, "cpu").limit_ms for ms in (100, 4_000, 20_000, 100_000)]
    assert limits == [300, 1_000, 2_000, 5_000]


def test_on_a_coarse_clock_as_much_load_is_run_as_on_a_fine_one(monkeypatch):
    fine, units = time.process_time, []
    monkeypatch.setattr(time, "process_time", lambda: fine() // 0.0156 * 0.0156)
    monkeypatch.setattr(workers, "load", lambda: units.append(None) or load())

    Effort(2, 1, 60.0).measure(dict.fromkeys("abc", "text"), lambda _: spin(12))

    # At most 20 ms of it before a query, of about 2 ms each.
    assert len(units) < 3 + 16 + 2 * 3 * 20


def test_quick_queries_share_a_unit_of_the_load(monkeypatch):
    units = []
    monkeypatch.setattr(workers, "load", lambda: units.append(None) or load())

    found = Effort(2, 1, 300.0).measure(QUERIES, lambda _: None)

    assert len(found.queries) == 24
    assert len(units) == 3 + 2 * 24 / 4


def test_a_run_without_queries_has_no_speed_and_a_search_that_fails_ends_the_measuring():
    def fail(text):
        raise EvaluationError(text)

    assert Effort(2, 1, 10.0).measure({}, fail) is None
    assert Effort(2, 1, 10.0).measure(QUERIES, fail) is None


def test_ctrl_c_keeps_the_passes_that_had_ended():
    asked = 0

    def press(_):
        nonlocal asked
        asked += 1
        if asked > 2:  # the warm-up, and one pass
            raise KeyboardInterrupt

    found = Effort(9, 1, 10_000.0).measure({"q": "text"}, press)
    assert found is None or len(found.costs) == 1  # None where the clock saw nothing in it
