"""The body of every evaluation flow, its parameters as a form in sections, its labels and progress in Prefect."""

import hashlib
import re
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from contextvars import copy_context
from copy import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args
from uuid import UUID, uuid4

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    create_model,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from gigamind.choices import TaskName
from gigamind.errors import BudgetError, EvaluationError, GigamindError, InputError, OtherRunError
from gigamind.evaluation.finish import FlowResult, Refused
from gigamind.evaluation.options import (
    OWN_SECTION,
    SECTIONS,
    EvalOptions,
    ModelRunOptions,
    validated,
)
from gigamind.evaluation.progress import Lines, Progress
from gigamind.evaluation.release import announcing_failure, last_reference
from gigamind.evaluation.run import Batch, Plan, Steps, Verdicts, free_folder, out_folder
from gigamind.evaluation.shards import (
    Range,
    Shard,
    ShardEnd,
    Shards,
    attempts_of,
    is_resumable,
    unfinished_folder,
)
from gigamind.i18n import Text, _, joined, translator
from gigamind.publish.allowed import check_allowed, load_secrets
from gigamind.publish.ends import (
    ENDS,
    ReleaseStopped,
    completed_name,
    deployment_name,
    end_of_gate,
    failed,
    in_form_words,
    in_run_language,
    only_logged,
    publish_error,
    publish_link,
    publish_run,
    set_run_language,
    through_restart,
    with_own_sigterm,
)
from gigamind.publish.home import shared_state
from gigamind.publish.pool import Pool, step
from gigamind.release.policy import N_, Release
from gigamind.runs.store import ITEMS_FILE, Journal
from gigamind.systems.settings import BUILTIN, shown_system
from gigamind.tasks import KINDS, TASKS

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

STEPS = Steps(TASKS, KINDS)


def run_name() -> str:
    """Return the name of a flow run, such as `search · handbook · hybrid · 1.5`."""
    from prefect.runtime import flow_run

    given: Any = flow_run.parameters["options"]  # pyright: ignore[reportUnknownMemberType]  a module of properties
    values: Any = given.model_dump() if isinstance(given, BaseModel) else _flat(given)
    options: Mapping[str, Any] = values
    system = options.get("system") or BUILTIN
    searched = options.get("mode") if system == BUILTIN else shown_system(system)
    parts = [options.get("task", "search"), options.get("notes"), searched, options.get("out")]
    names = (Path(part).name if isinstance(part, Path) else str(part) for part in parts if part)
    return " · ".join(names)


def run_evaluation(options: EvalOptions, runner: str | None = None, *, gate: bool = False) -> Any:  # noqa: ANN401  JSON values, or Prefect's State
    """Run and publish an evaluation; with `--dry-run`, only check the input.

    A deployment without a baseline compares for information: see `last_reference`.

    Returns a Failed state, named after the exit code, where `gigamind eval` would end with that code. `gate` requires a
    baseline and ends by the verdict, as `--fail-on-regression`, with an event `gigamind.gate.<verdict>`.
    """
    set_run_language(options.language)
    _tag_run(options)
    state, verdict = _ended(options, runner, gate=gate)
    _show_end(state, verdict)
    return state


def _adjusted(options: EvalOptions) -> EvalOptions:
    """Return options changed by the deployment's Prefect Variable, such as search_nightly; InputError if wrong."""
    from prefect.variables import Variable

    name = (deployment_name() or "").replace("-", "_")
    changes = _flat(through_restart(lambda: Variable.get(name)) if name else None)
    if changes is None:
        return options
    if not isinstance(changes, dict):
        raise InputError("The Prefect Variable {name} must be a JSON object of options.", name=name)
    return validated(type(options), {**dict(options), **cast("dict[str, object]", changes)})


