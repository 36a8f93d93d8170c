"""Options of commands from `gigamind.toml`, so that daily commands need none.

A table has the name of its command: [search], [links] and [answers] for `gigamind eval`, [memory.graduate] and so on
for others.  The command line overrides the environment, which overrides the file.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import click
from click.core import ParameterSource

from gigamind.cli.output import value_demand
from gigamind.errors import InputError, reason_of
from gigamind.i18n import Message, Text, _, joined
from gigamind.loading import ConfigReport, meant_by, placed_judge, toml_values

FILE = "gigamind.toml"
_CONFIG_PATH = "gigamind.config"  # the file that options come from
_DEFAULT_GROUP = "eval"  # tables of its commands have the command's name alone
_SHARED = {"tune.search": "search"}  # a command -> the other table that it also takes options from
_OF_ONE_RUN = {  # not shared
    *("out", "resume", "compare", "changed", "junit", "fail_on_regression", "save_snapshot")
}
_NOT_IN_A_FILE = {"config", "quiet", "help", "help_all"}
_TABLE = re.compile(r"\s*\[(?P<name>[^\[\]]+)\]")


class _ConfigFile(NamedTuple):
    """A file of options: its text, to look up line numbers in, and its TOML tables."""

    path: Path
    text: str
    tables: Mapping[str, Any]

    def where(self, table: str, key: str = "") -> str:
        """Return file and line of a key, or of the head of its table if the key is not found."""
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
    return re.sub(r"[\s\"']", "", name)


def find_config(folder: Path) -> Path | None:
    """Return the file in a folder or the nearest one above it, relative to the working directory."""
    candidates = (place / FILE for place in (folder, *folder.parents))
    file = next((path for path in candidates if path.is_file()), None)
    return Path(os.path.relpath(file)) if file else None


def read_config(path: Path) -> _ConfigFile:
    """Read a file of options and check only its syntax; an InputError names file and line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(
            "{file}: no such file. Create it with `gigamind init`.", file=path
        ) from error
    except OSError as error:
        raise InputError(
            "{file} cannot be read: {reason}", file=path, reason=reason_of(error)
        ) from error
    except UnicodeDecodeError as error:
        raise InputError("{file} is not UTF-8. Save it as UTF-8.", file=path) from error
    try:
        return _ConfigFile(path, text, toml_values(text))
    except ValueError as error:
        line = re.search(r"at line (\d+)", str(error))
        where = f"{path}:{line[1]}" if line else str(path)
        raise InputError(
            "{where}: not valid TOML ({reason}). Fix that line.", where=where, reason=str(error)
        ) from error


def options_from_file(context: click.Context, named: Path | None) -> dict[str, Any]:
    """Return a command's options in a file, by default the nearest `gigamind.toml`; InputError names file and line."""
    path = named or find_config(Path.cwd())
    if path is None:
        return {}
    config = read_config(path)
    if problem := next(_wrong_tables(config, context.find_root()), None):
        raise InputError(problem)
    words = context.command_path.split()[1:]
    table = ".".join(words[1:] if words[:1] == [_DEFAULT_GROUP] else words)
    shared: dict[str, Any] = {}
    if other := _SHARED.get(table):
        known = {name for name, _option in _options(context.command)} - _OF_ONE_RUN
        keys = [key for key in _table(config, other) if key.replace("-", "_") in known]
        shared = _values(config, other, context, keys)
    if values := shared | _values(config, table, context):
        context.meta[_CONFIG_PATH] = config.path
    return values


def config_used() -> ConfigReport | None:
    """Return which options of the running command came from which file; None if none did."""
    context = click.get_current_context()
    file = context.meta.get(_CONFIG_PATH)
    names = tuple(
        name
        for param in context.command.params
        if (name := param.name or "")
        and context.get_parameter_source(name) == ParameterSource.DEFAULT_MAP
    )
    return ConfigReport(file=str(file), options=names) if file and names else None


def check_config(
    config: _ConfigFile, root: click.Context
) -> tuple[dict[str, dict[str, Any]], list[Text]]:
    """Return the values of every valid table, by its name and option, and the problems of the others."""
    values: dict[str, dict[str, Any]] = {}
    problems: list[Text] = list(_wrong_tables(config, root))
    homes = _homes(root)
    for name in config.tables.keys() & homes.keys():
        for table, command in _commands(name, homes[name], config.tables[name], root):
            if command is None:
                problems.append(_no_such_command(config, table))
                continue
            try:
                values[table] = _values(config, table, click.Context(command))
            except InputError as error:
                problems.append(error.message)
    return values, problems


