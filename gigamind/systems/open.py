"""Open the system that `--system` names: builtin, run:FILE, http(s)://..., command:... or python:..."""

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gigamind.errors import OWN_FAULTS, InputError, SystemFailedError, fault_of, reason_of, text_of
from gigamind.i18n import Message, _, n_
from gigamind.interop.ranking import Ranking
from gigamind.interop.run_file import RunFile
from gigamind.interop.trec import column
from gigamind.loading import imported
from gigamind.records.schema import SystemReport
from gigamind.redaction import redacted, without_secrets
from gigamind.systems.command import Command, split_command
from gigamind.systems.dialect import Dialect, Response, read_preset
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
            preset, path = read_preset(config or DEFAULT_PRESET, dialect.endpoint)
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
            preset, _path = read_preset(config, dialect.endpoint)
            return HttpSystem(target, preset, dialect)
        case "command":
            seconds = options.timeout_ms / 1000
            return Command(split_command(target), dialect, seconds)
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
