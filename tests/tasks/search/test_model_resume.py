"""A run that was stopped half-way is kept, continued and never overwritten."""

import json
import shutil

import pytest
from out_files import rows_of

from gigamind.errors import EvaluationError, InputError
from gigamind.evaluation.shards import unfinished_folder
from gigamind.tasks import evaluate


def test_the_budget_leaves_the_rest_and_more_of_it_ends_the_run(by_model, server, tmp_path):
    with pytest.raises(EvaluationError, match=r"3 of 6 .*--resume"):
        evaluate(by_model(max_calls=2))
    out = tmp_path / "out"
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert summary["llm"]["outcomes"] == {"scored": 3, "skipped_budget": 3}
    assert [e["error"] for e in rows_of(out, "errors.jsonl")] == ["budget_exceeded"] * 3

    done = evaluate(by_model(max_calls=5, out=None, resume=out))
    assert done.summary.llm.outcomes == {"scored": 6}
    assert (done.summary.llm.calls, server.seen.total) == (5, 5)
    assert not unfinished_folder(out).exists()
    assert rows_of(out, "errors.jsonl") == []


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
