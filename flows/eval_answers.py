"""Evaluation of answers as a Prefect flow: the steps of `gigamind eval answers`."""

from typing import Annotated, Any

from prefect import flow
from prefect.client.schemas.objects import State

from gigamind.publish.flows import Form, run_evaluation, run_name
from gigamind.publish.server import flow_timeout_s
from gigamind.tasks.options import AnswerEvalOptions


@flow(
    name="eval-answers",
    flow_run_name=run_name,
    persist_result=False,
    timeout_seconds=flow_timeout_s(),
)
def eval_answers(
    options: Annotated[AnswerEvalOptions, Form(AnswerEvalOptions)], runner: str | None = None
) -> dict[str, Any] | State[Any]:
    """Judge answers claim by claim, write the output folder and publish artifacts.

    Ends Failed, named after the exit code, where `gigamind eval answers` would end with that code.

    Args:
        runner: where batches and shards run; see "More than one machine" in deployments/README.md.
    """
    return run_evaluation(options, runner)


if __name__ == "__main__":
    eval_answers.serve()
