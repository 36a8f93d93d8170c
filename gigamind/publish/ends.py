"""How a flow run ends: its state, named like the exit codes, its artifacts and its event, in the run's language.

A state has one sentence and at most one of our errors. A failure to publish is only logged.
"""

import logging
import re
import signal
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, cast

from gigamind.errors import (
    BrokenBoundError,
    BudgetError,
    EvaluationError,
    GigamindError,
    InputError,
    NotesError,
)
from gigamind.evaluation.finish import FlowResult
from gigamind.evaluation.options import EvalOptions
from gigamind.evaluation.task import Task
from gigamind.formats import between, share
from gigamind.i18n import Language, Message, Text, _, language_of, translator
from gigamind.metrics.table import label_text
from gigamind.records.folder import served_at
from gigamind.records.judged import Report
from gigamind.release.policy import N_, Release
from gigamind.reports.markdown import render_markdown
from gigamind.reports.run import failed_document
from gigamind.reports.verdict import release_verdict, state_of

_language = ContextVar[Language | None]("language", default=None)


def set_run_language(language: Language) -> None:
    """Set the language of the flow run's messages; the default is that of the environment."""
    _language.set(language)


def in_run_language(message: Text) -> str:
    """Return a message in the language of the flow run."""
    return translator(_language.get() or language_of())(message)


class ReleaseStopped(GigamindError):  # noqa: N818  a verdict, no fault
    """A gate failed; `result` is the return value of the flow."""

    exit_code: ClassVar[int] = BrokenBoundError.exit_code
    result: Mapping[str, Any] = MappingProxyType({})


class _NoVerdict(ReleaseStopped):
    """The runs are not comparable; the exit code is that of invalid input."""

    exit_code: ClassVar[int] = InputError.exit_code


ENDS = (
    (InputError, "InvalidInput"),
    (NotesError, "NotesInaccessible"),
    (BudgetError, "BudgetExceeded"),
    (EvaluationError, "EvaluationFailed"),
    (BrokenBoundError, "Regressed"),
)


def failed(error: GigamindError, name: str | None = None) -> Any:  # noqa: ANN401  Prefect's State, whose import costs a second
    """Return the Failed state for an error, by default named after its exit code."""
    from prefect.states import Failed

    default = next((name for kind, name in ENDS if isinstance(error, kind)), "EvaluationFailed")
    message = in_form_words(in_run_language(error.message))
    text = in_run_language(_("{message} (exit code {code})", message=message, code=error.exit_code))
    return Failed(name=name or default, message=text, data=error)


@contextmanager
def only_logged(problem: str, **values: object) -> Generator[None]:
    """Log an error inside the block as a warning: a failure to publish may not fail a run.

    `problem` is a marked message with `reason`.
    """
    from prefect.logging import get_run_logger

    try:
        yield
    except Exception as error:  # noqa: BLE001  of Prefect or the network
        warning = Message(problem, {**values, "reason": f"{type(error).__name__}: {error}"})
        get_run_logger().warning(in_run_language(warning))


_Result = TypeVar("_Result")
_PATIENCE_S = 60.0


def through_restart(call: Callable[[], _Result], patience_s: float = _PATIENCE_S) -> _Result:
    """Return the result of `call`, retried for so many seconds on an httpx.TransportError, which is then raised."""
    import httpx
    from tenacity import Retrying, retry_if_exception_type, stop_before_delay, wait_exponential

    retrying = Retrying(
        retry=retry_if_exception_type(httpx.TransportError),
        stop=stop_before_delay(patience_s),
        wait=wait_exponential(0.5, max=4),
        reraise=True,
    )
    return retrying(call)


def deployment_name() -> str | None:
    """Return the name of the flow run's deployment; None without one."""
    from prefect.runtime import deployment

    return cast("str | None", through_restart(lambda: deployment.name))  # pyright: ignore[reportUnknownMemberType, reportUnknownLambdaType]  a module of properties


_OPTION = re.compile(r"(?s:```.*?```)|gigamind [^\n`]*|--([a-z][a-z-]+)")


def in_form_words(text: str) -> str:
    """Return a text with options named as fields of the form, except in commands: --min-score is min_score."""
    return _OPTION.sub(lambda found: found[1].replace("-", "_") if found[1] else found[0], text)


def _log_expected(record: logging.LogRecord) -> bool:
    """Log an error of ours in one line; Prefect's engine logs every flow that ends as Failed with a traceback."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, GigamindError):
        record.msg, record.args = in_form_words(in_run_language(error.message)), ()
    if error is None or isinstance(error, GigamindError):
        record.exc_info = record.exc_text = None
    return True


for _name in ("prefect.flow_runs", "prefect.task_runs", "prefect.engine"):
    logging.getLogger(_name).addFilter(_log_expected)


_own_sigterm = ContextVar[Any]("own_sigterm", default=None)


@contextmanager
def own_process() -> Generator[None]:
    """Mark that the flow runs in our own process, so that our SIGTERM handler stays in place."""
    set_before = _own_sigterm.set(signal.getsignal(signal.SIGTERM))
    try:
        yield
    finally:
        _own_sigterm.reset(set_before)


@contextmanager
def with_own_sigterm() -> Generator[None]:
    """In our own process, use our SIGTERM handler, which keeps finished work; a worker needs Prefect's."""
    ours = _own_sigterm.get()
    if ours is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    theirs = signal.signal(signal.SIGTERM, ours)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, theirs)


