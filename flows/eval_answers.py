"""Evaluation of answers as a Prefect flow: the steps of `gigamind eval answers`."""

from datetime import datetime
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State

from gigamind.evaluation.finish import FlowResult
from gigamind.publish import published
from gigamind.tasks.answers.options import AnswerEvalOptions
from gigamind.tasks.steps import STEPS

# NO_CACHE: an evaluation that answers from an earlier run's results would measure nothing.
check = task(name="check", cache_policy=NO_CACHE)(STEPS.check_input)
prepare = task(name="prepare", cache_policy=NO_CACHE)(STEPS.prepare_batches)
judge = task(name="judge", cache_policy=NO_CACHE)(STEPS.judge_run)
report = task(name="report", cache_policy=NO_CACHE)(STEPS.finish_run)


@flow(name="eval-answers", persist_result=False)
def eval_answers(options: AnswerEvalOptions) -> dict[str, Any] | State[Any]:
    """Judge answers claim by claim, write the out folder and publish its summary as artifacts.

    Ends Failed, named by the meaning of the exit code, where `gigamind eval answers` would end with that code.
    """
    return published(options, check, _evaluate)


def _evaluate(options: AnswerEvalOptions, out: Path, started: datetime) -> FlowResult:
    prepare(options, out)
    return report(options, [], out, started, judge(options, [], out))
