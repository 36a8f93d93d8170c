import itertools

import httpx
import pytest

from gigamind.publish.ends import through_restart


def refused_first(times):
    """A question that nothing answers so many times."""
    numbers = itertools.count()

    def ask():
        if next(numbers) < times:
            raise httpx.ConnectError("All connection attempts failed")
        return next(numbers)

    return ask


def test_a_server_that_comes_back_is_waited_for(waits):
    assert through_restart(refused_first(2)) == 3
    assert waits == [0.5, 1]


def test_a_server_that_stays_away_is_given_up():
    with pytest.raises(httpx.ConnectError):
        through_restart(refused_first(9), patience_s=0.8)


def test_what_a_server_refuses_is_not_asked_twice():
    numbers = itertools.count()

    def ask():
        next(numbers)
        raise LookupError("no such deployment")

    with pytest.raises(LookupError):
        through_restart(ask)
    assert next(numbers) == 1
