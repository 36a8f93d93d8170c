"""A slow server: requests that run out of time together all end, and its speed is measured before they are sent."""

import asyncio

import pytest

from gigamind.errors import LlmError
from gigamind.llm.budget import Budget, Limits
from gigamind.llm.limiter import Limiters

pytestmark = pytest.mark.timeout(60)


async def _ask(model, verdict, name):
    try:
        await model.ask([{"role": "user", "content": f"question {name}"}], verdict, item_id=name)
    except LlmError as error:
        return error
    return None


def ask_all(model, verdict, count):
    """How each of so many questions, asked at the same time, ended: None, or the error."""

    async def run():
        try:
            return await asyncio.gather(*(_ask(model, verdict, f"q{n}") for n in range(count)))
        finally:
            await model.close()

    return asyncio.run(run())


def statuses(model):
    return model.ledger.totals().by_status


def test_requests_that_run_out_of_time_together_on_one_slot_all_end(connected, verdict):
    model = connected(
        ";slots=1;lat=100;sid=together", timeout_s=0.45, attempts=1, max_in_flight=12, reasks=0
    )

    assert ask_all(model, verdict, 12) == [None] * 12

    assert statuses(model)["ok"] == 12
    assert 1 <= statuses(model)["timeout"] <= 24  # twelve, then six, then three fit
    assert "--max-in-flight" in model.limiters.describe()


def test_a_client_that_leaves_frees_its_slot(connected, verdict):
    model = connected(";slots=1;lat=5000;sid=leaves", timeout_s=0.2, attempts=1, max_in_flight=1)
    (left,) = ask_all(model, verdict, 1)
    quick = connected(";slots=1;lat=1;sid=leaves", timeout_s=2, attempts=1)

    assert left.code == "timeout"
    assert ask_all(quick, verdict, 1) == [None]


def test_one_request_alone_that_runs_out_of_time_gets_more_of_it_and_that_is_told(
    connected, verdict
):
    told = []
    model = connected(
        ";lat=700",
        timeout_s=0.2,
        timeout_fixed=False,
        max_in_flight=1,
        budget=Budget(Limits(calls=20)),  # too few for a probe
        limiters=Limiters(told.append),
    )

    assert ask_all(model, verdict, 3) == [None] * 3

    assert statuses(model) == {"timeout": 2, "ok": 3}  # 0.2 s, 0.4 s, and 0.8 s do
    assert told[0].values["model"] == "openai/judge;lat=700"
    assert told[0].values["reason"].values == {"n": 20}
    assert [line.values["seconds"] for line in told[1:]] == pytest.approx([0.2, 0.4])


def test_a_time_limit_that_was_given_is_kept_and_the_item_fails_with_advice(connected, verdict):
    model = connected(";lat=3000;times=1;spread=0", timeout_s=0.2, attempts=2, max_in_flight=1)

    (error,) = ask_all(model, verdict, 1)

    assert error.code == "timeout"
    assert "--model-timeout-s" in str(error)
    assert statuses(model) == {"timeout": 2}


def test_a_server_that_never_answers_is_given_up_after_a_few_requests(
    connected, verdict, fake_server
):
    model = connected(";fault=timeout", timeout_s=0.15, attempts=2, max_in_flight=4)

    errors = ask_all(model, verdict, 30)

    assert {error.code for error in errors} == {"timeout", "not_asked"}
    assert fake_server.seen.total <= 4 + 2 + 1 + 2  # four, two, one with its second attempt
    assert errors[-1].message.values["reason"].startswith("openai/judge;fault=timeout")


def test_a_slow_answer_now_and_then_makes_no_request_wait_for_ever(connected, verdict):
    model = connected(
        ";lat=60;spread=0.9;slots=2;sid=spread", timeout_s=0.25, attempts=2, max_in_flight=16
    )
    assert ask_all(model, verdict, 40) == [None] * 40


