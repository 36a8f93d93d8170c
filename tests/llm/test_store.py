import asyncio
import json
import os

import pytest
from asked_model import Verdict

from gigamind.errors import InputError, LlmError
from gigamind.llm.store import Store, key_of, unused_replies

KEY = key_of({"model": "m"})


class Maker:
    """Makes answers, and counts them; fails as often as told."""

    def __init__(self, fails=0):
        self.made = 0
        self._fails = fails

    async def __call__(self):
        self.made += 1
        number = self.made
        await asyncio.sleep(0.001)
        if number <= self._fails:
            raise LlmError("bad", "invalid_output")
        return {"value": number}, number


def read(record):
    return int(record["value"])


def fetch(store, make, times=1):
    async def run():
        return await asyncio.gather(
            *(store.fetch(KEY, read, make) for _ in range(times)), return_exceptions=True
        )

    return asyncio.run(run())


def test_what_was_kept_is_read_by_a_later_run(tmp_path):
    make = Maker()
    assert fetch(Store(tmp_path, "readwrite"), make) == [(1, False)]
    assert fetch(Store(tmp_path, "readwrite"), make) == [(1, True)]
    assert fetch(Store(tmp_path, "replay"), make) == [(1, True)]
    assert make.made == 1


def test_replay_makes_nothing_and_a_miss_is_an_error(tmp_path):
    make = Maker()
    (error,) = fetch(Store(tmp_path, "replay"), make)
    assert (error.code, make.made) == ("cassette_miss", 0)


def test_refresh_asks_anew_once_and_keeps(tmp_path):
    make = Maker()
    fetch(Store(tmp_path, "readwrite"), make)
    store = Store(tmp_path, "refresh")
    assert fetch(store, make) == [(2, False)]
    assert fetch(store, make) == [(2, True)]
    assert fetch(Store(tmp_path, "replay"), make) == [(2, True)]


def test_off_neither_reads_nor_keeps(tmp_path):
    make = Maker()
    fetch(Store(tmp_path, "readwrite"), make)
    assert fetch(Store(tmp_path, "off"), make, times=2) == [(2, False), (3, False)]
    assert fetch(Store(tmp_path, "replay"), make) == [(1, True)]


def test_of_many_that_ask_at_the_same_time_one_makes_it(tmp_path):
    make = Maker()
    ended = fetch(Store(tmp_path, "readwrite"), make, times=20)
    assert make.made == 1
    assert sorted(ended) == [(1, False), *[(1, True)] * 19]


def test_should_the_first_fail_the_next_one_tries(tmp_path):
    make = Maker(fails=2)
    ended = fetch(Store(tmp_path, "readwrite"), make, times=5)
    assert [type(one).__name__ for one in ended] == ["LlmError", "LlmError", *["tuple"] * 3]
    assert make.made == 3
    assert ended[2:] == [(3, False), (3, True), (3, True)]


def test_an_answer_that_failed_is_not_kept(tmp_path):
    fetch(Store(tmp_path, "readwrite"), Maker(fails=1))
    assert not list(tmp_path.rglob("*"))


@pytest.mark.parametrize("content", [b"", b"{", b'{"value": "x"}', b"\xff"])
def test_a_record_that_cannot_be_used_is_a_miss_and_is_told_and_replaced(tmp_path, content):
    make, told = Maker(), []
    fetch(Store(tmp_path, "readwrite"), make)
    (path,) = tmp_path.rglob("*.json")
    path.write_bytes(content)
    store = Store(tmp_path, "readwrite")
    store.tell = told.append
    assert fetch(store, make) == [(2, False)]
    assert len(told) == 1
    assert json.loads(path.read_text(encoding="utf-8"))["value"] == 2


def test_a_record_that_a_disk_has_damaged_is_asked_for_anew(tmp_path):
    make = Maker()
    fetch(Store(tmp_path, "readwrite"), make)
    (path,) = tmp_path.rglob("*.json")
    path.write_text(path.read_text("utf-8").replace('"value": 1', '"value": 3'), encoding="utf-8")
    assert fetch(Store(tmp_path, "readwrite"), make) == [(2, False)]
    assert fetch(Store(tmp_path, "readwrite"), make) == [(2, True)]


