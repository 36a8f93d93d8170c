"""Run the evaluation of any task, directly or in batches of plain JSON values for a flow, and resume stopped runs."""

import itertools
import math
import shutil
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from pydantic import BaseModel

from gigamind.errors import EvaluationError, InputError
from gigamind.evaluation import shards
from gigamind.evaluation.finish import Evaluated, FlowResult, check_outputs, finish, finish_flow
from gigamind.evaluation.options import EvalOptions, ModelRunOptions
from gigamind.evaluation.progress import Progress, Quiet
from gigamind.evaluation.release import announcing_failure
from gigamind.evaluation.shards import ModelRun, Range, Shard, ShardEnd, cut, unfinished_folder
from gigamind.evaluation.task import Evaluation, Run, Task
from gigamind.evaluation.workers import Interrupted
from gigamind.i18n import Message, Text, _
from gigamind.llm.ledger import SCRIPTED
from gigamind.records.schema import RUN_ID_FORMAT, Record
from gigamind.release.model import Kinds
from gigamind.runs.store import ItemKey, ItemResult

# Prefect costs about 6 ms per task and displays at most a hundred well, so batches are long enough for that.
_MIN_BATCH_MS = 650
_MOST_BATCHES = 64

_Summary = TypeVar("_Summary", bound=BaseModel)
_Line = TypeVar("_Line", bound=BaseModel)
_AnyTask = Task[Any, Any, Any]
_SCRIPTED_WARNING = _(
    "No model judged this run: a script replayed prepared replies."
    " The figures show how gigamind works, and say nothing about any model."
)


class Plan(TypedDict):
    """The work of a flow: batches of items to score, each from and to (exclusive), and whether models are used."""

    batches: list[tuple[int, int]]
    asks_a_model: bool


class Batch(TypedDict):
    """The result of a batch as JSON values: results of its items, and the wall time of scoring them."""

    results: list[Any]
    runtime_ms: float


class Verdicts(TypedDict):
    """Results of models as JSON values: results, whether Ctrl-C stopped it, what it left, and the wall time."""

    results: list[Any]
    interrupted: bool
    unasked: list[tuple[str, str]]
    runtime_ms: float


def evaluate_and_keep(
    task: Task[Any, _Summary, _Line],
    options: EvalOptions,
    kinds: Kinds,
    progress: Progress | None = None,
) -> tuple[Record[_Summary, _Line], Evaluated[_Summary]]:
    """Run a whole evaluation, and return the content of its output folder and the result.

    Args:
        kinds: the baselines that a run may be compared with.

    Raises:
        GigamindError: see `Task.open`, `Evaluation.ask` and `finish`; the class determines the exit code.
    """
    started = datetime.now(UTC)
    out = out_folder(options, started)
    shown = progress or Quiet()
    with announcing_failure(options):
        reference = check_outputs(options, out, kinds)
        opened = _opened(task, options, shown)
        with closing(opened.evaluation):
            if reference:
                reference.policy.refuse_unknown(options.task)
            run = _with_verdicts(opened.evaluation, _scored(opened, shown), out, shown)
            record = opened.record(run, started)
    with _kept_beside(out):
        finished = finish(task, record, options, out, reference)
    if run.model_run:
        _drop_if_final(out, run.model_run)
    return record, finished


def _drop_if_final(out: Path, run: ModelRun) -> None:
    """Remove the remains of a run once its output folder exists and nothing is left to resume."""
    if not run.interrupted and all(result.is_final for result in run.results.values()):
        shutil.rmtree(unfinished_folder(out), ignore_errors=True)


def measure(
    task: Task[Any, _Summary, _Line], options: EvalOptions, progress: Progress | None = None
) -> Record[_Summary, _Line]:
    """Run a whole evaluation and write nothing; InputError if it uses models, whose replies would be lost."""
    started = datetime.now(UTC)
    shown = progress or Quiet()
    opened = _opened(task, options, shown)
    with closing(opened.evaluation):
        if opened.evaluation.asks_a_model:
            problem = _(
                "--out is required if a model is used: gigamind stores the model's replies in this folder"
            )
            raise InputError(problem)
        return opened.record(_scored(opened, shown), started)


def out_folder(options: EvalOptions, started: datetime) -> Path:
    """Return the output folder, by default `eval/out/YYYYMMDD-HHMMSS` in local time; see `written_to`."""
    given = options.written_to(options.out) if isinstance(options, ModelRunOptions) else options.out
    return given or free_folder(Path("eval") / "out", started)


def free_folder(home: Path, started: datetime) -> Path:
    """Return a new folder in `home` for a run: YYYYMMDD-HHMMSS in local time, numbered if taken."""
    first = home / started.astimezone().strftime(RUN_ID_FORMAT)
    names = itertools.chain([first.name], (f"{first.name}-{n}" for n in itertools.count(2)))
    outs = (first.with_name(name) for name in names)
    return next(out for out in outs if not (out.exists() or shards.unfinished_folder(out).exists()))


