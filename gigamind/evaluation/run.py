"""Runs the evaluation of any task: directly, or in batches as a flow needs them, and goes on where a run was stopped.

A flow's tasks give and take plain JSON values only.
"""

import itertools
import math
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypedDict, TypeVar

from pydantic import BaseModel, TypeAdapter

from gigamind.errors import EvaluationError, InputError
from gigamind.evaluation.finish import Evaluated, FlowResult, check_outputs, finish, finish_flow
from gigamind.evaluation.inputs import Inputs
from gigamind.evaluation.options import EvalOptions, ModelRunOptions
from gigamind.evaluation.progress import Progress, Quiet
from gigamind.evaluation.release import announcing_failure
from gigamind.evaluation.shards import GATHERED, Range, Shard, ShardEnd, cut
from gigamind.evaluation.task import Evaluation, Interrupted, Run, Task
from gigamind.evaluation.unfinished import (
    HOPELESS,
    ModelRun,
    attempts_of,
    drop_if_final,
    is_resumable,
    unfinished_folder,
)
from gigamind.llm.ledger import SCRIPTED
from gigamind.records.schema import RUN_ID_FORMAT, Record
from gigamind.release.snapshot import Kinds
from gigamind.runs.store import ItemKey, ItemResult
from gigamind.wording import warning

# Prefect costs some 6 ms a task and shows at most a hundred well: batches are long enough to drown that in work.
_MIN_BATCH_MS = 650
_MOST_BATCHES = 64

Summary = TypeVar("Summary", bound=BaseModel)
Line = TypeVar("Line", bound=BaseModel)
AnyTask = Task[Any, Any, Any]
_item_results = TypeAdapter(list[ItemResult])


class Plan(TypedDict):
    """What a flow has to do: batches of items to score, each from and to (exclusive), and whether models are asked."""

    batches: list[tuple[int, int]]
    asks_a_model: bool


class Batch(TypedDict):
    """What one batch gave, as JSON values: the results of its items, and the wall time of scoring them."""

    results: list[Any]
    runtime_ms: float


class Verdicts(TypedDict):
    """What models said, as JSON values: the results, whether Ctrl-C stopped it, what it left, and the wall time."""

    results: list[Any]
    interrupted: bool
    unasked: list[tuple[str, str]]
    runtime_ms: float


def evaluate(
    task: Task[Any, Summary, Any],
    options: EvalOptions,
    kinds: Kinds,
    progress: Progress | None = None,
) -> Evaluated[Summary]:
    """Run a whole evaluation.

    Args:
        kinds: of the baselines that a run may be held against.

    Raises:
        GigamindError: see `Task.open`, `Evaluation.ask` and `finish`; its class tells the exit code.
    """
    return evaluate_and_keep(task, options, kinds, progress)[1]


def evaluate_and_keep(
    task: Task[Any, Summary, Line],
    options: EvalOptions,
    kinds: Kinds,
    progress: Progress | None = None,
) -> tuple[Record[Summary, Line], Evaluated[Summary]]:
    """The same, with all that the out folder holds."""
    started = datetime.now(UTC)
    out = out_folder(options, started)
    shown = progress or Quiet()
    with announcing_failure(options):
        reference = check_outputs(options, out, kinds)
        with _opened(task, options, shown) as opened:
            if reference:
                reference.policy.refuse_unknown(options.task)
            run = _asked(opened.evaluation, _scored(opened, shown), out, shown)
            record = opened.record(run, started)
    with _kept_beside(out):
        finished = finish(task, record, options, out, reference)
    if run.asked:
        drop_if_final(out, run.asked)
    return record, finished


def measure(
    task: Task[Any, Summary, Line], options: EvalOptions, progress: Progress | None = None
) -> Record[Summary, Line]:
    """Run a whole evaluation that asks no model, and write nothing.

    Raises:
        InputError: it asks models, and what they answer would be lost.
        GigamindError: see `Task.open`.
    """
    started = datetime.now(UTC)
    shown = progress or Quiet()
    with _opened(task, options, shown) as opened:
        if opened.evaluation.asks_a_model:
            raise InputError(
                "--out: must be given where a model is asked: its answers are kept there"
            )
        return opened.record(_scored(opened, shown), started)


def out_folder(options: EvalOptions, started: datetime) -> Path:
    """Where the run is written: as the options say, else `eval/out/YYYYMMDD-HHMMSS` of local time, as the seed has it.

    Raises:
        InputError: a resumed run is to be written elsewhere.
    """
    asked = options.written_to(options.out) if isinstance(options, ModelRunOptions) else options.out
    return asked or free_folder(Path("eval") / "out", started)


def free_folder(home: Path, started: datetime) -> Path:
    """The folder in `home` of a run that starts now: YYYYMMDD-HHMMSS of local time, numbered where that is taken."""
    first = home / started.astimezone().strftime(RUN_ID_FORMAT)
    names = itertools.chain([first.name], (f"{first.name}-{n}" for n in itertools.count(2)))
    outs = (first.with_name(name) for name in names)
    return next(out for out in outs if not (out.exists() or unfinished_folder(out).exists()))


