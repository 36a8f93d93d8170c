import signal
import subprocess
import sys

import pytest

from gigamind.llm.fake import running


@pytest.fixture(scope="module")
def server():
    with running() as server:
        yield server


@pytest.fixture
def check(gigamind, server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return lambda model, *options: gigamind(
        "llm", "check", "--model", model, "--api-base", server.url, *options
    )


def test_a_check_makes_one_call_and_tells_mode_price_and_latency(check, server, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."openai/judge"]\nprompt = 1\ncompletion = 2\n', encoding="utf-8")
    before = server.seen.total

    ended = check("openai/judge", "--prices", prices)

    assert (ended.code, ended.stderr) == (0, "")
    assert server.seen.total == before + 1
    told = dict(line.split(maxsplit=1) for line in ended.stdout.splitlines())
    assert told["mode"] == "json_schema: a valid reply"
    assert told["sent"] == "max_tokens=768, temperature=0, seed=42"
    assert told["price"] == "1 USD prompt, 2 USD completion a million tokens (file)"
    assert told["latency"].endswith(" ms")
    assert told["cost"].endswith("USD (table)")


def test_a_model_of_this_machine_costs_nothing_and_one_elsewhere_has_no_price(check, server):
    here = check("openai/judge")
    assert here.code == 0
    assert "price     0 USD prompt, 0 USD completion a million tokens (local)" in here.stdout
    assert "cost      0.000000 USD" in here.stdout

    elsewhere = check("openai/judge", "--api-base", server.url.replace("127.0.0.1", "0.0.0.0"))
    assert elsewhere.code == 0
    assert "price     unpriced: name one with --prices" in elsewhere.stdout
    assert "cost" not in elsewhere.stdout


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        ("openai/judge;fault=401", "The key is missing or refused"),
        ("openai/judge;fault=quota", "The account has no quota left"),
        ("openai/judge;fault=429", "has no room now"),
        ("openai/judge;fault=404", "There is no such model, or no such address"),
        ("openai/judge;fault=400rf", "no structured output: try --structured md_json"),
        (
            "openai/judge;fault=refusal_text",
            "not as asked for: try --structured md_json, or a larger",
        ),
        ("openai/judge;fault=html", "answers in another protocol"),
        ("openai/judge;fault=500", "does not answer"),
        ("openai/judge;fault=refusal", "cannot judge as it is called here"),
    ],
)
def test_what_is_wrong_is_said_with_how_to_mend_it_after_one_call(check, server, model, advice):
    before = server.seen.total
    ended = check(model)
    assert ended.code == 3
    assert advice in ended.stderr
    assert "sk-secret" not in ended.stderr
    assert server.seen.total == before + 1


def test_a_server_without_structured_output_passes_in_the_other_mode(check):
    assert check("openai/judge;fault=codeblock", "--structured", "md_json").code == 0


def test_without_a_key_nothing_is_sent(gigamind, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ended = gigamind("llm", "check", "--model", "openai/gpt-4o-mini")
    assert (ended.code, ended.stdout) == (3, "")
    assert "set OPENAI_API_KEY in the environment" in ended.stderr


def test_a_server_that_is_not_there_is_told(gigamind, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ended = gigamind("llm", "check", "--model", "openai/x", "--api-base", "http://127.0.0.1:9/v1")
    assert ended.code == 3
    assert "http://127.0.0.1:9/v1 does not answer" in ended.stderr


def test_a_price_file_that_cannot_be_read_is_bad_input(check, tmp_path):
    ended = check("openai/judge", "--prices", tmp_path / "none.toml")
    assert ended.code == 1
    assert "the price file cannot be read" in ended.stderr


def test_the_fake_server_answers_until_it_is_interrupted(gigamind):
    started = subprocess.Popen(
        [sys.executable, "-u", "-m", "gigamind", "llm", "fake-server", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    with started:
        url = started.stdout.readline().split()[0]
        ended = gigamind("llm", "check", "--model", "openai/judge", "--api-base", url)
        started.send_signal(signal.SIGINT)
        assert started.wait(20) == 0
        assert started.stdout.read().endswith("Stopped.\n")
    assert ended.code == 0


def test_a_model_cannot_be_served_without_a_gguf_file_nor_without_the_engine(
    gigamind, tmp_path, monkeypatch
):
    file = tmp_path / "my model.gguf"
    missing = gigamind("llm", "serve", file)
    file.write_text("<!doctype html>", encoding="utf-8")  # what a download that failed leaves
    other = gigamind("llm", "serve", file)
    file.write_bytes(b"GGUF\x03")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    without = gigamind("llm", "serve", file)

    assert [ended.code for ended in (missing, other, without)] == [1, 1, 1]
    assert "the model cannot be read: No such file" in missing.stderr
    assert "is no GGUF file" in other.stderr
    assert "pip install 'gigamind-eval[local]'" in without.stderr
    assert [ended.stderr.count("\n") for ended in (missing, other, without)] == [1, 1, 1]


def test_a_port_that_is_taken_is_bad_input(gigamind, server):
    port = server.url.rpartition(":")[2].removesuffix("/v1")
    ended = gigamind("llm", "fake-server", "--port", port)
    assert ended.code == 1
    assert f"port {port} cannot be used" in ended.stderr