@dataclass(frozen=True, slots=True)
class _Opened:
    """An evaluation that is ready, and the time that took."""

    evaluation: Evaluation[Any, Any, Any]
    options: EvalOptions
    opening_ms: float

    def record(self, run: Run[Any], started: datetime) -> Record[Any, Any]:
        record: Record[Any, Any] = self.evaluation.record(run, started)
        attempts = run.model_run.attempts if run.model_run else ()
        scripted = any(attempt.fingerprint == SCRIPTED for attempt in attempts)
        first = (_SCRIPTED_WARNING,) if scripted else ()
        warnings = (*first, *self.options.idle_in_gate(), *record.run.warnings)
        return replace(record, run=record.run.model_copy(update={"warnings": warnings}))


def _opened(task: _AnyTask, options: EvalOptions, progress: Progress) -> _Opened:
    start = time.perf_counter()
    evaluation = task.open(options, progress)
    return _Opened(evaluation, options, _ms_since(start))


def _scored(opened: _Opened, progress: Progress) -> Run[Any]:
    evaluation = opened.evaluation
    evaluation.warm_up()
    start = time.perf_counter()
    interrupted = False
    try:
        results = evaluation.score(0, evaluation.count, progress)
    except Interrupted as stop:
        results, interrupted = list[Any](stop.results), True
    return Run(results, opened.opening_ms, _ms_since(start), interrupted)


def _with_verdicts(
    evaluation: Evaluation[Any, Any, Any], run: Run[Any], out: Path, progress: Progress
) -> Run[Any]:
    if run.interrupted or not evaluation.asks_a_model:
        return run
    start = time.perf_counter()
    models = evaluation.ask(run.results, out, progress)
    asking_ms = _ms_since(start)
    return replace(run, model_run=models, asking_ms=asking_ms, interrupted=models.interrupted)


def _ms_since(start: float) -> float:
    return 1000 * (time.perf_counter() - start)


_GATHERED = Shard()
"""Uses no model: collects the known results of the whole run."""


