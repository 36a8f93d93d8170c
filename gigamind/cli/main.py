"""The command line `gigamind`, and how signals stop a command.

SIGTERM does the same as Ctrl-C, because paid work must be kept.  Where Ctrl-C is ignored (`nohup`), it stays so.
"""

import errno
import gc
import os
import pkgutil
import signal
import sys
import threading
import traceback
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

import click

from gigamind.cli.command import Group
from gigamind.cli.output import CallLanguage, show_error, value_demand
from gigamind.errors import GigamindError, InputError, reason_of
from gigamind.i18n import Language, Message, Text, _, translator
from gigamind.version import __version__

# Allocations between two garbage collections.  With Python's 700 the imports alone cause hundreds of collections, which
# take a tenth of the CPU time of a short run.
_ALLOCATIONS = 200_000
# A full or read-only disk is not a bug.
_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}

_COMMANDS = {
    "eval": ("main:evaluate", _("Evaluate search, answers and links, and generate datasets.")),
    "tune": ("evaluations:tune", _("Compare search settings and recommend one.")),
    "compare": ("release:compare", _("Compare runs; for two runs, apply the release gates.")),
    "history": ("release:history", _("Show metrics over time and their change points.")),
    "baseline": (
        "release:baseline",
        _("Choose the run that later runs are compared with (the baseline)."),
    ),
    "gate": ("release:gate", _("Record who accepts a failed release gate, and until when.")),
    "suggest-links": (
        "suggest:suggest",
        _("Suggest links between notes, each with a confidence and a reason."),
    ),
    "import": ("exchange:collection", _("Convert another tool's files into a dataset.")),
    "export": ("exchange:export", _("Export a run for other tools.")),
    "dataset": _("Check and label datasets."),
    "align": _("Find where quotes occur in their sources."),
    "memory": _("Extract facts from chat sessions and verify them."),
    "judge": ("main:judge", _("Tune, test, attack and certify judges.")),
    "label": (
        "serve:label",
        _("Label items of a run in a browser; labels correct its judged figures."),
    ),
    "serve": _("Answer questions about the notes in a browser and evaluate each answer."),
    "init": _("Create gigamind.toml so that daily commands need no options."),
    "deploy": ("init:deploy", _("Register nightly evaluations with a Prefect server.")),
    "doctor": _("Check the installation and configuration, and say how to fix problems."),
    "llm": _("Test a language model, or show the batches of a run."),
}


_EXIT = 128  # plus the number of the signal, as in shells


class _Stop:
    """How signals stopped the process; SIGINT by default."""

    def __init__(self) -> None:
        self.signal = signal.SIGINT

    @property
    def exit_code(self) -> int:
        """Return 130 after Ctrl-C, 143 after SIGTERM."""
        return _EXIT + self.signal

    def by_sigterm(self, _number: int, frame: FrameType | None) -> None:
        """Do what Ctrl-C would do now: a running asyncio loop has its own handler for it."""
        again, self.signal = self.signal == signal.SIGTERM, signal.SIGTERM
        by_ctrl_c = signal.getsignal(signal.SIGINT)
        if callable(by_ctrl_c):
            by_ctrl_c(signal.SIGINT, frame)
            return
        _interrupt(immediately=again)  # Ctrl-C is ignored and has no handler


def _interrupt(*, immediately: bool) -> None:
    """Raise KeyboardInterrupt; in asyncio between two steps, because a task that it ends prints a traceback."""
    if (asyncio := sys.modules.get("asyncio")) and not immediately:
        with suppress(RuntimeError):  # no running loop
            asyncio.get_running_loop().call_soon_threadsafe(_raise)
            return
    _raise()


def _raise() -> None:
    raise KeyboardInterrupt


@contextmanager
def _stoppable() -> Generator[_Stop]:
    """Handle SIGTERM, unless the process was started with it ignored."""
    stop = _Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # Python allows handlers only in the main thread
        return
    before = signal.getsignal(signal.SIGTERM)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, stop.by_sigterm)
    try:
        yield stop
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


