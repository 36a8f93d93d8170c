import time

import pytest

from gigamind.errors import EmbeddingError, IndexingError, QueryTimeoutError
from gigamind.outcome import Failure, Success, attempt


def test_a_value_comes_back_as_a_success_with_its_latency_in_milliseconds():
    def evaluate() -> str:
        time.sleep(0.02)
        return "found"

    outcome = attempt("q1", evaluate)

    assert isinstance(outcome, Success)
    assert (outcome.item_id, outcome.value) == ("q1", "found")
    assert 20 <= outcome.latency_ms < 2_000


def test_a_value_that_is_false_is_still_a_success():
    outcome = attempt("q1", lambda: None)

    assert isinstance(outcome, Success)
    assert outcome.value is None


@pytest.mark.parametrize("error", [QueryTimeoutError("slower than 5 ms"), EmbeddingError("no key")])
def test_a_known_error_becomes_a_failure_with_its_name_and_message(error):
    def evaluate() -> None:
        raise error

    assert attempt("q1", evaluate) == Failure("q1", type(error).__name__, str(error))


def test_an_index_that_cannot_be_reached_is_no_failure_of_an_item():
    def evaluate() -> None:
        raise IndexingError("the server is gone")

    with pytest.raises(IndexingError):
        attempt("q1", evaluate)


def test_a_bug_is_no_failure_of_an_item():
    with pytest.raises(ZeroDivisionError):
        attempt("q1", lambda: 1 / 0)
