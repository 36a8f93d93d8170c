"""Questions over real HTTP: the order of events, both paths of the seed, and failures that harm no answer."""

import json
import socket
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

QUESTION = "연차는 며칠?"


def names(found):
    """The order of what came, chunks as one."""
    order = []
    for name, value in found:
        told = "[DONE]" if value == "[DONE]" else name or "chunk"
        if order[-1:] != [told]:
            order.append(told)
    return order


ORDER = ["metadata", "chunk", "[DONE]", "quality", "qa_evaluation"]


def test_a_search_answer_streams_in_the_order_of_the_seed_and_is_evaluated(serve):
    service = serve("chat;piece=5")
    found = service.stream(QUESTION, options={"mode": "search"})
    assert names(found) == ORDER
    metadata = found[0][1]
    note = metadata["matched_notes"][0]
    assert (note["note_id"], note["title"]) == ("휴가.md", "휴가 규정")
    assert 0 < note["score"] <= 1
    assert metadata["lang"] == "ko"
    answer = "".join(value["chunk"] for name, value in found if not name and value != "[DONE]")
    assert answer == "연차는 입사 첫해에 15일을 준다 [노트 1]."
    quality, evaluation = found[-2][1], found[-1][1]
    assert quality["passed"] is True
    assert evaluation["correctness"] == 1.0
    assert evaluation["source_coverage"][0]["cited"] is True
    assert evaluation["source_coverage"][0]["note_id"] == "휴가.md"
    assert set(evaluation) == {
        *("correctness", "utility", "confidence", "source_coverage", "grounding_issues", "summary"),
        "details",
    }
    whole = service.get(f"/{evaluation['details']}")[1]["evaluation"]
    assert {name: whole[name] for name in evaluation if name != "details"} == {
        name: value for name, value in evaluation.items() if name != "details"
    }
    assert whole["claims"][0]["evidence"]["status"] == "aligned"


def test_a_quote_stands_in_the_note_at_its_offsets(service):
    details = service.stream(QUESTION)[-1][1]["details"]
    evaluation = service.get(f"/{details}")[1]["evaluation"]
    claim, use = evaluation["claims"][0], evaluation["source_coverage"][0]
    _, note = service.get("/api/notes/%ED%9C%B4%EA%B0%80.md")
    shift, evidence = use["utf16_shift"], claim["evidence"]
    units = note["text"].encode("utf-16-le")
    start, end = (2 * (evidence[f"utf16_{edge}"] + shift) for edge in ("start", "end"))
    assert units[start:end].decode("utf-16-le") == "연차는 입사 첫해에 15일을 준다."


def test_context_notes_of_the_client_are_kept_with_their_titles_until_the_evaluation(service):
    options = {"context_notes": ["반차는 0.5일이다."], "note_titles": ["휴가"]}
    found = service.stream("반차는 며칠?", options=options)
    assert found[0][1]["matched_notes"] == [{"note_id": None, "title": "휴가", "score": None}]
    use = found[-1][1]["source_coverage"][0]
    assert (use["note_title"], use["note_id"]) == ("휴가", None)


def test_insight_that_searches_is_evaluated_and_other_features_are_not(service):
    insight = service.stream(QUESTION, feature="insight", options={"mode": "search"})
    assert names(insight) == ORDER
    assert insight[-1][1]["correctness"] == 1.0
    for feature in ("insight", "writing", "summary"):
        found = service.stream(QUESTION, feature=feature)
        assert names(found) == ORDER
        assert found[0][1]["matched_notes"] == []
        assert found[-1][1] is None
        _, state = service.get(f"/api/ai/answers/{found[0][1]['answer_id']}")
        assert state["why"]["qa_evaluation"] == "not_search"


def test_chat_holds_the_evaluation_within_the_quality(service):
    status, answer = service.post("/api/ai/chat", {"content": QUESTION})
    assert status == 200
    assert answer["content"] == "연차는 입사 첫해에 15일을 준다 [노트 1]."
    assert answer["quality"]["qa_evaluation"]["correctness"] == 1.0


def test_with_the_quality_gate_off_nothing_is_judged(serve, model):
    service = serve()
    found = service.stream(QUESTION, quality_gate_enabled=False)
    assert names(found) == ORDER
    assert (found[-2][1], found[-1][1]) == (None, None)
    _, answer = service.post("/api/ai/chat", {"content": QUESTION, "quality_gate_enabled": False})
    assert answer["quality"] is None
    assert model.seen.total == 2


