"""Open the evaluated system: builtin, a run file, http://..., python:... or command:...

A command is a child process that reads one JSON query per line and writes one JSON response per line. It is restarted
when it dies, times out, or writes an unexpected line, and killed at the end with its process group.
"""

import contextlib
import hashlib
import json
import os
import queue
import shlex
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from gigamind.errors import OWN_FAULTS, InputError, SystemFailedError, fault_of, reason_of, text_of
from gigamind.i18n import Message, Text, _, n_
from gigamind.interop.ranking import Ranking, RunFile
from gigamind.interop.trec import column
from gigamind.loading import imported
from gigamind.records.schema import SystemReport
from gigamind.redaction import redacted, single_line, without_secrets
from gigamind.systems.dialect import Dialect, Response
from gigamind.systems.protocol import Query, System
from gigamind.systems.settings import BUILTIN, DEFAULT_PRESET, SystemOptions, shown_system

if TYPE_CHECKING:
    from gigamind.retrieval.hit import Hit
    from gigamind.retrieval.retriever import Retriever as Engine

_NAMED = 3  # names shown in a warning


@dataclass
class Builtin(System["Ranking[Hit]"]):
    """gigamind's own engine."""

    engine: "Engine"

    def ask(self, query: Query) -> "Ranking[Hit]":
        return Ranking(tuple(self.engine.search(query.text)))

    def close(self) -> None:
        self.engine.close()


def describe_system(
    system: str, config: str | None, dialect: Dialect[Response], name: str | None = None
) -> SystemReport | None:
    """Describe the evaluated system for run.json, without secrets, by its `name` if any; None for gigamind's own.

    Raises InputError if there is no such system, or its file cannot be used.
    """
    kind, target = _parsed(system)
    if config is not None and kind != "http":
        raise InputError(
            "--system-config {file}: this option applies only to http(s):// systems. Remove the option.",
            file=config,
        )
    if name is not None and kind in {"builtin", "run"}:
        raise InputError(
            "--system-name {name}: this option applies only to endpoints, commands and functions. Remove the"
            " option.",
            name=name,
        )
    match kind:
        case "builtin":
            return None
        case "run":
            return describe_run(Path(target))
        case "http":
            preset, path = dialect.endpoint.load(config or DEFAULT_PRESET)
            shown = without_secrets(target)
            identity = f"{name or shown} {preset.fingerprint}"
            return _report(kind, shown, identity, config=path.stem, called=name)
        case _:
            return _report(kind, redacted(target), name or target, called=name)


def describe_run(path: Path) -> SystemReport:
    """Describe a run file for run.json; raise InputError if it cannot be read.

    Two files count as two states of one system, because their origin is unknown.
    """
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(
            "--system run:{file}: cannot be read ({reason}). Check the path.",
            file=path,
            reason=reason_of(error),
        ) from error
    return _report("run", path.name, "run", file_hash=digest)


def open_system(
    options: SystemOptions, dialect: Dialect[Response], queries: Collection[str] | None = None
) -> System[Response]:
    """Open a system other than gigamind's own; `queries` are the ids of the evaluation, None if not all are known.

    Raises:
        InputError: the system cannot be opened.
        EmbeddingError: the embedder of its preset cannot be loaded.
    """
    kind, target = _parsed(options.system)
    match kind:
        case "run":
            run = dialect.read_run(Path(target))
            return _Run(run, dialect, run_warnings(run, queries))
        case "http":
            from gigamind.systems.http import HttpSystem

            config = options.system_config or DEFAULT_PRESET
            preset, _path = dialect.endpoint.load(config)
            return HttpSystem(target, preset, dialect)
        case "command":
            seconds = options.timeout_ms / 1000
            return _Command(_split_command(target), dialect, seconds)
        case "python":
            function = _load_function(target, dialect.parameters)
            return _FunctionSystem(function, dialect)
        case _:
            raise InputError(_("--system builtin is gigamind's own engine. Name another system."))


