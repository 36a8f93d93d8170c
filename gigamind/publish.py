"""The one module of the package that speaks to Prefect: runs flow files, publishes artifacts, names end states.

Files in the out folder are the record; artifacts are a view of them.
"""

import os
import signal
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel

from gigamind.assets import asset
from gigamind.errors import EvaluationError, GigamindError, InputError, NotesError
from gigamind.evaluation.finish import Evaluated, FlowResult
from gigamind.evaluation.options import EvalOptions
from gigamind.evaluation.release import ReleaseVerdict
from gigamind.tasks import TASKS

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

Options = TypeVar("Options", bound=EvalOptions)
GATE_KEY = "release-gate"
CARD_KEY = "judge-card"
_REASONS_TOLD = 20

# No telemetry; a first start on a slow machine takes its time; task records of a short-lived server get written.
_SETTINGS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "0.5",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
}


def run_flow(options: EvalOptions) -> Evaluated[Any]:
    """Run the task's flow, such as `flows/eval_search.py`, here.

    It speaks to the configured Prefect server, or to a short-lived one where none is.

    Raises:
        GigamindError: as the evaluation itself raises it.
    """
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    import prefect.settings
    from prefect.flows import load_flow_from_entrypoint
    from prefect.settings import temporary_settings

    name = f"eval_{options.task}"
    entrypoint = f"{asset('flows') / name}.py:{name}"
    flow = cast(
        "Callable[..., State[Any]]",
        load_flow_from_entrypoint(entrypoint, use_placeholder_flow=False),
    )
    # The heartbeat's thread would hold up the end of the run for a second; only workers need it.
    with (
        temporary_settings({prefect.settings.PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}),
        _own_process(),
    ):
        result = cast("dict[str, Any]", flow(options, return_state=True).result())
    release = result["release"]
    return Evaluated(
        TASKS[options.task].compared.summary.model_validate(result["summary"]),
        Path(result["out"]),
        ReleaseVerdict.load(release) if release else None,
    )


_own_sigterm = ContextVar[Any]("own_sigterm", default=None)


@contextmanager
def _own_process() -> Generator[None]:
    """The flow runs in a process of ours, whose handler of SIGTERM is to hold within it, too."""
    set_before = _own_sigterm.set(signal.getsignal(signal.SIGTERM))
    try:
        yield
    finally:
        _own_sigterm.reset(set_before)


@contextmanager
def _stopped_as_we_stop() -> Generator[None]:
    """Where the process is ours, SIGTERM keeps what was done; Prefect's handler would crash the run.

    A worker's process is Prefect's: there its handler stays, which tells a cancelled run from a crashed one.
    """
    ours = _own_sigterm.get()
    if ours is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    theirs = signal.signal(signal.SIGTERM, ours)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, theirs)


def failed(error: GigamindError) -> Any:  # noqa: ANN401  Prefect's State, whose import costs a second
    """The Failed state of an evaluation that ended in `error`, named by the meaning of its exit code."""
    from prefect.states import Failed

    meanings = (
        (InputError, "InvalidInput"),
        (NotesError, "NotesInaccessible"),
        (EvaluationError, "EvaluationFailed"),
    )
    name = next((name for kind, name in meanings if isinstance(error, kind)), "EvaluationFailed")
    return Failed(name=name, message=f"{error} (exit code {error.exit_code})", data=error)


def published(
    options: Options,
    check: Callable[[Options], str],
    evaluate: Callable[[Options, Path, datetime], FlowResult],
) -> Any:  # noqa: ANN401  JSON values, or Prefect's State
    """What a task's flow returns: an evaluation that was published; with `--dry-run`, what a check of the input finds.

    A Failed state, named by the meaning of the exit code, where `gigamind eval` would end with that code.
    """
    from prefect.states import Completed

    from gigamind.evaluation.run import out_folder
    from gigamind.tasks.steps import STEPS

    started = datetime.now(UTC)
    try:
        if options.dry_run:
            return Completed(name="Checked", message=check(options))
        out = out_folder(options, started)
        with _stopped_as_we_stop():
            finished = evaluate(options, out, started)
    except GigamindError as error:
        return failed(error)
    finally:
        STEPS.close_run(options)
    publish_run(finished, out)
    result = {"out": str(out), "summary": finished["summary"], "release": finished["release"]}
    if finished["summary"]["status"] == "interrupted":
        return Completed(name="Interrupted", data=result)
    return result


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
    from prefect.states import Completed, Failed

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
    return Failed(name=name, message=f"{about}. {' '.join(gate.reasons)}", data=dict(finished))


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