def _ended(options: EvalOptions, runner: str | None, *, gate: bool) -> tuple[Any, Text]:
    """Run and publish an evaluation; return its end state and the word for its verdict, "" without one."""
    from prefect.states import Completed

    started, key = datetime.now(UTC), _artifact_key(options)
    try:
        with announcing_failure(options):
            options = _adjusted(options)
            check_allowed(options)
            load_secrets()
            if gate and options.compare is None:
                raise InputError(_("--compare is required: a release gate needs a baseline"))
            if options.dry_run:
                checked = in_run_language(STEPS.check_input(options))
                return Completed(name="Checked", message=checked), ""
            with with_own_sigterm(), Pool[Any](runner) if runner else nullcontext() as pool:
                name = deployment_name()
                home = (options.out or Path("eval", "out", name)) if name else None
                with shared_state(options, home):
                    out, finished = _evaluated_in(home, options, started, pool)
    except GigamindError as error:
        publish_error(error, options, run_name(), key)
        return failed(error), ""
    publish_run(finished, key, TASKS[options.task])
    publish_link(out, finished["headline"], key)
    result = {"out": str(out), "summary": finished["summary"], "release": finished["release"]}
    refused, ended, verdict = finished["refused"], None, finished["verdict"]
    if finished["release"]:
        release = Release.model_validate(finished["release"])
        if gate or options.fail_on_regression:
            ended = end_of_gate(release, result)
            if ended.is_failed() and not (refused and release.gate.lacks_verdicts):
                return ended, verdict
        elif name := completed_name(release):
            ended = Completed(name=name, message=finished["headline"], data=result)
    if refused:
        is_verdict = refused["exit_code"] == ReleaseStopped.exit_code
        message = finished["headline"] if is_verdict else _with_advice(refused)
        kinds = [kind for kind, _name in ENDS if kind.exit_code == refused["exit_code"]]
        error = (BudgetError if refused["over_budget"] else kinds[-1])(message)
        error.run = out
        return failed(error), verdict if is_verdict else ""
    if finished["summary"]["status"] == "interrupted":
        return Completed(name="Interrupted", message=finished["headline"], data=result), ""
    return ended or Completed(message=finished["headline"], data=result), verdict


def _evaluated_in(
    home: Path | None, options: EvalOptions, started: datetime, pool: Pool[Any] | None
) -> tuple[Path, FlowResult]:
    """Evaluate, or resume the last interrupted run in `home` if it has the same settings; return folder and result.

    `home` is the folder of a deployment's runs; None without a deployment.
    """
    from prefect.logging import get_run_logger

    if home and not options.compare:
        options = options.informed_by(last_reference(options, home, KINDS))
    if home is None or (isinstance(options, ModelRunOptions) and options.resume):
        out = out_folder(options, started)
        return out, _evaluated(options, out, started, pool)
    if isinstance(options, ModelRunOptions) and (left := _last_unfinished(home)):
        resumed = options.model_copy(update={"resume": left, "out": None})
        attempts = len(attempts_of(left))
        try:
            finished = _evaluated(resumed, left, started, pool)
            if not is_resumable(left) or len(attempts_of(left)) > attempts:
                return left, finished
            reason = _("the run has no requests left to send")
            if (refused := finished["refused"]) and refused["over_budget"]:
                reason = _("the budget of the run is used up")
        except (OtherRunError, EvaluationError) as error:
            if len(attempts_of(left)) > attempts:
                raise
            reason = error.message
        # That run has other settings, is final, or has no budget left.
        warning = _(
            "The unfinished run in {folder} cannot be resumed: {reason}. A new run starts from the beginning and"
            " reuses the stored replies.",
            folder=unfinished_folder(left).rename(left.with_name(f"{left.name}.abandoned")),
            reason=reason,
        )
        get_run_logger().warning(in_run_language(warning))
    out = free_folder(home, started)
    return out, _evaluated(options.model_copy(update={"out": out}), out, started, pool)


def _last_unfinished(home: Path) -> Path | None:
    """Return the output folder in `home` of the latest stopped run that can be resumed, or None."""
    outs = (folder.with_suffix("") for folder in sorted(home.glob("*.unfinished"), reverse=True))
    return next(filter(is_resumable, outs), None)


def _with_advice(refused: Refused) -> Text:
    """Return why a run is no result; for a deployment over budget, also what its next run does."""
    if not refused["over_budget"] or deployment_name() is None:
        return refused["message"]
    advice = _(
        "If you raise the budget, the next run of this deployment resumes this run. Otherwise the next run starts"
        " over with the stored replies, and you can no longer resume this folder."
    )
    return joined((refused["message"], advice), ". ")


