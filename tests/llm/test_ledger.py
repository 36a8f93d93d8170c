from dataclasses import replace

import pytest

from gigamind.errors import InputError
from gigamind.llm.client import Usage
from gigamind.llm.ledger import Attempt, Ledger, Price, Totals, read_ledger

PRICE = Price(prompt=150_000, completion=600_000, cached=75_000)


def row(status="ok", usage=None, **changes):
    made = Attempt("q", 1, "http", status, "m", cost_pico_usd=0, cost_source="table")
    if usage:
        made = made.charged(
            usage, changes.pop("price", PRICE), counted=changes.pop("counted", True)
        )
    return made


def test_totals_are_sums_over_every_attempt():
    rows = [
        row("server_error"), row("invalid_output", Usage(3, 1)), row("ok", Usage(3, 1, 2)),
        Attempt("q", 1, "store", "ok", "m"),
    ]  # fmt: skip
    found = Totals.of(rows)
    assert (found.http_calls, found.store_hits) == (3, 1)
    assert (found.prompt_tokens, found.completion_tokens, found.cached_tokens) == (6, 2, 2)
    assert found.pico_usd == 4 * 150_000 + 2 * 75_000 + 2 * 600_000
    assert found.micro_usd == 2  # 1.95
    assert found.by_status == {"server_error": 1, "invalid_output": 1, "ok": 1}
    assert found.cost_source == "table"


def test_one_unpriced_row_makes_the_sum_unknown():
    rows = [row(usage=Usage(1, 1)), row(usage=Usage(1, 1), price=None)]
    assert (Totals.of(rows).micro_usd, Totals.of(rows).cost_source) == (None, "unpriced")


def test_nothing_costs_nothing():
    assert Totals.of([]).micro_usd == 0


def test_a_ledger_that_exists_is_continued(tmp_path):
    path = tmp_path / "attempts.jsonl"
    first = Ledger(path)
    first.append(row(usage=Usage(10, 1)))
    first.close()
    second = Ledger(path)
    second.append(row(usage=Usage(20, 1)))
    second.close()
    assert second.totals().prompt_tokens == 30
    assert read_ledger(path) == second.rows


def test_a_request_that_was_started_and_never_ended_is_booked_with_the_most_it_may_cost(tmp_path):
    path = tmp_path / "attempts.jsonl"
    killed = Ledger(path)
    for number in (1, 2):
        killed.start(replace(row("unfinished", Usage(40, 100), counted=False), number=number))
    killed.append(row("ok", Usage(20, 5)))
    assert killed.totals().prompt_tokens == 20  # the second may still end
    killed.close()

    resumed = Ledger(path)
    found = resumed.totals()
    assert (found.prompt_tokens, found.completion_tokens) == (60, 105)
    assert found.pico_usd == 60 * 150_000 + 105 * 600_000
    assert (found.cost_source, found.by_status) == ("estimated", {"unfinished": 1, "ok": 1})

    # The same request once more: it ends, and what was lost stays lost.
    again = replace(row("unfinished", Usage(40, 100), counted=False), number=2)
    resumed.start(again)
    resumed.append(replace(row("ok", Usage(20, 5)), number=2))
    resumed.close()
    assert Totals.of(read_ledger(path)).by_status == {"unfinished": 1, "ok": 2}
    assert Totals.of(read_ledger(path)) == resumed.totals()


def test_two_runs_cannot_write_one_ledger(tmp_path):
    path = tmp_path / "attempts.jsonl"
    ledger = Ledger(path)
    with pytest.raises(InputError, match=r"attempts\.jsonl"):
        Ledger(path)
    ledger.close()
