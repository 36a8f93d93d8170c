"""What a worker's environment grants to the runs of a deployment."""

import os

import pytest

from gigamind.errors import InputError
from gigamind.publish import allowed
from gigamind.tasks.options import SearchEvalOptions

GIVEN = {"dataset": "q.jsonl", "notes": "vault"}


@pytest.fixture(autouse=True)
def in_a_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowed, "deployment_name", lambda: "nightly")


@pytest.mark.parametrize(
    ("given", "allows", "refused"),
    [
        ({}, "", False),
        ({"system": "run:trec.txt"}, "", False),
        ({"system": "python:os:system"}, "", True),
        ({"system": "http://search.example/"}, "system=http://search.example/*", False),
        ({"system": "http://evil.example/"}, "system=http://search.example/*", True),
        ({"qdrant_url": "http://q:6333", "mode": "hybrid"}, "a=b; qdrant_url=http://q:6333", False),
        ({"api_base": "http://evil.example/v1", "model": "openai/x"}, "", True),
        ({"key_variable": "AWS_SECRET", "model": "openai/x", "unanswerable_mode": "llm"}, "", True),
    ],
)
def test_dangerous_options_need_the_worker_to_allow_them(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], allows: str, *, refused: bool
):
    monkeypatch.setenv("GIGAMIND_WORKER_ALLOWS", allows)
    options = SearchEvalOptions.model_validate(GIVEN | given)
    if refused:
        with pytest.raises(InputError, match="GIGAMIND_WORKER_ALLOWS"):
            allowed.check_allowed(options)
    else:
        allowed.check_allowed(options)


@pytest.mark.prefect
@pytest.mark.usefixtures("prefect_server")
def test_a_key_is_read_from_a_secret_block(monkeypatch: pytest.MonkeyPatch):
    from prefect.blocks.system import Secret

    Secret(value="sk-1").save("my-key", overwrite=True)
    monkeypatch.setenv("MY_KEY", "")
    monkeypatch.setenv("GIGAMIND_WORKER_SECRETS", "MY_KEY=my-key")
    allowed.load_secrets()
    assert os.environ["MY_KEY"] == "sk-1"
    monkeypatch.setenv("GIGAMIND_WORKER_SECRETS", "MY_KEY=missing")
    with pytest.raises(InputError, match="missing"):
        allowed.load_secrets()
