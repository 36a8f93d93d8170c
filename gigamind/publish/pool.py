"""Where the tasks of a flow run: in threads or processes beside it, or on the workers of a Dask or Ray cluster.

A task that is called runs in the flow's process, whatever its task runner.  So a pool is a task runner of its own, to
which tasks are submitted, as many at a time as it has places.
"""

import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

from gigamind.errors import EvaluationError, GigamindError, InputError

if TYPE_CHECKING:
    from prefect.task_runners import TaskRunner

_RUNNER = re.compile(
    r"(?P<here>threads|processes):(?P<places>[1-9]\d*)"
    r"|(?P<cluster>dask|ray):(?:local(?::(?P<local>[1-9]\d*))?|(?P<address>(?!local(?::|$)).+))"
)
_POSSIBLE = (
    "threads:4, processes:2, dask:tcp://HOST:8786, dask:local:2, ray:ray://HOST:10001, ray:local:2"
)
_CONNECT_S = 5  # that a scheduler may take for its first answer
_LOOK_S = 1.0


@dataclass(eq=False)
class Job:
    """One task that is to run in a pool.

    Attributes:
        label: as the run's page shows it; no other job of the pool has it.
        call: of a module, for a worker imports it by name.
        is_lost: whether nobody has heard of it for too long; asked now and then.
        kept: what becomes of what it did, should it break off for good.
    """

    label: str
    call: Callable[..., Any]
    parameters: Mapping[str, Any]
    is_lost: Callable[[], bool] = lambda: False
    kept: str = ""


class Jobs(Protocol):
    """What a pool is to run."""

    def following(self) -> Job | None:
        """The next one; None as long as there is none."""
        ...

    def ended(self, job: Job, result: Any) -> None:  # noqa: ANN401  what its call gave
        """One has ended."""
        ...

    def broke_off(self, job: Job, *, may_live: bool) -> None:
        """The process of one has died, or is not heard of any more; `following` is to give it once more."""
        ...


class Pool:
    """Runs jobs on the workers of a runner.  Use it as a context manager.

    Args:
        runner: such as `processes:2`.

    Attributes:
        places: jobs at a time.

    Raises:
        InputError: there is no such runner, or its package is not installed.
    """

    def __init__(self, runner: str) -> None:
        self._open = _opener(runner)
        self._running: dict[Job, Any] = {}
        self._ended: Queue[Job] = Queue()
        self._broken: list[Job] = []
        self._broken_once: set[str] = set()
        self.places = 0

    def __enter__(self) -> Self:
        self._runner, self.places = self._open()
        return self

    def __exit__(self, *error: object) -> None:
        self._runner.__exit__(None, None, None)

    def run(self, jobs: Jobs) -> None:
        """Run jobs, each once more where its process dies, until none is left.

        Raises:
            GigamindError: that of a job; or one broke off twice.
            KeyboardInterrupt: Ctrl-C; see `drain`.
        """
        while True:
            if self._broken and not self._running:
                self._begin_anew(jobs)
            while (
                not self._broken
                and len(self._running) < self.places
                and (job := jobs.following()) is not None
            ):
                self._start(job)
            if not self._running:
                return
            if job := self._next_ended():
                self._take(job, jobs)
            else:
                self._look_for_lost(jobs)

    def drain(self, jobs: Jobs) -> None:
        """Wait for what runs, and take what it gives; what breaks off is left."""
        while self._running:
            if job := self._next_ended():
                with suppress(Exception, KeyboardInterrupt):
                    jobs.ended(job, self._running.pop(job).result())

    def _start(self, job: Job) -> None:
        from prefect import task
        from prefect.cache_policies import NO_CACHE

        # NO_CACHE: an evaluation that answers from an earlier run's results would measure nothing.
        kind = job.label.split()[0]
        settled = task(name=kind, task_run_name=job.label, retries=1, cache_policy=NO_CACHE)
        # Not quoted, as in the flow's own process: Dask would look at the annotation, and take it for a tuple of tasks.
        future = self._runner.submit(settled(job.call), dict(job.parameters))
        self._running[job] = future
        future.add_done_callback(partial(self._tell, job))

    def _tell(self, job: Job, _future: object) -> None:
        self._ended.put(job)

    def _next_ended(self) -> Job | None:
        """One of those that run; None where none has ended for a second."""
        try:
            job = self._ended.get(timeout=_LOOK_S)
        except Empty:
            return None
        return (
            job if job in self._running else None
        )  # else it was given up, and another took its place

    def _take(self, job: Job, jobs: Jobs) -> None:
        try:
            result = self._running.pop(job).result()
        except GigamindError:
            raise
        except (
            BrokenExecutor
        ) as error:  # all that ran end so, and nothing can be submitted any more
            self._refuse_second(job, repr(error))
            self._broken.append(job)
        except Exception as error:  # noqa: BLE001  a bug, or a worker that is gone: engines have errors of their own
            self._refuse_second(job, repr(error))
            jobs.broke_off(job, may_live=True)
        else:
            jobs.ended(job, result)

    def _look_for_lost(self, jobs: Jobs) -> None:
        for job in [job for job in self._running if job.is_lost()]:
            del self._running[job]
            self._refuse_second(job, "nobody has heard of it for too long")
            jobs.broke_off(job, may_live=True)

    def _begin_anew(self, jobs: Jobs) -> None:
        """With new processes, once the old ones are surely gone."""
        self.__exit__()
        self.__enter__()
        while self._broken:
            jobs.broke_off(self._broken.pop(), may_live=False)

    def _refuse_second(self, job: Job, why: str) -> None:
        if job.label in self._broken_once:
            raise EvaluationError(f"{job.label} broke off twice: {why}{job.kept}")
        self._broken_once.add(job.label)


