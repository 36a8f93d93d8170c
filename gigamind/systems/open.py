"""Which search `--system` names, and how it is opened: builtin, run:FILE, http(s)://..., command:..., python:..."""

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from gigamind.errors import InputError
from gigamind.interop.ranking import RankedNote, Ranking
from gigamind.interop.run_file import RunFile, read_run_file
from gigamind.llm.redaction import redacted, without_secrets
from gigamind.records.schema import SystemReport
from gigamind.systems.command import CommandRetriever, split_command
from gigamind.systems.function import FunctionRetriever, load_function
from gigamind.systems.preset import DEFAULT, read_preset
from gigamind.systems.protocol import Query, Retriever
from gigamind.systems.settings import BUILTIN, SystemOptions

_FORMS = (
    "builtin, run:FILE, http://... or https://..., command:PROGRAM ..., or python:MODULE:FUNCTION"
)
_NAMED = 3  # of many names in a warning


@dataclass(frozen=True, slots=True)
class Opened:
    """A search that is ready.

    Attributes:
        concurrency: queries that it takes at a time; None for as many as there are.
        warnings: what is odd about all of it.
    """

    retriever: Retriever[RankedNote]
    concurrency: int | None = None
    warnings: tuple[str, ...] = ()


def describe_system(system: str, config: str | None) -> SystemReport | None:
    """What is to be evaluated, as run.json has it, without secrets; None for gigamind's own engine.

    Raises:
        InputError: nothing is named so, or its file cannot be used.
    """
    kind, target = _parsed(system)
    if config is not None and kind != "http":
        raise InputError(
            f"--system-config {config}: only a system of http(s):// has one; leave it out"
        )
    match kind:
        case "builtin":
            return None
        case "run":
            # Two files are two states of one system: what made them is not known.
            return _report(kind, Path(target).name, "run", file_hash=_file_hash(Path(target)))
        case "http":
            preset, path = read_preset(config or DEFAULT)
            shown = without_secrets(target)
            return _report(kind, shown, f"{shown} {preset.fingerprint}", config=path.stem)
        case _:
            return _report(kind, redacted(target), target)


def open_system(options: SystemOptions, queries: Collection[str] | None = None) -> Opened:
    """Open a search that is not gigamind's own.

    Args:
        queries: ids of all queries that will be asked; None where they are not all known.

    Raises:
        InputError: it cannot be opened; says why.
        EmbeddingError: the embedder of its preset cannot be loaded.
    """
    kind, target = _parsed(options.system)
    match kind:
        case "run":
            run = read_run_file(Path(target))
            return Opened(RunRetriever(run), warnings=tuple(_run_warnings(run, queries)))
        case "http":
            from gigamind.systems.http import HttpRetriever

            preset, _ = read_preset(options.system_config or DEFAULT)
            return Opened(HttpRetriever(target, preset, options.topk), preset.concurrency)
        case "command":
            seconds = options.timeout_ms / 1000
            command = CommandRetriever(split_command(target), options.topk, seconds)
            return Opened(command, concurrency=1)
        case "python":
            return Opened(FunctionRetriever(load_function(target), options.topk))
        case _:
            raise InputError("--system builtin: is gigamind's own engine; name another")


class RunRetriever:
    """The rankings of a run file; implements `Retriever`.  A query that it lacks found nothing."""

    def __init__(self, run: RunFile) -> None:
        self._run = run

    def search(self, query: Query) -> Ranking[RankedNote]:
        return self._run.rankings.get(query.id, Ranking((), {"not_in_run_file": 1}))

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
    raise InputError(f"--system {redacted(without_secrets(system))}: must be {_FORMS}")


def _report(
    kind: str,
    target: str,
    identity: str,
    *,
    config: str | None = None,
    file_hash: str | None = None,
) -> SystemReport:
    digest = hashlib.sha256(f"{kind} {identity}".encode()).hexdigest()[:16]
    return SystemReport.model_validate(
        {
            "kind": kind,
            "target": target,
            "config": config,
            "fingerprint": digest,
            "file_hash": file_hash,
        }
    )


def _file_hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"--system run:{path}: cannot be read ({error.strerror})") from error


def _run_warnings(run: RunFile, queries: Collection[str] | None) -> Iterator[str]:
    if run.problems:
        yield f"lines of the run that cannot be read: {len(run.problems)} ({_some(run.problems)})"
    extra = [] if queries is None else [name for name in run.rankings if name not in queries]
    if queries is not None and len(extra) == len(run.rankings):
        raise InputError(
            f"{run.path}: none of its {len(extra)} queries is in the dataset ({_some(extra)}); give the run of this"
            " dataset, with the ids of its queries"
        )
    if extra:
        yield f"{run.path}: queries that the dataset lacks, not used: {len(extra)} ({_some(extra)})"


def _some(names: Collection[str]) -> str:
    shown = ", ".join(list(names)[:_NAMED])
    return f"{shown}, ..." if len(names) > _NAMED else shown
