"""The commands of the command line."""

from collections.abc import Iterator

import click

from gigamind.cli.main import cli


def every_command(
    group: click.Group = cli, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    """Each command that is no group, by the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from every_command(command, (*path, name))
        elif command:
            yield " ".join((*path, name)), command
