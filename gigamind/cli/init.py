"""`gigamind init` and `deploy`: write gigamind.toml, by choice jobs with a baseline, and register nightly ones."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import click

from gigamind.assets import asset
from gigamind.choices import BASELINES
from gigamind.cli.command import command
from gigamind.cli.config import FILE, read_config
from gigamind.cli.output import prints_json, progress_bar, show_written, translated
from gigamind.errors import EvaluationError, InputError
from gigamind.i18n import LanguageChoice, Message, Text, _, joined, language_of
from gigamind.systems.settings import BUILTIN

_HEAD = """# Options of gigamind for commands called in this folder or below. A table has the name of a command and may
# hold any of its options (gigamind eval search --help-all). The command line overrides the environment
# (GIGAMIND_EVAL_SEARCH_TOPK=5), which overrides this file. Paths are relative to its folder.
"""
_FUSION = """# Recommended if `gigamind tune search` measures a gain on your questions; it prints all lines to put here:
# fusion = "balanced"
"""
_GATES = """# Which differences from the baseline are allowed, and other limits than the built-in ones: docs/ci.md.
[comparable]
relax = ["hardware", "notes"] # speed is gated only on the same hardware
"""
_GATES_FILE = Path("eval", "gates.toml")
_JOBS = {  # template below examples/ci, and the file it becomes
    "github": ("github.yml", Path(".github", "workflows", "gigamind.yml")),
    "gitlab": ("gitlab.yml", Path(".gitlab", "gigamind.yml")),
    "nightly": ("prefect.yaml", Path("prefect.yaml")),
}


@command(
    examples=(
        "gigamind init",
        "gigamind init --notes vault --dataset queries.jsonl --lang ko",
        "gigamind init --system http://127.0.0.1:9000 --dataset queries.jsonl --github --nightly '0 3 * * *'",
    ),
    configured=False,
    epilog="Exit codes: 0 files written; 1 invalid input, or a file already exists; others as gigamind eval search.",
)
@click.option("--notes", metavar="FOLDER", help="the vault (folder of Markdown notes)")
@click.option("--dataset", metavar="FILE", help="queries, one JSON object per line")
@click.option(
    "--system", help="your own search, as in gigamind eval search; then --notes is optional"
)
@click.option("--lang", type=click.Choice(get_args(LanguageChoice)), help="language of the reports")
@click.option("--github", is_flag=True, help="also write a GitHub workflow for pull requests")
@click.option("--gitlab", is_flag=True, help="also write a GitLab job for merge requests")
@click.option(
    "--nightly",
    help="also write prefect.yaml with a nightly evaluation for `gigamind deploy`, such as '0 3 * * *'",
)
@prints_json
def init(
    *,
    notes: str | None,
    dataset: str | None,
    system: str | None,
    lang: str | None,
    github: bool,
    gitlab: bool,
    nightly: str | None,
) -> None:
    """Create gigamind.toml in this folder so that daily commands need no options.

    This command asks at most three questions, one for each option that you omit.

    With --github, --gitlab or --nightly, it also evaluates search once, makes that run the baseline in eval/baselines,
    and writes eval/gates.toml. Without a dataset, it first generates questions from the notes. Commit all of this.
    """
    jobs = [name for name, on in zip(_JOBS, (github, gitlab, nightly), strict=True) if on]
    new = [_JOBS[job][1] for job in jobs] or [Path(FILE)]
    if file := next(filter(Path.exists, new), None):
        raise InputError(
            "{file} already exists. Edit this file, or remove it and run the command again.",
            file=file,
        )
    if nightly:
        from gigamind.publish.server import check_cron

        check_cron(nightly)
    is_configured = Path(FILE).is_file()
    kept: Mapping[str, str] = {}
    if is_configured:
        kept = read_config(Path(FILE)).tables.get("search", {})
    given = {"notes": notes, "dataset": dataset, "system": system, "lang": lang}
    options: dict[str, str] = {
        name: text for name, value in given.items() if (text := value or kept.get(name))
    }
    _complete(options)
    if jobs and not BASELINES.exists():
        _make_baseline(options)
    files = _files(options, jobs, nightly, is_configured=is_configured)
    for name, content in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content, encoding="utf-8")
    show_written(
        Path(FILE),
        {"options": len(options) + ("notes" in options)},
        joined(_next_steps(files, jobs, options), "\n"),
    )


def _complete(options: dict[str, str]) -> None:
    """Ask for what is missing, and check it; without a terminal, only the language has a default."""
    choices, has_source = get_args(LanguageChoice), bool(options.keys() & {"notes", "system"})
    if not sys.stdin.isatty():
        options.setdefault("lang", "auto")
        if not (has_source and "dataset" in options):
            raise InputError(
                _(
                    "gigamind cannot ask its questions without a terminal. Pass --dataset, and --notes or --system."
                )
            )
    if not has_source:
        default = "vault" if Path("vault").is_dir() else "."
        options["notes"] = _ask(_("Folder of the notes"), default)
    if "dataset" not in options:
        options["dataset"] = _ask(_("File with the search questions"), "queries.jsonl")
    if "lang" not in options:
        question = _("Language of the reports ({choices})", choices=choices)
        options["lang"] = _ask(question, language_of())
    if (notes := options.get("notes")) and not Path(notes).is_dir():
        raise InputError(
            "--notes {path}: not a folder. Give the folder of the Markdown notes.", path=notes
        )
    if (lang := options["lang"]) not in choices:
        raise InputError("--lang {value}: must be one of {choices}", value=lang, choices=choices)


def _files(
    options: Mapping[str, str], jobs: Sequence[str], nightly: str | None, *, is_configured: bool
) -> dict[str, str]:
    """Return the files to write with their texts; those that exist stay, but .gitignore gets a line."""
    # JSON and TOML write basic strings alike.
    quoted = {name: json.dumps(value, ensure_ascii=False) for name, value in options.items()}
    text = f"{_HEAD}\n[search]\n" + "".join(f"{name} = {value}\n" for name, value in quoted.items())
    text += "" if "system" in options else _FUSION
    text += f"\n[suggest-links]\nnotes = {quoted['notes']}\n" if "notes" in options else ""
    ignored = Path(".gitignore")
    ignores = ignored.read_text("utf-8") if ignored.is_file() else ""
    files = {} if is_configured else {FILE: text}
    if jobs and not _GATES_FILE.exists():
        files[str(_GATES_FILE)] = _GATES
    if jobs and "eval/out/" not in ignores.split():
        files[str(ignored)] = f"{ignores.rstrip()}\neval/out/\n".lstrip()
    for job in jobs:
        files[str(_JOBS[job][1])] = _job_text(job, quoted, nightly)
    return files


def _make_baseline(options: Mapping[str, str]) -> None:
    """Evaluate search and make the run the baseline; first generate questions if there is no dataset."""
    from gigamind.evaluation.options import validated
    from gigamind.evaluation.run import free_folder
    from gigamind.tasks import evaluate
    from gigamind.tasks.options import SearchEvalOptions
    from gigamind.tasks.promotion import promote

    dataset = Path(options["dataset"])
    if not dataset.is_file():
        if "notes" not in options:
            raise InputError(
                "{file}: no such file. Make it from relevance judgements with gigamind import, or pass --notes to"
                " generate questions.",
                file=dataset,
            )
        from gigamind.cli.dataset import generate_queries

        click.get_current_context().invoke(
            generate_queries, notes=Path(options["notes"]), out=dataset
        )
    out = free_folder(Path("eval", "out", "baseline"), datetime.now(UTC))
    with progress_bar() as progress:
        evaluate(validated(SearchEvalOptions, {**options, "out": out}), progress)
    promote(out, BASELINES)


def _job_text(job: str, quoted: Mapping[str, str], cron: str | None) -> str:
    """Return a template of examples/ci with its placeholders filled."""
    text = (asset("examples") / "ci" / _JOBS[job][0]).read_text("utf-8")
    # JSON strings are YAML strings.
    lines = (f"        {name}: {value}" for name, value in quoted.items() if name != "lang")
    values = {
        "options": "\n".join(lines),
        "cron": json.dumps(cron),
        "dataset": shlex.quote(json.loads(quoted["dataset"])),
        # Deployments of several repositories on one server need names of their own.
        "name": re.sub(r"[^a-z0-9-]+", "-", Path.cwd().name.lower()).strip("-"),
    }
    for name, value in values.items():
        text = text.replace(f"{{{{ {name} }}}}", value)
    return text


def _next_steps(
    files: Mapping[str, str], jobs: Sequence[str], options: Mapping[str, str]
) -> Iterator[Text]:
    yield from (_("Written: {file}", file=file) for file in files)
    dataset, notes = Path(options["dataset"]), options.get("notes")
    if not dataset.is_file():
        yield _(
            "{file} does not exist yet. Write a question per line, or generate some:", file=dataset
        )
        yield f"  gigamind eval generate-queries --notes {shlex.quote(str(notes))} --out {shlex.quote(str(dataset))}"
    if jobs:
        yield _(
            "Baseline: {folder}. Commit it, {dataset} and the files above.",
            folder=BASELINES,
            dataset=dataset,
        )
    if "github" in jobs:
        yield _(
            "Replace OWNER in {file} with the owner of gigamind's repository.",
            file=_JOBS["github"][1],
        )
    if "gitlab" in jobs:
        yield _("Add to .gitlab-ci.yml: include: {file}", file=_JOBS["gitlab"][1])
    system = options.get("system", BUILTIN)
    if system != BUILTIN and {"github", "gitlab"} & {*jobs}:
        yield _(
            "Let the CI job start your search, so that {address} answers there.", address=system
        )
    if "nightly" in jobs:
        allows = "" if system == BUILTIN else f"GIGAMIND_WORKER_ALLOWS='system={system}' "
        yield _("For the nightly evaluation, run in terminals of their own:")
        yield "  prefect server start"
        yield "  export PREFECT_API_URL=http://127.0.0.1:4200/api PREFECT_FLOWS_HEARTBEAT_FREQUENCY=30"
        yield f"  gigamind deploy && {allows}prefect worker start --pool local"
    following = f"gigamind eval search{f' --compare {BASELINES}' if jobs else ''}"
    yield _("Next command: {command}", command=following)
    if system == BUILTIN:
        yield _(
            "To see whether balanced fusion finds more on your questions: {command}",
            command="gigamind tune search",
        )


def _ask(question: Message, default: str) -> str:
    return str(click.prompt(translated(question), default=default, err=True)).strip()


@command(
    examples=("gigamind deploy",),
    configured=False,
    epilog="Exit codes: 0 registered; 1 invalid input; 3 the server does not answer or lacks a deployment.",
)
@click.argument("file", type=click.Path(path_type=Path), default=Path("prefect.yaml"))
def deploy(file: Path) -> None:
    """Register the deployments of FILE, by default prefect.yaml, and the automations of gigamind.

    Relative paths in FILE start at the current folder. Set PREFECT_API_URL to the address of your Prefect server.
    """
    if not file.is_file():
        raise InputError(
            "{file}: no such file. Create it with `gigamind init --nightly '0 3 * * *'`.", file=file
        )
    from gigamind.publish.server import check_server

    if check_server() is None:
        raise InputError(
            _(
                "PREFECT_API_URL is not set. Start a server with `prefect server start`, then set it to"
                " http://127.0.0.1:4200/api."
            )
        )
    script = asset("deployments") / "deploy.py"
    command = [sys.executable, script, file]
    code = subprocess.run(command, check=False).returncode  # noqa: S603  a file of this package
    if code:
        sys.exit(code if code == InputError.exit_code else EvaluationError.exit_code)
