"""Answers of a RAG system: asked once, with the contexts it says it used, whatever is odd about them."""

import json
import os
import re
import signal
import threading
import time
from collections import Counter
from datetime import UTC, datetime

import pytest
from five_answers import EVERY, GOOD, LEAVE
from out_files import items_of, rows_of, run_of, warned
from row_files import write_rows
from search_servers import search_server

import gigamind
from gigamind.errors import EvaluationError, InputError
from gigamind.evaluation.progress import Quiet
from gigamind.evaluation.shards import Shard, unfinished_folder
from gigamind.publish.flows import STEPS
from gigamind.runs.store import ITEMS_FILE, Journal
from gigamind.tasks import TASKS, evaluate
from gigamind.tasks.answers.judging import AnswerEvaluation
from gigamind.tasks.answers.prepare import prepare_answers

ANSWER = "연차는 15일이다 [노트 1]."
NAMES = ("one", "two", "three", "four", "five")


def question(name, **changes):
    return {"id": name, "question": f"연차는 며칠? ({name})", "language": "ko"} | changes


QUESTIONS = [question(name) for name in NAMES]


@pytest.fixture
def asked(options):
    """Options of a run of a system over five questions."""

    def make(system, items=QUESTIONS, **changes):
        return options(items=items, **{"system": system} | changes)

    return make


@pytest.fixture
def judged(server):
    """A judge that believes every answer."""
    server.respond = lambda _: GOOD


@pytest.fixture
def answering():
    """A RAG server whose reply to a question is that of its id, or the usual one."""

    def serve(by_id=None, usual=None):
        usual = usual or {"answer": ANSWER, "contexts": [{"note": "휴가.md", "score": 0.9}]}

        def respond(asked):
            reply = (by_id or {}).get(asked.body["id"], usual)
            if callable(reply):
                reply = reply()
            return reply if isinstance(reply, tuple) else (200, reply)

        return search_server(respond)

    return serve


@pytest.fixture
def evaluated(asked, answering):
    """A finished run of a RAG server with these replies."""

    def done(by_id=None, usual=None, **changes):
        with answering(by_id, usual) as rag:
            return evaluate(asked(rag.url, **changes))

    return done


@pytest.mark.usefixtures("judged")
def test_a_system_is_asked_each_question_and_its_answer_is_judged_by_its_contexts(asked, answering):
    with answering() as rag:
        done = evaluate(asked(f"{rag.url}/ask?key=secret-word", save_snapshot=True))
    assert sorted(one.body["id"] for one in rag.asked) == sorted(NAMES)
    assert set(rag.asked[0].body) == {"id", "question"}
    line = items_of(done.out)["one"]
    assert (line["answer"], line["evaluation"]["correctness"]) == (ANSWER, 1.0)
    assert [(note["path"], LEAVE in note["text"]) for note in line["notes"]] == [("휴가.md", True)]
    assert line["contexts"] == [{"note": "휴가.md", "score": 0.9, "known": True}]
    assert line["system_latency_ms"] > 0
    assert "oddities" not in line
    summary = done.summary
    assert (summary.system.failed, summary.system.oddities) == (0, {})
    assert summary.performance.system.n == 5
    assert summary.overall.answers["correctness"] == 1.0
    run = run_of(done.out)
    system = run["environment"]["system"]
    assert (system["kind"], system["config"]) == ("http", "plain")
    assert system["target"].endswith("/ask?***")
    snapshot = json.loads((done.out / "snapshot.json").read_text("utf-8"))
    assert snapshot["environment"]["system"]["fingerprint"] == system["fingerprint"]
    assert "secret-word" not in "".join(p.read_text("utf-8") for p in done.out.iterdir())
    assert f"{rag.url}/ask?***" in (done.out / "report.html").read_text("utf-8")
    assert "| p50 " in (done.out / "summary.md").read_text("utf-8")


