"""Which system `--system` names, and how it is opened: builtin, run:FILE, http(s)://..., command:..., python:..."""

import hashlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

from gigamind.errors import OWN_FAULTS, InputError, SystemFailedError, fault_of
from gigamind.interop.ranking import RankedNote, Ranking
from gigamind.interop.reply import Reply
from gigamind.interop.run_file import RunFile
from gigamind.interop.trec import column
from gigamind.llm.redaction import redacted, without_secrets
from gigamind.loading import imported
from gigamind.records.schema import SystemReport
from gigamind.systems.command import Command, split_command
from gigamind.systems.dialect import Dialect, Told
from gigamind.systems.preset import read_preset
from gigamind.systems.protocol import Query, System
from gigamind.systems.settings import BUILTIN, DEFAULT_PRESET, SystemOptions, shown_system

_FORMS = (
    "builtin, run:FILE, http://... or https://..., command:PROGRAM ..., or python:MODULE:FUNCTION"
)
_NAMED = 3  # of many names in a warning


@dataclass(frozen=True, slots=True)
class Opened(Generic[Told]):
    """A system that is ready.

    Attributes:
        concurrency: queries that it takes at a time; None for as many as there are.
        warnings: what is odd about all of it.
    """

    system: System[Told]
    concurrency: int | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Searched:
    """A system that tells rankings, as a `Retriever`."""

    system: System[Ranking[RankedNote]]

    def search(self, query: Query) -> Ranking[RankedNote]:
        return self.system.ask(query)

    def close(self) -> None:
        self.system.close()


@dataclass(frozen=True, slots=True)
class Answered:
    """A system that tells answers, as an `Answerer`."""

    system: System[Reply]

    def answer(self, question: Query) -> Reply:
        return self.system.ask(question)

    def close(self) -> None:
        self.system.close()


def describe_system(
    system: str, config: str | None, dialect: Dialect[Told], name: str | None = None
) -> SystemReport | None:
    """What is to be evaluated, as run.json has it, without secrets; None for gigamind's own engine.

    Args:
        name: makes it one system wherever it runs; how an endpoint is asked is part of it all the same.

    Raises:
        InputError: nothing is named so, or its file cannot be used.
    """
    kind, target = _parsed(system)
    if config is not None and kind != "http":
        raise InputError(
            f"--system-config {config}: only a system of http(s):// has one; leave it out"
        )
    if name is not None and kind in {"builtin", "run"}:
        raise InputError(
            f"--system-name {name}: only an endpoint, a command or a function is named; leave it out"
        )
    match kind:
        case "builtin":
            return None
        case "run":
            return describe_run(Path(target))
        case "http":
            preset, path = read_preset(config or DEFAULT_PRESET, dialect.endpoint, dialect.presets)
            shown = without_secrets(target)
            identity = f"{name or shown} {preset.fingerprint}"
            return _report(kind, shown, identity, config=path.stem, called=name)
        case _:
            return _report(kind, redacted(target), name or target, called=name)


def describe_run(path: Path) -> SystemReport:
    """A run file as run.json has it; two files are two states of one system, for what made them is not known.

    Raises:
        InputError: it cannot be read.
    """
    return _report("run", path.name, "run", file_hash=_file_hash(path))


def open_system(
    options: SystemOptions, dialect: Dialect[Told], queries: Collection[str] | None = None
) -> Opened[Told]:
    """Open a system that is not gigamind's own.

    Args:
        queries: ids of all queries that will be asked; None where they are not all known.

    Raises:
        InputError: it cannot be opened; says why.
        EmbeddingError: the embedder of its preset cannot be loaded.
    """
    kind, target = _parsed(options.system)
    match kind:
        case "run":
            run = dialect.read_run(Path(target))
            return Opened(_Run(run, dialect), warnings=run_warnings(run, queries))
        case "http":
            from gigamind.systems.http import HttpSystem

            config = options.system_config or DEFAULT_PRESET
            preset, _ = read_preset(config, dialect.endpoint, dialect.presets)
            return Opened(HttpSystem(target, preset, dialect), preset.concurrency)
        case "command":
            seconds = options.timeout_ms / 1000
            return Opened(Command(split_command(target), dialect, seconds), concurrency=1)
        case "python":
            function = load_function(target, dialect.parameters)
            return Opened(FunctionSystem(function, dialect))
        case _:
            raise InputError("--system builtin: is gigamind's own engine; name another")


