"""Search evaluation as a Prefect flow: the steps of `gigamind eval search`, a batch of queries a task."""

from datetime import datetime
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State

from gigamind.evaluation.finish import FlowResult
from gigamind.evaluation.run import run_batches
from gigamind.publish import published
from gigamind.tasks.search.options import SearchEvalOptions
from gigamind.tasks.steps import STEPS

# NO_CACHE: an evaluation that answers from an earlier run's results would measure nothing.
check = task(name="check", cache_policy=NO_CACHE)(STEPS.check_input)
prepare = task(name="prepare", cache_policy=NO_CACHE)(STEPS.prepare_batches)
retrieve = task(name="retrieve", retries=1, cache_policy=NO_CACHE)(STEPS.run_batch)
judge = task(name="judge", cache_policy=NO_CACHE)(STEPS.judge_run)
report = task(name="report", cache_policy=NO_CACHE)(STEPS.finish_run)


@flow(name="eval-search", persist_result=False)
def eval_search(options: SearchEvalOptions) -> dict[str, Any] | State[Any]:
    """Evaluate search over a vault, write the out folder and publish its summary as artifacts.

    Ends Failed, named by the meaning of the exit code, where `gigamind eval search` would end with that code.
    """
    return published(options, check, _evaluate)


def _evaluate(options: SearchEvalOptions, out: Path, started: datetime) -> FlowResult:
    plan = prepare(options, out)
    batches, interrupted = run_batches(plan, lambda first, end: retrieve(options, first, end))
    verdicts = judge(options, batches, out) if plan["asks_a_model"] and not interrupted else None
    return report(options, batches, out, started, verdicts, interrupted=interrupted)
