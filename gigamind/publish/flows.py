"""The one body of every evaluation flow."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import BaseModel

from gigamind.errors import BudgetError, EvaluationError, GigamindError, InputError, OtherRunError
from gigamind.evaluation.finish import FlowResult
from gigamind.evaluation.options import EvalOptions, ModelRunOptions
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
from gigamind.publish.form import flat
from gigamind.publish.pool import Pool
from gigamind.publish.progress import RunProgress
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
        why = kind(refused["message"])
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
            why: object = finished["refused"]
        except (OtherRunError, EvaluationError) as error:
            if len(attempts_of(left)) > asked:
                raise
            why = error
        # Nothing can be asked there any more: it is of other settings, final, or its budget is used up.
        get_run_logger().warning(in_its_language(f"{abandon(left)} cannot be gone on with: {why}"))
    out = free_folder(home, started)
    return out, _evaluated(options.model_copy(update={"out": out}), out, started, pool)


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
            found = quote(batches), out, started, quote(verdicts)
            return report(options, *found, run=run, interrupted=interrupted)
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
