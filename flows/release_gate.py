"""Release gate as a Prefect flow: evaluate, compare with a baseline, and fail on a regression."""

from typing import Annotated, Any, get_args

from prefect import flow
from prefect.client.schemas.objects import State

from gigamind.publish.flows import Sectioned, run_evaluation, run_name
from gigamind.tasks.steps import AnyOptions


@flow(name="release-gate", flow_run_name=run_name, persist_result=False)
def release_gate(
    options: Annotated[AnyOptions, Sectioned(*get_args(AnyOptions))],
    runner: str | None = None,
) -> dict[str, Any] | State[Any]:
    """Evaluate `options.task`, compare it with the baseline `options.compare`, and publish the verdict.

    Ends Failed as "Regressed" if a gate fails and as "NotComparable" if there is no verdict.  Emits the event
    `gigamind.gate.<verdict>`.

    Args:
        runner: where batches and shards run; see "More than one machine" in deployments/README.md.
    """
    return run_evaluation(options, runner, gate=True)
