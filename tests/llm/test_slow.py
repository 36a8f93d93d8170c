"""A slow server: requests that run out of time together all end, and its speed is measured before they are sent."""

import pytest
from asked_model import ends_of

from gigamind.llm.budget import Budget, Limits
from gigamind.llm.limiter import Limiters

pytestmark = pytest.mark.timeout(60)


def statuses(model):
    return model.ledger.totals().by_status


def test_requests_that_run_out_of_time_together_on_one_slot_all_end(connected):
    model = connected(
        ";slots=1;lat=100;sid=together", timeout_s=0.45, attempts=1, max_in_flight=12, reasks=0
    )

    assert ends_of(model, 12) == [None] * 12

    assert statuses(model)["ok"] == 12
    assert 1 <= statuses(model)["timeout"] <= 24  # twelve, then six, then three fit
    assert "--max-in-flight" in model.limiters.describe()


def test_one_request_alone_that_runs_out_of_time_gets_more_of_it_and_that_is_told(connected):
    told = []
    model = connected(
        ";lat=700",
        timeout_s=0.2,
        timeout_fixed=False,
        max_in_flight=1,
        budget=Budget(Limits(calls=20)),  # too few for a probe
        limiters=Limiters(told.append),
    )

    assert ends_of(model, 3) == [None] * 3

    assert statuses(model) == {"timeout": 2, "ok": 3}  # 0.2 s, 0.4 s, and 0.8 s do
    assert told[0].values["model"] == "openai/judge;lat=700"
    assert told[0].values["reason"].values == {"n": 20}
    assert [line.values["seconds"] for line in told[1:]] == pytest.approx([0.2, 0.4])


def test_a_time_limit_that_was_given_is_kept_and_the_item_fails_with_advice(connected):
    model = connected(";lat=3000;times=1;spread=0", timeout_s=0.2, attempts=2, max_in_flight=1)

    (error,) = ends_of(model, 1)

    assert error.code == "timeout"
    assert "--model-timeout-s" in str(error)
    assert statuses(model) == {"timeout": 2}


def test_a_server_that_never_answers_is_given_up_after_a_few_requests(connected, fake):
    model = connected(";fault=timeout", timeout_s=0.15, attempts=2, max_in_flight=4)

    errors = ends_of(model, 30)

    assert {error.code for error in errors} == {"timeout", "not_asked"}
    assert fake.seen.total <= 4 + 2 + 1 + 2  # four, two, one with its second attempt
    assert errors[-1].message.values["reason"].startswith("openai/judge;fault=timeout")


def test_a_slow_answer_now_and_then_makes_no_request_wait_for_ever(connected):
    model = connected(
        ";lat=60;spread=0.9;slots=2;sid=spread", timeout_s=0.25, attempts=2, max_in_flight=16
    )
    assert ends_of(model, 40) == [None] * 40


def measured(model, told, count=1):
    """What was told, once so many questions have ended well."""
    model.limiters.tell = told.append
    assert ends_of(model, count) == [None] * count
    return told


@pytest.fixture
def unset(connected):
    """A model whose time limit and number in flight are not given."""

    def connect_to(behaviour, **changes):
        given = {"timeout_s": 60, "timeout_fixed": False, "in_flight_fixed": False}
        return connected(behaviour, **(given | changes))

    return connect_to


def test_a_fast_server_costs_three_small_requests_and_nothing_is_set(unset, fake):
    model = unset("")

    assert measured(model, [], count=5) == []

    assert fake.seen.total == 3 + 5
    probes = [row for row in model.ledger.rows if row.role == "probe"]
    assert [row.status for row in probes] == ["ok"] * 3
    assert [body["max_tokens"] for body in list(fake.seen.bodies)[:4]] == [1, 48, 1, 768]


def test_one_slot_is_seen_and_one_request_is_in_flight_at_a_time(unset, fake):
    model = unset(";slots=1;lat=250;sid=one-slot")

    (line,) = measured(model, [], count=6)

    values = line.values
    assert (values["model"], values["allowed"]) == ("openai/judge;slots=1;lat=250;sid=one-slot", 1)
    assert (values["speed"].values["n"], f"{values['seconds']:.0f}") == (1, "60")
    assert "timeout" not in statuses(model)
    assert fake.seen.most_in_flight == 4  # of the probe


def test_several_slots_leave_the_number_as_it_is(unset):
    model = unset(";lat=1000")
    lines = measured(model, [])
    ((speed,),) = (limiter.speeds.values() for limiter in model.limiters.by_server.values())
    assert speed.slots is None
    assert speed.at_once > 2.5
    assert all(line.values["allowed"] == 16 for line in lines)


def test_tokens_a_second_are_told_apart(unset):
    """2 ms a token of the prompt, 20 ms one of the reply, measured on a busy machine."""
    model = unset(";prompt=2;reply=20")
    ends_of(model, 1)
    ((speed,),) = (limiter.speeds.values() for limiter in model.limiters.by_server.values())
    assert 0.0015 < speed.prompt_s < 0.0035
    assert 0.01 < speed.completion_s < 0.04
    # A prompt of 2 000 tokens and 500 of the reply: 14 s, with room to spare.
    assert 3 * 8 < speed.limit_s(2000, 500, in_flight=1) < 3 * 30


def test_a_probe_that_fails_is_told_and_the_questions_are_asked_all_the_same(unset):
    (line,) = measured(unset(";fault=404;times=1"), [])
    assert (line.values["seconds"], line.values["allowed"]) == (60, 16)


def test_a_probe_counts_in_the_budget_and_leaves_a_small_one_alone(unset, fake):
    budget = Budget(Limits(calls=100))
    assert measured(unset("", budget=budget), []) == []
    assert budget.calls == fake.seen.total == 4

    small = Budget(Limits(calls=5))
    (line,) = measured(unset("", budget=small), [])
    assert line.values["reason"].values == {"n": 5}
    assert small.calls == 1


def test_stored_replies_need_no_probe(unset, fake, tmp_path):
    from gigamind.llm.store import Store

    store = Store(tmp_path, "readwrite")
    ends_of(unset("", store=store), 2)
    asked = fake.seen.total
    assert ends_of(unset("", store=Store(tmp_path, "replay")), 2) == [None, None]
    assert fake.seen.total == asked == 3 + 2
