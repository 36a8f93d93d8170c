"""`gigamind`: subcommands are imported when they are called, so that `--help` costs no heavy module."""

import importlib
import os
import sys
from typing import NoReturn

import click

from gigamind import __version__
from gigamind.errors import GigamindError, InputError

_INTERRUPTED = 130  # 128 + SIGINT, as shells have it

_COMMANDS = {
    "eval": ("gigamind.cli.evaluate", "evaluate", "Evaluate search over a vault."),
}


class _LazyGroup(click.Group):
    """A group whose subcommands stand in `_COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module, attribute, _ = _COMMANDS[cmd_name]
        return getattr(importlib.import_module(module), attribute)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, _, summary) in _COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gigamind")
def cli() -> None:
    """Tell whether search over a Markdown vault got better or worse, and prove it.

    Exit codes: 0 success, 1 invalid input, 2 notes or index not accessible, 3 evaluation failed, 130 interrupted.
    """


def main() -> NoReturn:
    """Run the command line and leave with its exit code."""
    # Before NumPy is loaded: one BLAS thread a worker, or a busy machine spends its time in their locks.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = InputError.exit_code  # not click's 2, which here means: notes not accessible
    except GigamindError as error:
        click.echo(f"Error: {error}", err=True)
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        code = _INTERRUPTED
    sys.exit(code or 0)


if __name__ == "__main__":
    main()
