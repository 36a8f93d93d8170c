"""Limits hold after every wait: for a place, for the pace, before another attempt, for what a server asks."""

import time

import pytest
from asked_model import ends_of

from gigamind.llm.budget import Budget, Limits

SECONDS = 0.25


def ended(model, count=1):
    """The errors of so many questions, and the seconds that all of them took."""
    start = time.perf_counter()
    return ends_of(model, count), time.perf_counter() - start


@pytest.mark.parametrize(
    ("behaviour", "changes"),
    [
        (";fault=503", {"backoff_s": 30}), (";fault=429;ra=30", {}),
        ("", {"requests_per_minute": 2}), ("", {"tokens_per_minute": 200}),
    ],
)  # fmt: skip
def test_a_wait_ends_when_the_minutes_do_and_nothing_is_sent_after_it(
    behaviour, changes, connected, fake
):
    budget = Budget(Limits(minutes=SECONDS / 60))
    model = connected(behaviour, budget=budget, **changes)

    errors, seconds = ended(model, count=3)

    assert {error.code for error in errors if error} == {"budget_exceeded"}
    assert seconds < 20  # every wait is of 30 s
    assert len(model.ledger.rows) == fake.seen.total == budget.calls
    assert budget.calls <= 5  # a random wait may be short


def test_a_place_is_not_waited_for_after_the_minutes(connected, fake):
    budget = Budget(Limits(minutes=SECONDS / 60))
    model = connected(";lat=750", budget=budget, max_in_flight=1)

    errors, _ = ended(model, count=3)

    # What was in flight ends; what waited behind it is never sent.
    assert [error.code if error else "ok" for error in errors] == ["ok"] + ["budget_exceeded"] * 2
    assert fake.seen.total == 1


def test_a_server_that_asks_to_wait_for_a_day_fails_its_request_and_holds_no_other_back(
    connected, fake
):
    model = connected(";fault=429;ra=86400;times=1", max_wait_s=1)

    errors, seconds = ended(model, count=3)

    (error,) = filter(None, errors)
    assert error.code == "rate_limited"
    assert (error.message.values["seconds"], error.message.values["limit"]) == (86400, 1)
    assert seconds < 100
    assert fake.seen.total == 3


def test_what_a_server_asks_for_is_waited_up_to_the_limit(connected):
    errors, seconds = ended(connected(";fault=429;ra=0.3;times=1", max_wait_s=0.3))

    assert errors == [None]
    assert seconds >= 0.3


def test_a_server_that_allows_five_at_a_time_gets_few_calls_in_vain(connected, fake):
    model = connected(";allowed=5;lat=20;ra=0.05", attempts=5, backoff_s=0.01, timeout_s=10)

    assert ends_of(model, 80) == [None] * 80

    assert fake.seen.total <= 1.3 * 80
    assert fake.seen.most_in_flight == 5
