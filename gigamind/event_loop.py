"""Run coroutines from blocking code, also inside a running event loop, and blocking functions from coroutines.

Ctrl-C and a cancelled coroutine stop both in the same way: what was paid for is kept.
"""

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_LOOK_S = 0.5  # between two looks whether work is to stop
_Stopped = Callable[[], bool] | None
_STOPPED = contextvars.ContextVar[_Stopped]("stopped", default=None)


def run_async(work: Coroutine[Any, Any, _Result], stopped: _Stopped = None) -> _Result:
    """Run a coroutine to its end; in a thread of its own if the caller is in an event loop.

    Ctrl-C, a cancelled async twin and a true `stopped()` cancel the coroutine; KeyboardInterrupt is raised once it has
    ended.
    """
    stopped = stopped or _STOPPED.get()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_unless(stopped, work) if stopped else work)
    stop = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        whole = _unless(lambda: stop.is_set() or bool(stopped and stopped()), work)
        threads.submit(int).result()  # Ctrl-C while a thread starts would leave its work running
        try:
            return threads.submit(contextvars.copy_context().run, asyncio.run, whole).result()
        except KeyboardInterrupt:
            stop.set()
            raise


async def _unless(stopped: Callable[[], bool], work: Coroutine[Any, Any, _Result]) -> _Result:
    _STOPPED.set(None)  # only this function cancels the work
    task = asyncio.create_task(work)
    while not task.done():
        await asyncio.wait([task], timeout=_LOOK_S)
        if not task.done() and stopped():
            task.cancel()
            await asyncio.wait([task])
            if task.cancelled():
                raise KeyboardInterrupt
    return task.result()


def stop_if_cancelled() -> None:
    """Raise KeyboardInterrupt in a blocking function whose async twin was cancelled."""
    stopped = _STOPPED.get()
    if stopped and stopped():
        raise KeyboardInterrupt


def async_twin(
    function: Callable[_Arguments, _Result],
) -> Callable[_Arguments, Coroutine[Any, Any, _Result]]:
    """Return a function that runs another one in a thread, to be awaited; see `stop_if_cancelled`."""

    @functools.wraps(function)
    async def twin(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        stop = threading.Event()

        def work() -> _Result:
            _STOPPED.set(stop.is_set)
            return function(*args, **kwargs)

        loop, context = asyncio.get_running_loop(), contextvars.copy_context()
        running = loop.run_in_executor(None, context.run, work)
        try:
            while not running.done():  # an idle loop of Jupyter does not notice Ctrl-C
                await asyncio.wait([running], timeout=_LOOK_S)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait([running])
            running.exception()  # else asyncio would log it
            raise
        return running.result()

    twin.__name__ = twin.__qualname__ = f"a{function.__name__}"
    twin.__doc__ = (
        f"Do the same as `{function.__name__}` without blocking the event loop.\n\n"
        "It runs in a thread, as does `progress`.  Cancelling it, as Ctrl-C, keeps what was measured and paid for."
    )
    return twin