def test_an_answer_that_was_read_is_not_unused(tmp_path):
    fetch(Store(tmp_path, "readwrite"), Maker())
    (path,) = tmp_path.rglob("*.json")
    killed = path.with_name(f".{path.name}.4711.0a1b2c3d")
    killed.touch()
    for file in (path, killed):
        os.utime(file, (100, 100))
    assert list(unused_replies(tmp_path, since=100)) == []
    assert set(unused_replies(tmp_path, since=101)) == {path, killed}
    fetch(Store(tmp_path, "replay"), Maker())
    assert list(unused_replies(tmp_path, since=101)) == [killed]


def test_the_key_depends_on_values_and_not_on_their_order():
    assert key_of({"a": 1, "b": {"c": "한"}}) == key_of({"b": {"c": "한"}, "a": 1})
    assert key_of({"a": 1}) != key_of({"a": 2})
    assert key_of({"a": 1}) != key_of({"a": "1"})


def test_a_mode_that_reads_or_keeps_requires_a_folder():
    with pytest.raises(InputError, match="replay"):
        Store(None, "replay")


def test_a_stored_reply_costs_no_call_and_is_booked(ask, fake, tmp_path):
    first = ask(store=Store(tmp_path, "readwrite"))
    again = ask(store=Store(tmp_path, "replay"))

    assert again.reply == first.reply
    assert fake.seen.total == 1
    assert [(row.source, row.status, row.key) for row in again.rows] == [
        ("store", "ok", first.rows[0].key)
    ]
    assert (again.totals.micro_usd, again.totals.store_hits, again.totals.http_calls) == (0, 1, 0)


def test_an_answer_that_needed_a_second_try_is_replayed_at_once(ask, fake, tmp_path):
    first = ask(";fault=missing_field;times=1", store=Store(tmp_path, "readwrite"))
    again = ask(";fault=missing_field;times=1", store=Store(tmp_path, "replay"))

    assert again.reply == first.reply
    assert fake.seen.total == 2


@pytest.mark.parametrize(
    "change", [{"temperature": 0.5}, {"seed": 1}, {"max_tokens": 5000}, {"mode": "md_json"}]
)
def test_whatever_changes_the_request_misses(ask, tmp_path, change):
    ask(store=Store(tmp_path, "readwrite"))
    assert ask(store=Store(tmp_path, "replay"), **change).error.code == "cassette_miss"
    assert ask(store=Store(tmp_path, "replay"), timeout_s=9.0).error is None


async def test_another_judge_or_repetition_misses(connected, tmp_path):
    model = connected(store=Store(tmp_path, "readwrite"))
    question = [{"role": "user", "content": "Is it so?"}]

    for fingerprint, repeat in [("a", 0), ("a", 0), ("b", 0), ("a", 1)]:
        await model.ask(question, Verdict, item_id="q", fingerprint=fingerprint, repeat=repeat)
    await model.close()
    assert [row.source for row in model.ledger.rows] == ["http", "store", "http", "http"]


def asked_by_two(folder, make):
    """What two get for the same question at the same time; each has a store of its own over the same folder."""

    async def ask():
        store = Store(folder, "readwrite")
        store.shared = True
        return await store.fetch("ab" * 32, lambda record: record["reply"], make)

    async def both():
        return await asyncio.gather(ask(), ask(), return_exceptions=True)

    return asyncio.run(both())


def test_what_two_processes_ask_at_a_time_is_made_by_one_of_them(tmp_path):
    made = []

    async def make():
        made.append(1)
        await asyncio.sleep(0.3)
        return {"reply": 1}, 1

    assert sorted(asked_by_two(tmp_path, make)) == [(1, False), (1, True)]
    assert len(made) == 1
    assert [path.suffix for path in tmp_path.rglob("*.*")] == [".json"]


def test_what_another_process_could_not_make_is_made_by_the_next(tmp_path):
    failures = [LlmError("no answer", "timeout")]

    async def make():
        await asyncio.sleep(0.1)
        if failures:
            raise failures.pop()
        return {"reply": 1}, 1

    first, second = asked_by_two(tmp_path, make)
    assert isinstance(first, LlmError)
    assert second == (1, False)


def test_a_stored_answer_that_cannot_be_read_is_made_anew_beside_others_too(tmp_path):
    store = Store(tmp_path, "readwrite")
    store.shared = True
    path = tmp_path / "ab" / f"{'ab' * 32}.json"
    path.parent.mkdir()
    path.write_text("{}")

    async def make():
        return {"reply": 1}, 1

    fetched = asyncio.run(store.fetch("ab" * 32, lambda record: record["reply"], make))
    assert fetched == (1, False)