@pytest.mark.usefixtures("judged")
def test_contexts_are_notes_texts_or_both_and_keep_their_places(evaluated):
    shown = f"Leave\n\n{LEAVE}"
    contexts = [
        "휴가",  # by its name
        {"note": "garden.md", "text": "The garden has roses"},
        LEAVE,  # a text alone
        {"note": "휴가.md", "start": 21, "end": 24},
        {"note": "parking.md", "start": 5, "end": 9_999},
        {"text": shown},
    ]
    done = evaluated({"one": {"answer": ANSWER, "contexts": contexts}})
    notes = items_of(done.out)["one"]["notes"]
    assert [note["path"] for note in notes] == [
        "휴가.md", "garden.md", None, "휴가.md", "parking.md", None,
    ]  # fmt: skip
    assert [note["text"] for note in notes[1:]] == [
        "The garden has roses",
        LEAVE,
        "연차는",  # behind "---\ntitle: 휴가 규정\n---\n", which has 21 units
        "Cars stand behind the depot.\n",
        shown,
    ]
    assert [note["title"] for note in notes[2:3]] == ["context 3"]
    assert "oddities" not in items_of(done.out)["one"]


@pytest.mark.usefixtures("judged")
def test_without_a_vault_texts_are_judged_and_names_prove_nothing(evaluated):
    chinese = "第一年有十五天年假。"
    contexts = [LEAVE, {"note": "kb/7", "text": LEAVE}, "gone.md", {"note": "휴가.md"}]
    contexts += ["doc-17", chinese]
    done = evaluated({}, {"answer": ANSWER, "contexts": contexts}, notes=None)
    line = items_of(done.out)["one"]
    assert [(one["title"], one["text"]) for one in line["notes"]] == [
        ("context 1", LEAVE),
        ("kb/7", LEAVE),
        ("gone.md", ""),
        ("휴가.md", ""),
        ("doc-17", ""),
        ("context 6", chinese),
    ]
    known = [one["known"] for one in line["contexts"]]
    assert known == [True, True, False, False, False, True]
    assert line["oddities"] == {"unknown_notes": 3}
    assert line["evaluation"]["correctness"] == 1.0
    assert {"count": 5, "total": 5} in warned(done.out)


@pytest.mark.usefixtures("judged")
def test_what_is_odd_about_contexts_is_counted_by_item_and_said(evaluated):
    replies = {
        "one": {"answer": ANSWER},
        "two": {"answer": ANSWER, "contexts": [{"note": "gone.md", "text": LEAVE}]},
        "three": (200, f'{{"answer": "{ANSWER}", "contexts": [{{"note": "휴가", "score": NaN}}]}}'),
        "four": {"answer": ANSWER, "contexts": [{"note": "휴가", "text": "Nobody wrote it."}]},
        "five": {"answer": ANSWER + "\ud83d", "contexts": ["휴가", "휴가.md"]},
    }
    done = evaluated(replies, lang="ko")
    items = items_of(done.out)
    assert {name: items[name]["oddities"] for name in NAMES} == {
        "one": {"no_contexts": 1},
        "two": {"unknown_notes": 1},
        "three": {"bad_scores": 1},
        "four": {"unplaced_texts": 1},
        "five": {"repeated_notes": 1},
    }
    assert items["three"]["contexts"][0]["score"] is None
    assert items["four"]["notes"][0]["text"] == "Nobody wrote it."
    assert items["five"]["answer"] == ANSWER + "\ufffd"
    assert done.summary.system.oddities == dict.fromkeys(
        ("no_contexts", "unknown_notes", "bad_scores", "unplaced_texts", "repeated_notes"), 1
    )
    assert done.summary.counts.without_context == 1
    page = (done.out / "report.html").read_text("utf-8")
    assert "답변 5개 중 1개" in page


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ({"answer": ANSWER, "contexts": [{"id": 1}]}, "context 1"),
        ((200, "<html>Log in</html>"), "<html>Log in"),
        ((404, {"no": 1}), '{"no": 1}'),
    ],
)
@pytest.mark.usefixtures("judged")
def test_what_is_no_answer_is_said_of_its_question_which_stands_in_no_figure(
    evaluated, reply, message
):
    done = evaluated({"two": reply})
    [error] = rows_of(done.out, "errors.jsonl")
    assert (error["kind"], error["id"], error["error"]) == ("item", "two", "SystemFailedError")
    assert message in error["message"]
    line = items_of(done.out)["two"]
    assert (line["outcome"], line["answer"], line["metrics"]) == ("unanswered", None, {})
    counts = done.summary.counts
    assert (counts.answers_total, counts.unanswered, counts.answers_evaluated) == (5, 1, 4)
    assert (counts.unjudged, counts.not_run) == (0, 0)
    assert (done.summary.system.failed, done.summary.system.share) == (1, 0.2)
    assert done.summary.llm.items == 4
    assert {"count": 1, "total": 5} in warned(done.out)
    assert not unfinished_folder(done.out).exists()  # the next night asks anew


