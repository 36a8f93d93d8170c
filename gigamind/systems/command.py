"""A system as a process: it reads a JSON query a line, and writes what it tells of it a line, as its dialect says.

The process is kept alive, and is started again when it dies, is too late, or writes what nobody asked for.  It stands
in a group of its own, which is killed at the end, whatever it started itself.
"""

import contextlib
import json
import os
import queue
import shlex
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import IO, Generic, cast

from gigamind.errors import InputError, SystemFailedError
from gigamind.llm.redaction import one_line
from gigamind.systems.dialect import Dialect, Told
from gigamind.systems.protocol import Query

_MOST_FAILURES = 3  # in a row, without an answer between them
_ERROR_LINES = 5
_SHOWN = 200
_LAST_WORDS = 2_000  # characters of its stderr
_END_S = 0.5


class Command(Generic[Told]):
    """See the module; implements `System`.  One process, so one query at a time.

    Args:
        timeout_s: of one query, in seconds; the start of the process counts.

    Raises:
        InputError: there is no such program.
    """

    def __init__(self, arguments: Sequence[str], dialect: Dialect[Told], timeout_s: float) -> None:
        self._arguments, self._dialect, self._timeout_s = arguments, dialect, timeout_s
        self._lock = threading.Lock()
        self._failures = 0
        self._process: _Process | None = _Process(arguments)

    def ask(self, query: Query) -> Told:
        with self._lock:
            return self._answer(query)

    def close(self) -> None:
        with self._lock:
            self._end()

    def _answer(self, query: Query) -> Told:
        if self._process is None:
            raise SystemFailedError(
                f"not asked: the command failed {self._failures} times in a row"
            )
        asked = json.dumps(self._dialect.asked(query), ensure_ascii=False)
        try:
            response = self._read(self._process.ask(asked, self._timeout_s), query)
        except SystemFailedError:
            self._failures += 1
            self._end()
            if self._failures < _MOST_FAILURES:  # while it starts, no other query's clock runs
                self._process = _Process(self._arguments)
            raise
        self._failures = 0
        return response

    def _read(self, line: str, query: Query) -> Told:
        """What it tells of this query.

        Raises:
            SystemFailedError: nothing; what the next lines are of is then not known either.
        """
        try:
            payload = cast("object", json.loads(line))
            _check_id(payload, query)
            return self._dialect.read(payload)
        except (ValueError, RecursionError) as error:
            raise SystemFailedError(
                f"the command wrote no {self._dialect.what} ({error}): {one_line(line, _SHOWN)}"
            ) from error

    def _end(self) -> None:
        if self._process:
            self._process.end()
        self._process = None


def _check_id(payload: object, query: Query) -> None:
    other = cast("dict[str, object]", payload).get("id") if isinstance(payload, dict) else None
    if other not in {None, query.id}:
        raise ValueError(f"it is of {other}, and {query.id} was asked")


class _Process:
    """One life of the process; its lines are read in the background, so that a wait for one can end."""

    def __init__(self, arguments: Sequence[str]) -> None:
        try:
            self._child = subprocess.Popen(  # noqa: S603  the user's own command
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise InputError(
                f"--system command: {arguments[0]} cannot be started ({error.strerror}); give the path of the program"
            ) from error
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._errors: deque[str] = deque(maxlen=_ERROR_LINES)
        self._readers = (
            _reading(self._child.stdout, self._lines.put, end=""),
            _reading(self._child.stderr, self._errors.append),
        )

    def ask(self, line: str, timeout_s: float) -> str:
        """The line that it writes for this one.

        Raises:
            SystemFailedError: it died, or wrote none in time.
        """
        if not self._lines.empty() and (early := self._lines.get()):
            raise SystemFailedError(
                f"the command wrote a line that no query asked for: {one_line(early, _SHOWN)}"
            )
        try:
            stdin = cast("IO[str]", self._child.stdin)
            stdin.write(f"{line}\n")
            stdin.flush()
            answer = self._lines.get(timeout=timeout_s)
        except (OSError, ValueError):
            answer = ""
        except queue.Empty:
            raise SystemFailedError(
                f"the command wrote nothing within {timeout_s:g} s; {self._last_words()}"
            ) from None
        if not answer:
            raise SystemFailedError(f"the command died{self._ended()}; {self._last_words()}")
        return answer

    def end(self) -> None:
        """Kill it, and all of its group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):  # all have ended
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        for reader in self._readers:
            reader.join(_END_S)
        for pipe in (self._child.stdin, self._child.stdout, self._child.stderr):
            if pipe:
                with contextlib.suppress(OSError):  # a line that the process never took
                    pipe.close()

    def _ended(self) -> str:
        """The exit code, once all that it said on stderr is read."""
        self._readers[1].join(_END_S)
        try:
            return f" (exit code {self._child.wait(_END_S)})"
        except subprocess.TimeoutExpired:  # it only closed its output
            return ""

    def _last_words(self) -> str:
        ending = one_line(" / ".join(line.strip() for line in self._errors), _LAST_WORDS)
        return f"its stderr ends: {ending}" if ending else "it said nothing on stderr"


def _reading(
    pipe: IO[str] | None, take: Callable[[str], object], end: str | None = None
) -> threading.Thread:
    """A thread that takes the lines of a pipe, and `end` when there are no more."""

    def read() -> None:
        for line in pipe or ():
            take(line)
        if end is not None:
            take(end)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def split_command(text: str) -> list[str]:
    """The words of a command line, as a shell splits them.

    Raises:
        InputError: it is none.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"--system command: {error} in {text}") from error
    if not words:
        raise InputError("--system command: write command:PROGRAM ARGUMENTS")
    return words
