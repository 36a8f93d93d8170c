"""Search evaluation as a Prefect flow: the steps of `gigamind eval search`, a batch of queries a task."""

from typing import Annotated, Any

from prefect import flow
from prefect.client.schemas.objects import State

from gigamind.publish.flows import Sectioned, run_evaluation, run_name
from gigamind.tasks.search.options import SearchEvalOptions


@flow(name="eval-search", flow_run_name=run_name, persist_result=False)
def eval_search(
    options: Annotated[SearchEvalOptions, Sectioned(SearchEvalOptions)],
    runner: str | None = None,
) -> dict[str, Any] | State[Any]:
    """Evaluate search over a vault, write the out folder and publish its summary as artifacts.

    Ends Failed, named by the meaning of the exit code, where `gigamind eval search` would end with that code.

    Args:
        runner: where batches and shards run: see "More than one machine" in deployments/README.md.
    """
    return run_evaluation(options, runner)
