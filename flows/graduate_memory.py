"""Verification of a folder of sessions as a Prefect flow: `gigamind memory graduate-all`, one task per batch."""

from collections.abc import Callable
from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.events import emit_event
from prefect.logging import get_run_logger

from gigamind.errors import GigamindError, InputError
from gigamind.i18n import _
from gigamind.memory import sessions
from gigamind.memory.sessions import FolderOptions, SessionReport
from gigamind.publish.ends import failed, in_run_language
from gigamind.publish.pool import step
from gigamind.publish.server import flow_timeout_s

# Results are never cached: the event log knows its entries, and an edited session is a new one.
find = step("find", FolderOptions.session_batches)
graduate = step("graduate", FolderOptions.graduate_batch)


@flow(name="graduate-memory", persist_result=False, timeout_seconds=flow_timeout_s())
def graduate_memory(options: FolderOptions) -> list[dict[str, str | int]] | State[Any]:
    """Verify the entries of all sessions of a folder; publish a table and one event per session.

    Ends Failed if a session failed; the others are processed nevertheless.
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
    about = _(
        "Sessions from the folder {folder}. Event log: {log}",
        folder=options.folder.absolute(),
        log=options.log.absolute(),
    )
    rows = sessions.table(reports)
    _quietly(
        create_table_artifact, key="memory-sessions", table=rows, description=in_run_language(about)
    )
    for report in reports:
        if report["status"] == "graduated":
            _quietly(emit_event, **sessions.aligned_event(report))


def _quietly(publish: Callable[..., Any], **content: Any) -> None:  # noqa: ANN401  text, rows or names
    """Publish; a failure is logged as a warning, because the event log is the record."""
    try:
        publish(**content)
    except Exception as error:  # noqa: BLE001  no failure here may fail the run
        reason = f"{type(error).__name__}: {error}"
        get_run_logger().warning(
            in_run_language(_("The results were not published in Prefect: {reason}", reason=reason))
        )
