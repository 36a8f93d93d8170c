"""Release gate as a Prefect flow: evaluate, compare with a baseline, and fail on a regression."""

from typing import Annotated, Any, get_args

from prefect import flow
from prefect.client.schemas.objects import State

from gigamind.publish.flows import Form, run_evaluation, run_name
from gigamind.publish.server import flow_timeout_s
from gigamind.tasks.options import AnyOptions


@flow(
    name="release-gate",
    flow_run_name=run_name,
    persist_result=False,
    timeout_seconds=flow_timeout_s(),
)
def release_gate(
    options: Annotated[AnyOptions, Form(*get_args(AnyOptions))], runner: str | None = None
) -> dict[str, Any] | State[Any]:
    """Evaluate `options.task`, compare it with the baseline `options.compare`, and publish the verdict.

    Ends Failed as "Regressed" if a gate fails and as "NotComparable" if there is no verdict.  Emits the event
    `gigamind.gate.<verdict>`.

    Args:
        runner: where batches and shards run; see "More than one machine" in deployments/README.md.
    """
    return run_evaluation(options, runner, gate=True)


if __name__ == "__main__":
    release_gate.serve()
