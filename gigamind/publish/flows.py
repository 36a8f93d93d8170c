"""The one body of every evaluation flow, the form of its parameters, and how far it is, on the page of a long run.

In the form, options stand in sections, what is required first; the command line, Python and the record of a run have
them flat, by the same names.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, cast, get_args
from uuid import UUID, uuid4

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    create_model,
)
from pydantic_core import CoreSchema, core_schema

from gigamind.choices import TaskName
from gigamind.errors import BudgetError, EvaluationError, GigamindError, InputError, OtherRunError
from gigamind.evaluation.finish import FlowResult, Refused
from gigamind.evaluation.options import OWN_SECTION, SECTIONS, EvalOptions, ModelRunOptions
from gigamind.evaluation.progress import Lines
from gigamind.evaluation.run import Batch, Verdicts
from gigamind.evaluation.unfinished import abandon, attempts_of, is_resumable, last_unfinished
from gigamind.publish.artifacts import (
    artifact_keys,
    end_of_gate,
    publish_failure,
    publish_run,
    tag_run,
    tags_of,
)
from gigamind.publish.ends import ENDS, failed, in_its_language, speak, stopped_as_we_stop
from gigamind.publish.pool import Pool
from gigamind.publish.restarts import deployment_name
from gigamind.systems.settings import BUILTIN, shown_system
from gigamind.wording import words


def run_name() -> str:
    """How a run of an evaluation is called: `search · handbook · hybrid · 1.5`, for a flow's `flow_run_name`."""
    from prefect.runtime import flow_run

    given: Any = flow_run.parameters["options"]  # pyright: ignore[reportUnknownMemberType]  a module of properties
    values: Any = given.model_dump() if isinstance(given, BaseModel) else flat(given)
    options: Mapping[str, Any] = values
    system = options.get("system") or BUILTIN
    searched = options.get("mode") if system == BUILTIN else shown_system(system)
    parts = [options.get("task", "search"), options.get("notes"), searched, options.get("out")]
    names = (Path(part).name if isinstance(part, Path) else str(part) for part in parts if part)
    return " · ".join(names)


def run_evaluation(options: EvalOptions, runner: str | None = None, *, gate: bool = False) -> Any:  # noqa: ANN401  JSON values, or Prefect's State
    """What a flow returns: an evaluation that was published; with `--dry-run`, what a check of the input finds.

    A Failed state, named by the meaning of the exit code, where `gigamind eval` would end with that code.

    Args:
        runner: where its batches and shards run, such as `processes:2`; None for the flow's own process.
        gate: a baseline must be given, and the run ends by the verdict, as it does with `--fail-on-regression`: Failed
            as "Regressed" where a gate fails, as "NotComparable" where nothing can be said; emits the event
            `gigamind.gate.<verdict>`.
    """
    from prefect.states import Completed

    from gigamind.tasks.steps import STEPS

    speak(options.language)
    started, keys = datetime.now(UTC), artifact_keys(options)
    tag_run(options)
    try:
        if gate and options.compare is None:
            raise InputError("--compare: must be given; a release gate needs a baseline")
        if options.dry_run:
            return Completed(name="Checked", message=in_its_language(STEPS.check_input(options)))
        with stopped_as_we_stop(), Pool(runner) if runner else nullcontext() as pool:
            out, finished = _evaluated_in(_home(options), options, started, pool)
    except GigamindError as error:
        publish_failure(error, options, run_name(), keys)
        return failed(error)
    publish_run(finished, keys)
    result = {"out": str(out), "summary": finished["summary"], "release": finished["release"]}
    if (gate or options.fail_on_regression) and finished["release"]:
        ended = end_of_gate(finished["run_id"], result, words(options.language))
        if ended is not None:
            return ended
    if refused := finished["refused"]:
        kinds = [kind for kind, _ in ENDS if kind.exit_code == refused["exit_code"]]
        kind = BudgetError if refused["over_budget"] else kinds[-1]
        why = kind(_advised(refused))
        why.run = out
        return failed(why)
    if finished["summary"]["status"] == "interrupted":
        return Completed(name="Interrupted", data=result)
    return result


def _home(options: EvalOptions) -> Path | None:
    """The folder of a deployment's runs, one beside the other: `out`, else one of its name; None for a run of none."""
    name = deployment_name()
    return (options.out or Path("eval", "out", name)) if name else None


