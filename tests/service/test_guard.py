"""Who may ask, how much, and what leaves the service."""

import http.client
import urllib.request

import pytest
from pydantic import ValidationError

from gigamind.service.guard import _Pace
from gigamind.service.options import ServiceOptions

TOKEN = "a-token-of-some-length"


def test_another_host_than_loopback_wants_a_token():
    given = {"notes": "vault", "model": "openai/chat", "host": "0.0.0.0"}
    with pytest.raises(ValidationError, match="--token"):
        ServiceOptions.model_validate(given)
    assert ServiceOptions.model_validate({**given, "token": TOKEN}).token == TOKEN


def test_with_a_token_nobody_else_asks_and_health_is_told_to_all(serve):
    service = serve(token=TOKEN)
    assert service.get("/api/notes")[0] == 401
    assert service.get("/metrics")[0] == 401
    assert service.get("/api/notes", Authorization="Bearer wrong-wrong-wrong-wrong")[0] == 401
    assert service.get("/api/notes", Authorization=f"Bearer {TOKEN}")[0] == 200
    assert service.get("/healthz")[0] == service.get("/readyz")[0] == 200


def test_pages_of_other_sites_may_neither_ask_nor_reach_it_by_another_name(service):
    ask = {"content": "roses"}
    assert service.post("/api/ai/chat", ask, Origin="https://evil.example")[0] == 403
    assert service.post("/api/ai/chat", ask, Origin=service.url)[0] == 200
    assert service.get("/api/notes", Host="evil.example")[0] == 421


def test_answers_come_with_a_policy_that_runs_no_foreign_script(service):
    with urllib.request.urlopen(service.url + "/healthz", timeout=20) as answer:
        policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_no_file_outside_the_vault_is_given(serve, tmp_path):
    (tmp_path / "vault" / "link.md").symlink_to("/etc/passwd")
    service = serve()
    for path in ("..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "garden", "안.md"):
        assert service.get(f"/api/notes/{urllib.request.quote(path, safe='%')}")[0] == 404, path
    assert service.get("/api/notes/link.md")[0] == 404
    assert {note["note_id"] for note in service.get("/api/notes")[1]} >= {"garden.md"}


def test_a_request_that_is_too_long_is_refused_before_it_is_read(service):
    connection = http.client.HTTPConnection(service.url.removeprefix("http://"), timeout=20)
    connection.putrequest("POST", "/api/ai/chat")
    connection.putheader("Content-Length", "2000001")
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 413
    assert b"2,000,000 bytes" in answer.read()
    connection.close()


def test_too_many_questions_are_told_when_to_come_back(serve):
    service = serve(asks_per_minute=2)
    asked = [service.post("/api/ai/chat", {"content": "roses"})[0] for _ in range(3)]
    assert asked == [200, 200, 429]
    assert service.get("/api/notes")[0] == 200


def test_a_pace_lets_an_address_ask_again_when_its_time_has_come():
    clock = [0.0]
    pace = _Pace(2, lambda: clock[0])
    assert [pace.wait_s("a") for _ in range(3)] == [0.0, 0.0, 30.0]
    assert pace.wait_s("b") == 0.0
    clock[0] = 31.0
    assert pace.wait_s("a") == 0.0


def test_metrics_tell_questions_latency_and_evaluations(serve):
    service = serve()
    service.stream("연차는 며칠?")
    _, text = service.get("/metrics")
    assert 'gigamind_asks_total{feature="search_qa",status="answered"} 1.0' in text
    assert "gigamind_first_text_seconds_count 1.0" in text
    assert 'gigamind_evaluations_total{confidence="high"} 1.0' in text
    assert 'gigamind_model_calls_total{role="judge",status="ok"} 1.0' in text


def test_feedback_is_off_unless_a_folder_is_named(service):
    said = {"answer_id": "x", "good": True}
    assert service.post("/api/feedback", said)[0] in {404, 405}


def test_feedback_becomes_rows_that_evaluations_read_and_no_labels(serve, tmp_path):
    from gigamind.datasets.check import check_answers, check_queries
    from gigamind.datasets.jsonl import read_answers, read_queries
    from gigamind.vault.identity import Identities
    from gigamind.vault.notes import Vault

    service = serve(feedback=tmp_path / "said")
    found = service.stream("연차는 며칠?")
    answer_id = found[0][1]["answer_id"]
    evaluation = service.get(f"/{found[-1][1]['details']}")[1]["evaluation"]
    claim = evaluation["claims"][0]["id"]
    assert service.post("/api/feedback", {"answer_id": answer_id, "good": True})[0] == 204
    wrong = {"answer_id": answer_id, "kind": "claim", "claim_id": claim, "good": False}
    assert service.post("/api/feedback", wrong)[0] == 204
    assert service.post("/api/feedback", {**wrong, "claim_id": 99})[0] == 400
    assert service.post("/api/questions", {"answer_id": answer_id})[0] == 204
    assert service.post("/api/questions", {"answer_id": "gone"})[0] == 404
    vault = Vault.read(tmp_path / "vault")
    identities = Identities(vault.notes)
    answers = check_answers(read_answers(tmp_path / "said" / "answers.jsonl"), vault, identities)
    assert not answers.errors
    assert [row.item.tags for row in answers.usable] == [("good",), ("bad-claim",)]
    assert [row.item.labels for row in answers.usable] == [None, None]
    queries = check_queries(read_queries(tmp_path / "said" / "queries.jsonl"), vault, identities)
    assert not queries.errors
    assert [dict(query.qrels) for query in queries.usable] == [{"휴가.md": 1}]


def test_logs_hold_no_question_and_no_note(serve, caplog, capfd):
    service = serve("chat;fault=500;times=1;sid=log", max_in_flight=2)
    service.stream("연차는 며칠?")
    told = caplog.text + "".join(capfd.readouterr())
    assert "연차" not in told
