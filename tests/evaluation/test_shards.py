"""Shards of a run: what each may use, which one comes next, and what the folder of the run knows of them all."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from gigamind.errors import EvaluationError, LlmError
from gigamind.evaluation.shards import (
    ATTEMPTS_FILE,
    Range,
    Shard,
    ShardEnd,
    Shards,
    _Leases,
    _Spent,
    _spent_in,
    cut,
    folders_of,
    is_awaited,
    results_in,
    rows_in,
)
from gigamind.llm.ledger import HTTP, STORE, Attempt, Ledger
from gigamind.llm.settings import ModelOptions
from gigamind.runs.store import ITEMS_FILE, ItemKey, ItemResult, Journal, RunStore

FIRST, SECOND, THIRD = Range(0, 4), Range(4, 8), Range(8, 12)
WELL: ShardEnd = {
    "scored": True,
    "skipped": False,
    "hopeless": None,
    "stopped": False,
    "runtime_ms": 1.0,
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run."""
    folder = tmp_path / "out.unfinished"
    folder.mkdir()
    return folder


def spend(run: Path, items: Range, calls: int, pico_usd: int = 0) -> None:
    """A shard begins, and makes these requests, each at this price."""
    ledger = Ledger(Shard(items).begin(run) / ATTEMPTS_FILE)
    for _ in range(calls):
        ledger.append(Attempt("q", 1, HTTP, "ok", "m", cost_pico_usd=pico_usd))
    ledger.close()


def left_to(shard: Shard, options: ModelOptions, run: Path) -> int | None:
    return shard.budget(options, run).calls_left


def following(shards: Shards) -> Shard:
    shard = shards.next()
    assert shard is not None
    return shard


@pytest.mark.parametrize(
    ("items", "options", "processes", "sizes"),
    [
        (1000, {}, 2, [125] * 8),  # four for each process
        (100, {}, 2, [33, 33, 34]),  # none so small that it ends before 16 requests are in flight
        (20, {}, 2, [10, 10]),  # but all processes have one
        (1, {}, 4, [1]),
        (0, {}, 4, []),
        (100, {"max_in_flight": 4}, 2, [12, 13, 12, 13] * 2),  # two in flight for each process
    ],
)
def test_a_run_is_cut_so_that_every_process_is_busy(run, items, options, processes, sizes):
    ranges = cut(run, items, ModelOptions(**options), processes)
    assert [end - first for first, end in ranges] == sizes
    assert [place for r in ranges for place in range(*r)] == list(range(items))


def test_a_resumed_run_has_the_shards_that_it_began_with(run):
    began = cut(run, 100, ModelOptions(), 2)
    assert cut(run, 100, ModelOptions(), 8) == began


def test_no_calls_are_leased_twice_and_what_is_left_over_is_leased_again(run):
    options = ModelOptions(max_calls=10)
    shards = Shards([FIRST, SECOND, THIRD], options, run, 2)
    one, two = following(shards), following(shards)
    assert (left_to(one, options, run), left_to(two, options, run)) == (5, 5)
    assert shards.next() is None  # two at a time
    spend(run, FIRST, 2)
    shards.ended(one, WELL)
    three = following(shards)
    assert (left_to(two, options, run), left_to(three, options, run)) == (5, 3)


def test_a_shard_that_is_begun_again_by_its_cluster_has_what_is_left_of_its_lease(run):
    options = ModelOptions(max_calls=10, max_cost_usd=1)
    shard = following(Shards([FIRST, SECOND], options, run, 2))
    spend(run, FIRST, 2, pico_usd=10**11)
    budget = shard.budget(options, run)
    assert (budget.calls_left, budget.spent_pico_usd) == (3, 7 * 10**11)


def test_the_lease_of_a_process_that_died_is_leased_again_but_for_what_it_spent(run):
    options = ModelOptions(max_calls=10)
    shards = Shards([FIRST], options, run, 1)
    died = following(shards)
    spend(run, FIRST, 4)
    shards.broke_off(died)
    assert left_to(following(shards), options, run) == 6


def test_a_resumed_run_leases_what_its_first_part_has_left(run):
    options = ModelOptions(max_calls=10)
    spend(run, FIRST, 3)
    spend(run, SECOND, 3)
    assert left_to(following(Shards([FIRST], options, run, 1)), options, run) == 4


def test_a_shard_waits_while_others_hold_all_that_is_left(run):
    shards = Shards([FIRST, SECOND], ModelOptions(max_calls=1), run, 2)
    one = following(shards)
    assert shards.next() is None
    shards.ended(one, WELL)
    assert following(shards).items == SECOND


def test_what_a_lease_left_unasked_is_asked_when_nobody_else_holds_any_and_only_then(run):
    options = ModelOptions(max_calls=4)
    shards = Shards([FIRST, SECOND], options, run, 2)
    one, two = following(shards), following(shards)
    spend(run, FIRST, 2)
    shards.ended(one, {**WELL, "skipped": True})
    assert shards.next() is None
    shards.ended(two, WELL)  # it has used nothing
    again = following(shards)
    assert (again.items, left_to(again, options, run)) == (FIRST, 2)
    shards.ended(again, {**WELL, "skipped": True})
    assert shards.next() is None


def test_nothing_is_asked_again_for_a_budget_that_is_used_up(run):
    shards = Shards([FIRST], ModelOptions(max_calls=2), run, 1)
    one = following(shards)
    spend(run, FIRST, 2)
    shards.ended(one, {**WELL, "skipped": True})
    assert shards.next() is None


def test_dollars_are_leased_as_calls_are(run):
    options = ModelOptions(max_cost_usd=1)
    shards = Shards([FIRST, SECOND], options, run, 2)
    budgets = [following(shards).budget(options, run) for _ in range(2)]
    assert sum(10**12 - budget.spent_pico_usd for budget in budgets) == 10**12


