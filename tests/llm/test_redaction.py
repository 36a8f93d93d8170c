"""Secrets are taken out of a text by their value, in whatever form a server says them back."""

import base64
import json
from urllib.parse import quote

import pytest

from gigamind.llm.faults import scrub
from gigamind.redaction import keep_secret, redacted

KEYS = {
    "hex": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "groq": "gsk_1a2B3c4D5e6F7g8H9i0J",
    "uuid": "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "words": "correct horse+battery/staple=",
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize(
    "variable",
    ["OPENAI_API_KEY", "MY_TOKEN", "TEAM_SECRET", "DB_PASSWORD", "SMTP_PWD", "github_pat", "HF_AUTH"],
)  # fmt: skip
def test_the_value_of_a_variable_whose_name_says_so_is_nowhere(variable, key, monkeypatch):
    monkeypatch.setenv(variable, key)
    said = f"x={key}, {quote(key, safe='')}, {quote(key).lower()}, {json.dumps({'k': key})}, {key}"

    shown = redacted(said)

    assert key not in shown
    assert quote(key, safe="") not in shown
    assert shown.startswith("x=[redacted], [redacted], ")


@pytest.mark.parametrize("variable", ["PWD", "GIT_AUTHOR_NAME", "TOKENIZERS_PATH", "KEYBOARD"])
def test_other_variables_are_left_alone(variable, monkeypatch):
    monkeypatch.setenv(variable, "/home/someone")
    assert redacted("not found: /home/someone/x") == "not found: /home/someone/x"


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "DATABASE_URL"])
def test_name_and_password_in_an_address_are_nowhere(name, monkeypatch):
    monkeypatch.setenv(name, "http://me:p%40ss-word@10.0.0.1:3128")
    basic = base64.b64encode(b"me:p@ss-word").decode()
    shown = redacted(
        f"at http://me:p%40ss-word@10.0.0.1:3128 with p@ss-word, Basic {basic}, {basic}"
    )
    assert shown == "at http://[redacted]@10.0.0.1:3128 with [redacted], [redacted], [redacted]"


def test_a_short_password_of_an_address_is_taken_out_where_it_stands_alone():
    keep_secret("http://me:zyx@127.0.0.1:9/v1")
    assert redacted("zyx, not zyxin") == "[redacted], not zyxin"


def test_values_of_eight_characters_are_secrets_and_the_longer_of_two_is_taken_out_whole(
    monkeypatch,
):
    for name, value in (("A", "abcdefgh"), ("B", "abcdefgh-and-more"), ("C", "1234567")):
        monkeypatch.setenv(f"{name}_KEY", value)
    assert redacted("1234567 abcdefgh-and-more abcdefgh") == "1234567 [redacted] [redacted]"


@pytest.mark.each(
    "said, shown",
    [
        ("Incorrect API key provided: sk-abc***xyz", "Incorrect API key provided: [redacted]"),
        ("Authorization: Bearer none-of-ours", "Authorization: [redacted]"),
        ("no key AIzaSyA-1234567890", "no key [redacted]"),
        ("Basic authentication is wanted", "Basic authentication is wanted"),
    ],
)
def test_what_has_the_shape_of_a_key_goes_too(said, shown):
    assert redacted(said) == shown


def test_a_key_at_the_cut_of_a_long_text_goes_before_it_is_cut(monkeypatch):
    monkeypatch.setenv("A_KEY", KEYS["hex"])
    assert scrub("x" * 290 + KEYS["hex"]) == "x" * 290 + "[redacted]"


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_a_server_that_says_the_key_back_does_not_bring_it_into_an_error(key, ask, monkeypatch):
    monkeypatch.setenv("OUR_KEY", key)

    asked = ask(";fault=echo", key_variable="OUR_KEY")

    assert asked.error.code == "auth_failed"
    assert "I was sent" in str(asked.error)
    assert key not in str(asked.error)
