"""Promotion as a Prefect flow: the run that passed its gates becomes the baseline of the next ones."""

from typing import Any

from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger
from prefect.runtime import deployment
from prefect.states import Completed

from gigamind.errors import GigamindError, InputError
from gigamind.publish.ends import failed, in_its_language
from gigamind.reports.release import worst_value_text
from gigamind.tasks.promotion import PromoteOptions, promote_run
from gigamind.wording import language_of, words


@flow(name="promote", persist_result=False)
def promote(options: PromoteOptions) -> State[Any]:
    """Make the run the baseline of its task, as `gigamind baseline promote` does.

    Ends Failed where a gate of that run failed; where it is the last of a folder and no whole result, which only who
    names it can mean; and while this deployment is paused, which a failed gate sees to.
    """
    try:
        if _is_paused():
            raise InputError(
                "promotion is paused, for a gate has failed: once that is settled, resume the deployment"
                " promote/promote"
            )
        file, worst = promote_run(options)
    except GigamindError as error:
        return failed(error)
    if worst:
        get_run_logger().warning(worst_value_text(worst, words(language_of())))
    return Completed(message=in_its_language(f"{file} is the baseline now"))


def _is_paused() -> bool:
    """Prefect itself only keeps a paused deployment from being started by the clock."""
    if deployment.id is None:
        return False
    with get_client(sync_client=True) as client:
        return client.read_deployment(deployment.id).paused
