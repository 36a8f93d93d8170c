"""Run coroutines from code that is not asynchronous, also inside a running event loop (notebooks, web services)."""

import asyncio
import contextvars
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_async(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end; in a thread of its own if the caller is in an event loop.

    Ctrl-C cancels the coroutine, and KeyboardInterrupt is raised once it has ended.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = Future()

    async def whole() -> Result:
        started.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        return await work

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(contextvars.copy_context().run, asyncio.run, whole())
        try:
            return running.result()
        except KeyboardInterrupt:
            loop, task = started.result()
            if task and not running.done():
                loop.call_soon_threadsafe(task.cancel)
            raise
