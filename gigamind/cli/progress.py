"""Progress of a command."""

from contextlib import AbstractContextManager

from rich.console import Console

from gigamind.cli.errors import translated
from gigamind.evaluation.progress import Progress
from gigamind.evaluation.progress import progress_bar as progress_bar_on


def progress_bar() -> AbstractContextManager[Progress]:
    """Show a bar on a terminal, in the language of the running command; elsewhere a line now and then."""
    return progress_bar_on(Console(stderr=True), translated)
