"""A model answers the queries, and its answers are judged."""

import pytest
from five_answers import GOOD, LEAVE, MODEL, PASSING, reply
from out_files import items_of

from gigamind.errors import InputError
from gigamind.tasks import evaluate

QUERY = {"id": "q1", "query": "연차", "answerable": True, "expected_notes": ["휴가.md"]}
ANSWERED = {"answer_model": "openai/writer", "mode": "keyword", "context_notes": 1}


def test_a_model_answers_queries_from_the_notes_that_search_finds(options, server):
    server.script.extend([{"answer": "연차는 15일입니다 [노트 1]."}, GOOD])
    done = evaluate(options(items=[QUERY], **ANSWERED))
    line = items_of(done.out)["q1"]
    assert line["answer"] == "연차는 15일입니다 [노트 1]."
    assert [note["path"] for note in line["notes"]] == ["휴가.md"]
    assert line["metrics"]["correctness"] == 1.0
    assert line["metrics"]["context_utilisation"] == 1.0
    first = server.seen.bodies[0]["messages"]
    assert "[노트 1]" in first[0]["content"]
    assert LEAVE in first[1]["content"]
    assert list(done.summary.llm.by_role) == ["answer: openai/writer", f"judge: {MODEL}"]


def test_an_answer_that_was_paid_for_survives_its_failed_evaluation(options, server):
    other = {"id": "q2", "query": "roses", "answerable": True, "expected_notes": ["garden.md"]}
    told = {"answer": "연차는 15일입니다 [노트 1]."}
    server.script.extend([told, reply(), {"claims": []}, told, GOOD])
    done = evaluate(options(items=[QUERY, other], **ANSWERED))
    line = items_of(done.out)["q1"]
    assert line["answer"] == told["answer"]
    assert line["outcome"] == "unscored"
    assert line["evaluation"] is None
    assert done.summary.llm.outcomes == {"scored": 1, "unscored": 1}
    assert done.summary.llm.coverage == 0.5


def test_answering_needs_a_vault(options):
    with pytest.raises(InputError, match=r"--answer-model.*--notes"):
        evaluate(options(answer_model="openai/writer", notes=None))


def test_a_resumed_run_checks_the_very_answer_that_it_judged(options, server):
    server.script.extend([{"answer": "연차는 15일이다 [노트 1]."}, GOOD, PASSING])
    how = {"items": [QUERY], **ANSWERED, "checklist": True, "store_mode": "off"}
    stopped = options(**how, max_calls=2, allow_partial=True)
    evaluate(stopped)
    done = evaluate(options(**how, resume=stopped.out, out=None))
    assert len(server.seen.bodies) == 3
    assert items_of(done.out)["q1"]["quality"]["passed"] is True