@pytest.mark.usefixtures("judged")
def test_a_system_that_fails_more_than_a_fifth_is_no_result_unless_the_part_is_taken(
    asked, answering, server
):
    failing = {"one": (400, "no"), "two": (400, "no")}
    with answering(failing) as rag:
        with pytest.raises(EvaluationError, match=r"40%") as refusal:
            evaluate(asked(rag.url))
        assert refusal.value.exit_code == 3
        assert len(server.seen.bodies) == 3
        done = evaluate(asked(rag.url, allow_partial=True))
        assert done.summary.counts.answers_evaluated == 3
        failing.clear()
        again = evaluate(asked(rag.url, resume=done.out, out=None))
        assert len(rag.asked) == 5 + 5 + 2
    assert again.summary.counts.answers_evaluated == 5


@pytest.mark.usefixtures("judged")
def test_a_system_that_is_not_there_is_given_up_and_no_model_is_asked(asked, server, monkeypatch):
    monkeypatch.setattr("gigamind.systems.http._LONGEST_WAIT_S", 0.05)
    with search_server(lambda _: (200, {})) as rag:
        gone = rag.url
    items = [question(f"q{number}") for number in range(12)]
    options = asked(gone, items=items, max_concurrency=1)
    with pytest.raises(EvaluationError, match=r"100%"):
        evaluate(options)
    assert not server.seen.bodies
    messages = [error["message"] for error in rows_of(options.out, "errors.jsonl")]
    given_up = ["first 8 questions" in message for message in messages]
    assert given_up[:8] == [False] * 8  # the next one may be on its way already
    assert given_up[9:] == [True] * 3


@pytest.mark.usefixtures("judged")
def test_a_slow_answer_fails_its_question(asked, answering):
    given_up = threading.Event()

    def slow():
        given_up.wait(60)
        return {"answer": ANSWER}

    with answering({"five": slow}) as rag:
        done = evaluate(asked(rag.url, timeout_ms=1_000))
        given_up.set()
    [error] = rows_of(done.out, "errors.jsonl")
    assert (error["id"], error["error"]) == ("five", "QueryTimeoutError")


def test_a_resumed_run_asks_only_what_was_not_answered(asked, answering, server):
    server.script.extend([GOOD] * 2)
    failing = {"four": (400, "not yet")}
    with answering(failing) as rag:
        stopped = asked(rag.url, max_calls=2)
        with pytest.raises(EvaluationError, match="2 of 4 "):
            evaluate(stopped)
        assert len(rag.asked) == 5
        failing.clear()
        server.script.extend([GOOD] * 3)
        done = evaluate(asked(rag.url, resume=stopped.out, out=None))
        assert [one.body["id"] for one in rag.asked[5:]] == ["four"]
    assert len(server.seen.bodies) == 5
    assert done.summary.counts.answers_evaluated == 5
    assert items_of(done.out)["one"]["system_latency_ms"] > 0
    assert not unfinished_folder(done.out).exists()


def test_a_run_of_another_system_is_not_resumed(asked, answering, server):
    server.script.extend([GOOD] * 2)
    with answering() as rag:
        stopped = asked(rag.url, max_calls=2, allow_partial=True)
        evaluate(stopped)
        with pytest.raises(InputError, match="system"):
            evaluate(asked(f"{rag.url}/other", resume=stopped.out, out=None))


def test_a_model_that_cannot_be_opened_costs_no_question(asked, answering):
    with answering() as rag:
        options = asked(rag.url, api_base=None, model="openai/gpt-4o-mini")
        with pytest.raises(gigamind.InputError, match="OPENAI_API_KEY"):
            evaluate(options)
        assert not rag.asked
    assert not unfinished_folder(options.out).exists()


@pytest.mark.usefixtures("judged")
def test_shards_judge_what_the_process_that_began_them_was_answered(asked, answering):
    with answering({"two": (400, "no")}) as rag:
        options = asked(rag.url)
        folder, out = unfinished_folder(options.out), options.out
        started = datetime.now(UTC)
        STEPS.prepare_batches(options, out, "sharded")
        ranges = STEPS.begin_shards(options, out, 2, "sharded")
        assert len(rag.asked) == 5
        with Journal(folder / ITEMS_FILE):  # as the flow that waits for them holds it
            for items in ranges:
                shard = Shard(items, began=time.time())
                STEPS.judge_shard(options, [], out, shard, run="a worker", progress=Quiet())
        verdicts = STEPS.gather_shards(
            options, [], out, run="sharded", runtime_ms=1.0, interrupted=False
        )
        done = STEPS.finish_run(options, [], out, started, verdicts, run="sharded")
    STEPS.close_run(options, "a worker")
    assert len(ranges) == 2
    assert len(rag.asked) == 5
    counts = done["summary"]["counts"]
    assert (counts["answers_evaluated"], counts["unanswered"]) == (4, 1)
    assert not folder.exists()


