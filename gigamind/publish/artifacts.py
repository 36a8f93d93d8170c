"""Artifacts and events of a flow run: a view of what its out folder records.

What cannot be published is a warning in the log of the run: the evaluation stands, in its out folder.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from gigamind.evaluation.release import ReleaseVerdict
from gigamind.publish.ends import ReleaseStopped, failed
from gigamind.tasks import TASKS

GATE_KEY = "release-gate"
CARD_KEY = "judge-card"
_REASONS_TOLD = 20


def artifact_keys(task: str) -> tuple[str, str]:
    """Keys of the summary and of the table of figures: `search-summary` and `search-metrics`."""
    key = TASKS[task].view.key
    return f"{key}-summary", f"{key}-metrics"


def publish_run(finished: Mapping[str, Any], out: Path) -> None:
    """Publish what `finish_run` returned, from within its flow run: the summary as Markdown, the figures as a table.

    What cannot be published is a warning in the log of the run: the evaluation stands, in its out folder.
    """
    from prefect.artifacts import create_markdown_artifact, create_table_artifact

    task = finished["task"]
    summary_key, metrics_key = artifact_keys(task)
    about = f"{task.capitalize()} evaluation {finished['run_id']}, written to {out.absolute()}"
    table = metric_table(task, TASKS[task].compared.summary.model_validate(finished["summary"]))
    _publish(create_markdown_artifact, summary_key, about, markdown=finished["markdown"])
    _publish(create_table_artifact, metrics_key, about, table=table)


def publish_release(finished: Mapping[str, Any]) -> Any:  # noqa: ANN401  Prefect's State or None
    """Publish the gates' verdict of what `finish_run` returned, tell it as an event, and name the end it means.

    Returns the Failed state of a regression or of runs that cannot be compared, a Completed one of another name where
    only soft gates failed, and None where nothing did.
    """
    from prefect.artifacts import create_markdown_artifact
    from prefect.states import Completed

    verdict = ReleaseVerdict.load(finished["release"])
    gate = verdict.gate
    about = f"Release gate of {finished['run_id']} (phase {gate.phase}): {gate.verdict}"
    _publish(create_markdown_artifact, GATE_KEY, about, markdown=finished["release_markdown"])
    _tell(verdict)
    if gate.verdict == "warned":
        return Completed(name="RegressedSoft", message=about, data=dict(finished))
    if gate.verdict in {"passed", "inconclusive"}:
        return None
    name = "Regressed" if gate.verdict == "failed" else "NotComparable"
    return failed(ReleaseStopped(f"{about}: {_first_of(gate.reasons)}"), name)


def _first_of(reasons: Sequence[str]) -> str:
    """The first of several sentences, and how many there are besides."""
    first, *others = reasons or ("no reason was given",)
    return f"{first.rstrip('.')}, and {len(others)} more" if others else first


def publish_card(made: Mapping[str, Any]) -> None:
    """Publish the card that `steps.write_card` made, from within its flow run."""
    from prefect.artifacts import create_markdown_artifact

    about = f"{made['subject']}, written to {Path(made['out']).absolute()}"
    _publish(create_markdown_artifact, CARD_KEY, about, markdown=made["markdown"])


def _tell(verdict: ReleaseVerdict) -> None:
    """Emit `gigamind.gate.passed` or `.failed` (or what else the verdict is), with little beside the verdict."""
    from prefect.events import emit_event
    from prefect.logging import get_run_logger

    gate, comparison = verdict.gate, verdict.comparison
    try:
        emit_event(
            event=f"gigamind.gate.{gate.verdict}",
            resource={"prefect.resource.id": f"gigamind.run.{comparison.current.run_id}"},
            payload={
                "task": comparison.task,
                "phase": gate.phase,
                "baseline": comparison.baseline.run_id,
                "reasons": list(gate.reasons[:_REASONS_TOLD]),
                "worse": sum(change.change == "worse" for change in comparison.changes),
                "lost": len(comparison.lost),
            },
        )
    except Exception as error:  # noqa: BLE001  whatever it is, it must not cost the verdict
        get_run_logger().warning("The gate's event was not emitted (%s)", error)


def _publish(create: Callable[..., Any], key: str, about: str, **content: Any) -> None:  # noqa: ANN401  text or rows
    from prefect.logging import get_run_logger
    from prefect.settings import get_current_settings

    logger = get_run_logger()
    try:
        made = create(key=key, description=about, **content)
    except Exception as error:  # noqa: BLE001  whatever it is, it must not cost the evaluation
        logger.warning("Artifact %s was not published (%s: %s)", key, type(error).__name__, error)
        return
    # No menu of the UI leads to an artifact.  Without a server there is no UI: the short-lived one ends with the run.
    if ui := get_current_settings().ui_url:
        logger.info("Artifact %s: %s/v2/artifacts/artifact/%s", key, ui, made)


def metric_table(task: str, summary: BaseModel) -> list[dict[str, str | int]]:
    """One row a metric; cells are scalars, for the UI shows nothing else, and a figure that is no number is a dash."""
    known = type(summary).model_validate_json(summary.model_dump_json())  # JSON writes NaN as null
    return [row._asdict() for row in TASKS[task].view.rows(known)]