def measured(model, verdict, told, count=1):
    """What was told, once so many questions have ended well."""
    model.limiters.tell = told.append
    assert ask_all(model, verdict, count) == [None] * count
    return told


@pytest.fixture
def unset(connected):
    """A model whose time limit and number in flight are not given."""

    def connect_to(behaviour, **changes):
        given = {"timeout_s": 60, "timeout_fixed": False, "in_flight_fixed": False}
        return connected(behaviour, **(given | changes))

    return connect_to


def test_a_fast_server_costs_three_small_requests_and_nothing_is_set(unset, verdict, fake_server):
    model = unset("")

    assert measured(model, verdict, [], count=5) == []

    assert fake_server.seen.total == 3 + 5
    probes = [row for row in model.ledger.rows if row.role == "probe"]
    assert [row.status for row in probes] == ["ok"] * 3
    assert [body["max_tokens"] for body in list(fake_server.seen.bodies)[:4]] == [1, 48, 1, 768]


def test_one_slot_is_seen_and_one_request_is_in_flight_at_a_time(unset, verdict, fake_server):
    model = unset(";slots=1;lat=250;sid=one-slot")

    (line,) = measured(model, verdict, [], count=6)

    values = line.values
    assert (values["model"], values["allowed"]) == ("openai/judge;slots=1;lat=250;sid=one-slot", 1)
    assert (values["speed"].values["n"], f"{values['seconds']:.0f}") == (1, "60")
    assert "timeout" not in statuses(model)
    assert fake_server.seen.most_in_flight == 4  # of the probe


def test_several_slots_leave_the_number_as_it_is(unset, verdict):
    model = unset(";lat=1000")
    lines = measured(model, verdict, [])
    ((speed,),) = (limiter.speeds.values() for limiter in model.limiters.by_server.values())
    assert speed.slots is None
    assert speed.at_once > 2.5
    assert all(line.values["allowed"] == 16 for line in lines)


def test_tokens_a_second_are_told_apart(unset, verdict):
    """2 ms a token of the prompt, 20 ms one of the reply, measured on a busy machine."""
    model = unset(";prompt=2;reply=20")
    ask_all(model, verdict, 1)
    ((speed,),) = (limiter.speeds.values() for limiter in model.limiters.by_server.values())
    assert 0.0015 < speed.prompt_s < 0.0035
    assert 0.01 < speed.completion_s < 0.04
    # A prompt of 2 000 tokens and 500 of the reply: 14 s, with room to spare.
    assert 3 * 8 < speed.limit_s(2000, 500, in_flight=1) < 3 * 30


def test_what_is_given_is_not_measured(connected, verdict, fake_server):
    assert ask_all(connected(";lat=250"), verdict, 2) == [None, None]
    assert fake_server.seen.total == 2


def test_a_probe_that_fails_is_told_and_the_questions_are_asked_all_the_same(unset, verdict):
    (line,) = measured(unset(";fault=404;times=1"), verdict, [])
    assert (line.values["seconds"], line.values["allowed"]) == (60, 16)


def test_a_probe_counts_in_the_budget_and_leaves_a_small_one_alone(unset, verdict, fake_server):
    budget = Budget(Limits(calls=100))
    assert measured(unset("", budget=budget), verdict, []) == []
    assert budget.calls == fake_server.seen.total == 4

    small = Budget(Limits(calls=5))
    (line,) = measured(unset("", budget=small), verdict, [])
    assert line.values["reason"].values == {"n": 5}
    assert small.calls == 1


def test_stored_replies_need_no_probe(unset, verdict, fake_server, tmp_path):
    from gigamind.llm.store import Store

    store = Store(tmp_path, "readwrite")
    ask_all(unset("", store=store), verdict, 2)
    asked = fake_server.seen.total
    assert ask_all(unset("", store=Store(tmp_path, "replay")), verdict, 2) == [None, None]
    assert fake_server.seen.total == asked == 3 + 2
