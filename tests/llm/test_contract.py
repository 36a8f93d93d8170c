"""Every fault of the fake server through the whole stack, over HTTP: how many requests, which end, what cost."""

import io
import json
import pickle

import pytest
from asked_model import Verdict
from faulty_model import FAULTS

from gigamind.llm.faults import code_of, error_of_status

OK = "ok"
CUT = "truncated"
BAD = "invalid_output"
# Texts of providers: limits that end by themselves, and errors that concern one item or all.
ERRORS = [
    (429, "exceeded call rate limit. To increase your limit go to https://aka.ms/oai/quotaincrease.", "rate_limited"),
    (429, "Rate limit reached. Add a payment method: https://platform.openai.com/account/billing", "rate_limited"),
    (429, "Quota exceeded for aiplatform.googleapis.com/requests per minute", "rate_limited"),
    (429, "You exceeded your current quota, please check your plan. Please retry in 34.07s.", "rate_limited"),
    (429, "You exceeded your current quota, please check your plan and billing details.", "quota_exhausted"),
    (429, '{"error": {"code": "insufficient_quota"}}', "quota_exhausted"),
    (403, "requires moderation and your input was flagged for violence", "content_filtered"),
    (403, "Your API key has no access to this model", "auth_failed"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "text", "code"), ERRORS)
def test_errors_of_providers_get_their_codes(status, text, code):
    assert code_of(status, text) == code


def test_a_limit_with_a_delay_is_no_exhausted_account():
    text = '{"error": {"code": "insufficient_quota"}}'
    assert error_of_status("m", 429, text, retry_after="1").code == "rate_limited"


# The status of each attempt when every answer has the fault, with three attempts at the transport and one re-ask.
STAYING = {
    "429": ["rate_limited"] * 3,
    "quota": ["quota_exhausted"],
    "500": ["server_error"] * 3,
    "502": ["server_error"] * 3,
    "503": ["server_error"] * 3,
    "401": ["auth_failed"],
    "echo": ["auth_failed"],
    "404": ["bad_request"],
    "400ctx": ["context_too_long"],
    "400rf": ["bad_request"],
    "temperature": ["bad_request", OK],
    "max_tokens": ["bad_request", OK],
    "redirect": ["bad_request"],
    "timeout": ["timeout"] * 3,
    "disconnect": ["server_error"] * 3,
    "reset": ["server_error"] * 3,
    "html": ["malformed_response"] * 3,
    "badjson": ["malformed_response"] * 3,
    "empty_body": ["malformed_response"] * 3,
    "no_choices": ["malformed_response"] * 3,
    "truncated": [CUT, CUT],
    "truncated_stop": [CUT, BAD, BAD],
    "missing_field": [BAD, BAD],
    "wrong_types": [BAD, BAD],
    "coercible_types": [BAD, BAD],
    "extra_field": [BAD, BAD],
    "nan": [BAD, BAD],
    "two_json": [BAD, BAD],
    "prose": [OK],
    "codeblock": [OK],
    "block_in_prose": [OK],
    "listed": [OK],
    "same_twice": [OK],
    "refusal_text": [BAD, BAD],
    "empty": [BAD, BAD],
    "null_content": [BAD, BAD],
    "think": [OK],
    "broken": [OK],  # of an answer that is streamed alone: tests/llm/test_streaming.py
    "refusal": ["refused"],
    "content_filter": ["content_filtered"],
    "no_usage": [OK],
    "usage_null": [OK],
    "zero_usage": [OK],
    "cached_usage": [OK],
    "big_usage": [OK],
    "negative_usage": [OK],
    "fraction_usage": [OK],
    "zero_completion": [OK],
    "no_completion": [OK],
    "cached_above": [OK],
    "cached_negative": [OK],
}
FATAL = {"quota", "401", "echo", "404", "400ctx", "400rf", "redirect", "refusal", "content_filter"}
UNTOLD = {"no_usage", "usage_null", "zero_usage"}
LIES = {"negative_usage", "fraction_usage", "big_usage", "cached_above", "cached_negative"}
IN_TOTAL = {"zero_completion", "no_completion"}  # see test_lies.py
UNKNOWN = {"timeout", "disconnect", "reset", "html", "badjson", "empty_body"}
SECRETS = ("sk-secret-12345", "sk-own-key-98765")


def patience(fault):
    """Seconds until a request is given up: soon only where no answer comes."""
    return 0.4 if fault == "timeout" else 20


def check_cost(fault, totals, seen):
    """It is that of the tokens served, those of failed answers included; of others an estimate, and never free."""
    if fault in UNTOLD | LIES:
        assert totals.prompt_tokens > 0
        assert totals.completion_tokens > 0
        assert totals.micro_usd == totals.prompt_tokens + 2 * totals.completion_tokens
        assert totals.cost_source == "estimated"
    if fault in UNTOLD | LIES | UNKNOWN | IN_TOTAL:
        return
    cached = 800 if fault == "cached_usage" else 0
    assert totals.prompt_tokens == seen.prompt_tokens
    assert totals.completion_tokens == seen.completion_tokens
    assert totals.cached_tokens == cached
    served = (seen.prompt_tokens - cached) * 1 + cached // 2 + seen.completion_tokens * 2
    assert (totals.micro_usd, totals.cost_source) == (served, "table")


def test_every_fault_of_the_server_is_in_the_table():
    assert set(STAYING) == FAULTS