Opened = tuple["TaskRunner[Any]", int]


def _opener(runner: str) -> Callable[[], Opened]:
    """What opens a runner, and tells how many jobs it runs at a time."""
    match = _RUNNER.fullmatch(runner)
    if match is None:
        raise InputError(f"--runner {runner}: must be such as {_POSSIBLE}")
    if here := match["here"]:
        return lambda: _opened_here(here, int(match["places"]))
    cluster, local = match["cluster"], int(match["local"] or os.cpu_count() or 1)
    try:
        import_module(f"prefect_{cluster}")
    except ImportError as error:
        raise InputError(
            f"--runner {runner}: needs a package: pip install gigamind-eval[{cluster}]"
        ) from error
    opened = _opened_dask if cluster == "dask" else _opened_ray
    return lambda: opened(match["address"], local)


def _opened_here(kind: str, places: int) -> Opened:
    from prefect.task_runners import ProcessPoolTaskRunner, ThreadPoolTaskRunner

    if kind == "threads":
        return cast("TaskRunner[Any]", ThreadPoolTaskRunner(places)).__enter__(), places
    return ProcessPoolTaskRunner(places, initializer=_follow_parent).__enter__(), places


def _follow_parent() -> None:
    """In a process of the pool: end with the flow's, and not before, by the Ctrl-C that reaches all of a terminal."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


def _opened_dask(address: str | None, local: int) -> Opened:
    runner: Any = import_module("prefect_dask").DaskTaskRunner(
        address=address,
        client_kwargs={"timeout": _CONNECT_S} if address else None,
        # One thread each: Python runs one at a time anyway.
        cluster_kwargs=None
        if address
        else {"n_workers": local, "threads_per_worker": 1, "dashboard_address": ":0"},
    )
    runner.__enter__()
    try:
        places = sum(runner.client.nthreads().values())
    except OSError as error:
        raise EvaluationError(
            f"no Dask scheduler answers at {address}: start one with: dask scheduler ({error})"
        ) from error
    if not places:
        raise EvaluationError(
            f"the Dask scheduler at {address} has no worker: start one with: dask worker {address}"
        )
    return runner, places


def _opened_ray(address: str | None, local: int) -> Opened:
    started = None if address else {"num_cpus": local, "include_dashboard": False}
    runner: Any = import_module("prefect_ray").RayTaskRunner(address, started)
    try:
        runner.__enter__()
    except (OSError, ValueError) as error:
        raise EvaluationError(f"no Ray cluster answers at {address}: {error}") from error
    return runner, int(import_module("ray").cluster_resources().get("CPU", 1))
