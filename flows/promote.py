"""Promotion as a Prefect flow: the run that passed its gates becomes the baseline of the next ones."""

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger
from prefect.runtime import deployment
from prefect.states import Completed

from gigamind.errors import GigamindError, InputError
from gigamind.i18n import _, language_of, translator
from gigamind.publish.ends import failed, in_run_language
from gigamind.publish.home import Home
from gigamind.publish.server import flow_timeout_s
from gigamind.release.model import POINTER
from gigamind.reports.verdict import worst_value_text
from gigamind.tasks.promotion import PromoteOptions, promote_run


@flow(name="promote", persist_result=False, timeout_seconds=flow_timeout_s())
def promote(options: PromoteOptions) -> State[Any]:
    """Make the run the baseline of its task, as `gigamind baseline promote` does.

    Ends Failed if a gate of the run failed, if the latest run of a folder is incomplete, or while this deployment is
    paused, as after a failed gate.
    """
    try:
        if _is_paused():
            problem = _(
                "No run can become the baseline while the Prefect deployment promote/promote is paused, as after a"
                " failed gate. Fix the cause, then resume the deployment."
            )
            raise InputError(problem)
        file, worst = _promoted(options)
    except GigamindError as error:
        return failed(error)
    if worst:
        get_run_logger().warning(translator(language_of())(worst_value_text(worst)))
    return Completed(message=in_run_language(_("{file} is the new baseline", file=file)))


def _promoted(options: PromoteOptions) -> tuple[Path, list[str]]:
    """Promote a run, of the shared ones if this deployment shares its runs."""
    home = Home.shared()
    if home is None:
        return promote_run(options)
    with home.reached():
        home.fetch(options.folder)
        home.fetch(options.run)
        file, worst = promote_run(options)
        home.put(file, file.read_bytes())
        for pointer in options.folder.glob(f"{POINTER}*"):  # last, so that nobody misses the file
            if pointer.read_text("utf-8").strip() == file.name:
                home.put(pointer, pointer.read_bytes())
    return file, worst


def _is_paused() -> bool:
    """Return whether this deployment is paused; Prefect itself only stops its schedules."""
    if deployment.id is None:
        return False
    with get_client(sync_client=True) as client:
        return client.read_deployment(deployment.id).paused
