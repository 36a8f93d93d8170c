"""A group that imports its commands when they are called, so that `--help` loads no heavy module."""

import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any

import click

from gigamind.cli.command import Group

Commands = Mapping[str, str | tuple[str, str]]
"""Name of a command -> its summary; with "module:attribute" before it if the command is not at "name:name"."""


def every_command(
    group: click.Group, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each command below a group with the words that call it; imports all of them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from every_command(command, (*path, name))
        elif command:
            yield (*path, name), command


class LazyGroup(Group):
    """A group of the commands in `lazy`; a mistyped name is also compared with the commands of its group `short`."""

    def __init__(self, *arguments: Any, lazy: Commands, short: str = "", **settings: Any) -> None:  # noqa: ANN401  click's own
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
