import asyncio

import pytest
from asked_model import ends_of

from gigamind.errors import InputError, LlmError
from gigamind.llm.budget import Budget, Limits
from gigamind.llm.ledger import PICO_PER_MICRO


async def refused(budget, pico_usd=0):
    with pytest.raises(LlmError) as caught:
        await budget.reserve(pico_usd)
    assert caught.value.code == "budget_exceeded"
    return caught.value.message.values["limit"]


async def test_a_call_that_just_fits_may_go_and_one_picodollar_more_may_not():
    budget = Budget(Limits(micro_usd=5))
    await budget.reserve(5_000_000)
    await budget.settle(5_000_000, 2_000_000)
    await refused(budget, 3_000_001)
    await budget.reserve(3_000_000)


async def test_a_call_waits_while_only_reservations_leave_no_room():
    budget = Budget(Limits(micro_usd=10))
    await budget.reserve(8_000_000)
    second = asyncio.create_task(budget.reserve(8_000_000))
    await asyncio.sleep(0.01)
    assert not second.done()
    await budget.settle(8_000_000, 1_000_000)
    await asyncio.wait_for(second, 20)


async def test_a_call_that_waits_is_refused_once_the_money_is_spent():
    budget = Budget(Limits(micro_usd=10))
    await budget.reserve(8_000_000)
    second = asyncio.create_task(refused(budget, 8_000_000))
    await asyncio.sleep(0.01)
    await budget.settle(8_000_000, 8_000_000)
    refusal = await asyncio.wait_for(second, 20)
    assert refusal.values == {"limit": 1e-5, "spent": 8e-6, "reserved": 0.0, "next_call": 8e-6}


async def test_minutes_count_from_the_first_call():
    budget = Budget(Limits(minutes=0.05 / 60))
    await asyncio.sleep(0.06)
    await budget.reserve(0)
    await asyncio.sleep(0.06)
    assert "minutes" in await refused(budget)


async def test_what_a_resumed_run_spent_before_counts():
    await refused(Budget(Limits(micro_usd=5), spent_pico_usd=5_000_000), 1)
    await refused(Budget(Limits(calls=3), calls=3))


def test_a_limit_in_dollars_needs_a_price(connected):
    budget = Budget(Limits(micro_usd=1))
    with pytest.raises(InputError, match="--max-cost-usd"):
        connected(priced=False, budget=budget, api_base="http://models.example/v1")
    connected(priced=False, budget=Budget(Limits(calls=1)))
    connected(budget=budget)


def test_the_cost_stays_under_the_limit_and_the_rest_is_skipped(connected, fake):
    budget = Budget(Limits(micro_usd=2000))
    model = connected(";lat=5", budget=budget, max_tokens=300)

    ended = ["ok" if error is None else error.code for error in ends_of(model, 50)]
    totals = model.ledger.totals()
    assert set(ended) == {"ok", "budget_exceeded"}
    assert ended.count("ok") == fake.seen.total == totals.http_calls
    # One call may cost 600 and more in the worst case, and did cost far less.
    assert 1000 < totals.micro_usd <= 2000
    assert budget.spent_pico_usd == totals.pico_usd


def ends_whole(limits, needs, *, most=0, cost=0):
    """How many of these items are asked all that they need, were all of them begun at once.

    `most` is what a call may cost and `cost` what it does, in millionths of a dollar.
    """

    async def run():
        budget, whole = Budget(limits), 0

        async def one(calls):
            nonlocal whole
            async with budget.whole(calls):
                for _ in range(calls):
                    await budget.reserve(most * PICO_PER_MICRO)
                    await asyncio.sleep(0)
                    await budget.settle(most * PICO_PER_MICRO, cost * PICO_PER_MICRO)
                whole += 1

        await asyncio.gather(*map(one, needs), return_exceptions=True)
        return whole, budget.calls

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("limit", "needs", "whole"),
    [
        (6, [3, 3, 3, 3], 2),
        (7, [3, 3, 3, 3], 2),
        (5, [3, 3], 1),
        (2, [3, 3], 0),  # what the first has is kept for a run that goes on
        (4, [3, 2, 1], 1),  # in their order: what is small does not overtake
        (None, [3, 3], 2),
    ],
)
def test_as_many_items_as_calls_allow_are_asked_all_that_they_need(limit, needs, whole):
    assert ends_whole(Limits(calls=limit), needs) == (whole, sum(needs) if limit is None else limit)


@pytest.mark.parametrize(
    ("dollars", "cost", "whole", "calls"),
    [
        (60, 10, 2, 6),
        (70, 10, 2, 7),
        (20, 10, 0, 2),
        (60, 5, 3, 11),  # of the fourth, the last may cost more than is left
        (120, 10, 4, 12),
    ],
)
def test_as_many_items_as_dollars_allow_are_asked_all_that_they_need(dollars, cost, whole, calls):
    limits = Limits(micro_usd=dollars)

    assert ends_whole(limits, [3, 3, 3, 3], most=10, cost=cost) == (whole, calls)


async def test_each_item_gives_back_its_own_claim_and_not_an_equal_one():
    budget, others_ended = Budget(Limits(calls=9)), asyncio.Event()

    async def first():
        async with budget.whole(1):
            await others_ended.wait()
            await budget.reserve(0)

    waiting = asyncio.create_task(first())
    await asyncio.sleep(0)
    async with budget.whole(1):
        pass
    others_ended.set()
    await waiting


async def test_an_item_that_needed_less_leaves_the_rest_to_the_next():
    async def spend(budget, calls):
        async with budget.whole(calls):
            for _ in range(calls):
                await budget.reserve(0)

    budget = Budget(Limits(calls=3))
    async with budget.whole(3):
        await budget.reserve(0)
        second = asyncio.create_task(spend(budget, 2))
        await asyncio.sleep(0.01)
        assert budget.calls == 1
    await asyncio.wait_for(second, 20)
