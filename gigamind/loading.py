"""Loads what a team names: an attribute of their module, or a TOML file, theirs or one that comes with gigamind."""

import difflib
import sys
import tomllib
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gigamind.assets import asset
from gigamind.errors import InputError

File = TypeVar("File", bound=BaseModel)


class ConfigReport(BaseModel, extra="forbid", frozen=True):
    """Which options a command read from a file of options.

    Attributes:
        options: their names.
    """

    file: str
    options: tuple[str, ...]


def imported(module: str, attribute: str) -> object:
    """A name of a module, which may stand below the folder that the command was called in.

    Raises:
        ImportError, AttributeError, ValueError: there is none.
    """
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.append(here)
    try:
        return getattr(import_module(module), attribute)
    finally:
        if added:
            sys.path.remove(here)


def file_named(name: str, folder: str, option: str) -> Path:
    """The TOML file of that path, or of that name, such as "x" or "judges/x.toml", in a folder of gigamind itself.

    Raises:
        InputError: there is none; `option` is what named it.
    """
    if (path := Path(name)).is_file():
        return path
    home = asset(folder)
    own = name.removeprefix(f"{folder}/").removesuffix(".toml")
    if (path := home / f"{own}.toml").is_file():
        return path
    known = ", ".join(sorted(file.stem for file in home.glob("*.toml")))
    raise InputError(f"{option} {name}: neither a file nor one of {known}")


def read_fields(path: Path, model: type[File], what: str) -> File:
    """The fields of a TOML file; `what` it is, such as "judge file".

    Raises:
        InputError: it cannot be read, or says something unknown; names the field.
    """
    try:
        return model.model_validate(read_toml(path, what))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise InputError(
                f"{path}: {place}: there is no such field; {meant_by(place, model.model_fields)}"
            ) from None
        field = f"{place}: " if place else ""
        raise InputError(f"{path}: {field}{first['msg'].removeprefix('Value error, ')}") from None


def meant_by(name: str, known: Iterable[str]) -> str:
    """What a name that is not known may be meant for, in a few words."""
    names = sorted(known)
    meant = difflib.get_close_matches(name, names, 1)
    return f"{meant[0]} is meant, perhaps" if meant else f"there are {', '.join(names)}"


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The fields of a TOML file, unchecked.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return toml_values(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file. Give the path of a {what}.") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: the {what} cannot be read: {error}") from error


def toml_values(text: str, parse_float: Callable[[str], object] = float) -> dict[str, Any]:
    """The values of a TOML text; `parse_float` makes a number of its digits.

    Raises:
        ValueError: it is no TOML, nests too deeply, or has a number that Python does not read.
    """
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except ArithmeticError as error:  # of `parse_float`
        raise ValueError("a number is too large") from error