@dataclass(frozen=True, slots=True)
class _Opened:
    """An evaluation that is ready, how long that took, and the states of the notes before it read them."""

    evaluation: Evaluation[Any, Any, Any]
    options: EvalOptions
    opening_ms: float
    inputs: Inputs
    notes: Mapping[str, bytes]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.evaluation.close()

    def record(self, run: Run[Any], started: datetime) -> Record[Any, Any]:
        """All that the out folder is to hold; warned of where notes changed meanwhile, or no model was a model."""
        record: Record[Any, Any] = self.evaluation.record(run, started)
        attempts = run.asked.attempts if run.asked else ()
        scripted = any(attempt.fingerprint == SCRIPTED for attempt in attempts)
        first = (warning("scripted"),) if scripted else ()
        last = self.inputs.warnings_since(self.notes)
        warnings = (*first, *self.options.idle_in_gate(), *record.run.warnings, *last)
        return replace(record, run=record.run.model_copy(update={"warnings": warnings}))


def _opened(task: AnyTask, options: EvalOptions, progress: Progress) -> _Opened:
    inputs = Inputs(options)
    notes = inputs.note_states()
    start = time.perf_counter()
    evaluation = task.open(options, progress)
    return _Opened(evaluation, options, _ms_since(start), inputs, notes)


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


def _asked(
    evaluation: Evaluation[Any, Any, Any], run: Run[Any], out: Path, progress: Progress
) -> Run[Any]:
    """The run with what models said; nobody wants to pay for one that was told to stop."""
    if run.interrupted or not evaluation.asks_a_model:
        return run
    start = time.perf_counter()
    asked = evaluation.ask(run.results, out, progress)
    return replace(run, asked=asked, asking_ms=_ms_since(start), interrupted=asked.interrupted)


def _ms_since(start: float) -> float:
    return 1000 * (time.perf_counter() - start)