@dataclass
class _Run(System[Response]):
    """A run file as a system."""

    run: RunFile[Response]
    dialect: Dialect[Response]
    warnings: tuple[Message, ...]

    def ask(self, query: Query) -> Response:
        responses = self.run.responses
        response = responses.get(query.id, responses.get(column(query.id)))
        return self.dialect.absent() if response is None else response


def _parsed(system: str) -> tuple[str, str]:
    """Split `--system` into kind and target."""
    kind, colon, target = system.partition(":")
    if system == BUILTIN:
        return BUILTIN, ""
    if kind in {"http", "https"} and target.startswith("//"):
        return "http", system
    if kind in {"run", "command", "python"} and colon and target.strip():
        return kind, target.strip()
    raise InputError(
        "--system {system}: must be builtin, run:FILE, http://... or https://...,"
        " command:PROGRAM ..., or python:MODULE:FUNCTION",
        system=shown_system(system),
    )


def _report(kind: str, target: str, identity: str, **others: str | None) -> SystemReport:
    digest = hashlib.sha256(f"{kind} {identity}".encode()).hexdigest()[:16]
    return SystemReport.model_validate(
        {"kind": kind, "target": target, "fingerprint": digest, **others}
    )


def run_warnings(run: RunFile[Any], queries: Collection[str] | None) -> tuple[Message, ...]:
    """Return the anomalies of a run file; raise InputError if it covers none of `queries`, see `open_system`."""
    warnings: list[Message] = []
    if run.problems:
        warnings.append(
            n_(
                "{n} line of the run file was not used: {lines}",
                "{n:,} lines of the run file were not used: {lines}",
                n=len(run.problems),
                lines=_some(run.problems),
            )
        )
    known = {*(queries or ()), *map(column, queries or ())}
    extra = [] if queries is None else [name for name in run.responses if name not in known]
    if queries is not None and len(extra) == len(run.responses):
        raise InputError(
            n_(
                "{file}: the only item in the file is not in the dataset ({items}). Give a run file that uses the"
                " ids of this dataset.",
                "{file}: none of the {n:,} items in the file is in the dataset ({items}). Give a run file that"
                " uses the ids of this dataset.",
                n=len(extra),
                file=run.path,
                items=_some(extra),
            )
        )
    if extra:
        warnings.append(
            n_(
                "{file}: {n} item is not in the dataset and is ignored: {items}",
                "{file}: {n:,} items are not in the dataset and are ignored: {items}",
                n=len(extra),
                file=run.path,
                items=_some(extra),
            )
        )
    return tuple(warnings)


def _some(names: Collection[str]) -> list[str]:
    return [*list(names)[:_NAMED], *(["..."] if len(names) > _NAMED else [])]


@dataclass
class _FunctionSystem(System[Response]):
    """A Python function as a system."""

    function: Callable[..., object]
    dialect: Dialect[Response]

    def ask(self, query: Query) -> Response:
        try:
            return self.dialect.read(self.function(*self.dialect.arguments(query.text).values()))
        except OWN_FAULTS as error:  # user code may raise anything
            raise SystemFailedError(fault_of(error)) from error


def _load_function(name: str, parameters: Message) -> Callable[..., object]:
    """Import the function that "module:function" names; `parameters` describes its arguments in messages."""
    module, _colon, attribute = name.partition(":")
    try:
        function = imported(module, attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            "--system python:{name}: cannot be imported ({reason}). Write python:MODULE:FUNCTION. The module"
            " must be in the current folder, on PYTHONPATH, or installed.",
            name=name,
            reason=text_of(error),
        ) from error
    if not callable(function):
        raise InputError(
            "--system python:{name}: must be a function that accepts {parameters}",
            name=name,
            parameters=parameters,
        )
    return function


_MOST_FAILURES = 3  # in a row, without an answer between them
_ERROR_LINES = 5
_SHOWN = 200  # characters of a line
_STDERR_SHOWN = 2_000  # characters
_END_S = 0.5


class _Command(System[Response]):
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


def _split_command(text: str) -> list[str]:
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
