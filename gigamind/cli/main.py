"""`gigamind`, the command line."""

import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import click

from gigamind.cli.lazy import LazyGroup
from gigamind.errors import GigamindError, InputError
from gigamind.version import __version__

_INTERRUPTED = 130  # 128 + SIGINT, as shells have it

_COMMANDS = {
    "eval": ("evaluate:evaluate", "Evaluate search, answers and links over a vault."),
    "tune": ("tune:tune", "Hold settings that cost nothing against each other."),
    "compare": ("release:compare", "Compare two runs and apply the release gates."),
    "baseline": ("release:baseline", "Choose the run that later ones are compared with."),
    "suggest-links": ("suggest:suggest", "Suggest links for a note, with confidence and reason."),
    "dataset": ("dataset:dataset", "Check, describe and sample a dataset."),
    "align": ("align:align", "Find quotes in their sources, exactly or not at all."),
    "memory": ("memory:memory", "Keep what a session says, with evidence."),
    "judge": ("judge:judge", "Fit a judge, and put it to the test before its verdicts count."),
    "llm": ("llm:llm", "Look at a language model, serve one of your own, or play one."),
}


@click.group(
    cls=LazyGroup, lazy=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="gigamind")
def cli() -> None:
    """Tell whether search and answers over a Markdown vault got better or worse, and prove it.

    Exit codes: 0 success, 1 invalid input, 2 notes or index not accessible, 3 evaluation failed,
    4 regression, 130 interrupted.
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line, by default the process's own, and leave with its exit code."""
    # Before NumPy is loaded: one BLAS thread a worker, or a busy machine spends its time in their locks.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure:  # a terminal without UTF-8 must not cost the result
        reconfigure(errors="backslashreplace")
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        return int(cli.main(arguments, standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        return InputError.exit_code  # not click's 2, which here means: notes not accessible
    except GigamindError as error:
        from gigamind.text import printable_lines

        # It may quote a dataset or a model, and neither may speak to the terminal.
        click.echo(f"Error: {printable_lines(str(error))}", err=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        return _INTERRUPTED
    except Exception:  # noqa: BLE001  a bug: Python's own exit code for it, 1, says that the input is wrong
        traceback.print_exc()
        return GigamindError.exit_code


if __name__ == "__main__":
    main()
