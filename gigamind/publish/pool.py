"""Run the tasks of a flow in threads or processes, or on the workers of a Dask or Ray cluster.

A task that is called directly runs in the flow's process; so a pool has its own runner, and a task for each slot.
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
from importlib import import_module
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

from gigamind.errors import EvaluationError, GigamindError, InputError
from gigamind.i18n import Message, Text, _, joined
from gigamind.publish.server import flow_timeout_s

if TYPE_CHECKING:
    from prefect.task_runners import TaskRunner

_RUNNER = re.compile(
    r"(?P<here>threads|processes):(?P<places>[1-9]\d*)"
    r"|(?P<cluster>dask|ray):(?:local(?::(?P<local>[1-9]\d*))?|(?P<address>(?!local(?::|$)).+))"
)
_EXAMPLES = (
    "threads:4, processes:2, dask:tcp://HOST:8786, dask:local:2, ray:ray://HOST:10001, ray:local:2"
)
_CONNECT_S = 5  # limit for the first reply of a scheduler
_POLL_S = 1.0


@dataclass(eq=False)
class Job:
    """One task to run in a pool.

    Attributes:
        label: unique name on the page of the run.
        call: function of a module, because workers import it by name.
        is_lost: returns whether the job has given no sign for too long; polled.
        advice: how to continue if the job fails for good.
    """

    label: str
    call: Callable[..., Any]
    parameters: Mapping[str, Any]
    is_lost: Callable[[], bool] = lambda: False
    advice: Message | None = None


class Jobs(Protocol):
    """The jobs of a pool."""

    def following(self) -> Job | None:
        """Return the next job; None if there is none at the moment."""
        ...

    def ended(self, job: Job, result: Any) -> None:  # noqa: ANN401  what its call gave
        """Handle the result of a job."""
        ...

    def broke_off(self, job: Job, *, may_live: bool) -> None:
        """Handle a job whose process died or is lost; `following` returns it again."""
        ...


class Pool:
    """Runs jobs on the workers of a runner such as `processes:2`, `places` at a time.  Use it as a context manager.

    Raises:
        InputError: the runner is unknown, or its package is not installed.
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
        """Run all jobs; a job whose process dies runs a second time.

        Raises:
            GigamindError: a job failed, or its process died twice.
            KeyboardInterrupt: Ctrl-C; see `drain`.
        """
        while True:
            if self._broken and not self._running:
                self.__exit__()
                self.__enter__()
                while self._broken:
                    jobs.broke_off(self._broken.pop(), may_live=False)
            while (
                not self._broken and len(self._running) < self.places and (job := jobs.following())
            ):
                self._start(job)
            if not self._running:
                return
            if job := self._next_ended():
                self._take(job, jobs)
            else:
                self._look_for_lost(jobs)

    def drain(self, jobs: Jobs) -> None:
        """Wait for running jobs and take their results; failed ones are left."""
        while self._running:
            if job := self._next_ended():
                with suppress(Exception, KeyboardInterrupt):
                    jobs.ended(job, self._running.pop(job).result())

    def _start(self, job: Job) -> None:
        # Not quoted, unlike in the flow's own process: Dask would take the annotation for a tuple of tasks.
        task = step(job.label.split()[0], job.call, job.label, retries=1)
        future = self._running[job] = self._runner.submit(task, dict(job.parameters))

        def finish(_future: object) -> None:
            self._ended.put(job)

        future.add_done_callback(finish)

    def _next_ended(self) -> Job | None:
        try:
            job = self._ended.get(timeout=_POLL_S)
        except Empty:
            return None
        return job if job in self._running else None  # None: it was lost and has been replaced

    def _take(self, job: Job, jobs: Jobs) -> None:
        try:
            result = self._running.pop(job).result()
        except GigamindError:
            raise
        except BrokenExecutor as error:  # ends all jobs; nothing more can be submitted
            self._refuse_second(job, repr(error))
            self._broken.append(job)
        except Exception as error:  # noqa: BLE001  a bug or a lost worker; each engine has its own errors
            self._refuse_second(job, repr(error))
            jobs.broke_off(job, may_live=True)
        else:
            jobs.ended(job, result)

    def _look_for_lost(self, jobs: Jobs) -> None:
        for job in [job for job in self._running if job.is_lost()]:
            del self._running[job]
            self._refuse_second(job, _("the job reported no progress for too long"))
            jobs.broke_off(job, may_live=True)

    def _refuse_second(self, job: Job, reason: Text) -> None:
        if job.label in self._broken_once:
            problem = _("{job} failed twice: {reason}", job=job.label, reason=reason)
            raise EvaluationError(joined((problem, job.advice), ". ") if job.advice else problem)
        self._broken_once.add(job.label)


def step(name: str, call: Callable[..., Any], named: str | None = None, retries: int = 0) -> Any:  # noqa: ANN401  Prefect's Task
    """Return a function as a Prefect task; cached results of an earlier run would not be a measurement."""
    from prefect import task
    from prefect.cache_policies import NO_CACHE

    return task(
        name=name,
        task_run_name=named or name,
        retries=retries,
        cache_policy=NO_CACHE,
        timeout_seconds=flow_timeout_s(),
    )(call)


Opened = tuple["TaskRunner[Any]", int]


def _opener(runner: str) -> Callable[[], Opened]:
    match = _RUNNER.fullmatch(runner)
    if match is None:
        raise InputError(
            "--runner {runner}: must be like {examples}", runner=runner, examples=_EXAMPLES
        )
    if here := match["here"]:
        return lambda: _opened_here(here, int(match["places"]))
    cluster, local = match["cluster"], int(match["local"] or os.cpu_count() or 1)
    try:
        import_module(f"prefect_{cluster}")
    except ImportError as error:
        raise InputError(
            "--runner {runner} needs a package. Run: pip install gigamind-eval[{extra}]",
            runner=runner,
            extra=cluster,
        ) from error
    opened = _opened_dask if cluster == "dask" else _opened_ray
    return lambda: opened(match["address"], local)


def _opened_here(kind: str, places: int) -> Opened:
    from prefect.task_runners import ProcessPoolTaskRunner, ThreadPoolTaskRunner

    if kind == "threads":
        return cast("TaskRunner[Any]", ThreadPoolTaskRunner(places)).__enter__(), places
    return ProcessPoolTaskRunner(places, initializer=_follow_parent).__enter__(), places


def _follow_parent() -> None:
    """In a process of the pool, end with the flow's process, not by the Ctrl-C that a terminal sends to all."""
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
        # One thread per worker, because Python runs one at a time anyway.
        cluster_kwargs=None
        if address
        else {"n_workers": local, "threads_per_worker": 1, "dashboard_address": ":0"},
    )
    runner.__enter__()
    try:
        places = sum(runner.client.nthreads().values())
    except OSError as error:
        raise EvaluationError(
            "No Dask scheduler answers at {address} ({reason}). Start one with: dask scheduler",
            address=address,
            reason=str(error),
        ) from error
    if not places:
        raise EvaluationError(
            "The Dask scheduler at {address} has no worker. Start one with: dask worker {address}",
            address=address,
        )
    return runner, places


def _opened_ray(address: str | None, local: int) -> Opened:
    started = None if address else {"num_cpus": local, "include_dashboard": False}
    runner: Any = import_module("prefect_ray").RayTaskRunner(address, started)
    try:
        runner.__enter__()
    except (OSError, ValueError) as error:
        raise EvaluationError(
            "No Ray cluster answers at {address}: {reason}", address=address, reason=str(error)
        ) from error
    return runner, int(import_module("ray").cluster_resources().get("CPU", 1))
