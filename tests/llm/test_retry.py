import asyncio

from gigamind.errors import LlmError
from gigamind.llm.faults import _is_transient, with_retries
from gigamind.llm.settings import ModelSettings


def failing(times, retry_after_s=None):
    """An attempt that fails so many times, and then gives its number."""
    made = 0

    async def attempt():
        nonlocal made
        made += 1
        if made <= times:
            raise LlmError("no", "server_error", None, retry_after_s)
        return made

    return attempt


def test_a_bug_is_not_tried_again():
    assert not _is_transient(ValueError("bug"), 60)


async def waits(attempts, retry_after_s=None):
    """How long is waited before each further attempt, of 50 calls."""
    settings, found = ModelSettings("m", attempts=attempts, backoff_s=0.5), []

    async def sleep(seconds):
        found.append(seconds)

    for _ in range(50):
        await with_retries(failing(attempts - 1, retry_after_s), settings, sleep)
    return [found[number :: attempts - 1] for number in range(attempts - 1)]


def test_waits_are_random_and_doubled_up_to_twenty_seconds():
    found = asyncio.run(waits(9))
    for seconds, longest in zip(found, [0.5, 1, 2, 4, 8, 16, 20, 20], strict=True):
        assert longest / 2 < max(seconds) <= longest
        assert len(set(seconds)) == 50


async def test_a_wait_is_at_least_as_long_as_the_server_asks_for():
    assert await waits(2, retry_after_s=7.0) == [[7.0] * 50]
