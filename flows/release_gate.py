"""Release gate as a Prefect flow: evaluate, compare with a baseline, and stop the release that regressed."""

from datetime import UTC, datetime
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State

from gigamind.errors import GigamindError, InputError
from gigamind.evals import steps
from gigamind.evals.steps import AnyOptions
from gigamind.evals.summary import default_out
from gigamind.publish import failed, publish_release, publish_run

prepare = task(name="prepare", cache_policy=NO_CACHE)(steps.prepare_batches)
evaluate = task(name="evaluate", retries=1, cache_policy=NO_CACHE)(steps.run_batch)
report = task(name="report", cache_policy=NO_CACHE)(steps.finish_run)


@flow(name="release-gate", persist_result=False)
def release_gate(options: AnyOptions) -> dict[str, Any] | State[Any]:
    """Evaluate `options.task`, hold it against the baseline of `options.compare`, and publish the verdict.

    Ends Failed as "Regressed" when a gate fails and as "NotComparable" when nothing can be said; emits the event
    `gigamind.gate.<verdict>`.
    """
    started = datetime.now(UTC)
    out = options.out or default_out(started)
    try:
        if options.compare is None:
            raise InputError("--compare: must be given; a release gate needs a baseline")
        pieces = [evaluate(options, first, end) for first, end in prepare(options)]
        finished = report(options, pieces, out, started)
    except GigamindError as error:
        return failed(error)
    finally:
        steps.close_run(options)
    publish_run(finished, out)
    if (stopped := publish_release(finished)) is not None:
        return stopped
    return {"out": str(out), "summary": finished["summary"], "release": finished["release"]}