@pytest.mark.usefixtures("judged")
def test_ctrl_c_while_the_system_is_asked_keeps_what_it_answered(asked, answering, server):
    def stop():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)
        return {"answer": ANSWER, "contexts": []}

    replies = {"three": stop}
    with answering(replies) as rag:
        stopped = asked(rag.url, max_concurrency=1)
        done = evaluate(stopped)
        assert done.summary.status == "interrupted"
        assert not server.seen.bodies
        replies.clear()
        again = evaluate(asked(rag.url, resume=stopped.out, out=None))
        assert Counter(one.body["id"] for one in rag.asked) == Counter(NAMES) + Counter(["three"])
    assert again.summary.counts.answers_evaluated == 5


@pytest.mark.usefixtures("judged")
def test_a_run_file_holds_answers_and_what_it_lacks_is_final(asked, tmp_path):
    rows = [{"id": name, "answer": ANSWER, "contexts": [LEAVE]} for name in (*NAMES[:4], "extra")]
    file = write_rows(tmp_path / "rag.jsonl", [*rows, '{"id": "x", "answer": 7}'])
    options = asked(f"run:{file}", notes=None)
    done = evaluate(options)
    assert [error["id"] for error in rows_of(done.out, "errors.jsonl")] == ["five"]
    assert "system_latency_ms" not in items_of(done.out)["one"]
    assert done.summary.performance.system is None
    assert not unfinished_folder(done.out).exists()
    run = run_of(done.out)
    assert len(run["environment"]["system"]["file_hash"]) == 64
    warnings = " ".join(run["warnings"])
    assert f"{file}:6: " in warnings
    assert "extra" in warnings


def test_a_recorded_answer_that_is_empty_fails_its_question_and_not_the_run(asked, tmp_path):
    answers = dict.fromkeys(NAMES, ANSWER) | {"two": " "}
    rows = ({"id": name, "answer": text, "contexts": [LEAVE]} for name, text in answers.items())
    file = write_rows(tmp_path / "rag.jsonl", rows)
    done = evaluate(asked(f"run:{file}", model=None, judge="words"))
    assert done.summary.counts.answers_evaluated == 4
    assert [error["id"] for error in rows_of(done.out, "errors.jsonl")] == ["two"]
    assert {"count": 1, "total": 5} in warned(done.out)


def test_where_no_answer_has_a_context_the_error_names_a_fix_that_is_possible(asked, tmp_path):
    rows = [{"id": name, "answer": ANSWER, "contexts": ["휴가.md"]} for name in NAMES]
    file = tmp_path / "rag.jsonl"
    given = {"model": None, "judge": "words"}

    def refusal(**changes):
        write_rows(file, rows)
        with pytest.raises(EvaluationError) as refused:
            evaluate(asked(f"run:{file}", out=tmp_path / f"out{len(changes)}", **given, **changes))
        return str(refused.value)

    without_vault = refusal(notes=None)
    assert "--notes" in without_vault
    assert "`contexts`" in without_vault
    rows = [row | {"contexts": []} for row in rows]
    assert "--notes" not in refusal()


def test_an_endpoint_without_contexts_is_told_of_its_preset(asked, answering):
    with (
        answering(usual={"answer": ANSWER}) as rag,
        pytest.raises(EvaluationError, match=r"`contexts`.*--system-config"),
    ):
        evaluate(asked(rag.url, model=None, judge="words"))


@pytest.mark.usefixtures("judged")
def test_the_library_takes_what_answers_itself(asked):
    class Own:
        closed = False

        def answer(self, question):
            if question.id == "two":
                raise gigamind.GigamindError("nothing found")
            return gigamind.Reply(ANSWER, (gigamind.RankedNote("휴가.md"),))

        def close(self):
            self.closed = True

    options, own = asked(None), Own()
    names = ("model", "api_base", "prices", "cache_dir", "min_coverage", "model_timeout_s")
    given = {name: getattr(options, name) for name in (*names, "max_in_flight")}
    result = gigamind.evaluate_answers(
        options.dataset, options.notes, out=options.out, system=own, **given
    )
    assert own.closed
    assert [item.outcome for item in result.items] == ["scored", "unanswered", *["scored"] * 3]
    assert result.run.environment.system.target.endswith("Own")


