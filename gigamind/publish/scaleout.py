"""An evaluation on the workers of a pool: score batches of items, then judge shards of them with models.

The flow's process builds the index first and combines the results, which are in the run's folder in any case.
"""

import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gigamind.errors import GigamindError
from gigamind.evaluation.options import EvalOptions, ModelRunOptions
from gigamind.evaluation.progress import Lines, Progress
from gigamind.evaluation.run import Batch, Plan, Verdicts
from gigamind.evaluation.shards import (
    Range,
    Shard,
    ShardEnd,
    Shards,
    shard_folders,
    unfinished_folder,
)
from gigamind.i18n import _, translator
from gigamind.llm.settings import DEFAULT_TIMEOUT_S
from gigamind.publish.pool import Job, Pool
from gigamind.runs.store import ITEMS_FILE, Journal
from gigamind.tasks.steps import STEPS

_OPENING_S = 1800.0  # limit for opening a large vault, in addition to the first request
_LONGEST_S = 3600.0  # limit for a request to a local server, whose timeout may grow


def score_batch(options: EvalOptions, first: int, end: int, run: str) -> Batch:
    """Run a batch; see `Steps.run_batch`.  Workers import this function by name."""
    with _without_cause():
        return STEPS.run_batch(options, first, end, run)


def judge_shard(
    options: EvalOptions, results: Sequence[Any], out: Path, shard: Shard, run: str
) -> ShardEnd:
    """Judge a shard; see `Steps.judge_shard`.  Progress goes to the log of the run."""
    from prefect.logging import get_run_logger

    logger = get_run_logger()
    say = translator(options.language)
    progress = Lines(lambda line: logger.info(say(line)))
    with _without_cause():
        return STEPS.judge_shard(options, results, out, shard, run=run, progress=progress)


@contextmanager
def _without_cause() -> Generator[None]:
    """Drop the causes of our errors: Dask sends them, too, and not all can be unpickled."""
    try:
        yield
    except GigamindError as error:
        error.__cause__ = error.__context__ = None
        raise


def for_workers(options: EvalOptions) -> EvalOptions:
    """Return the options with absolute paths and the flow's cache folder."""
    options = options.in_any_folder()
    if isinstance(options, ModelRunOptions):
        return options.model_copy(update={"cache_dir": options.cache.absolute()})
    return options


class _Scoring:
    """The batches of a plan as jobs."""

    def __init__(self, options: EvalOptions, plan: Plan, run: str) -> None:
        self._options = options
        self._run = run
        self._waiting = deque(plan["batches"])
        self._done: dict[int, Batch] = {}

    @property
    def batches(self) -> list[Batch]:
        return [self._done[first] for first in sorted(self._done)]

    def following(self) -> Job | None:
        if not self._waiting:
            return None
        first, end = self._waiting.popleft()
        parameters = {"options": self._options, "first": first, "end": end, "run": self._run}
        return Job(f"score {first} to {end}", score_batch, parameters)

    def ended(self, job: Job, result: Batch) -> None:
        self._done[job.parameters["first"]] = result

    def broke_off(self, job: Job, *, may_live: bool) -> None:
        del may_live  # scoring costs nothing
        self._waiting.append((job.parameters["first"], job.parameters["end"]))


class _Judging:
    """The shards of a run as jobs."""

    def __init__(
        self,
        options: EvalOptions,
        batches: Sequence[Batch],
        out: Path,
        run: str,
        *,
        shards: Shards,
        progress: Callable[[int], None],
    ) -> None:
        self._progress = progress
        self._options = options
        self._results = [result for batch in batches for result in batch["results"]]
        self._out = out.absolute()
        self._run = run
        self._shards = shards
        self._silence_s = _OPENING_S + _longest_s(options)

    def following(self) -> Job | None:
        shard = self._shards.next()
        if shard is None:
            return None
        begun = time.time()
        return Job(
            f"judge {shard.items.first} to {shard.items.end}",
            judge_shard,
            self.parameters(shard),
            lambda: time.time() - self._last_sign(shard.items, begun) > self._silence_s,
            _("Finished judgements are kept; resume with --resume {folder}", folder=self._out),
        )

    def parameters(self, shard: Shard) -> Mapping[str, Any]:
        return {
            "options": self._options,
            "results": self._results[slice(*shard.items)],
            "out": self._out,
            "shard": shard,
            "run": self._run,
        }

    def ended(self, job: Job, result: ShardEnd) -> None:
        shard: Shard = job.parameters["shard"]
        self._shards.ended(shard, result)
        self._progress(shard.items.end - shard.items.first)

    def broke_off(self, job: Job, *, may_live: bool) -> None:
        self._shards.broke_off(job.parameters["shard"], may_live=may_live)

    def _last_sign(self, items: Range, begun: float) -> float:
        files = (
            path
            for folder in shard_folders(unfinished_folder(self._out), items)
            for path in folder.iterdir()
        )
        return max([begun, *(path.stat().st_mtime for path in files)])


def _longest_s(options: EvalOptions) -> float:
    """Return the seconds without a sign while a shard waits for one request."""
    if not isinstance(options, ModelRunOptions):
        return 0.0
    waits = _LONGEST_S if options.api_base else DEFAULT_TIMEOUT_S
    return options.max_wait + (options.model_timeout_s or waits)


def score(pool: Pool, options: EvalOptions, plan: Plan, run: str) -> tuple[list[Batch], bool]:
    """Score the batches; return the finished ones and whether Ctrl-C stopped them."""
    jobs = _Scoring(for_workers(options), plan, run)
    try:
        pool.run(jobs)
    except KeyboardInterrupt:
        pool.drain(jobs)
        return jobs.batches, True
    return jobs.batches, False


def judge(
    pool: Pool,
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
    folder = unfinished_folder(out)
    ranges = STEPS.begin_shards(options, out, pool.places, run)
    shards = Shards(ranges, options, folder, pool.places)
    ended, items = 0, sum(items.end - items.first for items in ranges)

    def advance(count: int) -> None:
        nonlocal ended
        ended += count
        progress.stage(_("Judging"), ended, items)

    jobs = _Judging(for_workers(options), batches, out, run, shards=shards, progress=advance)
    interrupted = False
    try:
        # Shards stop when this journal is closed or its process is killed.
        with Journal(folder / ITEMS_FILE):
            pool.run(jobs)
            for shard in shards.unasked():
                judge_shard(**jobs.parameters(shard))
    except KeyboardInterrupt:
        pool.drain(jobs)
        interrupted = True
    runtime_ms = 1000 * (time.perf_counter() - start)
    return STEPS.gather_shards(
        options, batches, out, run=run, runtime_ms=runtime_ms, interrupted=interrupted
    )
