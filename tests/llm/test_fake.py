import json
import urllib.error
import urllib.request

import pytest
from faulty_model import read_behaviour
from replies_by_schema import answer_to


def call(server, path, body=None):
    address = server.url.removesuffix("/v1") + path
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def question(model="judge", content="?"):
    return {"model": model, "messages": [{"role": "user", "content": content}]}


def test_the_model_name_tells_the_behaviour():
    behaviour = read_behaviour(
        "judge;fault=429;times=2;ra=1;sid=abc;lat=100;allowed=5;share=0.5;hang=3"
    )
    assert (behaviour.name, behaviour.scenario, behaviour.fault, behaviour.times) == (
        "judge",
        "abc",
        "429",
        2,
    )
    assert (behaviour.latency_s, behaviour.hang_s, behaviour.retry_after, behaviour.allowed) == (
        0.1,
        3,
        "1",
        5,
    )


def test_answers_take_as_long_as_told_on_average_and_the_same_in_each_run():
    behaviour = read_behaviour("judge;lat=100;spread=0.5;sid=abc")
    taken = [behaviour.latency_of(number) for number in range(1, 2001)]
    assert taken == [behaviour.latency_of(number) for number in range(1, 2001)]
    assert 0.05 <= min(taken) < 0.055
    assert 0.145 < max(taken) <= 0.15
    assert abs(sum(taken) / 2000 - 0.1) < 0.003
    assert read_behaviour("judge;lat=100").latency_of(7) == 0.1


def test_a_fault_ends_after_so_many_times():
    behaviour = read_behaviour("judge;fault=500;times=2")
    assert [behaviour.fault_of(number) for number in (1, 2, 3)] == ["500", "500", None]


def test_a_share_of_requests_meets_the_fault_the_same_in_each_run():
    behaviour = read_behaviour("judge;fault=500;share=0.2")
    met = [behaviour.fault_of(number) for number in range(1, 5001)]
    assert met == [behaviour.fault_of(number) for number in range(1, 5001)]
    assert 900 < met.count("500") < 1100


def test_a_fault_that_there_is_not_is_refused(fake_server):
    with pytest.raises(ValueError, match="nonsense"):
        read_behaviour("judge;fault=nonsense")
    with pytest.raises(urllib.error.HTTPError, match="404") as caught:
        call(fake_server, "/v1/chat/completions", question("judge;fault=nonsense"))
    caught.value.close()


def test_answers_can_be_scripted_marked_and_counted(fake_server):
    call(fake_server, "/script", [{"a": 1}, {"a": 2}])
    asked = [question(), question(), question(content='<<ANSWER {"a": 3}>>')]
    answers = [call(fake_server, "/v1/chat/completions", body) for body in asked]

    texts = [json.loads(answer["choices"][0]["message"]["content"]) for answer in answers]
    assert texts == [{"a": 1}, {"a": 2}, {"a": 3}]
    stats = call(fake_server, "/stats")
    assert (stats["total"], stats["calls"]) == (3, {"-": 3})
    assert stats["prompt_tokens"] == sum(one["usage"]["prompt_tokens"] for one in answers)
    call(fake_server, "/reset", {})
    assert call(fake_server, "/stats")["total"] == 0


def test_an_answer_follows_the_schema_and_is_the_same_for_the_same_messages():
    schema = {
        "type": "object",
        "properties": {
            "kind": {"enum": ["x", "y"]},
            "share": {"type": "number", "minimum": 2, "maximum": 3},
            "count": {"type": "integer", "minimum": 5, "maximum": 6},
            "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}, "minItems": 2},
            "maybe": {"anyOf": [{"type": "null"}, {"type": "boolean"}]},
            "fixed": {"const": "f"},
        },
        "$defs": {"part": {"type": "object", "properties": {"text": {"type": "string"}}}},
    }
    body = question() | {
        "response_format": {"type": "json_schema", "json_schema": {"schema": schema}}
    }
    answer = answer_to(body)
    assert answer == answer_to(body)
    assert answer["kind"] in {"x", "y"}
    assert 2 <= answer["share"] <= 3
    assert answer["count"] in {5, 6}
    assert [list(part) for part in answer["parts"]] == [["text"], ["text"]]
    assert type(answer["maybe"]) is bool
    assert answer["fixed"] == "f"


def test_a_list_by_its_schema_has_a_row_for_each_id_that_the_messages_give():
    row = {"type": "object", "properties": {"id": {"type": "integer"}, "said": {"type": "boolean"}}}
    named = {"type": "object", "properties": {"id": {"type": "string"}}}
    lists = {"one": row, "another": named, "words": {"type": "string"}}
    fields = {name: {"type": "array", "items": of} for name, of in lists.items()}
    schema = {"type": "object", "properties": fields}
    given = """Items: {"id": "tone", "of": "answer"}
        Answer: [{"id": 3, "text": "{\\"id\\": 9}"}, {"text": "-"}, {"id": 1, "text": "x"}], again {"id": 3}"""
    body = question(content=given) | {
        "response_format": {"type": "json_schema", "json_schema": {"schema": schema}}
    }
    answer = answer_to(body)
    assert [one["id"] for one in answer["one"]] == [3, 1]
    assert all(type(one["said"]) is bool for one in answer["one"])
    assert answer["another"] == [{"id": "tone"}]
    assert len(answer["words"]) == 1
    assert answer["words"][0].startswith("scripted ")