def _evaluated(
    options: EvalOptions, out: Path, started: datetime, pool: Pool[Any] | None
) -> FlowResult:
    from prefect import tags
    from prefect.utilities.annotations import quote

    # The id separates what workers keep open from an earlier run with the same options.
    run = str(uuid4()) if pool else ""

    prepare, report = step("prepare", STEPS.prepare_batches), step("report", STEPS.finish_run)
    score = step("score", STEPS.run_batch, "score {first} to {end}")

    def scored(plan: Plan) -> tuple[list[Batch], bool]:
        batches: list[Batch] = []
        try:
            for first, end in plan["batches"]:
                batches.append(score(options, first, end))
        except KeyboardInterrupt:
            return batches, True
        return batches, False

    try:
        with tags(*_tags_of(options)):
            plan = prepare(options, out, run)
            batches, interrupted = score_batches(pool, options, plan, run) if pool else scored(plan)
            asks = plan["asks_a_model"] and not interrupted
            verdicts = _judged(options, batches, out, pool, run) if asks else None
            # Quoted, because Prefect would search every value of every item for tasks.
            inputs = quote(batches), out, started, quote(verdicts)
            return report(options, *inputs, run=run, interrupted=interrupted)
    finally:
        STEPS.close_run(options, run)


def _judged(
    options: EvalOptions, batches: Sequence[Batch], out: Path, pool: Pool[Any] | None, run: str
) -> Verdicts | None:

    # The provider computes batch files, so waiting for them needs no workers.
    uses_files = isinstance(options, ModelRunOptions) and options.batch
    with closing(_RunProgress(f"{_artifact_key(options)}-progress")) as progress:
        if pool and not uses_files:
            return judge_shards(pool, options, batches, out, run=run, progress=progress)

        def judge() -> Verdicts | None:
            return STEPS.judge_run(options, batches, out, run, progress)

        return step("judge", judge)()


def _score_batch(options: EvalOptions, first: int, end: int, run: str) -> Batch:
    """Run a batch; see `Steps.run_batch`.  Workers import this function by name."""
    return STEPS.run_batch(options, first, end, run)


def _judge_shard(
    options: EvalOptions, results: Sequence[Any], out: Path, shard: Shard, run: str
) -> ShardEnd:
    """Judge a shard; see `Steps.judge_shard`.  Progress goes to the log of the run."""
    from prefect.logging import get_run_logger

    logger = get_run_logger()
    say = translator(options.language)
    progress = Lines(lambda line: logger.info(say(line)))
    return STEPS.judge_shard(options, results, out, shard, run=run, progress=progress)


def score_batches(
    pool: Pool[Range], options: EvalOptions, plan: Plan, run: str
) -> tuple[list[Batch], bool]:
    """Score the batches; return the finished ones and whether Ctrl-C stopped them."""
    waiting, done = deque(Range(*ends) for ends in plan["batches"]), dict[Range, Batch]()
    options = options.in_any_folder()

    def parameters(items: Range) -> Mapping[str, Any]:
        return {"options": options, "first": items.first, "end": items.end, "run": run}

    def following() -> tuple[str, Range] | None:
        items = waiting.popleft() if waiting else None
        return items and (f"score {items.first} to {items.end}", items)

    interrupted = False
    try:
        done.update(pool.run(_score_batch, parameters, following=following, again=waiting.append))
    except KeyboardInterrupt:
        done.update(pool.drain())
        interrupted = True
    return [done[items] for items in sorted(done)], interrupted


