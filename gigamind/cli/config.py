"""Options of commands from `gigamind.toml`, so that daily commands need none.

A table holds options of one command and has its name: [search], [links] and [answers] those of `gigamind eval`,
[suggest-links], [memory.graduate], [judge.test] and so on the others; [search] serves `gigamind tune search`, too.  The
command line counts before the environment (GIGAMIND_EVAL_SEARCH_TOPK), which counts before the file.  Paths are
relative to the file's folder.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import click
from click.core import ParameterSource

from gigamind.errors import InputError
from gigamind.loading import ConfigReport, meant_by, toml_values

FILE = "gigamind.toml"
_FOUND = "gigamind.config"  # the file that options come from
_DEFAULT_GROUP = "eval"  # whose commands go by their own names
_LENT = {"tune.search": "search"}  # whose options a table's command takes, too
_OF_ONE_RUN = {
    "out",
    "resume",
    "compare",
    "changed",
    "junit",
    "fail_on_regression",
    "save_snapshot",
}  # not lent
_NOT_IN_A_FILE = {"config", "quiet", "help", "help_all"}
_TABLE = re.compile(r"\s*\[(?P<name>[^\[\]]+)\]")


@runtime_checkable
class Checking(Protocol):
    """An option that says itself which values it takes, as those of a model do."""

    def check(self, value: object, where: str) -> None:
        """See to it that it takes a value that stands in a file.

        Raises:
            InputError: it does not.
        """
        ...


class ConfigFile(NamedTuple):
    """A file of options.

    Attributes:
        text: as it is written; where a line is wrong is looked up in it.
        tables: TOML values.
    """

    path: Path
    text: str
    tables: Mapping[str, Any]

    def where(self, table: str, key: str = "") -> str:
        """File and line of a key, or of the head of its table where the key is written in another way."""
        inside, line_number = not table, 0
        for number, line in enumerate(self.text.splitlines(), start=1):
            if head := _TABLE.match(line):
                inside = _plain(head["name"]) == table
                line_number = number if inside else line_number
            if inside and key and _plain(line.partition("=")[0]) == key:
                line_number = number
                break
        return f"{self.path}:{line_number}" if line_number else str(self.path)


def _plain(name: str) -> str:
    """A name of TOML without its quotes and spaces."""
    return re.sub(r"[\s\"']", "", name)


def find_config(folder: Path) -> Path | None:
    """The file of a folder, or of the nearest one above it, relative to the working directory."""
    candidates = (place / FILE for place in (folder, *folder.parents))
    file = next((path for path in candidates if path.is_file()), None)
    return Path(os.path.relpath(file)) if file else None


def read_config(path: Path) -> ConfigFile:
    """A file of options, of which only the syntax is checked.

    Raises:
        InputError: it cannot be read, or is no TOML; with file and line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file. `gigamind init` writes one.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: the options cannot be read ({error}); save it as UTF-8"
        ) from error
    try:
        return ConfigFile(path, text, toml_values(text))
    except ValueError as error:
        at = re.search(r"at line (\d+)", str(error))
        line = f":{at[1]}" if at else ""
        raise InputError(f"{path}{line}: no TOML: {error}; mend that line") from error


def options_from_file(context: click.Context, named: Path | None) -> dict[str, Any]:
    """The values of a command's options that its table in the file has, by parameter.

    Args:
        named: the file; the one of the working directory or of a folder above it where None.

    Raises:
        InputError: the file cannot be read, or has something that is no table or no option; with file and line.
    """
    path = named or find_config(Path.cwd())
    if path is None:
        return {}
    config = read_config(path)
    if wrong := next(_wrong_tables(config, context.find_root()), None):
        raise InputError(wrong)
    table = _table_of(context)
    values = _lent(config, table, context) | _values(config, table, context)
    if values:
        context.meta[_FOUND] = config.path
    return values


def config_used() -> ConfigReport | None:
    """Which options of the running command came from which file; None where none did."""
    context = click.get_current_context()
    file = context.meta.get(_FOUND)
    names = tuple(
        name
        for param in context.command.params
        if (name := param.name or "")
        and context.get_parameter_source(name) == ParameterSource.DEFAULT_MAP
    )
    return ConfigReport(file=str(file), options=names) if file and names else None


def _table_of(context: click.Context) -> str:
    """The name of a command's table, such as "search" or "judge.test"."""
    words: list[str] = []
    at = context
    while at.parent is not None:
        words.insert(0, at.info_name or "")
        at = at.parent
    return ".".join(words[1:] if words[:1] == [_DEFAULT_GROUP] else words)


