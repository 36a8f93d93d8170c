"""Search evaluation as a Prefect flow: the steps of `gigamind eval search`, a batch of queries a task."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed

from gigamind.errors import GigamindError
from gigamind.evals import batches
from gigamind.evals.chosen_judge import asks_a_model
from gigamind.evals.options import SearchEvalOptions
from gigamind.evals.summary import default_out
from gigamind.publish import failed, publish_run

# NO_CACHE: an evaluation that answers from an earlier run's results would measure nothing.
check = task(name="check", cache_policy=NO_CACHE)(batches.check_input)
prepare = task(name="prepare", cache_policy=NO_CACHE)(batches.prepare_batches)
retrieve = task(name="retrieve", retries=1, cache_policy=NO_CACHE)(batches.run_batch)
judge = task(name="judge", cache_policy=NO_CACHE)(batches.judge_run)
report = task(name="report", cache_policy=NO_CACHE)(batches.finish_run)


@flow(name="eval-search", persist_result=False)
def eval_search(options: SearchEvalOptions) -> dict[str, Any] | State[Any]:
    """Evaluate search over a vault, write the out folder and publish its summary as artifacts.

    Ends Failed, named by the meaning of the exit code, where `gigamind eval search` would end with that code.
    """
    started = datetime.now(UTC)
    out = options.written_to(options.out) or default_out(started)
    try:
        if options.dry_run:
            return Completed(name="Checked", message=check(options))
        finished = _evaluate(options, out, started)
    except GigamindError as error:
        return failed(error)
    finally:
        batches.close_run(options)
    publish_run(finished, out)
    result = {"out": str(out), "summary": finished["summary"], "release": finished["release"]}
    if finished["summary"]["status"] == "interrupted":
        return Completed(name="Interrupted", data=result)
    return result


def _evaluate(options: SearchEvalOptions, out: Path, started: datetime) -> dict[str, Any]:
    pieces = prepare(options)
    found: list[dict[str, Any]] = []
    interrupted = False
    try:
        for first, end in pieces:
            found.append(retrieve(options, first, end))
    except KeyboardInterrupt:  # Ctrl-C leaves what had ended by then
        interrupted = True
    verdicts = None if interrupted or not asks_a_model(options) else judge(options, found, out)
    return report(options, found, out, started, verdicts, interrupted=interrupted)
