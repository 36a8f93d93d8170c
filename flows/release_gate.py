"""Release gate as a Prefect flow: evaluate, compare with a baseline, and stop the release that regressed."""

from datetime import UTC, datetime
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State

from gigamind.errors import GigamindError, InputError
from gigamind.evals import batches
from gigamind.evals.options import SearchEvalOptions
from gigamind.evals.summary import default_out
from gigamind.publish import failed, publish_release, publish_search

prepare = task(name="prepare", cache_policy=NO_CACHE)(batches.prepare_batches)
retrieve = task(name="retrieve", retries=1, cache_policy=NO_CACHE)(batches.run_batch)
report = task(name="report", cache_policy=NO_CACHE)(batches.finish_run)


@flow(name="release-gate", persist_result=False)
def release_gate(options: SearchEvalOptions) -> dict[str, Any] | State[Any]:
    """Evaluate search, hold it against the baseline of `options.compare`, and publish the verdict.

    Ends Failed as "Regressed" when a gate fails and as "NotComparable" when nothing can be said; emits the event
    `gigamind.gate.<verdict>`.
    """
    started = datetime.now(UTC)
    out = options.out or default_out(started)
    try:
        if options.compare is None:
            raise InputError("--compare: must be given; a release gate needs a baseline")
        pieces = [retrieve(options, first, end) for first, end in prepare(options)]
        finished = report(options, pieces, out, started)
    except GigamindError as error:
        return failed(error)
    finally:
        batches.close_run(options)
    publish_search(finished, out)
    if (stopped := publish_release(finished)) is not None:
        return stopped
    return {"out": str(out), "summary": finished["summary"], "release": finished["release"]}
