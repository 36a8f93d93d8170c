"""`gigamind`, the command line, and how a command is stopped from outside.

SIGTERM does what Ctrl-C does: a service manager, a container and `kill` send it, and what was paid for by then must be
kept.  An ignored Ctrl-C stays ignored: `nohup` and `command &` in a script start a process so, and Python leaves it, as
do asyncio, rich and Prefect, which replace Python's own handler alone.
"""

import errno
import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

import click

from gigamind.cli.errors import Spoken, extra_of, show_error, show_usage_error, translated
from gigamind.cli.lazy import LazyGroup
from gigamind.errors import GigamindError, InputError
from gigamind.version import __version__

# What may take long enough to be stopped.
_LONG = {"eval", "tune", "suggest-links", "memory", "judge", "llm"}
_HELP = {"-h", "--help"}
# Allocations between two searches for garbage in cycles, of which there is little.  At Python's 700 the imports alone
# set off hundreds: a fourteenth of the CPU of a short run.
_ALLOCATIONS = 50_000
_NO_ROOM = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
}  # no bug: a full or read-only disk

_COMMANDS = {
    "eval": ("main:evaluate", "Evaluate search, answers and links, and generate datasets."),
    "tune": "Compare search settings and recommend one.",
    "compare": ("release:compare", "Compare runs; for two runs, apply the release gates."),
    "history": ("release:history", "Show metrics over time and their change points."),
    "baseline": ("release:baseline", "Choose the baseline for later comparisons."),
    "suggest-links": (
        "suggest:suggest",
        "Suggest links between notes, each with a confidence and a reason.",
    ),
    "import": ("imports:collection", "Convert another tool's files into a dataset."),
    "export": ("exports:export", "Export a run for other tools."),
    "dataset": "Check, describe, sample and label datasets.",
    "align": "Find where quotes occur in their sources.",
    "memory": "Extract and verify facts from sessions.",
    "judge": ("main:judge", "Fit, test, attack and certify judges."),
    "serve": "Answer questions about the notes in a browser and evaluate each answer.",
    "init": "Create gigamind.toml so that daily commands need no options.",
    "doctor": "Check the installation and configuration, and say how to fix problems.",
    "llm": "Test, serve or mock a language model.",
}


_EXIT = 128  # and the number of the signal, as shells have it


class Stop:
    """What a process was told by signals.

    Attributes:
        signal: that stopped it; SIGINT unless it was another.
    """

    def __init__(self) -> None:
        self.signal = signal.SIGINT

    @property
    def exit_code(self) -> int:
        """130 after Ctrl-C, 143 after SIGTERM."""
        return _EXIT + self.signal

    def by_sigterm(self, _number: int, frame: FrameType | None) -> None:
        """Do what Ctrl-C would do now: asyncio has a handler of its own for it while it runs."""
        again, self.signal = self.signal == signal.SIGTERM, signal.SIGTERM
        by_ctrl_c = signal.getsignal(signal.SIGINT)
        if callable(by_ctrl_c):
            by_ctrl_c(signal.SIGINT, frame)
            return
        _interrupt(at_once=again)  # Ctrl-C is ignored, and nobody has a handler for it


def _interrupt(*, at_once: bool) -> None:
    """Raise KeyboardInterrupt: between two steps of asyncio's tasks, for one that it ends tells it with a traceback."""
    if (asyncio := sys.modules.get("asyncio")) and not at_once:
        with suppress(RuntimeError):  # no loop runs
            asyncio.get_running_loop().call_soon_threadsafe(_raise)
            return
    _raise()


def _raise() -> None:
    raise KeyboardInterrupt


@contextmanager
def stoppable() -> Generator[Stop]:
    """Listen to SIGTERM, unless the process was started with it ignored."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # Python lets no other thread listen
        return
    before = signal.getsignal(signal.SIGTERM)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, stop.by_sigterm)
    try:
        yield stop
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def ctrl_c_is_ignored() -> bool:
    """Whether the process was started so that SIGINT does nothing."""
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@click.group(
    cls=LazyGroup,
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
    if os.environ.get("NO_COLOR"):  # rich sees to itself
        click.get_current_context().color = False


_EVALUATIONS = {
    "search": ("evaluations:search", "Measure retrieval quality and latency."),
    "links": ("evaluations:links", "Measure how many removed links are suggested again."),
    "answers": (
        "evaluations:answers",
        "Judge answers claim by claim, with quotes from the notes as evidence.",
    ),
    "generate-links": (
        "generate:generate_links",
        "Generate a link dataset by removing links from a copy of a vault.",
    ),
    "generate-queries": ("generate:generate_queries", "Generate search questions for review."),
}


@click.group(name="eval", cls=LazyGroup, lazy=_EVALUATIONS)
def evaluate() -> None:
    "Evaluate search, links and answers over a vault, and generate datasets for it."


_OF_JUDGES = {
    "fit": ("judge_fit:fit", "Fit a judge to labelled queries."),
    "certify": (
        "judge_certify:certify",
        "Measure how well a run's judge agrees with human labels.",
    ),
    "attack": (
        "judge_trials:attack",
        "Test a judge against prompt injection in notes and answers.",
    ),
    "test": ("judge_trials:test", "Run a judge on cases with known verdicts."),
}


@click.group("judge", cls=LazyGroup, lazy=_OF_JUDGES)
def judge() -> None:
    "Fit, test, attack and certify judges."


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line, by default the process's own, and leave with its exit code."""
    # Before NumPy is loaded: one BLAS thread a worker, or a busy machine spends its time in their locks.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    gc.set_threshold(_ALLOCATIONS)
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure:  # a terminal without UTF-8 must not cost the result
        reconfigure(errors="backslashreplace")
    given = sys.argv[1:] if arguments is None else list(arguments)
    with stoppable() as stop:
        if given and given[0] in _LONG and not _HELP & set(given) and ctrl_c_is_ignored():
            ignored = f"Ctrl-C is ignored, as this was started in the background: stop it by `kill {os.getpid()}`."
            click.echo(translated(ignored, Spoken(given).language), err=True)
        code = _run(given, stop)
    gc.freeze()  # the process ends: its last collection need not look through all that is in memory
    sys.exit(code)


def _run(arguments: Sequence[str], stop: Stop) -> int:
    spoken = Spoken(arguments)
    try:
        return int(cli.main(arguments, "gigamind", standalone_mode=False, obj=spoken) or 0)
    except click.ClickException as error:
        show_usage_error(error, spoken.language)
        return InputError.exit_code  # not click's 2, which here means: notes not accessible
    except GigamindError as error:
        show_error(error.message, spoken.language)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        ended = "Interrupted." if stop.signal == signal.SIGINT else "Terminated."
        click.echo(translated(ended, spoken.language), err=True)
        return stop.exit_code
    except OSError as error:
        if error.errno not in _NO_ROOM:
            traceback.print_exc()
        else:
            where = f"{error.filename}: " if error.filename else ""
            show_error(f"{where}cannot be written ({error.strerror})", spoken.language)
        return GigamindError.exit_code
    except Exception as error:  # noqa: BLE001  a bug: Python's own exit code for it, 1, says that the input is wrong
        missing = extra_of(error)
        if missing is None:
            traceback.print_exc()
        else:
            show_error(missing, spoken.language)
        return GigamindError.exit_code if missing is None else InputError.exit_code


if __name__ == "__main__":
    main()
