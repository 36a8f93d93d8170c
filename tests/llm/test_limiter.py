import asyncio
import time
from contextlib import nullcontext

import pytest

from gigamind.errors import LlmError
from gigamind.llm.limiter import Limiters, _Concurrency, _Pace
from gigamind.llm.settings import ModelSettings


@pytest.mark.parametrize(
    ("per_minute", "seconds"), [(1, 60), (30, 2), (59, 60 / 59), (60, 1), (120, 0.5)]
)
def test_requests_are_spread_evenly_below_and_above_sixty_a_minute(per_minute, seconds):
    pace = _Pace(per_minute)
    waits = [pace.wait_s(now=100.0) for _ in range(4)]
    assert waits == pytest.approx([0, seconds, 2 * seconds, 3 * seconds])


def test_time_that_passed_is_not_saved_up():
    pace = _Pace(60)
    pace.wait_s(now=0.0)
    assert [pace.wait_s(now=1000.0), pace.wait_s(now=1000.0)] == [0, pytest.approx(1)]


def test_tokens_that_were_not_used_are_given_back():
    pace = _Pace(6000)  # 100 a second
    pace.wait_s(now=0.0, amount=1000)
    pace.give_back(900)
    assert pace.wait_s(now=0.0) == pytest.approx(1)


def test_a_429_halves_the_number_once_for_all_that_were_sent_before():
    concurrency = _Concurrency(16)
    for _ in range(11):
        concurrency.refused(sent_at=1.0, now=2.0)
    assert concurrency.allowed == 8
    concurrency.refused(sent_at=2.5, now=3.0)
    assert concurrency.allowed == 4


def test_the_number_never_falls_below_one_nor_rises_above_the_most():
    concurrency = _Concurrency(2)
    for moment in range(10):
        concurrency.refused(sent_at=moment, now=moment)
    assert concurrency.allowed == 1
    for _ in range(1000):
        concurrency.succeeded()
    assert concurrency.allowed == 2


def test_success_adds_one_a_round_and_little_near_what_was_too_many():
    concurrency = _Concurrency(16)
    concurrency.refused(sent_at=0.0, now=0.0)
    for _ in range(9):
        concurrency.succeeded()
    assert 8.9 < concurrency.allowed < 9.2  # after one round of eight
    for _ in range(200):
        concurrency.succeeded()
    assert 15 < concurrency.allowed < 15.7  # 16 was too many


@pytest.mark.parametrize(("code", "seconds"), [("rate_limited", 0.2), ("server_error", 30)])
async def test_the_retry_after_of_a_rate_limit_alone_holds_everything_back(code, seconds):
    limiter = Limiters().of(ModelSettings("m"), nullcontext)
    with pytest.raises(LlmError):
        async with limiter.slot(1):
            raise LlmError("no", code, 429, seconds)
    start = time.perf_counter()
    async with limiter.slot(1):
        held_s = time.perf_counter() - start
    assert (held_s >= 0.19) == (code == "rate_limited")
    assert held_s < 20


async def test_a_waiter_that_is_cancelled_leaves_its_place_to_the_next():
    limiter = Limiters().of(ModelSettings("m", max_in_flight=1), nullcontext)

    async def one():
        async with limiter.slot(1):
            await asyncio.sleep(0.01)
        return True

    tasks = [asyncio.create_task(one()) for _ in range(5)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    tasks[2].cancel()
    ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 20)
    assert ended.count(True) == 3