def _evaluated_in(
    home: Path | None, options: EvalOptions, started: datetime, pool: Pool | None
) -> tuple[Path, FlowResult]:
    """The run, and where it was written; the last one that was stopped in `home` is gone on with, where it is alike."""
    from prefect.logging import get_run_logger

    from gigamind.evaluation.run import free_folder, out_folder

    if home is None or (isinstance(options, ModelRunOptions) and options.resume):
        out = out_folder(options, started)
        return out, _evaluated(options, out, started, pool)
    if isinstance(options, ModelRunOptions) and (left := last_unfinished(home)):
        taken = options.model_copy(update={"resume": left, "out": None})
        asked = len(attempts_of(left))
        try:
            finished = _evaluated(taken, left, started, pool)
            if not is_resumable(left) or len(attempts_of(left)) > asked:
                return left, finished
            why = _why_nothing(finished["refused"])
        except (OtherRunError, EvaluationError) as error:
            if len(attempts_of(left)) > asked:
                raise
            why = str(error)
        # Nothing can be asked there any more: it is of other settings, final, or its budget is used up.
        told = f"{abandon(left)} cannot be gone on with, so this run begins anew, with the stored replies: {why}"
        get_run_logger().warning(in_its_language(told))
    out = free_folder(home, started)
    return out, _evaluated(options.model_copy(update={"out": out}), out, started, pool)


def _why_nothing(refused: Refused | None) -> str:
    """Why nothing was asked of a run that was gone on with; what it was refused for says to go on with it once more."""
    spent = refused is not None and refused["over_budget"]
    return "its budget is used up" if spent else "nothing more could be asked there"


def _advised(refused: Refused) -> str:
    """Why a run is no result, and of a deployment what its next run makes of a budget that was used up."""
    if not refused["over_budget"] or deployment_name() is None:
        return refused["message"]
    return (
        f"{refused['message']}. The next run of this deployment goes on with it where the budget is larger; else it"
        " begins anew, with the stored replies, and this folder cannot be resumed any more"
    )


def _evaluated(options: EvalOptions, out: Path, started: datetime, pool: Pool | None) -> FlowResult:
    """The steps of an evaluation as tasks of the flow run: the items in batches, then what models say of them."""
    from prefect import tags
    from prefect.utilities.annotations import quote

    from gigamind.evaluation.run import run_batches
    from gigamind.publish import scaleout
    from gigamind.tasks.steps import STEPS

    # What a pool's workers hold open is of this run, and not of the one before with the same options.
    run = str(uuid4()) if pool else ""

    prepare, report = _step("prepare", STEPS.prepare_batches), _step("report", STEPS.finish_run)
    score = _step("score", STEPS.run_batch, "score {first} to {end}", 1)

    def run_batch(first: int, end: int) -> Batch:
        return score(options, first, end)

    try:
        with tags(*tags_of(options)):
            plan = prepare(options, out, run)
            batches, interrupted = (
                scaleout.score(pool, options, plan, run) if pool else run_batches(plan, run_batch)
            )
            asks = plan["asks_a_model"] and not interrupted
            verdicts = _judged(options, batches, out, pool, run) if asks else None
            # Quoted: Prefect would look at each value of each item for tasks that it waits for.
            inputs = quote(batches), out, started, quote(verdicts)
            return report(options, *inputs, run=run, interrupted=interrupted)
    finally:
        STEPS.close_run(options, run)


def _judged(
    options: EvalOptions, batches: Sequence[Batch], out: Path, pool: Pool | None, run: str
) -> Verdicts | None:
    """What models say of what the batches found: in shards on a pool, else in a task of the flow's own process."""
    from gigamind.publish import scaleout
    from gigamind.tasks.steps import STEPS

    # Batch files are computed by the provider: whoever waits for them needs no helpers.
    in_files = isinstance(options, ModelRunOptions) and options.batch
    with RunProgress(artifact_keys(options).progress) as progress:
        if pool and not in_files:
            return scaleout.judge(pool, options, batches, out, run=run, progress=progress)

        def judge() -> Verdicts | None:
            return STEPS.judge_run(options, batches, out, run, progress)

        return _step("judge", judge)()


