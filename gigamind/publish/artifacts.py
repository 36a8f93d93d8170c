"""Artifacts and events of a flow run: a view of what its out folder records.

What cannot be published is a warning in the log of the run: the evaluation stands, in its out folder.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from gigamind.errors import GigamindError
from gigamind.evaluation.finish import FlowResult
from gigamind.evaluation.options import EvalOptions
from gigamind.evaluation.release import ReleaseVerdict
from gigamind.publish.ends import NoVerdict, ReleaseStopped, failed, in_its_language
from gigamind.publish.restarts import deployment_name, through_restart
from gigamind.reports.decision import failed_page
from gigamind.reports.release import deciding_reasons
from gigamind.tasks import TASKS
from gigamind.wording import Words, words

CARD_KEY = "judge-card"
_REASONS_TOLD = 20


class Keys(NamedTuple):
    """Keys of the artifacts of a history: a deployment's, or that of a task over a vault for runs of none."""

    page: str
    figures: str
    progress: str


def artifact_keys(options: EvalOptions) -> Keys:
    """Those of a run; a name that a key cannot hold, for it has letters a-z and digits only, is told by its hash."""
    history = deployment_name() or "-".join(tags_of(options))
    plain = re.sub("[^a-z0-9]+", "-", history.lower()).strip("-")
    if not history.isascii():
        plain = f"{plain}-{hashlib.sha256(history.encode()).hexdigest()[:8]}".strip("-")
    return Keys(plain, f"{plain}-figures", f"{plain}-progress")


def tags_of(options: EvalOptions) -> tuple[str, ...]:
    """By which runs of a task, and over a vault, are found: their names."""
    return (options.task, options.notes.resolve().name) if options.notes else (options.task,)


def tag_run(options: EvalOptions) -> None:
    """Tag the flow run; where that fails, a warning in its log says so."""
    from prefect import get_client
    from prefect.logging import get_run_logger
    from prefect.runtime import flow_run

    run: Any = flow_run

    def tag() -> None:
        with get_client(sync_client=True) as client:
            tags = [*run.tags, *tags_of(options)]
            client.update_flow_run(run.id, tags=list(dict.fromkeys(tags)))

    try:
        through_restart(tag)
    except Exception as error:  # noqa: BLE001  whatever it is, it must not cost the run
        get_run_logger().warning(in_its_language(f"The run has no tags of its own ({error})"))


def publish_run(finished: FlowResult, keys: Keys) -> None:
    """Publish what `finish_run` returned, from within its flow run: its page, and its figures as a table."""
    from prefect.artifacts import create_markdown_artifact, create_table_artifact

    task = finished["task"]
    table = metric_table(task, TASKS[task].compared.summary.model_validate(finished["summary"]))
    _publish(create_markdown_artifact, keys.page, finished["headline"], markdown=finished["page"])
    _publish(create_table_artifact, keys.figures, finished["headline"], table=table)


def publish_failure(error: GigamindError, options: EvalOptions, subject: str, keys: Keys) -> None:
    """Publish the page of a run that has nothing else to show."""
    from prefect.artifacts import create_markdown_artifact

    page = failed_page(str(error), error.exit_code, subject, words(options.language))
    _publish(create_markdown_artifact, keys.page, page.headline, markdown=page.markdown)


def end_of_gate(run_id: str, result: Mapping[str, Any], say: Words) -> Any:  # noqa: ANN401  Prefect's State or None
    """Tell the gates' verdict of what the flow would return as an event, and name the end it means.

    Returns the Failed state of a regression or of runs that cannot be compared, a Completed one of another name where
    only soft gates failed, and None where nothing did.
    """
    from prefect.states import Completed

    verdict = ReleaseVerdict.load(result["release"])
    gate = verdict.gate
    about = in_its_language(f"Release gate of {run_id} (phase {gate.phase}): {gate.verdict}")
    _tell(verdict, Path(result["out"]))
    if gate.verdict == "warned":
        return Completed(name="RegressedSoft", message=about, data=dict(result))
    if gate.verdict in {"passed", "inconclusive"}:
        return None
    ended, name = (
        (ReleaseStopped, "Regressed") if gate.verdict == "failed" else (NoVerdict, "NotComparable")
    )
    stopped = ended(f"{about}: {_first_of(deciding_reasons(verdict.release, say))}")
    stopped.result = result
    return failed(stopped, name)


def _first_of(reasons: Sequence[str]) -> str:
    """The first of several sentences, and how many there are besides."""
    first, *others = reasons or (in_its_language("no reason was given"),)
    return first.rstrip(".") + in_its_language(f", and {len(others)} more") if others else first


def publish_card(made: Mapping[str, Any]) -> None:
    """Publish the card that `steps.write_card` made, from within its flow run."""
    from prefect.artifacts import create_markdown_artifact

    about = in_its_language(f"{made['subject']}, written to {Path(made['out']).absolute()}")
    _publish(create_markdown_artifact, CARD_KEY, about, markdown=made["markdown"])


def _tell(verdict: ReleaseVerdict, out: Path) -> None:
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
                "out": str(out.absolute()),
                "baseline": comparison.baseline.run_id,
                "reasons": list(gate.reasons[:_REASONS_TOLD]),
                "worse": sum(change.change == "worse" for change in comparison.changes),
                "lost": len(comparison.lost),
            },
        )
    except Exception as error:  # noqa: BLE001  whatever it is, it must not cost the verdict
        get_run_logger().warning(in_its_language(f"The gate's event was not emitted ({error})"))


def _publish(create: Callable[..., Any], key: str, about: str, **content: Any) -> None:  # noqa: ANN401  text or rows
    from prefect.logging import get_run_logger
    from prefect.settings import get_current_settings

    logger = get_run_logger()
    try:
        made = through_restart(lambda: create(key=key, description=about, **content))
    except Exception as error:  # noqa: BLE001  whatever it is, it must not cost the evaluation
        why = f"{type(error).__name__}: {error}"
        logger.warning(in_its_language(f"Artifact {key} was not published ({why})"))
        return
    # No menu of the UI leads to an artifact.  Without a server there is no UI: the short-lived one ends with the run.
    if ui := get_current_settings().ui_url:
        logger.info(in_its_language(f"Artifact {key}: {ui}/v2/artifacts/artifact/{made}"))


def metric_table(task: str, summary: BaseModel) -> list[dict[str, str | int]]:
    """One row a metric; cells are scalars, for the UI shows nothing else, and a figure that is no number is a dash."""
    known = type(summary).model_validate_json(summary.model_dump_json())  # JSON writes NaN as null
    return [row._asdict() for row in TASKS[task].view.rows(known, words("en"))]
