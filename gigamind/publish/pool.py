"""Run the tasks of a flow in threads or processes, or on the workers of a Dask or Ray cluster.

A task that is called directly runs in the flow's process; so a pool has its own runner. The runner starts the tasks,
repeats them after an error and, on a cluster, moves them from a lost worker to another one.
"""

import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from functools import wraps
from importlib import import_module
from queue import Queue
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from gigamind.errors import EvaluationError, GigamindError, InputError
from gigamind.i18n import Text, _, joined
from gigamind.publish.ends import failed
from gigamind.publish.server import flow_timeout_s

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State
    from prefect.futures import PrefectFuture
    from prefect.task_runners import TaskRunner

_Job = TypeVar("_Job")
_RUNNER = re.compile(
    r"(?P<here>threads|processes):(?P<places>[1-9]\d*)"
    r"|(?P<cluster>dask|ray):(?:local(?::(?P<local>[1-9]\d*))?|(?P<address>(?!local(?::|$)).+))"
)
_EXAMPLES = (
    "threads:4, processes:2, dask:tcp://HOST:8786, dask:local:2, ray:ray://HOST:10001, ray:local:2"
)
_CONNECT_S = 5  # limit for the first reply of a scheduler


class Pool(Generic[_Job]):
    """Runs jobs on the workers of a runner such as `processes:2`, `places` at a time.  Use it as a context manager.

    Raises:
        InputError: the runner is unknown, or its package is not installed.
    """

    def __init__(self, runner: str) -> None:
        self._open = _opener(runner)
        self._running: dict[str, tuple[_Job, PrefectFuture[Any]]] = {}
        self._ended: Queue[str] = Queue()
        self.places = 0

    def __enter__(self) -> Self:
        self._runner, self.places = self._open()
        return self

    def __exit__(self, *error: object) -> None:
        self._runner.__exit__(None, None, None)

    def run(
        self,
        call: Callable[..., Any],
        parameters: Callable[[_Job], Mapping[str, Any]],
        *,
        following: Callable[[], tuple[str, _Job] | None],
        again: Callable[[_Job], None],
        advice: Text = "",
    ) -> Iterator[tuple[_Job, Any]]:
        """Yield each job with its result; the jobs of processes that died run a second time.

        Args:
            call: function of a module, because workers import it by name.
            following: returns the next job with its name on the page of the run; None if there is none at the moment.
            again: takes back a job whose process died.
            advice: how to continue if a job fails for good.

        Raises:
            GigamindError: a job failed twice.
            KeyboardInterrupt: Ctrl-C; see `drain`.
        """
        broken: dict[str, _Job] = {}
        broken_before: set[str] = set()
        while True:
            while not broken and len(self._running) < self.places and (found := following()):
                self._start(*found, call, parameters(found[1]))
            if not self._running:
                if not broken:
                    return
                self.__exit__()
                self.__enter__()
                while broken:
                    again(broken.popitem()[1])
                continue
            name = self._ended.get()
            job, future = self._running.pop(name)
            try:
                yield job, future.result()
            except GigamindError:
                raise
            # A bug, or no worker is left: each engine has its own errors, and has tried again.
            except Exception as error:
                if name in broken_before or not isinstance(error, BrokenExecutor):
                    problem = _("{job} failed twice: {reason}", job=name, reason=repr(error))
                    told = joined((problem, advice), ". ") if advice else problem
                    raise EvaluationError(told) from error
                broken_before.add(name)
                broken[name] = job  # ends all jobs; nothing more can be submitted

    def drain(self) -> Iterator[tuple[_Job, Any]]:
        """Wait for the running jobs and yield those with a result."""
        while self._running:
            job, future = self._running.pop(self._ended.get())
            with suppress(Exception, KeyboardInterrupt):
                yield job, future.result()

    def _start(
        self, name: str, job: _Job, call: Callable[..., Any], given: Mapping[str, Any]
    ) -> None:
        # Not quoted, unlike in the flow's own process: Dask would take the annotation for a tuple of tasks.
        task = _task(name.split(maxsplit=1)[0], call, name, retries=1)
        future: Any = self._runner.submit(task, dict(given))
        self._running[name] = job, future

        def finish(_future: object) -> None:
            self._ended.put(name)

        future.add_done_callback(finish)


def step(name: str, call: Callable[..., Any], named: str | None = None) -> Callable[..., Any]:
    """Return a function that runs `call` as a Prefect task in the flow's process."""
    task = _task(name, call, named or name)
    return lambda *given, **more: task(*given, **more, return_state=True).result()


def _task(name: str, call: Callable[..., Any], named: str, retries: int = 0) -> Any:  # noqa: ANN401  Prefect's Task
    """Return a function as a Prefect task; cached results of an earlier run would not be a measurement.

    An error of ours ends it as Failed, with one line in the log and without a retry.
    """
    from prefect import task
    from prefect.cache_policies import NO_CACHE

    @wraps(call)
    def run(*given: Any, **more: Any) -> Any:  # noqa: ANN401
        try:
            return call(*given, **more)
        except GigamindError as error:
            # Dask sends what led to an error, and not all of it can be unpickled.
            error.__cause__ = error.__context__ = None
            return failed(error)

    return task(
        name=name,
        task_run_name=named,
        retries=retries,
        retry_condition_fn=_is_unexpected,
        cache_policy=NO_CACHE,
        timeout_seconds=flow_timeout_s(),
    )(run)


def _is_unexpected(_task: object, _run: object, state: "State[Any]") -> bool:
    return not isinstance(state.data, GigamindError)


_Opened = tuple["TaskRunner[Any]", int]


def _opener(runner: str) -> Callable[[], _Opened]:
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


def _opened_here(kind: str, places: int) -> _Opened:
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


def _opened_dask(address: str | None, local: int) -> _Opened:
    # One thread per worker, because Python runs one at a time anyway.
    started = {"n_workers": local, "threads_per_worker": 1, "dashboard_address": ":0"}
    runner: Any = import_module("prefect_dask").DaskTaskRunner(
        address=address,
        client_kwargs={"timeout": _CONNECT_S} if address else None,
        cluster_kwargs=None if address else started,
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


def _opened_ray(address: str | None, local: int) -> _Opened:
    started = None if address else {"num_cpus": local, "include_dashboard": False}
    runner: Any = import_module("prefect_ray").RayTaskRunner(address, started)
    try:
        runner.__enter__()
    except (OSError, ValueError) as error:
        raise EvaluationError(
            "No Ray cluster answers at {address}: {reason}", address=address, reason=str(error)
        ) from error
    return runner, int(import_module("ray").cluster_resources().get("CPU", 1))