def check_config(
    config: ConfigFile, root: click.Context
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The values of every table that is right, by its name and option, and what is wrong with the others."""
    values: dict[str, dict[str, Any]] = {}
    problems = list(_wrong_tables(config, root))
    homes = _homes(root)
    for name in config.tables.keys() & homes.keys():
        for table, command in _commands(name, homes[name], config.tables[name], root):
            if command is None:
                problems.append(f"{config.where(table)}: [{table}]: there is no such command")
                continue
            try:
                values[table] = _values(config, table, click.Context(command))
            except InputError as error:
                problems.append(str(error))
    return values, problems


def _commands(
    name: str, group: click.Group, table: object, root: click.Context
) -> Iterator[tuple[str, click.Command | None]]:
    """The command of a table, or those of its tables; None for a name that no command has."""
    command = group.get_command(root, name)
    if not isinstance(command, click.Group):
        yield name, command
    elif isinstance(table, dict):
        for inner in cast("dict[str, Any]", table):
            yield f"{name}.{inner}", command.get_command(root, inner)


def _wrong_tables(config: ConfigFile, root: click.Context) -> Iterator[str]:
    """What stands in no table, and tables of no command; with file and line."""
    known = _homes(root)
    for name, value in config.tables.items():
        if not isinstance(value, dict):
            yield (
                f"{config.where('', name)}: {name}: stands in no table; write it below one, such as [search]"
            )
        elif name not in known:
            yield f"{config.where(name)}: [{name}]: there is no such command; {meant_by(name, known)}"


def _homes(root: click.Context) -> dict[str, click.Group]:
    """The first words of all tables that there may be, and the group that has the command."""
    group = root.command
    if not isinstance(group, click.Group):
        return {}
    inner = group.get_command(root, _DEFAULT_GROUP)
    homes = {name: group for name in group.list_commands(root) if name != _DEFAULT_GROUP}
    if isinstance(inner, click.Group):
        homes |= dict.fromkeys(inner.list_commands(root), inner)
    return homes


def _lent(config: ConfigFile, table: str, context: click.Context) -> dict[str, Any]:
    """What another command's table has of this command's options, but for what is of one run."""
    lender = _LENT.get(table)
    if lender is None:
        return {}
    known = {name for name, _ in _options(context.command)} - _OF_ONE_RUN
    keys = [key for key in _table(config, lender) if key.replace("-", "_") in known]
    return _values(config, lender, context, keys)


def _table(config: ConfigFile, table: str) -> dict[str, Any]:
    section: Any = config.tables
    for word in table.split("."):
        section = cast("dict[str, Any]", section).get(word, {}) if isinstance(section, dict) else {}
    if not isinstance(section, dict):
        raise InputError(f"{config.where(table)}: {table}: must be a table, such as [{table}]")
    return cast("dict[str, Any]", section)


def _values(
    config: ConfigFile, table: str, context: click.Context, keys: Iterable[str] | None = None
) -> dict[str, Any]:
    """The values of a table, or those of these keys in it, by parameter."""
    section = _table(config, table)
    options = dict(_options(context.command))
    values: dict[str, Any] = {}
    for key in section if keys is None else keys:
        value = section[key]
        name = key.replace("-", "_")
        where = config.where(table, key)
        if name not in options:
            flags = [known.replace("_", "-") for known in options]
            raise InputError(
                f"{where}: {key}: [{table}] has no such option; {meant_by(name.replace('_', '-'), flags)}"
            )
        values[options[name].name or name] = _checked(options[name], value, where, config, context)
    return values


def _options(command: click.Command) -> Iterator[tuple[str, click.Option]]:
    """The options that may stand in a file, by the name of their flag with "_"."""
    for param in command.params:
        if isinstance(param, click.Option):
            name = max(param.opts, key=len).lstrip("-").replace("-", "_")
            if name not in _NOT_IN_A_FILE:
                yield name, param


def _checked(
    option: click.Option, value: object, where: str, config: ConfigFile, context: click.Context
) -> object:
    """The value as the option takes it.

    Raises:
        InputError: it cannot be; with file and line.
    """
    what = f"{where}: {max(option.opts, key=len).lstrip('-')}"
    if option.is_flag != isinstance(value, bool):
        raise InputError(
            f"{what} = {value!r}: must be {'true or false' if option.is_flag else 'a value, and no switch'}"
        )
    if option.multiple != isinstance(value, list):
        raise InputError(
            f"{what} = {value!r}: must be {'a list' if option.multiple else 'one value'}"
        )
    if isinstance(option.type, click.Path):
        value = _from_folder(config, value, what)
    try:
        option.type_cast_value(context, value)
    except click.BadParameter as error:
        raise InputError(f"{what} = {value!r}: {error.message}") from error
    if isinstance(option, Checking):
        option.check(value, what)
    return value


def _from_folder(config: ConfigFile, value: object, what: str) -> object:
    """A path, or a list of them, as seen from the folder of the file; a number would name an open file of this process.

    Raises:
        InputError: it is no path.
    """
    if isinstance(value, list):
        return [_from_folder(config, path, what) for path in cast("list[object]", value)]
    if not isinstance(value, str) or "\0" in value:
        raise InputError(f"{what} = {value!r}: must be a path in quotes")
    if Path(value).is_absolute():
        return value
    return os.path.relpath(config.path.resolve().parent / value)