def judge_shards(
    pool: Pool[Shard],
    options: EvalOptions,
    batches: Sequence[Batch],
    out: Path,
    *,
    run: str,
    progress: Progress,
) -> Verdicts:
    """Judge the items shard by shard; after Ctrl-C, the finished verdicts are kept."""
    if not isinstance(options, ModelRunOptions):
        raise TypeError(f"{type(options).__name__} uses no model")
    start = time.perf_counter()
    folder, placed = unfinished_folder(out), options.in_any_folder()
    results = [result for batch in batches for result in batch["results"]]
    ranges = STEPS.begin_shards(options, out, pool.places, run)
    shards = Shards(ranges, options, folder, pool.places)
    ended, count = 0, sum(items.end - items.first for items in ranges)
    advice = _("Finished judgements are kept; resume with --resume {folder}", folder=out.absolute())

    def parameters(shard: Shard) -> Mapping[str, Any]:
        given = {"options": placed, "out": out.absolute(), "shard": shard, "run": run}
        return {"results": results[slice(*shard.items)], **given}

    def following() -> tuple[str, Shard] | None:
        shard = shards.next()
        return shard and (f"judge {shard.items.first} to {shard.items.end}", shard)

    jobs = pool.run(
        _judge_shard, parameters, following=following, again=shards.broke_off, advice=advice
    )
    interrupted = False
    try:
        # Shards stop when this journal is closed or its process is killed.
        with Journal(folder / ITEMS_FILE):
            for shard, end in jobs:
                shards.ended(shard, end)
                ended += shard.items.end - shard.items.first
                progress.stage(_("Judging"), ended, count)
            for shard in shards.unasked():
                _judge_shard(**parameters(shard))
    except KeyboardInterrupt:
        list(pool.drain())  # what they found is in the run's folder
        interrupted = True
    runtime_ms = 1000 * (time.perf_counter() - start)
    return STEPS.gather_shards(
        options, batches, out, run=run, runtime_ms=runtime_ms, interrupted=interrupted
    )


def _artifact_key(options: EvalOptions) -> str:
    """Return the key of the page of a deployment, or of a task and vault for runs without one.

    Other artifacts have the same key with `-figures`, `-progress` or `-report`. A name with other characters than a-z
    and digits gets a hash.
    """
    history = deployment_name() or "-".join(_tags_of(options))
    plain = re.sub("[^a-z0-9]+", "-", history.lower()).strip("-")
    if not history.isascii():
        plain = f"{plain}-{hashlib.sha256(history.encode()).hexdigest()[:8]}".strip("-")
    return plain


def _tags_of(options: EvalOptions) -> tuple[str, ...]:
    """Return the tags of a run: the names of its task and vault."""
    return (options.task, options.notes.resolve().name) if options.notes else (options.task,)


def _tag_run(options: EvalOptions) -> None:
    """Tag the flow run; a failure is logged as a warning."""

    def tag(client: "SyncPrefectClient", run: Any) -> None:  # noqa: ANN401  a module of properties
        tags = [*run.tags, *_tags_of(options)]
        client.update_flow_run(run.id, tags=list(dict.fromkeys(tags)))

    _mark(tag)


_LAST_RUN = "\n\n---\n\n"


def _show_end(state: Any, verdict: Text) -> None:  # noqa: ANN401  Prefect's State
    """Name the flow run after its deployment and verdict, and add both to the deployment's description.

    A run without a verdict changes the description only if a schedule started it: a failed trial is no news. Without a
    deployment, the run keeps its name. A failure is logged as a warning.
    """
    name, word = deployment_name(), in_run_language(verdict or state.name)

    def show(client: "SyncPrefectClient", run: Any) -> None:  # noqa: ANN401  a module of properties
        from prefect.client.schemas.actions import DeploymentUpdate
        from prefect.runtime import deployment

        client.update_flow_run(run.id, name=f"{name} · {word}")
        if not verdict and not client.read_flow_run(run.id).auto_scheduled:
            return
        found = client.read_deployment(cast("str", deployment.id))
        about = (found.description or "").partition(_LAST_RUN)[0]
        text = in_run_language(
            _(
                "Last run, {time} UTC: **{verdict}**. {sentence}",
                time=f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
                verdict=word,
                sentence=state.message or "",
            )
        )
        update = DeploymentUpdate(description=f"{about}{_LAST_RUN}{text}")
        client.update_deployment(found.id, update)

    if name:
        _mark(show)


def _mark(change: Callable[["SyncPrefectClient", Any], None]) -> None:
    from prefect import get_client
    from prefect.runtime import flow_run

    def apply() -> None:
        with get_client(sync_client=True) as client:
            change(client, flow_run)

    with only_logged(N_("The run was not labelled in Prefect: {reason}")):
        through_restart(apply)


_LONG_S = 10.0  # shorter runs show no progress
_EVERY_S = 5.0


