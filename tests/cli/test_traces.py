"""Traces of OpenTelemetry become answers; their scores go back to the spans, and to MLflow."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from called import ran

from gigamind.errors import InputError
from gigamind.interop.traces import read_traces

TRACE = "5b8efff798038103d269b633813fc60c"
SPAN = "eee19b7ec3c1b174"


def span(trace, name, start=0, **attributes):
    given = [
        {"key": k.replace("__", "."), "value": {"stringValue": v}} for k, v in attributes.items()
    ]
    return {"traceId": trace, "spanId": name, "startTimeUnixNano": str(start), "attributes": given}


def rag(trace=TRACE, answer="We deploy on Tuesday.", question="When do we deploy?"):
    """A chain, its retriever and its reranker, which puts the second document first."""
    kind, document = "openinference__span__kind", "document__content"
    return [
        span(
            trace,
            "eee19b7ec3c1b175",
            2,
            **{kind: "RETRIEVER", "input__value": question, "output__value": "[]"},
            **{
                f"retrieval__documents__{n}__{document}": text
                for n, text in enumerate(("Old.", "We deploy on Tuesday."))
            },
        ),
        span(
            trace,
            "eee19b7ec3c1b176",
            3,
            **{
                kind: "RERANKER",
                f"reranker__output_documents__0__{document}": "We deploy on Tuesday.",
            },
            reranker__output_documents__0__document__id="deploy.md",
        ),
        span(trace, SPAN, 1, **{kind: "CHAIN", "input__value": question, "output__value": answer}),
    ]


def request(*spans):
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


@pytest.fixture
def write(tmp_path):
    def written(*requests, name="traces.json"):
        path = tmp_path / name
        path.write_text("\n".join(map(json.dumps, requests)), "utf-8")
        return path

    return written


def rows(path, **options):
    given = {"size": None, "seed": 1, "mask": False} | options
    return [row.model_dump(mode="json") for row in read_traces(path, **given).rows]


def test_question_answer_and_reranked_contexts_of_a_trace_are_read(write):
    [row] = rows(write(request(*rag())))
    assert row["id"] == f"{TRACE}-{SPAN}"
    assert (row["question"], row["answer"]) == ("When do we deploy?", "We deploy on Tuesday.")
    [context] = row["context_notes"]
    assert (context["title"], context["text"]) == ("deploy.md", "We deploy on Tuesday.")


def test_messages_of_gen_ai_and_json_inputs_are_read(write):
    asked = [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "content": "누가 썼나?"}]},
    ]
    given = [{"role": "assistant", "parts": [{"type": "text", "content": "김민수입니다."}]}]
    chat = {"gen_ai__input__messages": asked, "gen_ai__output__messages": given}
    messages = span("a" * 32, "b" * 16, **{name: json.dumps(text) for name, text in chat.items()})
    chain = {"input__value": '{"question": "Who?"}', "output__value": '{"answer": "Kim."}'}
    found = rows(write(request(messages), request(span("c" * 32, "d" * 16, **chain))))
    told = [(row["question"], row["answer"]) for row in found]
    assert told == [("누가 썼나?", "김민수입니다."), ("Who?", "Kim.")]


def test_a_time_that_is_no_number_stops_no_import(write):
    spans = rag()
    spans[0]["startTimeUnixNano"] = "soon"
    assert [row["id"] for row in rows(write(request(*spans)))] == [f"{TRACE}-{SPAN}"]


def test_equal_answers_count_once_and_a_sample_is_drawn_by_its_seed(write):
    traces = [f"{n:032x}" for n in range(20)]
    path = write(*(request(*rag(trace, f"Answer {n % 10}.")) for n, trace in enumerate(traces)))
    assert len(rows(path)) == 10
    drawn = [row["id"] for row in rows(path, size=4)]
    assert (len(drawn), drawn) == (4, [row["id"] for row in rows(path, size=4)])
    assert drawn != [row["id"] for row in rows(path, size=4, seed=2)]


def test_personal_data_is_masked_on_request_in_all_texts(write):
    text = "Ask kim.lee@example.co.kr, +82 10-1234-5678 or 4111 1111 1111 1111; version 1.2.3, 2026-11-28, 12345."
    [row] = rows(write(request(*rag(answer=text, question=text))), mask=True)
    masked = "Ask [email 1], [number 2] or [number 3]; version 1.2.3, 2026-11-28, 12345."
    assert (row["question"], row["answer"]) == (masked, masked)
    [row] = rows(write(request(*rag(question="010-1234-5678", answer="010-1234-5679"))), mask=True)
    assert (row["question"], row["answer"]) == ("[number 1]", "[number 2]")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", r"traces.json:1"),
        (json.dumps(request(span(TRACE, SPAN, input__value="Who?"))), "1 traces"),
        ("[]", "0 traces"),
        ("\n", "traces.json"),
    ],
)
def test_a_file_without_answers_is_refused(tmp_path, text, told):
    path = tmp_path / "traces.json"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match=told):
        rows(path)


@pytest.fixture
def run(write, tmp_path, gigamind):
    """A run over the answer of a trace."""
    dataset = tmp_path / "rows"
    ran("import", "otel", str(write(request(*rag()))), "--out", str(dataset))
    judged = ("--judge", "words", "--out", str(tmp_path / "run"))
    assert (
        gigamind("eval", "answers", "--dataset", str(dataset / "answers.jsonl"), *judged).code == 0
    )
    return tmp_path / "run"


def exported(run, kind, *options):
    out = run.parent / f"{kind}.json"
    ran("export", kind, str(run), "--out", str(out), *options)
    return json.loads(out.read_text("utf-8"))


def test_scores_go_to_their_spans_in_langfuse_and_phoenix(run):
    bodies = [event["body"] for event in exported(run, "langfuse")["batch"]]
    scores = {body["name"]: body["value"] for body in bodies}
    assert scores["correctness"] == 1.0
    assert {(body["traceId"], body["observationId"]) for body in bodies} == {(TRACE, SPAN)}
    annotations = exported(run, "phoenix")["data"]
    assert {(one["span_id"], one["annotator_kind"]) for one in annotations} == {(SPAN, "CODE")}
    assert {one["name"]: one["result"]["score"] for one in annotations} == scores
    judge = json.loads((run / "run.json").read_text("utf-8"))["judge"]["fingerprint"]
    assert {one["metadata"]["judge"] for one in annotations} == {judge}


def test_a_collector_gets_events_with_intervals_and_spans(gigamind, run):
    seen = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((self.path, json.loads(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Collector)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    logs = exported(run, "otel", "--endpoint", address)
    server.shutdown()
    server.server_close()
    assert seen == [("/v1/logs", logs)]
    [scope] = logs["resourceLogs"][0]["scopeLogs"]
    records = scope["logRecords"]
    assert {record["eventName"] for record in records} == {"gen_ai.evaluation.result"}
    told = [{a["key"]: next(iter(a["value"].values())) for a in r["attributes"]} for r in records]
    [whole] = [one for one in told if one["gen_ai.evaluation.name"] == "answers.correctness"]
    assert whole["gigamind.interval.low"] < whole["gen_ai.evaluation.score.value"] == 1.0
    assert {r.get("spanId") for r in records if r.get("traceId")} == {SPAN}
    ended = gigamind(
        "export", "otel", str(run), "--out", str(run.parent / "x"), "--endpoint", address
    )
    assert (ended.code, "--endpoint" in ended.stderr) == (3, True)
    assert not (run.parent / "x").exists()


def test_a_run_that_is_not_of_traces_is_refused_where_spans_are_needed(gigamind, tmp_path, run):
    text = (run / "per_item.jsonl").read_text("utf-8").replace(f"{TRACE}-{SPAN}", "q1")
    (run / "per_item.jsonl").write_text(text, "utf-8")
    for kind in ("langfuse", "phoenix"):
        ended = gigamind("export", kind, str(run), "--out", str(tmp_path / "x.json"))
        assert (ended.code, "gigamind import otel" in ended.stderr) == (1, True)
        assert not (tmp_path / "x.json").exists()


def test_mlflow_has_metrics_intervals_and_files(run, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(run.parent)
    uri = f"sqlite:///{run.parent / 'mlflow.db'}"
    ran("export", "mlflow", str(run), "--experiment", "e", "--tracking-uri", uri)
    client = mlflow.MlflowClient(tracking_uri=uri)
    [kept] = client.search_runs([client.get_experiment_by_name("e").experiment_id])
    assert kept.data.metrics["answers.correctness"] == 1.0
    assert kept.data.metrics["answers.correctness.low"] < 1.0
    assert "report.html" in {one.path for one in client.list_artifacts(kept.info.run_id)}


def test_without_mlflow_the_command_says_what_to_install(gigamind, run, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mlflow", None)
    ended = gigamind("export", "mlflow", str(run))
    assert (ended.code, "pip install mlflow" in ended.stderr) == (1, True)
