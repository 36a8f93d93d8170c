"""Removal of old results as a Prefect flow; with `dry_run` it only logs what it would remove."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger

from gigamind.errors import GigamindError
from gigamind.evaluation import retention
from gigamind.evaluation.retention import CleanupOptions
from gigamind.publish.ends import failed, in_run_language
from gigamind.publish.server import flow_timeout_s


@flow(name="cleanup", persist_result=False, timeout_seconds=flow_timeout_s())
def cleanup(options: CleanupOptions) -> dict[str, Any] | State[Any]:
    """Remove old runs, files of interrupted runs and unused replies, and log each.

    Ends Failed if something could not be removed.
    """
    try:
        report = retention.clean_up(options)
    except GigamindError as error:
        return failed(error)
    for line in retention.report_lines(report):
        get_run_logger().info(in_run_language(line))
    return dict(report)
