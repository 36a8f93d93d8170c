"""A group of commands whose modules are loaded when one of them is called, so that help stays fast."""

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """A group of the commands `at`: name -> module, attribute, and what the help of the group says."""

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401  click's own
        at: Mapping[str, tuple[str, str, str]],
        **settings: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*arguments, **settings)
        self._at = at

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(self._at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in self._at:
            return None
        module, attribute, _ = self._at[cmd_name]
        return getattr(importlib.import_module(module), attribute)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, _, summary) in self._at.items()])
