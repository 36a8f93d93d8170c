"""Servers that lie about their tokens or never answer: never is less booked than they generated."""

import asyncio

import pytest
from asked_model import end_of, reply_to

from gigamind.llm.budget import Budget, Limits

SHARE = 0.3
NOTE = (
    "Holidays are asked for a week before, and the team leader decides. 휴가는 팀장에게 신청한다.\n"
    * 6
)
LIES = (
    *("no_usage", "usage_null", "zero_usage", "negative_usage", "fraction_usage"),
    *("cached_above", "cached_negative"),
)
LOST = ("timeout", "disconnect", "reset", "badjson", "empty_body")


def asked_often(model, count):
    """How so many questions ended, by code."""

    def one(number):
        return end_of(model, f"{number}. {NOTE * (2 + number % 3)}", str(number))

    async def run():
        ended = [await one(0), *await asyncio.gather(*map(one, range(1, count)))]
        await model.close()
        return ["ok" if error is None else error.code for error in ended]

    return asyncio.run(run())


def generated_micro_usd(server):
    return server.seen.generated["prompt_tokens"] + 2 * server.seen.generated["completion_tokens"]


@pytest.mark.parametrize("fault", LIES)
def test_what_a_server_does_not_tell_or_cannot_mean_is_estimated_to_three_percent_and_never_below(
    fault, connected, fake
):
    # The first answer of this scenario has its usage: before one has, tokens are booked at their upper bound.
    model = connected(f";fault={fault};share={SHARE};sid=a", max_in_flight=4)

    assert set(asked_often(model, 40)) == {"ok"}

    totals, billed = model.ledger.totals(), generated_micro_usd(fake)
    assert billed <= totals.micro_usd <= 1.03 * billed
    assert totals.cost_source == "estimated"


@pytest.mark.parametrize("fault", LOST)
def test_what_never_arrives_is_booked_at_its_worst_and_the_limit_in_dollars_holds(
    fault, connected, fake
):
    limit = 8_000
    model = connected(
        f";fault={fault};share={SHARE};hang=5;sid={fault}",
        budget=Budget(Limits(micro_usd=limit)),
        max_tokens=100,
        timeout_s=0.5 if fault == "timeout" else 20,
    )

    assert "budget_exceeded" in asked_often(model, 50)

    totals = model.ledger.totals()
    assert generated_micro_usd(fake) <= totals.micro_usd <= limit
    assert totals.http_calls >= fake.seen.total  # one timed out before it was read, too


def test_a_usage_above_what_the_request_allows_is_charged_with_its_upper_bound(connected):
    model = connected(";fault=big_usage", max_tokens=50)

    asked_often(model, 1)

    assert model.ledger.totals().completion_tokens == 50
    assert model.ledger.totals().cost_source == "estimated"


@pytest.mark.parametrize("fault", ["zero_completion", "no_completion"])
def test_completion_tokens_that_are_only_part_of_the_total_are_counted(fault, connected, fake):
    model = connected(f";fault={fault}")

    asked_often(model, 3)

    totals = model.ledger.totals()
    assert totals.micro_usd == generated_micro_usd(fake)
    assert (totals.cost_source, totals.reserved_micro_usd) == ("table", 0)


async def test_what_is_cancelled_is_booked_at_its_worst(connected, fake):
    budget = Budget(Limits(micro_usd=10_000))
    model = connected(";lat=5000", budget=budget, max_tokens=100)

    asking = asyncio.create_task(reply_to(model))
    while not fake.seen.total:  # noqa: ASYNC110  the server is of another thread
        await asyncio.sleep(0.02)
    asking.cancel()
    await asyncio.wait({asking})
    await model.close()

    (row,) = model.ledger.rows
    assert (row.status, row.completion_tokens, row.cost_source) == ("unfinished", 100, "estimated")
    assert budget.spent_pico_usd == row.cost_pico_usd
    assert row.prompt_tokens + 200 <= model.ledger.totals().micro_usd
