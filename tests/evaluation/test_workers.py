import statistics
import threading
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigamind.errors import EmbeddingError, EvaluationError, InputError
from gigamind.evaluation.workers import Interrupted, latency, run_workers
from gigamind.outcome import Failure, Success

HOUR_MS = 3_600_000


def quiet(_outcome: object) -> None:
    """Told of every ended item, and says nothing."""


def fails(error: BaseException) -> Callable[[], None]:
    def task() -> None:
        raise error

    return task


def after(seconds: float, value: object = None) -> Callable[[], object]:
    def task() -> object:
        time.sleep(seconds)
        return value

    return task


def values(outcomes: list[Success[object] | Failure]) -> list[object]:
    return [o.value if isinstance(o, Success) else o.error for o in outcomes]


@pytest.mark.parametrize("max_concurrency", [1, 2, 8, 64])
def test_outcomes_come_in_the_order_of_the_tasks_whatever_the_concurrency(max_concurrency):
    # The first takes longest, so that with several lanes it ends last.
    tasks = {f"q{n}": after(0.002 * (8 - n), n) for n in range(8)}
    outcomes = run_workers(tasks, max_concurrency=max_concurrency, timeout_ms=HOUR_MS, on_end=quiet)
    assert values(outcomes) == list(range(8))
    assert [outcome.item_id for outcome in outcomes] == [f"q{n}" for n in range(8)]


@given(st.integers(0, 30), st.integers(1, 10))
@settings(max_examples=40, deadline=None)
def test_every_task_runs_exactly_once(count, max_concurrency):
    ran: list[int] = []
    told: list[str] = []
    tasks = {str(n): lambda n=n: ran.append(n) for n in range(count)}
    outcomes = run_workers(
        tasks,
        max_concurrency=max_concurrency,
        timeout_ms=HOUR_MS,
        on_end=lambda outcome: told.append(outcome.item_id),
    )
    assert sorted(ran) == list(range(count))
    assert len(outcomes) == count
    assert sorted(told) == sorted(tasks)


@pytest.mark.parametrize("max_concurrency", [1, 3])
def test_never_more_than_max_concurrency_run_at_a_time_and_that_many_do(max_concurrency):
    lock, running, most = threading.Lock(), 0, 0

    def task() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1

    tasks = {str(n): task for n in range(12)}
    run_workers(tasks, max_concurrency=max_concurrency, timeout_ms=HOUR_MS, on_end=quiet)
    assert most == max_concurrency


def test_a_hung_task_becomes_a_failure_while_the_others_go_on():
    released = threading.Event()
    tasks = {"a": after(0, 1), "hung": lambda: released.wait(60), "b": after(0, 2)}
    start = time.perf_counter()
    outcomes = run_workers(tasks, max_concurrency=1, timeout_ms=200, on_end=quiet)
    took = time.perf_counter() - start
    released.set()
    assert values(outcomes) == [1, "QueryTimeoutError", 2]
    assert 0.2 <= took < 10
    failure = outcomes[1]
    assert isinstance(failure, Failure)
    assert failure.message.values == {"limit": 200}


def test_the_late_answer_of_a_hung_task_changes_nothing():
    released, left = threading.Event(), threading.Event()

    def late() -> str:
        released.wait(60)
        left.set()
        return "late"

    outcomes = run_workers({"late": late}, max_concurrency=1, timeout_ms=20, on_end=quiet)
    released.set()
    assert left.wait(10)
    assert values(outcomes) == ["QueryTimeoutError"]


def test_several_tasks_hang_and_every_other_one_is_run():
    released = threading.Event()
    tasks: dict[str, Callable[[], object]] = {
        str(n): (lambda: released.wait(60)) if n % 3 == 0 else after(0, n) for n in range(9)
    }
    outcomes = run_workers(tasks, max_concurrency=2, timeout_ms=50, on_end=quiet)
    released.set()
    timeout = "QueryTimeoutError"
    assert values(outcomes) == [timeout, 1, 2, timeout, 4, 5, timeout, 7, 8]


