"""How far a long run is, on its page: a progress artifact beside a line in the log every half minute."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Self
from uuid import UUID

from gigamind.evaluation.progress import Lines
from gigamind.publish.ends import in_its_language

_LONG_S = 10.0  # a run that is over by then shows nothing
_EVERY_S = 5.0


class RunProgress(Lines):
    """Progress of a flow run, from within it; what cannot be shown costs nothing but a line.

    The artifact is written by a thread of its own: whoever tells it may be in an event loop, and must not wait.
    """

    def __init__(self, key: str, *, long_s: float = _LONG_S, every_s: float = _EVERY_S) -> None:
        from prefect.logging import get_run_logger

        self._logger = get_run_logger()
        super().__init__(lambda line: self._logger.info(in_its_language(line)))
        self._key = key
        self._next = time.monotonic() + long_s
        self._often_s = every_s
        self._writer = ThreadPoolExecutor(1)
        self._made: UUID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._writer.shutdown()

    def stage(self, name: str, done: int, total: int) -> None:
        super().stage(name, done, total)
        ended = self._made is not None and done == total
        if time.monotonic() < self._next and not ended:
            return
        self._next = time.monotonic() + self._often_s
        line = in_its_language(f"{name}: {done:,} of {total:,}")
        self._writer.submit(copy_context().run, self._show, 100.0 * done / max(1, total), line)

    def _show(self, share: float, line: str) -> None:
        from prefect.artifacts import create_progress_artifact, update_progress_artifact

        try:
            if self._made:
                update_progress_artifact(self._made, share, line)
            else:
                made = create_progress_artifact(share, self._key, line)
                self._made = made if isinstance(made, UUID) else None
        except Exception as error:  # noqa: BLE001  whatever it is, it must not cost the run
            self._logger.warning(in_its_language(f"How far the run is was not published ({error})"))
