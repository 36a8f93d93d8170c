"""An evaluation on the workers of a pool: score batches of items, then judge shards of them with models.

The flow's process builds the index first and combines the results, which are in the run's folder in any case.
"""

import time
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gigamind.errors import GigamindError
from gigamind.evaluation.options import EvalOptions, ModelRunOptions
from gigamind.evaluation.progress import Lines, Progress
from gigamind.evaluation.run import Batch, Plan, Verdicts
from gigamind.evaluation.shards import Range, Shard, ShardEnd, Shards, unfinished_folder
from gigamind.i18n import _, translator
from gigamind.publish.pool import Pool
from gigamind.runs.store import ITEMS_FILE, Journal
from gigamind.tasks.steps import STEPS


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


def score(
    pool: Pool[Range], options: EvalOptions, plan: Plan, run: str
) -> tuple[list[Batch], bool]:
    """Score the batches; return the finished ones and whether Ctrl-C stopped them."""
    waiting, done = deque(Range(*ends) for ends in plan["batches"]), dict[Range, Batch]()
    options = for_workers(options)

    def parameters(items: Range) -> Mapping[str, Any]:
        return {"options": options, "first": items.first, "end": items.end, "run": run}

    def following() -> tuple[str, Range] | None:
        items = waiting.popleft() if waiting else None
        return items and (f"score {items.first} to {items.end}", items)

    interrupted = False
    try:
        done.update(pool.run(score_batch, parameters, following=following, again=waiting.append))
    except KeyboardInterrupt:
        done.update(pool.drain())
        interrupted = True
    return [done[items] for items in sorted(done)], interrupted


def judge(
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
    folder, placed = unfinished_folder(out), for_workers(options)
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
        judge_shard, parameters, following=following, again=shards.broke_off, advice=advice
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
                judge_shard(**parameters(shard))
    except KeyboardInterrupt:
        for _shard, _end in pool.drain():  # what they found is in the run's folder
            pass
        interrupted = True
    runtime_ms = 1000 * (time.perf_counter() - start)
    return STEPS.gather_shards(
        options, batches, out, run=run, runtime_ms=runtime_ms, interrupted=interrupted
    )
