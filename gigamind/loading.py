"""Loads what a team names: an attribute of their module, a TOML file, theirs or one that comes with gigamind, or rows.

What pydantic finds wrong with fields is told here alike for all of them; rows of datasets have words of their own.
"""

import difflib
import importlib
import json
import sys
import tomllib
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from gigamind.assets import asset
from gigamind.errors import OWN_FAULTS, InputError, fault_of

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_SHOWN = 10  # problems in one message

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
        InputError: the module is there, and its own code failed; says where.
    """
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.append(here)
    try:
        return getattr(_run(module), attribute)
    finally:
        if added:
            sys.path.remove(here)


def _run(module: str) -> ModuleType:
    try:
        return import_module(module)
    except OWN_FAULTS as error:
        if place := _place_of(error):
            raise InputError(
                f"{module}: cannot be imported, for its code failed: {place}: {fault_of(error)}; mend it there"
            ) from error
        if isinstance(error, TypeError):  # a name that begins with a dot
            raise ValueError(str(error)) from error  # noqa: TRY004  as for an empty name
        raise


def _place_of(error: BaseException) -> str | None:
    """file:line where the code of a module failed that is imported here; None where it was not found."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename not in {__file__, importlib.__file__}
        and not frame.filename.startswith("<frozen")
    ]
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else None


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
        if first["type"] == "extra_forbidden":
            field = field_name(first["loc"])
            raise InputError(
                f"{path}: {field}: there is no such field; {meant_by(field, model.model_fields)}"
            ) from None
        raise InputError(f"{path}: {first_problem(error)}") from None


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, numbered from 1.  U+2028 ends no line: a JSON string may hold it."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def parsed(model: type[File], text: str | bytes, where: str) -> File:
    """JSON text as a model.

    Raises:
        InputError: the text is not JSON, or no such model; the first problem, after `where`.
    """
    try:
        values: object = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of 5 000 digits
        raise InputError(f"{where}: not JSON ({error})") from error
    try:
        return model.model_validate(values)
    except ValidationError as error:
        problem = first_problem(error)
        if len(error.errors()[0]["loc"]) > 1:
            raise InputError(f"{where}: {problem}") from error
        fields = ", ".join(known.alias or name for name, known in model.model_fields.items())
        raise InputError(f"{where}: {problem}; the fields are {fields}") from error


def refuse_problems(problems: Sequence[str]) -> None:
    """Raise the first problems, each with its place and how to mend it, if there are any.

    Raises:
        InputError: there are.
    """
    if problems:
        more = f"\n... and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        raise InputError("\n".join(problems[:_SHOWN]) + more)


def first_problem(error: ValidationError) -> str:
    """The first field that is wrong, unless all is, and what is wrong with it."""
    return problem_of(error.errors(include_url=False)[0])


def problem_of(details: "ErrorDetails") -> str:
    """A field that is wrong, unless all is, and what is wrong with it."""
    is_no_object = details["type"] == "model_type"  # pydantic names a class of ours
    message = "Input should be a JSON object" if is_no_object else details["msg"]
    field = field_name(details["loc"])
    return f"{field}: {message.removeprefix('Value error, ')}".removeprefix(": ")


def field_name(location: Sequence[int | str]) -> str:
    """`("expected_spans", 0, "start")` as `expected_spans[0].start`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return "".join(steps).removeprefix(".")


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