class Steps:
    """The steps of an evaluation for flows: by options and numbers, from any process.

    Each process keeps the evaluation of its last run open until `close_run`.
    """

    def __init__(self, tasks: Mapping[str, _AnyTask], kinds: Kinds) -> None:
        self._tasks = tasks
        self._kinds = kinds
        self._opened: dict[str, _Opened] = {}
        self._opening = threading.Lock()

    def opened(self, options: EvalOptions, run: str = "", *, warm: bool = False) -> _Opened:
        """Return this process's evaluation of a run; `warm` warms it up when it is opened."""
        key = run or options.model_dump_json()
        with self._opening:  # two threads would index twice
            if key not in self._opened:
                if run:  # a worker is not informed when the previous run has ended
                    self._opened.clear()
                self._opened[key] = _opened(self._tasks[options.task], options, Quiet())
                if warm:
                    self._opened[key].evaluation.warm_up()
            return self._opened[key]

    def close_run(self, options: EvalOptions, run: str = "") -> None:
        """Close the evaluation of a run, so that the next one reads dataset and vault again."""
        with self._opening:
            opened = self._opened.pop(run or options.model_dump_json(), None)
        if opened:
            opened.evaluation.close()

    def check_input(self, options: EvalOptions) -> Message:
        """Return the result of `--dry-run` in one line."""
        return self._tasks[options.task].check(options).describe()

    def prepare_batches(self, options: EvalOptions, out: Path, run: str = "") -> Plan:
        """Check the input, open the evaluation and warm it up."""
        reference = check_outputs(options, out, self._kinds)
        evaluation = self.opened(options, run).evaluation
        if reference:
            reference.policy.refuse_unknown(options.task)
        start = time.perf_counter()
        tried = evaluation.warm_up()
        size = _batch_size(evaluation.count, _ms_since(start) / max(1, tried))
        count = evaluation.count
        batches = [(first, min(first + size, count)) for first in range(0, count, size)]
        return {"batches": batches, "asks_a_model": evaluation.asks_a_model}

    def run_batch(self, options: EvalOptions, first: int, end: int, run: str = "") -> Batch:
        """Score the items `first` to `end` (exclusive); Ctrl-C raises KeyboardInterrupt."""
        evaluation = self.opened(options, run, warm=bool(run)).evaluation
        start = time.perf_counter()
        try:
            results = evaluation.score(first, end, Quiet())
        except Interrupted as stop:  # Prefect would retry a task that fails with it
            raise KeyboardInterrupt from stop
        runtime_ms = _ms_since(start)
        dumped = evaluation.results.dump_python(results, mode="json")
        return {"results": dumped, "runtime_ms": runtime_ms}

    def judge_run(
        self,
        options: EvalOptions,
        batches: Sequence[Batch],
        out: Path,
        run: str = "",
        progress: Progress | None = None,
    ) -> Verdicts | None:
        """Use models on the results of the batches; None if the task uses none."""
        opened = self.opened(options, run)
        scored, shown = _put_together(opened, batches), progress or Quiet()
        whole = _with_verdicts(opened.evaluation, scored, out, shown)
        return None if whole.model_run is None else _verdicts(whole.model_run, whole.asking_ms)

    def begin_shards(
        self, options: EvalOptions, out: Path, processes: int, run: str
    ) -> list[Range]:
        """Start or resume using models in shards for so many processes, and return their ranges."""
        if not isinstance(options, ModelRunOptions):
            return []
        evaluation = self.opened(options, run).evaluation
        evaluation.ask((), out, Quiet(), _GATHERED)
        return cut(shards.unfinished_folder(out), evaluation.to_ask, options, processes)

    def judge_shard(
        self,
        options: EvalOptions,
        results: Sequence[Any],
        out: Path,
        shard: Shard,
        *,
        run: str,
        progress: Progress,
    ) -> ShardEnd:
        """Use models on one range of items and their results, if scored; writes to the folder of the run."""
        evaluation = self.opened(options, run).evaluation
        start = time.perf_counter()
        models = evaluation.ask(evaluation.results.validate_python(results), out, progress, shard)
        ended = models.results.values()
        hopeless = next((result for result in ended if result.code in shards.HOPELESS), None)
        return {
            "scored": any(result.outcome == "scored" for result in ended),
            "skipped": any(result.outcome == "skipped_budget" for result in ended),
            "hopeless": (_as_json(hopeless.message), hopeless.code) if hopeless else None,
            "stopped": models.interrupted,
            "runtime_ms": _ms_since(start),
        }

    def gather_shards(
        self,
        options: EvalOptions,
        batches: Sequence[Batch],
        out: Path,
        *,
        run: str,
        runtime_ms: float,
        interrupted: bool,
    ) -> Verdicts:
        """Return the results of the shards of a run, in the order of its items."""
        opened = self.opened(options, run)
        results = _put_together(opened, batches).results
        models = opened.evaluation.ask(results, out, Quiet(), _GATHERED)
        return _verdicts(replace(models, interrupted=interrupted), runtime_ms)

    def finish_run(
        self,
        options: EvalOptions,
        batches: Sequence[Batch],
        out: Path,
        started: datetime,
        verdicts: Verdicts | None = None,
        *,
        run: str = "",
        interrupted: bool = False,
    ) -> FlowResult:
        """Combine the batches with the result of `judge_run`, and write the output folder."""
        opened = self.opened(options, run)
        whole = replace(_put_together(opened, batches), interrupted=interrupted)
        if verdicts is not None:
            results = map(ItemResult.load, verdicts["results"])
            models = shards.ModelRun(
                {result.key: result for result in results},
                shards.attempts_of(out),
                verdicts["interrupted"],
                [ItemKey(*key) for key in verdicts["unasked"]],
            )
            stopped, took_ms = interrupted or models.interrupted, verdicts["runtime_ms"]
            whole = replace(whole, model_run=models, asking_ms=took_ms, interrupted=stopped)
        record = opened.record(whole, started)
        with _kept_beside(out):
            finished = finish_flow(self._tasks[options.task], record, options, out, self._kinds)
        if whole.model_run:
            _drop_if_final(out, whole.model_run)
        return finished


def _as_json(text: Text) -> object:
    return text.as_json() if isinstance(text, Message) else text


def _verdicts(models: shards.ModelRun, runtime_ms: float) -> Verdicts:
    return {
        "results": [result.dump() for result in models.results.values()],
        "interrupted": models.interrupted,
        "unasked": [(key.item_id, key.part) for key in models.unasked],
        "runtime_ms": runtime_ms,
    }


@contextmanager
def _kept_beside(out: Path) -> Generator[None]:
    try:
        yield
    except EvaluationError as error:
        if out.exists() or not shards.is_resumable(out):
            raise
        raise EvaluationError(
            "{reason}. The replies of models are kept. Fix the cause, then resume with --resume {folder}.",
            reason=error.message,
            folder=out,
        ) from error


def _batch_size(count: int, ms_per_item: float) -> int:
    """Return the items per batch: at least 650 ms of work, and at most 64 batches."""
    return max(math.ceil(_MIN_BATCH_MS / max(ms_per_item, 0.1)), math.ceil(count / _MOST_BATCHES))


def _put_together(opened: _Opened, batches: Sequence[Batch]) -> Run[Any]:
    adapter = opened.evaluation.results
    results = [result for batch in batches for result in adapter.validate_python(batch["results"])]
    return Run(results, opened.opening_ms, sum(float(batch["runtime_ms"]) for batch in batches))
