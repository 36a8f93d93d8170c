"""`gigamind deploy`: register the deployments of a prefect.yaml with a Prefect server."""

import subprocess
import sys
from pathlib import Path

import click

from gigamind.assets import asset
from gigamind.cli.command import command
from gigamind.errors import EvaluationError, InputError
from gigamind.i18n import _


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