class _Run(Generic[Told]):
    """What a run file tells; implements `System`."""

    def __init__(self, run: RunFile[Told], dialect: Dialect[Told]) -> None:
        self._run, self._dialect = run, dialect

    def ask(self, query: Query) -> Told:
        response = self._run.told.get(query.id, self._run.told.get(column(query.id)))
        return self._dialect.absent() if response is None else response

    def close(self) -> None:
        """Nothing is held."""


def _parsed(system: str) -> tuple[str, str]:
    """Kind and target."""
    kind, colon, target = system.partition(":")
    if system == BUILTIN:
        return BUILTIN, ""
    if kind in {"http", "https"} and target.startswith("//"):
        return "http", system
    if kind in {"run", "command", "python"} and colon and target.strip():
        return kind, target.strip()
    raise InputError(f"--system {shown_system(system)}: must be {_FORMS}")


def _report(kind: str, target: str, identity: str, **others: str | None) -> SystemReport:
    digest = hashlib.sha256(f"{kind} {identity}".encode()).hexdigest()[:16]
    return SystemReport.model_validate(
        {"kind": kind, "target": target, "fingerprint": digest, **others}
    )


def _file_hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(
            f"--system run:{path}: cannot be read ({error.strerror}); check its path"
        ) from error


def run_warnings(run: RunFile[Any], queries: Collection[str] | None) -> tuple[str, ...]:
    """What is odd about a run; `queries`: see `open_system`.

    Raises:
        InputError: it is of none of them.
    """
    return tuple(_run_warnings(run, queries))


def _run_warnings(run: RunFile[Any], queries: Collection[str] | None) -> Iterator[str]:
    if run.problems:
        yield f"lines of the run that cannot be read: {len(run.problems)} ({_some(run.problems)})"
    known = {*(queries or ()), *map(column, queries or ())}
    extra = [] if queries is None else [name for name in run.told if name not in known]
    if queries is not None and len(extra) == len(run.told):
        raise InputError(
            f"{run.path}: none of its {len(extra)} items is in the dataset ({_some(extra)}); give the run of this"
            " dataset, with its ids"
        )
    if extra:
        yield f"{run.path}: items that the dataset lacks, not used: {len(extra)} ({_some(extra)})"


def _some(names: Collection[str]) -> str:
    shown = ", ".join(list(names)[:_NAMED])
    return f"{shown}, ..." if len(names) > _NAMED else shown


Function = Callable[..., object]


class FunctionSystem(Generic[Told]):
    """See the module; implements `System`."""

    def __init__(self, function: Function, dialect: Dialect[Told]) -> None:
        self._function, self._dialect = function, dialect

    def ask(self, query: Query) -> Told:
        try:
            return self._dialect.read(self._function(*self._dialect.arguments(query)))
        except OWN_FAULTS as error:  # whatever a team's code raises is its answer to this query
            raise SystemFailedError(fault_of(error)) from error

    def close(self) -> None:
        """Nothing is held."""


def load_function(name: str, parameters: str) -> Function:
    """The function that "module:function" names; `parameters` are what it takes, in words.

    Raises:
        InputError: there is none, or its module fails.
    """
    module, _, attribute = name.partition(":")
    try:
        function = imported(module, attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"--system python:{name}: cannot be imported ({error}); write python:MODULE:FUNCTION, its module below"
            " this folder, on PYTHONPATH, or installed"
        ) from error
    if not callable(function):
        raise InputError(f"--system python:{name}: is no function of {parameters}")
    return function
