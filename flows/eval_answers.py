"""Evaluation of answers as a Prefect flow: the steps of `gigamind eval answers`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed

from gigamind.errors import GigamindError
from gigamind.evals import answer_batches
from gigamind.evals.answer_options import AnswerEvalOptions
from gigamind.evals.summary import default_out
from gigamind.publish import failed, publish_run

# NO_CACHE: an evaluation that answers from an earlier run's results would measure nothing.
check = task(name="check", cache_policy=NO_CACHE)(answer_batches.check_input)
prepare = task(name="prepare", cache_policy=NO_CACHE)(answer_batches.prepare_run)
judge = task(name="judge", cache_policy=NO_CACHE)(answer_batches.judge_run)
report = task(name="report", cache_policy=NO_CACHE)(answer_batches.finish_run)


@flow(name="eval-answers", persist_result=False)
def eval_answers(options: AnswerEvalOptions) -> dict[str, Any] | State[Any]:
    """Judge answers claim by claim, write the out folder and publish its summary as artifacts.

    Ends Failed, named by the meaning of the exit code, where `gigamind eval answers` would end with that code.
    """
    started = datetime.now(UTC)
    try:
        out = options.written_to(options.out) or default_out(started)
        if options.dry_run:
            return Completed(name="Checked", message=check(options))
        finished = _evaluate(options, out, started)
    except GigamindError as error:
        return failed(error)
    finally:
        answer_batches.close_run(options)
    publish_run(finished, out)
    result = {"out": str(out), "summary": finished["summary"], "release": finished["release"]}
    if finished["summary"]["status"] == "interrupted":
        return Completed(name="Interrupted", data=result)
    return result


def _evaluate(options: AnswerEvalOptions, out: Path, started: datetime) -> dict[str, Any]:
    prepare(options, out)
    return report(options, [judge(options, out)], out, started)
