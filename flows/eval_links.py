"""Link evaluation as a Prefect flow: the steps of `gigamind eval links`, a batch of notes a task."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed

from gigamind.errors import GigamindError
from gigamind.evals import link_batches
from gigamind.evals.link_options import LinkEvalOptions
from gigamind.evals.summary import default_out
from gigamind.publish import failed, publish_run

# NO_CACHE: an evaluation that answers from an earlier run's results would measure nothing.
check = task(name="check", cache_policy=NO_CACHE)(link_batches.check_input)
prepare = task(name="prepare", cache_policy=NO_CACHE)(link_batches.prepare_batches)
suggest = task(name="suggest", cache_policy=NO_CACHE)(link_batches.run_batch)
report = task(name="report", cache_policy=NO_CACHE)(link_batches.finish_run)


@flow(name="eval-links", persist_result=False)
def eval_links(options: LinkEvalOptions) -> dict[str, Any] | State[Any]:
    """Evaluate link suggestions over a vault, write the out folder and publish its summary as artifacts.

    Ends Failed, named by the meaning of the exit code, where `gigamind eval links` would end with that code.
    """
    started = datetime.now(UTC)
    out = options.out or default_out(started)
    try:
        if options.dry_run:
            return Completed(name="Checked", message=check(options))
        finished = _evaluate(options, out, started)
    except GigamindError as error:
        return failed(error)
    finally:
        link_batches.close_run(options)
    publish_run(finished, out)
    result = {"out": str(out), "summary": finished["summary"], "release": finished["release"]}
    if finished["summary"]["status"] == "interrupted":
        return Completed(name="Interrupted", data=result)
    return result


def _evaluate(options: LinkEvalOptions, out: Path, started: datetime) -> dict[str, Any]:
    pieces = prepare(options)
    found: list[dict[str, Any]] = []
    interrupted = False
    try:
        for first, end in pieces:
            found.append(suggest(options, first, end))
    except KeyboardInterrupt:  # Ctrl-C leaves what had ended by then
        interrupted = True
    return report(options, found, out, started, interrupted=interrupted)
