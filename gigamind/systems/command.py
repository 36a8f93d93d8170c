"""Run a system as a child process that reads one JSON query per line and writes one JSON response per line.

It is restarted when it dies, times out, or writes an unexpected line, and killed at the end with its process group.
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
from typing import IO, cast

from gigamind.errors import InputError, SystemFailedError, reason_of, text_of
from gigamind.i18n import Message, Text, _
from gigamind.redaction import single_line
from gigamind.systems.dialect import Dialect, Response
from gigamind.systems.protocol import Query, System

_MOST_FAILURES = 3  # in a row, without an answer between them
_ERROR_LINES = 5
_SHOWN = 200  # characters of a line
_STDERR_SHOWN = 2_000  # characters
_END_S = 0.5


class Command(System[Response]):
    """A system in a child process, which handles one query at a time, each within `timeout_s`.

    Raises InputError if the program does not exist or cannot be started.
    """

    concurrency = 1

    def __init__(
        self, arguments: Sequence[str], dialect: Dialect[Response], timeout_s: float
    ) -> None:
        self._arguments, self._dialect, self._timeout_s = arguments, dialect, timeout_s
        self._lock = threading.Lock()
        self._failures = 0
        self._process: _Process | None = _Process(arguments)

    def ask(self, query: Query) -> Response:
        fields = {"id": query.id, **self._dialect.arguments(query.text)}
        with self._lock:
            if self._process is None:
                raise SystemFailedError(
                    "the query was not sent, because the command failed {count} times in a row",
                    count=self._failures,
                )
            line = json.dumps(fields, ensure_ascii=False)
            try:
                response = self._read(self._process.ask(line, self._timeout_s), query)
            except SystemFailedError:
                self._failures += 1
                self._end()
                if self._failures < _MOST_FAILURES:  # the start counts against no query
                    self._process = _Process(self._arguments)
                raise
            self._failures = 0
            return response

    def close(self) -> None:
        with self._lock:
            self._end()

    def _read(self, line: str, query: Query) -> Response:
        """Return the response to this query; after an invalid line, the next ones cannot be assigned to queries."""
        try:
            payload = cast("object", json.loads(line))
            fields = cast("dict[str, object]", payload) if isinstance(payload, dict) else {}
            other = fields.get("id")
            if other not in {None, query.id}:
                raise ValueError(  # noqa: TRY301  handled like other faults of a line
                    _(
                        "the response has the id {other}, but the query has the id {query}",
                        other=str(other),
                        query=query.id,
                    )
                )
            return self._dialect.read(cast("object", payload))
        except (ValueError, RecursionError) as error:
            raise SystemFailedError(
                "the output of the command is not a {expected} ({reason}): {line}",
                expected=self._dialect.what,
                reason=text_of(error),
                line=single_line(line, _SHOWN),
            ) from error

    def _end(self) -> None:
        if self._process:
            self._process.end()
        self._process = None


class _Process:
    """One run of the child process. Threads read its output, so that waiting for a line can time out."""

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
                "--system command: {program} cannot be started ({reason}). Give the path of the program.",
                program=arguments[0],
                reason=reason_of(error),
            ) from error
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._errors: deque[str] = deque(maxlen=_ERROR_LINES)
        self._readers = (
            _reading(self._child.stdout, self._lines.put, end=""),
            _reading(self._child.stderr, self._errors.append),
        )

    def ask(self, line: str, timeout_s: float) -> str:
        """Send a line and return the line that the process writes in response."""
        if not self._lines.empty() and (early := self._lines.get()):
            raise SystemFailedError(
                "the command wrote a line that no query requested: {line}",
                line=single_line(early, _SHOWN),
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
                "the command did not respond within {seconds:g} s; {stderr}",
                seconds=timeout_s,
                stderr=self._stderr_tail(),
            ) from None
        if not answer:
            raise SystemFailedError(self._death())
        return answer

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # all processes have ended
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        for reader in self._readers:
            reader.join(_END_S)
        for pipe in (self._child.stdin, self._child.stdout, self._child.stderr):
            if pipe:
                with contextlib.suppress(OSError):  # input that the process never read
                    pipe.close()

    def _death(self) -> Message:
        self._readers[1].join(_END_S)
        try:
            code = self._child.wait(_END_S)
        except subprocess.TimeoutExpired:  # it only closed its output
            return _("the command closed its output; {stderr}", stderr=self._stderr_tail())
        return _(
            "the command ended before it responded (exit code {code}); {stderr}",
            code=code,
            stderr=self._stderr_tail(),
        )

    def _stderr_tail(self) -> Text:
        tail = single_line(" / ".join(line.strip() for line in self._errors), _STDERR_SHOWN)
        return (
            _("the command's stderr ends with: {tail}", tail=tail)
            if tail
            else _("the command's stderr is empty")
        )


def _reading(
    pipe: IO[str] | None, take: Callable[[str], object], end: str | None = None
) -> threading.Thread:
    """Start a thread that passes on each line of a pipe, then `end`."""

    def read() -> None:
        for line in pipe or ():
            take(line)
        if end is not None:
            take(end)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def split_command(text: str) -> list[str]:
    """Split a command line into words as a shell does; raise InputError if it is malformed or empty."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(
            "--system command: {command} cannot be parsed: {reason}",
            command=text,
            reason=str(error),
        ) from error
    if not words:
        raise InputError(_("--system command: write command:PROGRAM ARGUMENTS"))
    return words