def _commands(
    name: str, group: click.Group, table: object, root: click.Context
) -> Iterator[tuple[str, click.Command | None]]:
    command = group.get_command(root, name)
    if not isinstance(command, click.Group):
        yield name, command
    elif isinstance(table, dict):
        for inner in cast("dict[str, Any]", table):
            yield f"{name}.{inner}", command.get_command(root, inner)


def _no_such_command(config: _ConfigFile, table: str, hint: Text = "") -> Message:
    where = config.where(table)
    text = _("{where}: no gigamind command matches the table [{table}].", where=where, table=table)
    return joined(filter(None, (text, hint)), " ")


def _wrong_tables(config: _ConfigFile, root: click.Context) -> Iterator[Message]:
    known = _homes(root)
    for name, value in config.tables.items():
        if not isinstance(value, dict):
            yield _(
                "{where}: {key} is not in a table. Move the line below a table heading, such as [search].",
                where=config.where("", name),
                key=name,
            )
        elif name not in known:
            yield _no_such_command(config, name, meant_by(name, known))


def _homes(root: click.Context) -> dict[str, click.Group]:
    group = root.command
    if not isinstance(group, click.Group):
        return {}
    inner = group.get_command(root, _DEFAULT_GROUP)
    homes = {name: group for name in group.list_commands(root) if name != _DEFAULT_GROUP}
    if isinstance(inner, click.Group):
        homes |= dict.fromkeys(inner.list_commands(root), inner)
    return homes


def _table(config: _ConfigFile, table: str) -> dict[str, Any]:
    section: Any = config.tables
    for word in table.split("."):
        section = cast("dict[str, Any]", section).get(word, {}) if isinstance(section, dict) else {}
    if not isinstance(section, dict):
        raise InputError(
            "{where}: {table} must be a table. Write its options below the heading [{table}].",
            where=config.where(table),
            table=table,
        )
    return cast("dict[str, Any]", section)


def _values(
    config: _ConfigFile, table: str, context: click.Context, keys: Iterable[str] | None = None
) -> dict[str, Any]:
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
                "{where}: {key}: [{table}] has no such option. {hint}",
                where=where,
                key=key,
                table=table,
                hint=meant_by(name.replace("_", "-"), flags),
            )
        values[options[name].name or name] = _checked(options[name], value, where, config, context)
    return values


def _options(command: click.Command) -> Iterator[tuple[str, click.Option]]:
    for param in command.params:
        if isinstance(param, click.Option):
            name = max(param.opts, key=len).lstrip("-").replace("-", "_")
            if name not in _NOT_IN_A_FILE:
                yield name, param


def _checked(
    option: click.Option, value: object, where: str, config: _ConfigFile, context: click.Context
) -> object:
    name = f"{where}: {max(option.opts, key=len).lstrip('-')}"
    if demand := _shape_demand(option, value):
        raise _wrong_value(name, value, demand)
    if isinstance(option.type, click.Path):
        value = _from_folder(config, value, name)
    try:
        option.type_cast_value(context, value)
    except click.BadParameter as error:
        raise _wrong_value(name, value, value_demand(option.type) or error.message) from error
    if check := getattr(option, "check", None):  # an option of a model checks its own values
        check(value, name)
    return value


def _shape_demand(option: click.Option, value: object) -> Message | None:
    if option.is_flag != isinstance(value, bool):
        if option.is_flag:
            return _("must be true or false")
        return _("must be a number or a text in quotes, not true or false")
    if option.multiple != isinstance(value, list):
        return _("must be a list") if option.multiple else _("must be one value, not a list")
    return None


def _wrong_value(where: str, value: object, demand: Text) -> InputError:
    return InputError("{where} = {value}: {demand}", where=where, value=repr(value), demand=demand)


def _from_folder(config: _ConfigFile, value: object, name: str) -> object:
    # A number would name an open file of this process.
    if isinstance(value, list):
        return [_from_folder(config, path, name) for path in cast("list[object]", value)]
    if not isinstance(value, str) or "\0" in value:
        raise _wrong_value(name, value, _("must be a path in quotes"))
    folder = config.path.resolve().parent
    if name.endswith(": judge") and not (folder / value).is_file():
        return placed_judge(value, folder)
    return value if Path(value).is_absolute() else os.path.relpath(folder / value)
