"""Command lines as people type them, held against the options of the commands."""

import shlex

import click

from gigamind.cli.command import every_command
from gigamind.cli.main import cli

COMMANDS = {" ".join(path): command for path, command in every_command(cli)}
_ENDS = frozenset({"|", "&", "&&", ";", ">", "2>"})
_ELIDED = "..."


def words_of(line: str) -> list[str] | None:
    """The words behind `gigamind` in a line of a shell, up to a pipe; None where it calls something else."""
    words = shlex.split(line, comments=True)
    while words and "=" in words[0] and not words[0].startswith("-"):
        words = words[1:]  # variables for this command alone
    if not words or words[0].rpartition("/")[2] != "gigamind":
        return None
    ends = (place for place, word in enumerate(words) if word in _ENDS)
    return words[1 : next(ends, len(words))]


def command_of(words: list[str]) -> tuple[str, click.Command]:
    """The name of the command that these words call, and the command."""
    for count in range(3, 0, -1):
        name = " ".join(words[:count])
        if len(words) >= count and name in COMMANDS:
            return name, COMMANDS[name]
    raise click.UsageError(f"no command: gigamind {' '.join(words)}")


def parsed(words: list[str], *, elided: bool = False) -> click.Context:
    """What the command makes of its words; `...` stands for options that a reader knows, or for a value.

    Args:
        elided: required options stand elsewhere, such as in gigamind.toml.

    Raises:
        click.UsageError: it does not take them.
    """
    name, command = command_of(words)
    rest = words[len(name.split()) :]
    flags = {opt for param in command.params if getattr(param, "is_flag", 0) for opt in param.opts}
    given = list[str]()
    for word in rest:
        if word == _ELIDED and not (
            given and given[-1].startswith("--") and given[-1] not in flags
        ):
            elided = True
        else:
            given.append(word)
    while True:
        try:
            return command.make_context(name, list(given), parent=None)
        except click.MissingParameter as missing:
            if not elided or not isinstance(missing.param, click.Option):
                raise
            given += [missing.param.opts[0], "x"]
