"""A run that was stopped half-way is kept, continued and never overwritten."""

import json
import shutil

import pytest

from gigamind.errors import EvaluationError, InputError
from gigamind.evaluation.shards import unfinished_folder
from gigamind.tasks import evaluate


def test_the_budget_leaves_the_rest_and_more_of_it_ends_the_run(by_model, server, tmp_path, lines):
    with pytest.raises(EvaluationError, match=r"3 of 6 .*--resume"):
        evaluate(by_model(max_calls=2))
    out = tmp_path / "out"
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert summary["llm"]["outcomes"] == {"scored": 3, "skipped_budget": 3}
    assert [e["error"] for e in lines(out, "errors.jsonl")] == ["budget_exceeded"] * 3

    done = evaluate(by_model(max_calls=5, out=None, resume=out))
    assert done.summary.llm.outcomes == {"scored": 6}
    assert (done.summary.llm.calls, server.seen.total) == (5, 5)
    assert not unfinished_folder(out).exists()
    assert lines(out, "errors.jsonl") == []


def test_a_part_may_be_taken_for_the_whole_if_that_is_said(by_model):
    done = evaluate(by_model(max_calls=2, allow_partial=True))
    assert done.summary.llm.coverage == 0.5


def test_a_run_is_resumed_only_with_what_it_began_with(by_model, tmp_path):
    with pytest.raises(EvaluationError):
        evaluate(by_model(max_calls=2))
    with pytest.raises(InputError, match="--topk"):
        evaluate(by_model(out=None, resume=tmp_path / "out", topk=3))
    with pytest.raises(InputError, match="judge"):
        evaluate(by_model(";lat=1", out=None, resume=tmp_path / "out"))


@pytest.mark.parametrize("changes", [{"resume": "never"}, {"resume": "never", "out": "elsewhere"}])
def test_a_resumed_run_must_be_there_and_stay_there(by_model, tmp_path, changes):
    places = {name: tmp_path / value for name, value in changes.items()}
    with pytest.raises(InputError):
        evaluate(by_model(**({"out": None} | places)))


SPOILT = ";fault=401;share=0.5;sid=half-2"  # of its requests the server takes the first two, and refuses the third


def test_a_key_that_is_refused_half_way_is_a_failure_that_can_be_continued(
    by_model, server, tmp_path, lines
):
    out = tmp_path / "out"
    with pytest.raises(EvaluationError, match=r" of 6 .*auth_failed.*--resume"):
        evaluate(by_model(SPOILT))
    assert {e["error"] for e in lines(out, "errors.jsonl")} == {"auth_failed"}
    asked = server.seen.total
    again = evaluate(by_model(SPOILT, out=None, resume=out, allow_partial=True))
    assert server.seen.total > asked
    assert again.summary.llm.outcomes["scored"] > 0


def test_a_run_that_asks_no_model_overwrites_no_finished_one(by_model, make_options):
    finished = evaluate(by_model()).out
    before = (finished / "run.json").read_bytes()
    for options in (make_options(out=None, resume=finished), by_model(out=None, resume=finished)):
        with pytest.raises(InputError):
            evaluate(options)
    assert (finished / "run.json").read_bytes() == before


def test_a_judge_that_asks_no_model_continues_no_run_of_one_that_does(
    by_model, make_options, tmp_path
):
    with pytest.raises(EvaluationError):
        evaluate(by_model(max_calls=2))
    with pytest.raises(InputError, match="--resume: "):
        evaluate(make_options(out=None, resume=tmp_path / "out"))


def test_a_run_beside_an_unfinished_one_is_refused_before_any_work(
    by_model, make_options, notes, tmp_path
):
    with pytest.raises(EvaluationError):
        evaluate(by_model(max_calls=2, out=tmp_path / "out"))
    shutil.rmtree(tmp_path / "out")  # as after kill -9: nothing but what is kept beside it
    shutil.rmtree(notes)  # reading them would be the first work
    for options in (by_model(), make_options()):
        with pytest.raises(InputError, match=r"--resume .*out"):
            evaluate(options)