def test_one_answer_costs_one_evaluation_and_one_check_and_none_when_it_is_asked_again(
    serve, model
):
    service = serve()
    service.stream(QUESTION)
    assert model.seen.total == 3
    service.stream(QUESTION)
    assert model.seen.total == 4


def test_a_note_alone_answers_where_it_is_asked(service):
    found = service.stream("roses", options={"note_id": "garden.md"})
    assert [note["note_id"] for note in found[0][1]["matched_notes"]] == ["garden.md"]
    status, told = service.post(
        "/api/ai/stream", {"content": "x", "options": {"note_id": "../../etc/passwd"}}
    )
    assert status == 400
    assert told["detail"].startswith("../../etc/passwd: ")


def test_a_judge_that_answers_rubbish_harms_nothing(serve, model):
    service = serve(judge_model="openai/judge;fault=missing_field;lat=1")
    model.respond = lambda body: (
        {"text": "연차는 15일이다 [노트 1]."} if body.get("stream") else None
    )
    found = service.stream(QUESTION)
    assert names(found) == ORDER
    assert found[-1][1] is None
    _, state = service.get(f"/api/ai/answers/{found[0][1]['answer_id']}")
    assert (state["state"], state["why"]["qa_evaluation"]) == ("done", "invalid_output")


def test_a_model_that_dies_in_the_middle_ends_the_stream_properly(serve):
    found = serve("chat;fault=broken;piece=5").stream(QUESTION)
    assert names(found) == ["metadata", "chunk", "error", "[DONE]", "quality", "qa_evaluation"]
    assert (found[-2][1], found[-1][1]) == (None, None)


def test_a_model_that_gives_nothing_is_an_error_of_chat(serve):
    status, told = serve("chat;fault=401").post("/api/ai/chat", {"content": QUESTION})
    assert status == 502
    assert "sk-secret" not in told["detail"]


def test_a_question_that_nothing_matches_is_told_so_without_a_model(serve, model):
    found = serve().stream("zzzz")
    assert names(found) == ORDER
    assert found[0][1]["matched_notes"] == []
    assert "could not find" in found[1][1]["chunk"]
    assert model.seen.bodies == type(model.seen.bodies)() or not any(
        body.get("stream") for body in model.seen.bodies
    )


def test_a_silent_model_is_bridged_by_heartbeats(serve):
    service = serve("chat;lat=250", heartbeat_s=0.05)
    with asking(service, QUESTION) as connection:
        raw = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert raw.count(b": heartbeat\n\n") >= 2
    assert raw.index(b"event: metadata") < raw.index(b": heartbeat")


@contextmanager
def asking(service, question):
    """The connection of a question that was sent; the service closes it behind the answer."""
    address = urlsplit(service.url)
    body = json.dumps({"content": question}).encode()
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        connection.sendall(
            b"POST /api/ai/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        )
        yield connection


def test_a_reader_that_leaves_stops_the_model(serve, model):
    service = serve("chat;piece=300")
    with asking(service, QUESTION) as connection:
        while b'"chunk"' not in connection.recv(65_536):
            pass
    deadline = time.monotonic() + 10
    while model.seen.in_flight and time.monotonic() < deadline:
        time.sleep(0.02)
    assert model.seen.in_flight == 0
    assert model.seen.total == 1  # nothing was judged


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422), ({"content": ""}, 422), ({"content": "  \n"}, 422),
        ({"content": "x" * 5_000}, 422), ({"content": "x", "feature": "cooking"}, 422),
        ({"content": "x", "options": {"context_notes": ["가" * 200_001]}}, 400),
    ],
)  # fmt: skip
def test_bad_questions_are_refused_in_a_sentence(service, body, status):
    assert service.post("/api/ai/stream", body)[0] == status


def test_search_gives_the_notes_and_where(service):
    _, found = service.get("/api/search?q=roses&limit=2")
    assert found[0]["note_id"] == "garden.md"
    assert "roses" in found[0]["passage"]
    assert service.get("/api/search?q=%20")[0] == 422


def test_evaluations_may_be_drawn_and_have_a_budget_of_the_day(serve, model):
    service = serve(evaluate_share=0.0)
    found = service.stream(QUESTION)
    _, state = service.get(f"/api/ai/answers/{found[0][1]['answer_id']}")
    assert state["why"] == {"quality": "not_drawn", "qa_evaluation": "not_drawn"}
    spent = serve(daily_usd=0.0)
    found = spent.stream(QUESTION)
    _, state = spent.get(f"/api/ai/answers/{found[0][1]['answer_id']}")
    assert state["why"]["qa_evaluation"] == "daily_budget"
    assert model.seen.total == 2