_Commands = Mapping[str, str | tuple[str, str]]
"""Name of a command -> its summary; with "module:attribute" before it if the command is not at "name:name"."""


class _LazyGroup(Group):
    """A group of the commands in `lazy`; a mistyped name is also compared with the commands of its group `short`."""

    def __init__(self, *arguments: Any, lazy: _Commands, short: str = "", **settings: Any) -> None:  # noqa: ANN401  click's own
        super().__init__(*arguments, **settings)
        self._lazy = lazy
        self._short = short

    def callable_names(self, ctx: click.Context) -> dict[str, str]:
        below = self.get_command(ctx, self._short)
        names = below.list_commands(ctx) if isinstance(below, click.Group) else []
        return {name: f"{self._short} {name}" for name in names} | super().callable_names(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in self._lazy:
            return None
        row = self._lazy[cmd_name]
        place = f"{cmd_name}:{cmd_name}" if isinstance(row, str) else row[0]
        return pkgutil.resolve_name(f"{__package__}.{place}")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([
                (name, row if isinstance(row, str) else row[1]) for name, row in self._lazy.items()
            ])  # fmt: skip


@click.group(
    cls=_LazyGroup,
    lazy=_COMMANDS,
    short="eval",
    context_settings={
        "help_option_names": ["-h", "--help"],
        "auto_envvar_prefix": "GIGAMIND",  # GIGAMIND_EVAL_SEARCH_TOPK and so on
    },
)
@click.version_option(__version__, prog_name="gigamind")
def cli() -> None:
    """Detect regressions in search and LLM answers over a folder of Markdown notes, with statistical evidence.

    Exit codes: 0 success, 1 invalid input, 2 notes or index not accessible, 3 evaluation failed, 4 regression, 130
    interrupted (Ctrl-C), 143 terminated (SIGTERM). An interrupted or terminated run keeps its finished work.
    """


_EVALUATIONS = {
    "search": ("evaluations:search", _("Measure retrieval quality and latency.")),
    "links": ("evaluations:links", _("Measure how many removed links gigamind suggests again.")),
    "answers": (
        "evaluations:answers",
        _("Judge answers claim by claim, with quotes from the notes as evidence."),
    ),
    "generate-links": (
        "dataset:generate_links",
        _("Generate a link dataset by removing links from a copy of a vault."),
    ),
    "generate-queries": ("dataset:generate_queries", _("Generate search questions for review.")),
}


@click.group(name="eval", cls=_LazyGroup, lazy=_EVALUATIONS)
def evaluate() -> None:
    """Evaluate search, links and answers over a vault, and generate datasets for it."""


_JUDGE_COMMANDS = {
    "certify": ("judges:certify", _("Measure how well a run's judge agrees with human labels.")),
    "attack": ("judges:attack", _("Test a judge against prompt injection in notes and answers.")),
    "test": ("judges:test", _("Run a judge on cases with known verdicts.")),
    "tune": ("judges:tune", _("Propose a better judge from human labels, or keep it.")),
}


@click.group("judge", cls=_LazyGroup, lazy=_JUDGE_COMMANDS)
def judge() -> None:
    """Test, attack, certify and tune judges."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line, by default the process's own, and exit with its code."""
    # Before NumPy is loaded: one BLAS thread per worker; more spend a busy machine's time in their locks.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    gc.set_threshold(_ALLOCATIONS)
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure:  # a terminal without UTF-8 must not lose the result
        reconfigure(errors="backslashreplace")
    given = sys.argv[1:] if arguments is None else list(arguments)
    with _stoppable() as stop:
        code = _run(given, stop)
    gc.freeze()  # the process ends: the last collection can skip everything in memory
    sys.exit(code)


def _run(arguments: Sequence[str], stop: _Stop) -> int:
    call = CallLanguage(arguments)
    try:
        return int(cli.main(arguments, "gigamind", standalone_mode=False, obj=call) or 0)
    except click.ClickException as error:
        _show_usage_error(error, call.language)
        return InputError.exit_code  # not click's 2, which means here: notes not accessible
    except GigamindError as error:
        show_error(error.message, call.language)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        ended = _("Interrupted.") if stop.signal == signal.SIGINT else _("Terminated.")
        click.echo(translator(call.language)(ended), err=True)
        return stop.exit_code
    except OSError as error:
        if error.errno not in _DISK_ERRORS:
            traceback.print_exc()
        else:
            file, reason = error.filename or _("A file"), reason_of(error)
            message = _("{file} cannot be written: {reason}", file=file, reason=reason)
            show_error(message, call.language)
        return GigamindError.exit_code
    except Exception as error:  # noqa: BLE001  a bug: Python's exit code 1 would mean invalid input
        missing = _missing_extra(error)
        if missing is None:
            traceback.print_exc()
        else:
            show_error(missing, call.language)
        return GigamindError.exit_code if missing is None else InputError.exit_code


def _show_usage_error(error: click.ClickException, language: Language) -> None:
    """Print what is wrong with a command line and what to type instead; a group alone shows its help."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError) or not isinstance(
        error, click.UsageError
    ):
        error.show()
        return
    problem = _usage_problem(error)
    path = error.ctx.command_path if error.ctx else "gigamind"
    examples: Sequence[str] = getattr(error.ctx and error.ctx.command, "examples", ())
    if isinstance(error, click.MissingParameter) and examples:
        message = _("{problem} For example: {example}", problem=problem, example=examples[0])
    else:
        message = _("{problem} See {command} --help", problem=problem, command=path)
    show_error(message, language)


def _usage_problem(error: click.UsageError) -> Text:  # noqa: PLR0911  one per class
    match error:
        case click.NoSuchOption(possibilities=[meant, *_others]):
            option = error.option_name
            return _("No such option: {option}. Did you mean {meant}?", option=option, meant=meant)
        case click.NoSuchOption():
            return _("No such option: {option}.", option=error.option_name)
        case click.MissingParameter(param=click.Argument() as argument):
            return _("Missing argument: {name}.", name=argument.human_readable_name)
        case click.MissingParameter(param=click.Parameter() as option):
            return _("Missing option: {option}.", option=option.opts[0])
        case click.BadParameter(param=click.Parameter() as parameter):
            name = parameter.human_readable_name
            if isinstance(parameter, click.Option):
                name = parameter.opts[0]
            demand = value_demand(parameter.type) or error.message
            return _("{option}: {demand}.", option=name, demand=demand)
        case click.BadOptionUsage():
            option = error.option_name
            params = error.ctx.command.params if error.ctx else []
            flags = (p for p in params if isinstance(p, click.Option) and p.is_flag)
            if any(option in (*flag.opts, *flag.secondary_opts) for flag in flags):
                return _("{option} takes no value.", option=option)
            return _("{option} needs a value.", option=option)
        case _other if error.message == "Missing command.":  # click's words
            return _("Missing command.")
        case _other:
            return error.message


# The modules of each extra; pyproject.toml says what it is for.
_EXTRAS = {
    "fastembed": ("fastembed",),
    "nli": ("onnxruntime", "tokenizers"),
    "llm": ("aiohttp", "anthropic", "httpx2", "instructor", "litellm", "openai"),
    "parquet": ("pyarrow",),
    "prefect": ("prefect", "sqlalchemy"),
    "qdrant": ("qdrant_client",),
    "service": ("fastapi", "prometheus_client", "starlette", "uvicorn"),
}


def _missing_extra(error: Exception) -> Message | None:
    """Return what to install if a module of an extra is missing, else None."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    package = (name or "").partition(".")[0]
    extra = next((extra for extra, modules in _EXTRAS.items() if package in modules), None)
    if extra is None:
        return None
    return _(
        "The package {package} is not installed. Run: pip install 'gigamind-eval[{extra}]' (or [all]);"
        " in a clone: make all",
        package=package,
        extra=extra,
    )


if __name__ == "__main__":
    main()