async def reserve(shard: Shard, options: ModelOptions, run: Path) -> None:
    await shard.budget(options, run).reserve(0)


def test_the_minutes_of_all_shards_began_with_the_first(run):
    import asyncio

    options = ModelOptions(max_minutes=1)
    shard = following(Shards([FIRST], options, run, 1))
    asyncio.run(reserve(shard, options, run))
    late = replace(shard, began=time.time() - 61)
    with pytest.raises(LlmError, match="1 minutes"):
        asyncio.run(reserve(late, options, run))


@pytest.mark.parametrize(
    ("given", "processes", "expected"),
    [
        (
            {"max_in_flight": 9, "requests_per_minute": 60, "tokens_per_minute": 999},
            4,
            (2, 15, 249),
        ),
        (
            {},
            4,
            (16, None, None),
        ),  # nobody has limited them: each process has as many as a run alone
        ({"max_in_flight": 2}, 4, (1, None, None)),  # and two at a time
        ({"requests_per_minute": 3}, 4, (16, 1, None)),
    ],
)
def test_limits_of_rate_are_shared_by_the_shards_that_run_at_a_time(
    run, given, processes, expected
):
    options = ModelOptions(model="m", **given)
    shard = following(Shards([FIRST], options, run, processes))
    settings = shard.share(options.settings())
    shared = (settings.max_in_flight, settings.requests_per_minute, settings.tokens_per_minute)
    assert shared == expected
    for limit, share in zip(("max_in_flight", "requests_per_minute"), shared, strict=False):
        assert limit not in given or share * shard.at_once <= given[limit]


def test_what_no_item_can_escape_ends_all_shards(run):
    shards = Shards([FIRST, SECOND, THIRD], ModelOptions(), run, 2)
    one, two = following(shards), following(shards)
    shards.ended(one, {**WELL, "scored": False, "hopeless": ("no key", "auth_failed")})
    assert shards.next() is None
    shards.ended(two, WELL)  # a key that was taken away lets none through any more
    assert shards.next() is None
    (unasked,) = shards.unasked()
    assert (unasked.items, unasked.hopeless) == (THIRD, ("no key", "auth_failed"))


def test_errors_that_are_alike_end_all_shards_only_as_long_as_none_has_a_success(run):
    shards = Shards([FIRST, SECOND, THIRD], ModelOptions(), run, 2)
    one, two = following(shards), following(shards)
    alike: ShardEnd = {**WELL, "scored": False, "hopeless": ("eight alike", "not_asked")}
    shards.ended(one, alike)
    assert shards.next() is None
    shards.ended(two, WELL)
    assert following(shards).items == THIRD
    again = following(shards)
    assert (again.items, again.succeeded, again.hopeless) == (FIRST, True, None)
    shards.ended(again, alike)
    assert shards.next() is None  # once is enough


def test_a_shard_that_could_not_see_its_run_ends_the_run(run):
    shards = Shards([FIRST], ModelOptions(), run, 1)
    with pytest.raises(EvaluationError, match="locks"):
        shards.ended(following(shards), {**WELL, "stopped": True})


def test_the_run_is_waited_for_as_long_as_its_journal_is_open(run):
    assert not is_awaited(run)
    with Journal(run / ITEMS_FILE):
        assert is_awaited(run)
    assert not is_awaited(run)


def test_no_two_processes_ever_write_one_folder(run):
    folders = [Shard(FIRST).begin(run) for _ in range(11)]
    assert folders_of(run, Shard(FIRST)) == [run, *folders]  # in the order in which they were begun


def test_a_final_result_holds_against_a_later_one_that_is_not(run):
    def keep(folder: Path, *results: ItemResult) -> None:
        with RunStore(folder, {}) as store:
            for result in results:
                store.append(result)

    scored, failed = ItemResult("a", "scored"), ItemResult("a", "error", "timeout")
    keep(run, ItemResult("b", "error", "timeout"))
    keep(Shard(FIRST).begin(run), scored)
    keep(Shard(FIRST).begin(run), failed, ItemResult("b", "error", "server_error"))
    known = results_in(folders_of(run))
    assert known[ItemKey("a")] == scored
    assert known[ItemKey("b")].code == "server_error"


def test_what_a_killed_shard_had_on_its_way_is_booked_with_the_most_it_may_cost(run):
    ledger = Ledger(Shard(FIRST).begin(run) / ATTEMPTS_FILE)
    ledger.start(Attempt("q", 1, HTTP, "unfinished", "m", cost_pico_usd=7, prompt_tokens=1))
    ledger.close()
    assert _spent_in(folders_of(run)) == _Spent(7, 1)


def test_leases_that_were_given_are_never_more_than_the_limit(run):
    leases = _Leases(ModelOptions(max_calls=7), run)
    taken = [leases.lease(items, 3 - n) for n, items in enumerate((FIRST, SECOND, THIRD))]
    assert sum(7 - part.calls for part in taken if part) == 7


def test_what_each_shard_takes_from_the_store_for_another_had_asked_is_no_row_of_the_run(run):
    def tell(items: Range, *told: Attempt) -> None:
        ledger = Ledger(Shard(items).begin(run) / ATTEMPTS_FILE)
        for row in told:
            ledger.append(row)
        ledger.close()

    trial, stored = (Attempt("trial", 1, source, "ok", "m", "k") for source in (HTTP, STORE))
    own = Attempt("q", 1, STORE, "ok", "m", "q's own")
    tell(FIRST, stored, own)
    tell(SECOND, trial)
    tell(THIRD, stored)
    found = [(row.call, row.source) for row in rows_in(folders_of(run))]
    assert found == [("q", STORE), ("trial", HTTP)]
