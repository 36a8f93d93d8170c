"""The one module of the package that speaks to Prefect: runs flow files, publishes artifacts, names end states.

Files in the out folder are the record; artifacts are a view of them.  A state carries one sentence and at most one of
our errors: anything else as its data ends in a traceback of all of it on the run's page.
"""

import logging
import os
import signal
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pydantic import BaseModel

from gigamind.assets import asset
from gigamind.errors import (
    EvaluationError,
    GigamindError,
    InputError,
    NotesError,
    OtherRunError,
)
from gigamind.evaluation.asking import abandon, attempts_of, is_resumable, last_unfinished
from gigamind.evaluation.finish import Evaluated, FlowResult
from gigamind.evaluation.options import EvalOptions, ModelRunOptions
from gigamind.evaluation.release import ReleaseVerdict
from gigamind.records.schema import RUN_ID_FORMAT
from gigamind.tasks import TASKS

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

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


class ReleaseStopped(GigamindError):  # noqa: N818  a verdict, no fault
    """A gate failed, or nothing could be said."""

    exit_code: ClassVar[int] = 4


_ENDS = (
    (InputError, "InvalidInput"),
    (NotesError, "NotesInaccessible"),
    (EvaluationError, "EvaluationFailed"),
)


def failed(error: GigamindError, name: str | None = None) -> Any:  # noqa: ANN401  Prefect's State, whose import costs a second
    """The Failed state of a run that ended in `error`, by default named by the meaning of its exit code."""
    from prefect.states import Failed

    meant = next((name for kind, name in _ENDS if isinstance(error, kind)), "EvaluationFailed")
    told = f"{error} (exit code {error.exit_code})"
    return Failed(name=name or meant, message=told, data=error)


class _ExpectedEnd(logging.Filter):
    """Tells an end that is a result in a line, where Prefect takes any Failed state for a crash and its traceback."""

    def __init__(self) -> None:
        super().__init__()
        self._told = ""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, GigamindError):
            self._told = str(error)
            record.msg, record.args = f"{error} (exit code {error.exit_code})", ()
            record.exc_info = record.exc_text = None
        if self._told and self._told in record.getMessage() and record.levelno > logging.WARNING:
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


_EXPECTED = _ExpectedEnd()
# Of a run's page, and of the worker's terminal.
_LOGGERS = ("prefect.flow_runs", "prefect.task_runs", "prefect.engine")


def run_name() -> str:
    """How a run of an evaluation is called: `search · handbook · hybrid · 1.5`, for a flow's `flow_run_name`."""
    from prefect.runtime import flow_run

    given: Any = flow_run.parameters["options"]  # pyright: ignore[reportUnknownMemberType]  a module of properties
    options: Mapping[str, Any] = given.model_dump() if isinstance(given, BaseModel) else given
    parts = [
        options.get("task", "search"),
        *(options.get(name) for name in ("notes", "mode", "out")),
    ]
    names = (Path(part).name if isinstance(part, Path) else str(part) for part in parts if part)
    return " · ".join(names)


def run_evaluation(options: EvalOptions, *, gate: bool = False) -> Any:  # noqa: ANN401  JSON values, or Prefect's State
    """What a flow returns: an evaluation that was published; with `--dry-run`, what a check of the input finds.

    A Failed state, named by the meaning of the exit code, where `gigamind eval` would end with that code.

    Args:
        gate: hold the run against its baseline and end by the verdict: Failed as "Regressed" where a gate fails, as
            "NotComparable" where nothing can be said; emits the event `gigamind.gate.<verdict>`.
    """
    from prefect.states import Completed

    from gigamind.tasks.steps import STEPS

    for logger in map(logging.getLogger, _LOGGERS):
        logger.addFilter(_EXPECTED)
    started = datetime.now(UTC)
    try:
        if gate and options.compare is None:
            raise InputError("--compare: must be given; a release gate needs a baseline")
        if options.dry_run:
            return Completed(name="Checked", message=STEPS.check_input(options))
        with _stopped_as_we_stop():
            out, finished = _evaluated_in(_home(options), options, started)
    except GigamindError as error:
        return failed(error)
    publish_run(finished, out)
    if gate and finished["release"] and (stopped := publish_release(finished)) is not None:
        return stopped
    if refused := finished["refused"]:
        kind = next(kind for kind, _ in _ENDS if kind.exit_code == refused["exit_code"])
        return failed(kind(refused["message"]))
    result = {"out": str(out), "summary": finished["summary"], "release": finished["release"]}
    if finished["summary"]["status"] == "interrupted":
        return Completed(name="Interrupted", data=result)
    return result


def _home(options: EvalOptions) -> Path | None:
    """The folder of a deployment's runs, one beside the other: `out`, else one of its name; None for a run of none."""
    from prefect.runtime import deployment

    name = cast("str | None", deployment.name)  # pyright: ignore[reportUnknownMemberType]  a module of properties
    return (options.out or Path("eval", "out", name)) if name else None


def _evaluated_in(
    home: Path | None, options: EvalOptions, started: datetime
) -> tuple[Path, FlowResult]:
    """The run, and where it was written; the last one that was stopped in `home` is gone on with, where it is alike."""
    from prefect.logging import get_run_logger

    from gigamind.evaluation.run import out_folder

    if home is None or (isinstance(options, ModelRunOptions) and options.resume):
        out = out_folder(options, started)
        return out, _evaluated(options, out, started)
    if isinstance(options, ModelRunOptions) and (left := last_unfinished(home)):
        taken = options.model_copy(update={"resume": left, "out": None})
        asked = len(attempts_of(left))
        try:
            finished = _evaluated(taken, left, started)
            if not is_resumable(left) or len(attempts_of(left)) > asked:
                return left, finished
            why: object = finished["refused"]
        except (OtherRunError, EvaluationError) as error:
            if len(attempts_of(left)) > asked:
                raise
            why = error
        # Nothing can be asked there any more: it is of other settings, final, or its budget is used up.
        get_run_logger().warning("%s cannot be gone on with: %s", abandon(left), why)
    placed = options.model_copy(update={"out": home / f"{started.astimezone():{RUN_ID_FORMAT}}"})
    out = out_folder(placed, started)
    return out, _evaluated(placed, out, started)


def _evaluated(options: EvalOptions, out: Path, started: datetime) -> FlowResult:
    """The steps of an evaluation as tasks of the flow run: the items in batches, then what models say of them."""
    from prefect import tags, task
    from prefect.cache_policies import NO_CACHE

    from gigamind.evaluation.run import Batch, run_batches
    from gigamind.tasks.steps import STEPS

    def step(
        name: str, call: Callable[..., Any], named: str | None = None, retries: int = 0
    ) -> Any:  # noqa: ANN401
        # NO_CACHE: an evaluation that answers from an earlier run's results would measure nothing.
        settled = task(
            name=name, task_run_name=named or name, retries=retries, cache_policy=NO_CACHE
        )
        return settled(call)

    prepare, report = step("prepare", STEPS.prepare_batches), step("report", STEPS.finish_run)
    score = step("score", STEPS.run_batch, "score {first} to {end}", 1)
    judge = step("judge", STEPS.judge_run)

    def run_batch(first: int, end: int) -> Batch:
        return score(options, first, end)

    try:
        with tags(options.task, options.notes.name if options.notes else "no vault"):
            plan = prepare(options, out)
            batches, interrupted = run_batches(plan, run_batch)
            asks = plan["asks_a_model"] and not interrupted
            verdicts = judge(options, batches, out) if asks else None
            return report(options, batches, out, started, verdicts, interrupted=interrupted)
    finally:
        STEPS.close_run(options)


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