def _step(name: str, call: Callable[..., Any], named: str | None = None, retries: int = 0) -> Any:  # noqa: ANN401  Prefect's Task
    """A task of the flow run."""
    from prefect import task
    from prefect.cache_policies import NO_CACHE

    # NO_CACHE: an evaluation that answers from an earlier run's results would measure nothing.
    settled = task(name=name, task_run_name=named or name, retries=retries, cache_policy=NO_CACHE)
    return settled(call)


_LONG_S = 10.0  # a run that is over by then shows nothing
_EVERY_S = 5.0


class RunProgress(Lines):
    """Progress of a flow run, from within it; what cannot be shown costs nothing but a line.

    The artifact is written by a thread of its own: whoever tells it may be in an event loop, and must not wait.
    """

    def __init__(self, key: str, *, long_s: float = _LONG_S, every_s: float = _EVERY_S) -> None:
        from prefect.logging import get_run_logger

        self._logger = get_run_logger()
        super().__init__(lambda line: self._logger.info(in_its_language(line)))
        self._key = key
        self._next = time.monotonic() + long_s
        self._often_s = every_s
        self._writer = ThreadPoolExecutor(1)
        self._made: UUID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._writer.shutdown()

    def stage(self, name: str, done: int, total: int) -> None:
        super().stage(name, done, total)
        ended = self._made is not None and done == total
        if time.monotonic() < self._next and not ended:
            return
        self._next = time.monotonic() + self._often_s
        line = in_its_language(f"{name}: {done:,} of {total:,}")
        self._writer.submit(copy_context().run, self._show, 100.0 * done / max(1, total), line)

    def _show(self, share: float, line: str) -> None:
        from prefect.artifacts import create_progress_artifact, update_progress_artifact

        try:
            if self._made:
                update_progress_artifact(self._made, share, line)
            else:
                made = create_progress_artifact(share, self._key, line)
                self._made = made if isinstance(made, UUID) else None
        except Exception as error:  # noqa: BLE001  whatever it is, it must not cost the run
            self._logger.warning(in_its_language(f"How far the run is was not published ({error})"))


_OF_COMMANDS = {"config"}


class Sectioned:
    """Annotates the options of a flow, of one of these models: shown in sections, taken so or flat."""

    def __init__(self, *models: type[EvalOptions]) -> None:
        self._models = models

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(flat, handler(source))

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        shown = [handler(_form(model).__pydantic_core_schema__) for model in self._models]
        return shown[0] if len(shown) == 1 else {"anyOf": shown}


def flat(given: object) -> object:
    """Options by name, of those in sections; anything else as it is."""
    if not isinstance(given, Mapping):
        return given
    options = cast("Mapping[str, object]", given)
    values = {name: value for name, value in options.items() if not _is_section(name, value)}
    for name, value in options.items():
        if _is_section(name, value):
            values |= cast("Mapping[str, object]", value)
    return values


def _is_section(name: str, value: object) -> bool:
    return isinstance(value, Mapping) and name in {*SECTIONS, *get_args(TaskName)}


def _form(model: type[EvalOptions]) -> type[BaseModel]:
    """A model of sections, each a model of options; a section that needs nothing may be left out."""
    task = str(model.model_fields["task"].default)
    named = {name: section for section, names in SECTIONS.items() for name in names}
    fields: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for name in [*named, *model.model_fields]:
        if name in model.model_fields and name not in _OF_COMMANDS:
            fields[named.get(name, OWN_SECTION)].setdefault(name, model.model_fields[name])
    sections: dict[str, Any] = {}
    for section, held in fields.items():
        shown = task if section == OWN_SECTION else section
        ordered = sorted(held.items(), key=lambda entry: not entry[1].is_required())
        kinds: Any = {name: (field.annotation, field) for name, field in ordered}
        titled = ConfigDict(extra="forbid", title=shown.title())
        made = create_model(f"{task.title()}{shown.title()}", __config__=titled, **kinds)
        needed = any(field.is_required() for field in held.values())
        sections[shown] = (made, ...) if needed else (made, Field(default_factory=made))
    titled = ConfigDict(extra="forbid", title=task.title())
    return create_model(f"{task.title()}Options", __config__=titled, **sections)
