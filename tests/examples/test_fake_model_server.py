"""The server of examples/fake_model.py, as in `make serve`."""

import json
import urllib.request

import pytest
from fake_model import MockServer, run
from served_app import serving
from sse import events

from gigamind.service.options import ServiceOptions


@pytest.fixture
def mock():
    with run(MockServer()) as server:
        yield server


def posted(url, body):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read().decode()


@pytest.fixture
def service(mock, tmp_path):
    notes = ("반차는 0.5일로 계산한다.", "환불은 7일 안에 신청한다.", "헬멧은 각자 가져온다.")
    (tmp_path / "vault").mkdir()
    for number, note in enumerate(notes):
        (tmp_path / "vault" / f"{number}.md").write_text(f"# 규정 {number}\n\n{note}\n", "utf-8")
    given = {"model": "openai/script", "api_base": mock.url, "mode": "keyword"}
    options = ServiceOptions.model_validate(
        {"notes": tmp_path / "vault", "cache_dir": tmp_path / "cache", **given}
    )
    with serving(options) as (url, _server):
        yield url


def test_the_service_streams_the_script_in_chunks_and_says_that_it_is_one(service):
    body = {"content": "반차는 며칠로 계산하나요?"}
    (_, metadata), *rest = events(posted(f"{service}/api/ai/stream", body))
    chunks = [value["chunk"] for name, value in rest if not name and isinstance(value, dict)]
    assert len(chunks) > 1
    assert "".join(chunks) == "반차는 0.5일로 계산한다 [노트 1]."
    assert metadata["scripted"] is True
    assert json.loads(posted(f"{service}/api/ai/chat", body))["scripted"] is True
    with urllib.request.urlopen(f"{service}/api/config") as answer:
        assert json.load(answer)["scripted"] is True
