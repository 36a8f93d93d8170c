"""Release gate as a Prefect flow: evaluate, compare with a baseline, and stop the release that regressed."""

from datetime import UTC, datetime
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State

from gigamind.errors import GigamindError, InputError
from gigamind.evaluation.run import out_folder
from gigamind.publish import failed, publish_release, publish_run
from gigamind.tasks.steps import STEPS, AnyOptions

prepare = task(name="prepare", cache_policy=NO_CACHE)(STEPS.prepare_batches)
evaluate = task(name="evaluate", retries=1, cache_policy=NO_CACHE)(STEPS.run_batch)
judge = task(name="judge", cache_policy=NO_CACHE)(STEPS.judge_run)
report = task(name="report", cache_policy=NO_CACHE)(STEPS.finish_run)


@flow(name="release-gate", persist_result=False)
def release_gate(options: AnyOptions) -> dict[str, Any] | State[Any]:
    """Evaluate `options.task`, hold it against the baseline of `options.compare`, and publish the verdict.

    Ends Failed as "Regressed" when a gate fails and as "NotComparable" when nothing can be said; emits the event
    `gigamind.gate.<verdict>`.
    """
    started = datetime.now(UTC)
    try:
        if options.compare is None:
            raise InputError("--compare: must be given; a release gate needs a baseline")
        out = out_folder(options, started)
        plan = prepare(options, out)
        batches = [evaluate(options, first, end) for first, end in plan["batches"]]
        verdicts = judge(options, batches, out) if plan["asks_a_model"] else None
        finished = report(options, batches, out, started, verdicts)
    except GigamindError as error:
        return failed(error)
    finally:
        STEPS.close_run(options)
    publish_run(finished, out)
    if (stopped := publish_release(finished)) is not None:
        return stopped
    return {"out": str(out), "summary": finished["summary"], "release": finished["release"]}