@pytest.mark.parametrize(("fault", "statuses"), STAYING.items())
def test_a_fault_that_stays_ends_in_its_code_after_so_many_requests(fault, statuses, ask, fake):
    asked = ask(f";fault={fault};hang=5;ra=0.01", timeout_s=patience(fault))

    assert asked.statuses == statuses
    assert fake.seen.total == len(statuses)
    assert (asked.error.code if asked.error else OK) == statuses[-1]
    check_cost(fault, asked.totals, fake.seen)


@pytest.mark.parametrize(("fault", "statuses"), STAYING.items())
def test_a_fault_of_one_answer_is_mended_by_one_more_request_or_none(fault, statuses, ask, fake):
    asked = ask(f";fault={fault};times=1;hang=5;ra=0.01", timeout_s=patience(fault))

    mended = fault not in FATAL and statuses[0] != OK
    assert asked.statuses == [statuses[0], *([OK] if mended else [])]
    assert fake.seen.total == len(asked.statuses)
    assert (asked.reply is None) == (fault in FATAL)
    check_cost(fault, asked.totals, fake.seen)


@pytest.mark.parametrize("fault", sorted(UNKNOWN))
def test_an_answer_that_may_have_been_generated_and_never_came_costs_the_most_it_may(fault, ask):
    asked = ask(f";fault={fault};times=1;hang=5", timeout_s=patience(fault), max_tokens=100)

    lost, come = asked.rows
    assert (lost.cost_source, come.cost_source) == ("estimated", "table")
    # The prompt is booked with what any tokenizer could make of it; the answer with all it may have.
    assert lost.prompt_tokens > come.prompt_tokens
    assert lost.completion_tokens == 100
    assert lost.cost_pico_usd == (lost.prompt_tokens + 2 * 100) * 1_000_000
    assert asked.totals.cost_source == "estimated"


def test_without_a_price_the_cost_is_unknown_and_not_zero(ask, fake):
    # The same server, by an address that could be anyone's.
    elsewhere = fake.url.replace("127.0.0.1", "0.0.0.0")
    totals = ask(priced=False, api_base=elsewhere).totals

    assert (totals.micro_usd, totals.cost_source) == (None, "unpriced")
    assert totals.prompt_tokens > 0


def pickled(error):
    """As Python itself pickles it: Dask, which other tests import, has errors send whatever led to them as well."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file)
    pickler.dispatch_table = {}
    pickler.dump(error)
    return file.getvalue()


@pytest.mark.parametrize("fault", ["401", "500", "missing_field", "timeout"])
def test_no_key_is_in_an_error_its_pickle_or_the_ledger(fault, ask, monkeypatch, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", SECRETS[1])

    asked = ask(f";fault={fault};hang=5", timeout_s=patience(fault))

    shown = [str(asked.error), repr(asked.error), repr(asked.error.__context__), caplog.text]
    shown += [repr(asked.rows), pickled(asked.error).decode("latin-1")]
    assert not [secret for secret in SECRETS if secret in "".join(shown)]
    assert asked.error.__cause__ is None


def test_an_error_survives_pickling(ask):
    error = ask(";fault=429;ra=0.01").error

    copy = pickle.loads(pickled(error))

    assert str(copy) == str(error)
    assert (copy.code, copy.status, copy.retry_after_s) == ("rate_limited", 429, 0.01)
    assert copy.exit_code == 3


def test_the_request_states_a_strict_schema_and_all_parameters(ask, fake):
    ask(content="질문 {{ secret }}")

    (body,) = fake.seen.bodies
    wanted = body["response_format"]["json_schema"]
    assert wanted["strict"] is True
    assert wanted["schema"] == Verdict.model_json_schema()
    assert (body["max_tokens"], body["temperature"], body["seed"]) == (768, 0.0, 42)
    assert body["messages"] == [{"role": "user", "content": "질문 {{ secret }}"}]


def test_an_answer_that_is_cut_off_is_asked_for_again_with_twice_the_tokens(ask, fake):
    ask(";fault=truncated;times=1", max_tokens=100)

    assert [body["max_tokens"] for body in fake.seen.bodies] == [100, 200]
    first, second = (body["messages"] for body in fake.seen.bodies)
    assert first == second


def test_an_answer_that_fails_validation_is_sent_back_with_the_reason(ask, fake):
    ask(";fault=extra_field;times=1")

    first, second = (body["messages"] for body in fake.seen.bodies)
    assert second[: len(first)] == first
    assert "surprise" in json.dumps(second[len(first) :])


def test_a_server_without_response_format_is_asked_for_a_code_block(ask, fake):
    asked = ask(";fault=codeblock", mode="md_json")

    assert asked.statuses == [OK]
    assert "response_format" not in fake.seen.bodies[0]


def test_a_scripted_answer_comes_out_as_it_is(ask, fake):
    fake.script.append({"unanswerable": True, "confidence": 0.25, "reason": "없음"})

    reply = ask().reply

    assert reply.model_dump() == {"unanswerable": True, "confidence": 0.25, "reason": "없음"}
    assert type(reply).__name__ == "Verdict"
    assert not hasattr(reply, "_raw_response")


def test_half_a_character_in_an_answer_is_replaced_and_counted_as_a_repair(ask, fake):
    fake.script.append({"unanswerable": True, "confidence": 0.5, "reason": "\ud800"})

    asked = ask()

    assert (asked.reply.unanswerable, asked.reply.reason) == (True, "?")
    assert asked.totals.repaired == 1


def test_the_rows_tell_who_answered_and_how_long_it_took(ask):
    (row,) = ask(";lat=50").rows

    assert (row.call, row.number, row.source, row.answered_by) == ("q1", 1, "http", "judge")
    assert row.fingerprint == "fp_fake_1"
    assert 50 <= row.latency_ms < 5_000
    assert row.at > 1_700_000_000
