import time

import pytest
from able_model import able
from faulty_model import running


@pytest.fixture
def server():
    with running() as server:
        server.respond = able
        yield server


@pytest.fixture
def check(gigamind, server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return lambda model, *options: gigamind(
        "llm", "check", "--model", model, "--api-base", server.url, *options
    )


def test_a_check_tells_mode_price_and_latency_of_its_first_call(check, server, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."openai/judge"]\nprompt = 1\ncompletion = 2\n', encoding="utf-8")

    ended = check("openai/judge", "--prices", prices)

    assert (ended.code, ended.stderr) == (0, "")
    assert server.seen.total == 1
    first, _, _ = ended.stdout.partition("\n\n")
    told = dict(line.split(maxsplit=1) for line in first.splitlines())
    assert told["mode"] == "json_schema: valid reply"
    assert told["sent"] == "max_tokens=768, temperature=0, seed=42"
    assert told["price"] == "1 USD prompt, 2 USD completion, per million tokens (--prices)"
    assert told["latency"].endswith(" ms")
    assert told["cost"].endswith("USD (table)")


def test_a_model_of_this_machine_costs_nothing_and_one_elsewhere_has_no_price(check, server):
    here = check("openai/judge")
    assert here.code == 0
    assert (
        "price     0 USD prompt, 0 USD completion, per million tokens (local model)" in here.stdout
    )
    assert "cost      0.000000 USD" in here.stdout

    other = ("--api-base", server.url.replace("127.0.0.1", "0.0.0.0"))
    elsewhere = check("openai/judge", *other)
    assert elsewhere.code == 0
    assert "price     unknown" in elsewhere.stdout
    assert "\ncost" not in elsewhere.stdout


@pytest.mark.parametrize(
    ("fault", "hint"),
    [
        ("401", ""),
        ("400rf", "--structured md_json"),
        ("refusal_text", "--structured md_json"),
        ("html", "/v1"),
    ],
)
def test_what_is_wrong_is_said_with_how_to_mend_it_after_one_call(check, server, fault, hint):
    before = server.seen.total
    ended = check(f"openai/judge;fault={fault}")
    assert ended.code == 3
    advice, *_ = ended.stderr.splitlines()
    assert not advice.startswith("Error")
    assert hint in advice
    assert "sk-secret" not in ended.stderr
    assert server.seen.total == before + 1


def test_a_server_without_structured_output_passes_in_the_other_mode(check):
    md_json = ("--structured", "md_json")
    assert check("openai/judge;fault=codeblock", *md_json).code == 0


@pytest.mark.parametrize(
    ("model", "own", "meant"),
    [
        ("judge", True, "openai/judge"),
        ("Qwen/Qwen2.5-7B", True, "openai/Qwen/Qwen2.5-7B"),
        ("judge", False, "openai/judge, anthropic/judge or ollama_chat/judge"),
    ],
)
def test_a_missing_provider_is_named(gigamind, check, server, monkeypatch, model, own, meant):
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    ended = check(model) if own else gigamind("llm", "check", "--model", model)
    assert (ended.code, server.seen.total) == (3, 0)
    assert meant in ended.stderr


def test_a_server_that_is_not_there_is_told(gigamind, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ended = gigamind("llm", "check", "--model", "openai/x", "--api-base", "http://127.0.0.1:9/v1")
    assert ended.code == 3
    assert "http://127.0.0.1:9/v1 does not answer" in ended.stderr


@pytest.mark.parametrize(("limit", "code"), [("0.09", 1), ("-1", 1), ("nan", 1), ("0.1", 3)])
def test_a_time_limit_below_a_tenth_of_a_second_is_bad_input(check, server, limit, code):
    server.respond = lambda *_: time.sleep(0.5)
    ended = check("openai/judge", "--model-timeout-s", limit)
    assert ended.code == code
    assert ("--model-timeout-s" in ended.stderr.splitlines()[0]) is (code == 1)
    assert code == 3 or server.seen.total == 0