def test_an_answer_past_the_limit_is_a_timeout_even_if_nobody_looked_in_between():
    # It holds the interpreter's lock, so that the coordinator cannot look before it has ended.
    outcomes = run_workers(
        {"busy": lambda: sum(range(3_000_000))}, max_concurrency=1, timeout_ms=1, on_end=quiet
    )
    assert values(outcomes) == ["QueryTimeoutError"]


def test_an_answer_within_the_limit_keeps_its_time():
    (outcome,) = run_workers(
        {"a": after(0.02, 1)}, max_concurrency=1, timeout_ms=10_000, on_end=quiet
    )
    assert isinstance(outcome, Success)
    assert 20 <= outcome.latency_ms < 10_000


def test_a_known_error_is_a_failure_of_its_item_alone():
    tasks = {"a": after(0, 1), "b": fails(EmbeddingError("no model")), "c": after(0, 3)}
    outcomes = run_workers(tasks, max_concurrency=2, timeout_ms=HOUR_MS, on_end=quiet)
    assert outcomes[1] == Failure("b", "EmbeddingError", "no model")
    assert values(outcomes) == [1, "EmbeddingError", 3]


@pytest.mark.parametrize("error", [InputError("x"), EvaluationError("x")])
def test_every_error_of_ours_is_a_failure(error):
    outcomes = run_workers({"a": fails(error)}, max_concurrency=1, timeout_ms=HOUR_MS, on_end=quiet)
    assert values(outcomes) == [type(error).__name__]


def test_any_other_error_is_a_bug_and_ends_the_run():
    begun: list[int] = []
    tasks: dict[str, Callable[[], object]] = {"bug": fails(ZeroDivisionError("bug"))}
    tasks |= {str(n): lambda n=n: begun.append(n) for n in range(1000)}
    with pytest.raises(ZeroDivisionError, match="bug"):
        run_workers(tasks, max_concurrency=1, timeout_ms=HOUR_MS, on_end=quiet)
    assert begun == []


def test_ctrl_c_carries_what_had_ended_in_order_and_starts_nothing_more():
    released = threading.Event()
    begun: list[str] = []
    ended = 0

    def on_end(_outcome: object) -> None:
        nonlocal ended
        ended += 1
        if ended == 2:
            raise KeyboardInterrupt  # as the signal's handler does, in the coordinator's thread

    tasks: dict[str, Callable[[], object]] = {"a": after(0.05, 1), "b": after(0, 2)}
    tasks |= {f"hang {n}": lambda: released.wait(60) for n in range(2)}
    tasks |= {"never": lambda: begun.append("never")}
    with pytest.raises(Interrupted) as stop:
        run_workers(tasks, max_concurrency=2, timeout_ms=HOUR_MS, on_end=on_end)
    released.set()
    time.sleep(0.05)
    assert values(list(stop.value.results)) == [1, 2]
    assert begun == []


times = st.lists(st.floats(0, 60_000), min_size=2, max_size=50)


def test_percentiles_interpolate_between_the_two_nearest_times():
    # Ranks of 0, 10, ..., 100: 0.95 * 10 = 9.5 and 0.99 * 10 = 9.9.
    found = latency([float(ms) for ms in range(0, 101, 10)])
    assert found == {"p50_ms": 50.0, "p95_ms": 95.0, "p99_ms": 99.0}


def test_one_time_is_every_percentile():
    assert list(latency([3.25]).values()) == [3.25] * 3


def test_no_times_have_no_percentiles():
    assert latency([]) == {}


@given(times)
def test_the_percentiles_are_those_of_the_inclusive_method(given_times):
    cuts = statistics.quantiles(given_times, n=100, method="inclusive")
    found = latency(given_times)
    expected = [cuts[49], cuts[94], cuts[98]]
    assert list(found.values()) == pytest.approx(expected, rel=1e-9)