class _RunProgress(Lines):
    """Progress as an artifact, written by a thread (event loops must not wait); failures are only logged."""

    def __init__(self, key: str, *, long_s: float = _LONG_S, every_s: float = _EVERY_S) -> None:
        from prefect.logging import get_run_logger

        self._logger = get_run_logger()
        super().__init__(lambda line: self._logger.info(in_run_language(line)))
        self._key = key
        self._next = time.monotonic() + long_s
        self._often_s = every_s
        self._writer = ThreadPoolExecutor(1)
        self._artifact: UUID | None = None

    def close(self) -> None:
        """Wait until the last line is written."""
        self._writer.shutdown()

    def stage(self, name: str, done: int, total: int) -> None:
        super().stage(name, done, total)
        ended = self._artifact is not None and done == total
        if time.monotonic() < self._next and not ended:
            return
        self._next = time.monotonic() + self._often_s
        text = _("{stage}: {done:,} of {total:,}", stage=name, done=done, total=total)
        line = in_run_language(text)
        self._writer.submit(copy_context().run, self._show, 100.0 * done / max(1, total), line)

    def _show(self, share: float, line: str) -> None:
        from prefect.artifacts import create_progress_artifact, update_progress_artifact

        with only_logged(N_("The progress was not published in Prefect: {reason}")):
            if self._artifact:
                update_progress_artifact(self._artifact, share, line)
            else:
                artifact = create_progress_artifact(share, self._key, line)
                self._artifact = artifact if isinstance(artifact, UUID) else None


_COMMAND_OPTIONS = {"config"}
_SHOWN = ("dataset", "notes", "system", "unanswerable_mode", "model", "max_cost_usd", "compare")
"""Options that the form of a deployment shows first."""
_ADVANCED = "advanced"


class Form:
    """Annotation for the options of a flow: a form with a few fields, and the others below `advanced`.

    The flow accepts options in that form, in sections or flat.
    """

    def __init__(self, *models: type[EvalOptions]) -> None:
        self._models = models

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_flat, handler(source))

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        first = (*(("task",) if len(self._models) > 1 else ()), *_SHOWN)
        shown = [handler(_form(model, first).__pydantic_core_schema__) for model in self._models]
        return shown[0] if len(shown) == 1 else {"anyOf": shown}


def _flat(given: object) -> object:
    """Return options in sections as a flat mapping; other values unchanged."""
    if not isinstance(given, Mapping):
        return given
    values: dict[str, object] = {}
    sections = {_ADVANCED, *SECTIONS, *get_args(TaskName)}
    for name, value in cast("Mapping[str, object]", given).items():
        if name not in sections or isinstance(value, str):  # `search` may be a plain option
            values[name] = value
        elif value is not None:
            values |= cast("Mapping[str, object]", _flat(value))
    return values


def _form(model: type[EvalOptions], first: Sequence[str]) -> type[BaseModel]:
    task = str(model.model_fields["task"].default).title()
    fields: dict[str, Any] = {
        name: _shown(field)
        for name, field in model.model_fields.items()
        if name not in {*_COMMAND_OPTIONS, "task"} or name in first
    }
    named = {name: section for section, names in SECTIONS.items() for name in names}
    sections: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for name in fields.keys() - set(first):
        sections[named.get(name, OWN_SECTION)][name] = fields[name]
    advanced: dict[str, Any] = {}
    for section, of_section in sections.items():
        shown = task.lower() if section == OWN_SECTION else section
        ordered = {name: of_section[name] for name in fields if name in of_section}
        advanced[shown] = _closed(task, shown, ordered)
    top = {name: fields[name] for name in first if name in fields}
    return _model(f"{task}Options", {**top, _ADVANCED: _closed(task, _ADVANCED, advanced)})


def _shown(field: FieldInfo) -> tuple[Any, FieldInfo]:
    """Return an option as a field of a form; its description names other fields, not flags."""
    shown = copy(field)
    shown.description = in_form_words(field.description or "")
    return field.annotation, shown


def _closed(task: str, section: str, fields: Mapping[str, Any]) -> Any:  # noqa: ANN401  a type and its field
    """Return an optional section, which a form shows closed."""
    shown = Field(None, title=section.title(), description=", ".join(fields).replace("_", " "))
    return _model(f"{task}{section.title()}", fields) | None, shown


def _model(name: str, fields: Mapping[str, Any]) -> type[BaseModel]:
    return create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
