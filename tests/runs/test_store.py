import asyncio
import json

import pytest

from gigamind.errors import DatasetError, InputError, LlmError
from gigamind.runs import store as store_module
from gigamind.runs.store import ItemKey, ItemResult, RunStore, evaluate_all, read_results

IDENTITY = {"dataset": "d1", "judge": "j1"}
A = ItemKey("a")


def test_results_come_back_in_a_resumed_run(tmp_path):
    with RunStore(tmp_path, IDENTITY) as store:
        store.append(ItemResult("a", "scored", value={"판정": True}, latency_ms=1.5))
    with RunStore(tmp_path, IDENTITY, resume=True) as store:
        assert store.final(A) == ItemResult("a", "scored", value={"판정": True}, latency_ms=1.5)
        assert store.final(ItemKey("b")) is None
    assert read_results(tmp_path) == {A: store.results[A]}


def test_the_parts_of_an_item_are_kept_apart(tmp_path):
    second = ItemKey("a", "checklist")
    with RunStore(tmp_path, IDENTITY) as store:
        store.append(ItemResult("a", "scored", value=1))
        store.append(ItemResult("a", "error", "timeout", "slow", part="checklist"))
    with RunStore(tmp_path, IDENTITY, resume=True) as store:
        assert store.final(A) == ItemResult("a", "scored", value=1)
        assert store.final(second) is None
    assert {key: kept.outcome for key, kept in read_results(tmp_path).items()} == {
        A: "scored",
        second: "error",
    }


@pytest.mark.parametrize(
    ("outcome", "final"),
    [
        ("scored", True),
        ("unscored", True),
        ("refused", True),
        ("error", False),
        ("skipped_budget", False),
    ],
)
def test_only_what_another_attempt_would_not_change_is_final(tmp_path, outcome, final):
    with RunStore(tmp_path, IDENTITY) as store:
        store.append(ItemResult("a", outcome))
        assert (store.final(A) is not None) == final


def test_the_later_line_of_an_item_holds(tmp_path):
    with RunStore(tmp_path, IDENTITY) as store:
        store.append(ItemResult("a", "error", "timeout", "slow"))
        store.append(ItemResult("a", "scored", value=1))
    assert read_results(tmp_path)[A].outcome == "scored"


def test_a_run_is_not_overwritten(tmp_path):
    with RunStore(tmp_path, IDENTITY) as store:
        store.append(ItemResult("a", "scored"))
    with pytest.raises(InputError, match="--resume"):
        RunStore(tmp_path, IDENTITY)


def test_a_run_of_something_else_is_not_resumed(tmp_path):
    RunStore(tmp_path, IDENTITY).__exit__(None, None, None)
    with pytest.raises(InputError, match="judge, model"):
        RunStore(tmp_path, {"dataset": "d1", "judge": "j2", "model": "m"}, resume=True)


def test_a_run_that_is_not_there_is_not_resumed(tmp_path):
    with pytest.raises(InputError, match=r"items\.jsonl"):
        RunStore(tmp_path, IDENTITY, resume=True)


def test_two_processes_cannot_write_one_run(tmp_path):
    with RunStore(tmp_path, IDENTITY), pytest.raises(InputError, match=r"items\.jsonl"):
        RunStore(tmp_path, IDENTITY, resume=True)


@pytest.mark.parametrize("resume", [False, True])
def test_a_run_that_is_written_before_the_lock_is_read(tmp_path, monkeypatch, resume):
    lock = store_module._lock

    def late(descriptor):
        monkeypatch.setattr(store_module, "_lock", lock)
        with RunStore(tmp_path, IDENTITY, resume=resume) as other:
            other.append(ItemResult("a", "scored", value=1))
        lock(descriptor)

    if resume:
        RunStore(tmp_path, IDENTITY).__exit__(None, None, None)
    monkeypatch.setattr(store_module, "_lock", late)
    if not resume:
        with pytest.raises(InputError):
            RunStore(tmp_path, IDENTITY)
    with RunStore(tmp_path, IDENTITY, resume=True) as store:
        assert store.results[A].value == 1
    assert list(read_results(tmp_path)) == [A]