class Steps:
    """The steps of an evaluation as flows need them: by options and numbers, from any process.

    Each process opens an evaluation once, and keeps it until `close_run`.  Processes that work for several runs are
    told which one a step is of: they keep the one that they worked for last.
    """

    def __init__(self, tasks: Mapping[str, AnyTask], kinds: Kinds) -> None:
        self._tasks = tasks
        self._kinds = kinds
        self._opened: dict[str, _Opened] = {}
        self._opening = threading.Lock()

    def opened(self, options: EvalOptions, run: str = "", *, warm: bool = False) -> _Opened:
        """The evaluation that this process holds for a run; `warm`: warmed up, unless it was open."""
        key = run or options.model_dump_json()
        with self._opening:  # two threads would index twice
            if key not in self._opened:
                if run:  # nobody tells a worker when the run before has ended
                    self._opened.clear()
                self._opened[key] = _opened(self._tasks[options.task], options, Quiet())
                if warm:
                    self._opened[key].evaluation.warm_up()
            return self._opened[key]

    def close_run(self, options: EvalOptions, run: str = "") -> None:
        """Let go of the evaluation of a run, so that the next one reads dataset and vault anew."""
        with self._opening:
            opened = self._opened.pop(run or options.model_dump_json(), None)
        if opened:
            opened.evaluation.close()

    def check_input(self, options: EvalOptions) -> str:
        """What `--dry-run` finds, in a line.

        Raises:
            GigamindError: see `Task.check`.
        """
        return self._tasks[options.task].check(options).describe()

    def prepare_batches(self, options: EvalOptions, out: Path, run: str = "") -> Plan:
        """Check the input, get ready, warm up.

        Raises:
            GigamindError: see `check_outputs` and `Task.open`.
        """
        reference = check_outputs(options, out, self._kinds)
        evaluation = self.opened(options, run).evaluation
        if reference:
            reference.policy.refuse_unknown(options.task)
        start = time.perf_counter()
        tried = evaluation.warm_up()
        size = batch_size(evaluation.count, _ms_since(start) / max(1, tried))
        count = evaluation.count
        batches = [(first, min(first + size, count)) for first in range(0, count, size)]
        return {"batches": batches, "asks_a_model": evaluation.asks_a_model}

    def run_batch(self, options: EvalOptions, first: int, end: int, run: str = "") -> Batch:
        """Score the items `first` to `end` (exclusive).

        Raises:
            KeyboardInterrupt: Ctrl-C.
        """
        evaluation = self.opened(options, run, warm=bool(run)).evaluation
        start = time.perf_counter()
        try:
            results = evaluation.score(first, end, Quiet())
        except Interrupted as stop:  # an Exception: a task that fails with one is tried again
            raise KeyboardInterrupt from stop
        runtime_ms = _ms_since(start)
        return {
            "results": evaluation.results.dump_python(results, mode="json"),
            "runtime_ms": runtime_ms,
        }

    def judge_run(
        self,
        options: EvalOptions,
        batches: Sequence[Batch],
        out: Path,
        run: str = "",
        progress: Progress | None = None,
    ) -> Verdicts | None:
        """Ask models about what the batches found; None where none is asked.

        Raises:
            GigamindError: see `ask_all`.
        """
        opened = self.opened(options, run)
        whole = _asked(opened.evaluation, _put_together(opened, batches), out, progress or Quiet())
        return None if whole.asked is None else _verdicts(whole.asked, whole.asking_ms)

    def begin_shards(
        self, options: EvalOptions, out: Path, processes: int, run: str
    ) -> list[Range]:
        """Begin to ask models, or go on, in shards for so many processes; the ranges of them.

        Raises:
            GigamindError: see `ask_all`.
        """
        if not isinstance(options, ModelRunOptions):
            return []
        evaluation = self.opened(options, run).evaluation
        evaluation.ask((), out, Quiet(), GATHERED)
        return cut(unfinished_folder(out), evaluation.to_ask, options, processes)

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
        """Ask models about one range of the items; what they say stands in the folder of the run.

        Args:
            results: of these items, as `run_batch` gave them, where it gives any.

        Raises:
            GigamindError: see `ask_all`.
        """
        evaluation = self.opened(options, run).evaluation
        start = time.perf_counter()
        asked = evaluation.ask(evaluation.results.validate_python(results), out, progress, shard)
        ended = asked.results.values()
        hopeless = next((result for result in ended if result.code in HOPELESS), None)
        return {
            "scored": any(result.outcome == "scored" for result in ended),
            "skipped": any(result.outcome == "skipped_budget" for result in ended),
            "hopeless": (hopeless.message, hopeless.code) if hopeless else None,
            "stopped": asked.interrupted,
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
        """What the shards of a run have found, in the order of its items.

        Raises:
            EvaluationError: no item could be evaluated.
        """
        opened = self.opened(options, run)
        results = _put_together(opened, batches).results
        asked = opened.evaluation.ask(results, out, Quiet(), GATHERED)
        return _verdicts(replace(asked, interrupted=interrupted), runtime_ms)

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
        """Put the batches together, with what `judge_run` gave, and write the out folder.

        Raises:
            GigamindError: see `finish`.
        """
        opened = self.opened(options, run)
        whole = replace(_put_together(opened, batches), interrupted=interrupted)
        if verdicts is not None:
            results = _item_results.validate_python(verdicts["results"])
            asked = ModelRun(
                {result.key: result for result in results},
                attempts_of(out),
                verdicts["interrupted"],
                [ItemKey(*key) for key in verdicts["unasked"]],
            )
            whole = replace(
                whole,
                asked=asked,
                asking_ms=verdicts["runtime_ms"],
                interrupted=interrupted or asked.interrupted,
            )
        record = opened.record(whole, started)
        with _kept_beside(out):
            finished = finish_flow(self._tasks[options.task], record, options, out, self._kinds)
        if whole.asked:
            drop_if_final(out, whole.asked)
        return finished


def _verdicts(asked: ModelRun, runtime_ms: float) -> Verdicts:
    return {
        "results": _item_results.dump_python(list(asked.results.values()), mode="json"),
        "interrupted": asked.interrupted,
        "unasked": [(key.item_id, key.part) for key in asked.unasked],
        "runtime_ms": runtime_ms,
    }


@contextmanager
def _kept_beside(out: Path) -> Generator[None]:
    """Where the out folder cannot be written, what was paid for still stands beside it."""
    try:
        yield
    except EvaluationError as error:
        if out.exists() or not is_resumable(out):
            raise
        raise EvaluationError(
            f"{error}; what models were asked is kept: mend that, and continue with --resume {out}"
        ) from error


def run_batches(plan: Plan, run_batch: Callable[[int, int], Batch]) -> tuple[list[Batch], bool]:
    """What the batches gave, and whether Ctrl-C stopped them; what had ended by then is kept."""
    batches: list[Batch] = []
    try:
        for first, end in plan["batches"]:
            batches.append(run_batch(first, end))
    except KeyboardInterrupt:
        return batches, True
    return batches, False


def batch_size(count: int, ms_per_item: float) -> int:
    """Items a batch: at least 650 ms of work, and at most 64 batches."""
    return max(math.ceil(_MIN_BATCH_MS / max(ms_per_item, 0.1)), math.ceil(count / _MOST_BATCHES))


def _put_together(opened: _Opened, batches: Sequence[Batch]) -> Run[Any]:
    adapter = opened.evaluation.results
    results = [result for batch in batches for result in adapter.validate_python(batch["results"])]
    return Run(results, opened.opening_ms, sum(float(batch["runtime_ms"]) for batch in batches))