_CARD_KEY = "judge-card"
_MAX_REASONS = 20


def publish_run(finished: FlowResult, key: str, task: Task[Any, Any, Any]) -> None:
    """Publish the page and the metrics table of a finished run, from within its flow run."""
    from prefect.artifacts import create_markdown_artifact, create_table_artifact

    table = _metric_table(task, task.compared.summary.model_validate(finished["summary"]))
    page = in_form_words(finished["page"])
    _publish(create_markdown_artifact, key, finished["headline"], markdown=page)
    _publish(create_table_artifact, f"{key}-figures", finished["headline"], table=table)


def publish_link(out: Path, about: Text, key: str) -> None:
    """Publish the address of report.html, if the folder of runs is served."""
    from prefect.artifacts import create_link_artifact

    if address := served_at(out):
        _publish(create_link_artifact, f"{key}-report", about, link=f"{address}report.html")


def publish_error(error: GigamindError, options: EvalOptions, subject: str, key: str) -> None:
    """Publish the page of a run that failed before it had a result."""
    from prefect.artifacts import create_markdown_artifact

    say = translator(options.language)
    page = failed_document(options.task, error.message, error.exit_code, subject)
    text = in_form_words(render_markdown(page, say))
    _publish(create_markdown_artifact, key, say(page.headline), markdown=text)


def end_of_gate(verdict: Release, result: Mapping[str, Any]) -> Any:  # noqa: ANN401  Prefect's State
    """Emit the verdict of the gates as an event and return the end state of the flow, whose message is the verdict.

    A regression or incomparable runs are Failed; other states are Completed and have the name of the verdict.
    """
    from prefect.states import Completed

    _emit_verdict(verdict, Path(result["out"]))
    sentence, status = release_verdict(verdict).sentence, verdict.gate.verdict
    if verdict.waiver or status not in {"failed", "not-comparable"}:
        name = completed_name(verdict) or "Completed"
        return Completed(name=name, message=in_run_language(sentence), data=dict(result))
    stopped = ReleaseStopped(sentence) if status == "failed" else _NoVerdict(sentence)
    stopped.result = result
    return failed(stopped, "Regressed" if status == "failed" else "NotComparable")


def completed_name(verdict: Release) -> str:
    """Return the name of the Completed state of a comparison that stops no release; "" for the default.

    "RegressedSoft" if a metric got significantly worse or a gate failed that only warns, "Warned" for other warnings.
    """
    if verdict.waiver:
        return "Waived"
    gate = verdict.gate
    worse = [entry for entry in verdict.comparison.metrics if entry.is_better is False]
    soft = [rule for rule in gate.rules if "soft" in rule.remarks]
    if worse or soft or gate.failed:
        return "RegressedSoft"
    return {"warned": "Warned", "inconclusive": "Inconclusive"}.get(state_of(verdict), "")


def publish_card(written: Mapping[str, Any]) -> None:
    """Publish the judge report that the flow `certify-judge` wrote."""
    from prefect.artifacts import create_markdown_artifact

    folder = Path(written["out"]).absolute()
    about = _("{subject}, written to {folder}", subject=written["subject"], folder=folder)
    _publish(create_markdown_artifact, _CARD_KEY, about, markdown=written["markdown"])


def _emit_verdict(verdict: Release, out: Path) -> None:
    from prefect.events import emit_event

    gate, comparison = verdict.gate, verdict.comparison
    with only_logged(N_("The Prefect event with the gate's verdict was not sent: {reason}")):
        emit_event(
            event=f"gigamind.gate.{'waived' if verdict.waiver else gate.verdict}",
            resource={"prefect.resource.id": f"gigamind.run.{comparison.current.run_id}"},
            payload={
                "task": comparison.task,
                "phase": gate.phase,
                "out": str(out.absolute()),
                "baseline": comparison.baseline.run_id,
                "reasons": list(gate.reasons[:_MAX_REASONS]),
                "worse": len(comparison.changed("worse")),
                "lost": len(comparison.lost),
            },
        )


def _publish(create: Callable[..., Any], key: str, about: Text, **content: Any) -> None:  # noqa: ANN401  text or rows
    from prefect.logging import get_run_logger
    from prefect.settings import get_current_settings

    with only_logged(N_("The Prefect artifact {key} was not published: {reason}"), key=key):
        description = in_form_words(in_run_language(about))
        artifact = through_restart(lambda: create(key=key, description=description, **content))
        # The UI has no menu entry for artifacts.  A short-lived server ends with the run and has no UI.
        if ui := get_current_settings().ui_url:
            url = f"{ui}/v2/artifacts/artifact/{artifact}"
            get_run_logger().info(in_run_language(_("Artifact {key}: {url}", key=key, url=url)))


def _metric_table(task: Task[Any, Any, Any], summary: Report) -> list[dict[str, str | int]]:
    """Return one row per metric; cells are scalars, as the UI requires, and a missing value is a dash."""
    known = type(summary).model_validate_json(summary.model_dump_json())  # JSON writes NaN as null
    return [
        {
            "block": figure.block,
            "metric": str(label_text(figure.key)),
            "value": share(figure.value),
            "interval": between(figure.interval),
            "n": figure.interval.n,
        }
        for figure in task.view.figures(known)
    ]
