"""Graduates a folder of sessions as a Prefect flow: the steps of `gigamind memory graduate-all`, a batch a task."""

from collections.abc import Callable
from typing import Any

from prefect import flow, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.events import emit_event
from prefect.logging import get_run_logger

from gigamind.errors import GigamindError, InputError
from gigamind.memory import sessions
from gigamind.memory.sessions import FolderOptions, SessionReport
from gigamind.publish.ends import failed, in_its_language

# NO_CACHE: the log itself knows what it has; a session that was edited is another one.
find = task(name="find", cache_policy=NO_CACHE)(sessions.session_batches)
graduate = task(name="graduate", cache_policy=NO_CACHE)(sessions.graduate_batch)


@flow(name="graduate-memory", persist_result=False)
def graduate_memory(options: FolderOptions) -> list[dict[str, str | int]] | State[Any]:
    """Graduate the sessions of a folder; publish a table of them, and an event for each one.

    Ends Failed when a session could not be graduated; the others are graduated all the same.
    """
    reports: list[SessionReport] = []
    try:
        for names in find(options):
            reports += graduate(options, names)
    except GigamindError as error:
        return failed(error)
    finally:
        if reports:
            _publish(reports, options)
    if problem := sessions.problem(reports):
        return failed(InputError(problem))
    return sessions.table(reports)


def _publish(reports: list[SessionReport], options: FolderOptions) -> None:
    about = in_its_language(
        f"Sessions of {options.folder.absolute()}, graduated to {options.log.absolute()}"
    )
    rows = sessions.table(reports)
    _quietly(create_table_artifact, key="memory-sessions", table=rows, description=about)
    for report in reports:
        if report["status"] == "graduated":
            _quietly(emit_event, **sessions.aligned_event(report))


def _quietly(publish: Callable[..., Any], **content: Any) -> None:  # noqa: ANN401  text, rows or names
    """What cannot be published is a warning: the log of memory events is the record."""
    try:
        publish(**content)
    except Exception as error:  # noqa: BLE001  whatever it is, it must not cost the run
        why = f"{type(error).__name__}: {error}"
        get_run_logger().warning(in_its_language(f"Not published ({why})"))