@pytest.mark.usefixtures("judged")
def test_facts_that_the_system_did_not_find_are_missing_and_not_left_out_of_the_figure(evaluated):
    half = "반차는 0.5일로 계산한다."
    labels = {"facts": [{"text": LEAVE}, {"text": half}], "correctness": 0.0, "abstains": True}
    known = [{"path": "휴가.md"}]
    items = [
        question("one", labels=labels, context_notes=known, answer="An old answer."),
        question("two", labels=labels, context_notes=[{"path": "garden.md"}]),
        question("three", labels=labels),
    ]
    answer = "연차는 입사 첫해에 15일을 준다 [노트 1]."
    done = evaluated({}, {"answer": answer, "contexts": [LEAVE]}, items=items)
    lines = items_of(done.out)
    facts = {name: line["labels"]["facts"] for name, line in lines.items()}
    assert [fact.get("missed") for fact in facts["one"]] == [None, True]
    assert [fact.get("missed") for fact in facts["two"]] == [None, None]  # in no note that it names
    assert [fact.get("missed") for fact in facts["three"]] == [None, True]
    found = {name: line["metrics"]["completeness"] for name, line in lines.items()}
    assert found == {"one": 0.5, "two": 1.0, "three": 0.5}
    assert lines["one"]["labels"]["correctness"] is None  # that was of another answer
    assert done.summary.facts_unbacked == 1
    assert done.summary.agreement is None  # nobody has said anything of these answers


@pytest.mark.usefixtures("judged")
def test_queries_are_questions_and_their_notes_tell_which_contexts_bear_on_them(asked, answering):
    row = {"answerable": True, "expected_notes": ["휴가"], "language": "ko"}
    items = [{"id": name, "query": f"연차는? {name}", **row} for name in NAMES]
    contexts = ["garden.md", "휴가.md"]
    with answering({}, {"answer": ANSWER, "contexts": contexts}) as rag:
        done = evaluate(asked(rag.url, items=items))
    assert rag.asked[0].body["question"].startswith("연차는? ")
    metrics = items_of(done.out)["one"]["metrics"]
    # The proof stands in note 2 for the judge names note 1: nothing relevant is used.
    assert metrics["context_utilisation"] == 0.0
    assert done.summary.counts.answers_evaluated == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer_model": "openai/writer"}, "--answer-model: "),
        ({"system": "builtin"}, "--system builtin: "),
        ({"system": None, "timeout_ms": 5}, "--timeout-ms: "),
        ({"system_config": "opensearch"}, "gigamind, openai, plain"),
        ({"system": "run:x", "system_config": "plain"}, "--system-config plain: "),
    ],
)
def test_what_can_have_no_part_is_refused(asked, changes, message):
    with pytest.raises(InputError, match=re.escape(message)):
        evaluate(asked(changes.pop("system", "http://127.0.0.1:9"), **changes))


def test_a_dry_run_asks_nothing_and_foresees_what_judging_costs(asked, answering, server, tmp_path):
    with answering() as rag:
        checked = TASKS["answers"].check(asked(rag.url))
        assert (checked.ready.values["n"], rag.asked) == (5, [])
    judging, *_ = checked.estimate()
    assert judging.calls == 5
    file = tmp_path / "rag.jsonl"
    file.write_text(json.dumps({"id": "one", "answer": ANSWER, "contexts": ["휴가.md"]}), "utf-8")
    of_run = TASKS["answers"].check(asked(f"run:{file}"))
    judging_run, *_ = of_run.estimate()
    assert judging_run.calls == 1
    assert judging_run.tokens[0] < judging.tokens[0] / 5
    assert not server.seen.bodies


def test_answers_of_the_dataset_keep_the_files_that_they_had(options, server):
    server.script.extend(EVERY)
    done = evaluate(options())
    written = "".join(path.read_text("utf-8") for path in done.out.glob("*.json*"))
    for name in ("system_latency_ms", "unanswered", '"contexts"', '"oddities"', "system_config"):
        assert name not in written
    prepared = prepare_answers(options(), Quiet())
    assert prepared.contexts is None
    assert AnswerEvaluation(prepared).estimate()