ITEMS = {ItemKey(name): name.upper() for name in "abcdef"}


def run(store, evaluate, **options):
    return asyncio.run(
        evaluate_all(ITEMS, evaluate, store, max_in_flight=options.get("at_once", 2))
    )


def test_items_end_in_the_order_of_the_dataset_however_long_each_takes(tmp_path):
    async def evaluate(key, item):
        await asyncio.sleep(0.02 if key.item_id == "a" else 0.001)
        return item

    with RunStore(tmp_path, IDENTITY) as store:
        results = run(store, evaluate)
    assert [result.key for result in results] == list(ITEMS)
    assert [result.value for result in results] == list("ABCDEF")
    assert list(read_results(tmp_path)) != list(ITEMS)  # kept as they ended
    assert results[0].latency_ms >= 20


def test_no_more_than_allowed_are_evaluated_at_the_same_time(tmp_path):
    now, most = 0, 0

    async def evaluate(_key, _item):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.001)
        now -= 1

    with RunStore(tmp_path, IDENTITY) as store:
        run(store, evaluate, at_once=3)
    assert most == 3


@pytest.mark.parametrize(
    ("error", "outcome", "code"),
    [
        (LlmError("no", "refused"), "refused", "refused"),
        (LlmError("no", "content_filtered"), "refused", "content_filtered"),
        (LlmError("no", "invalid_output"), "unscored", "invalid_output"),
        (LlmError("no", "truncated"), "unscored", "truncated"),
        (LlmError("no", "context_too_long"), "unscored", "context_too_long"),
        (LlmError("no", "timeout"), "error", "timeout"),
        (LlmError("no", "auth_failed"), "error", "auth_failed"),
        (LlmError("no", "budget_exceeded"), "skipped_budget", "budget_exceeded"),
        (DatasetError("no"), "error", "DatasetError"),
    ],
)
def test_a_known_error_ends_its_item_only(tmp_path, error, outcome, code):
    async def evaluate(key, item):
        if key.item_id == "c":
            raise error
        return item

    with RunStore(tmp_path, IDENTITY) as store:
        results = run(store, evaluate)
    assert [result.outcome for result in results].count("scored") == 5
    assert (results[2].outcome, results[2].code, results[2].message) == (outcome, code, "no")
    assert results[2].value is None


def test_a_resumed_run_evaluates_only_what_is_missing_or_may_be_mended(tmp_path):
    asked = []
    errors = {
        "b": LlmError("no", "timeout"),
        "c": LlmError("no", "refused"),
        "d": LlmError("no", "budget_exceeded"),
    }

    async def first(key, item):
        if key.item_id in errors:
            raise errors[key.item_id]
        return item

    async def second(key, item):
        asked.append(key.item_id)
        return item

    with RunStore(tmp_path, IDENTITY) as store:
        run(store, first)
    with RunStore(tmp_path, IDENTITY, resume=True) as store:
        results = run(store, second)
    assert asked == ["b", "d"]
    assert [result.outcome for result in results].count("scored") == 5
    assert results[2].outcome == "refused"


def test_a_bug_ends_the_run_and_what_has_ended_is_kept(tmp_path):
    async def evaluate(key, item):
        if key.item_id == "d":
            raise ZeroDivisionError
        return item

    with RunStore(tmp_path, IDENTITY) as store, pytest.raises(ExceptionGroup) as caught:
        run(store, evaluate, at_once=1)
    assert caught.group_contains(ZeroDivisionError)
    assert [key.item_id for key in read_results(tmp_path)] == ["a", "b", "c"]


def test_a_run_that_was_killed_before_its_first_line_is_gone_on_with(tmp_path):
    (tmp_path / "items.jsonl").touch()
    with RunStore(tmp_path, IDENTITY, resume=True) as store:
        store.append(ItemResult("a", "scored", value=1))
    assert list(read_results(tmp_path)) == [("a", "")]


def test_the_file_is_lines_of_json_with_what_the_run_is_of_first(tmp_path):
    with RunStore(tmp_path, IDENTITY) as store:
        store.append(ItemResult("a", "scored", value="한글"))
    lines = (tmp_path / "items.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0])["run"] == IDENTITY
    assert "한글" in lines[1]
