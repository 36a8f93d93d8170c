"""Load what users name: an attribute of a module, a TOML file (theirs or one of gigamind), or JSON.

The problems that pydantic finds in fields get their messages here.  Rows of datasets have their own messages.
"""

import difflib
import importlib
import json
import sys
import tomllib
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from gigamind.assets import asset
from gigamind.errors import OWN_FAULTS, InputError, fault_of, reason_of, text_of
from gigamind.i18n import Message, Text, _, joined, n_

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_SHOWN = 10  # problems in one message

_File = TypeVar("_File", bound=BaseModel)


class ConfigReport(BaseModel, extra="forbid", frozen=True, defer_build=True):
    """The file of options that a command read, and the names of the options."""

    file: str
    options: tuple[str, ...]


def require(package: str) -> None:
    """Raise ModuleNotFoundError if a package of an extra is not installed; does not import it."""
    with suppress(ValueError):  # sys.modules has None for it
        if find_spec(package):
            return
    raise ModuleNotFoundError(package, name=package)


def imported(module: str, attribute: str) -> object:
    """Return an attribute of a module, which may be in the working directory.

    Raises:
        ImportError, AttributeError, ValueError: there is no such module or attribute.
        InputError: the code of the module failed; names the place.
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
                "{module} cannot be imported: its code failed at {place}: {reason}. Fix the code there.",
                module=module,
                place=place,
                reason=fault_of(error),
            ) from error
        if isinstance(error, TypeError):  # a name that begins with a dot
            raise ValueError(str(error)) from error  # noqa: TRY004  as for an empty name
        raise


def _place_of(error: BaseException) -> str | None:
    """Return file:line where the code of an imported module failed; None if the module was not found."""
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


def names_in(folder: str) -> list[str]:
    """Return the names of the TOML files in a folder of gigamind, such as "systems"."""
    return sorted(file.stem for file in asset(folder).glob("*.toml"))


def file_named(name: str, folder: str, option: str) -> Path:
    """Return the TOML file of a path, or of a name such as "x" or "judges/x.toml" in a folder of gigamind.

    Raises InputError, which names the `option`, if there is none.
    """
    if (path := Path(name)).is_file():
        return path
    own, known = name.removeprefix(f"{folder}/").removesuffix(".toml"), names_in(folder)
    if own in known:
        return asset(folder) / f"{own}.toml"
    raise InputError(
        "{option} {name}: no such file. Give the path of a file, or one of: {known}.",
        option=option,
        name=name,
        known=known,
    )


def placed_judge(name: str, folder: Path) -> str:
    """Return the --judge that `name` means in a folder, for use in others: only files and nli:FOLDER have a place."""
    kind, colon, model = name.rpartition("nli:")
    is_place = (folder / model).is_dir() if colon and not kind else (folder / name).is_file()
    return f"{colon}{(folder / model).absolute()}" if is_place else name


def read_fields(path: Path, model: type[_File], what: Text) -> _File:
    """Return the fields of a TOML file.

    Args:
        what: the kind of file, such as `_("judge file")`.

    Raises:
        InputError: it cannot be read, or a field is unknown or wrong; names the field.
    """
    try:
        values = toml_values(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            "{file}: no such file. Give the path of a {what}.", file=path, what=what
        ) from error
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else text_of(error)
        raise InputError(
            "{file}: the {what} cannot be read: {reason}", file=path, what=what, reason=reason
        ) from error
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "extra_forbidden":
            field = field_name(first["loc"])
            raise InputError(
                "{file}: unknown field {field}. {hint}",
                file=path,
                field=field,
                hint=meant_by(field, model.model_fields),
            ) from None
        raise InputError(joined([str(path), first_problem(error)], ": ")) from None


def read_bytes(path: Path, what: Text) -> bytes:
    """Return the content of a file; InputError, in which `what` names it, if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            "{file}: {what} cannot be read ({reason}). Check the path.",
            file=path,
            what=what,
            reason=reason_of(error),
        ) from error


def decoded(path: Path, content: bytes) -> str:
    """Decode UTF-8, or UTF-16 with a byte order mark; InputError with the line for another encoding."""
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    encoding = "utf-16" if marked else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            "{file}:{line}: the text is not {encoding}. Convert the file to UTF-8: iconv -f CP949 -t UTF-8"
            " (replace CP949 with the encoding of the file).",
            file=path,
            line=line,
            encoding=encoding.removesuffix("-sig").upper(),
        ) from error


def read_text(path: Path, what: Text) -> str:
    """Return the text of a file; see `read_bytes` and `decoded`."""
    return decoded(path, read_bytes(path, what))


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, numbered from 1.  U+2028 ends no line: a JSON string may hold it."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def parsed(model: type[_File], text: str | bytes, where: str) -> _File:
    """Return a JSON text as a model.

    Raises:
        InputError: the text is not JSON, or does not fit the model; `where` and the first problem.
    """
    try:
        values: object = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of 5 000 digits
        raise InputError("{place}: not JSON ({reason})", place=where, reason=str(error)) from error
    try:
        return model.model_validate(values)
    except ValidationError as error:
        problem = first_problem(error)
        if len(error.errors()[0]["loc"]) > 1:
            raise InputError(joined([where, problem], ": ")) from error
        fields = [known.alias or name for name, known in model.model_fields.items()]
        raise InputError(
            "{place}: {problem}. Fields: {fields}.", place=where, problem=problem, fields=fields
        ) from error


def refuse_problems(problems: Sequence[str]) -> None:
    """Raise InputError with the first problems, each with its place and fix, if there are any."""
    if problems:
        left = len(problems) - _SHOWN
        more = [n_("... and {n} more problem", "... and {n:,} more problems", n=left)]
        raise InputError(joined([*problems[:_SHOWN], *(more if left > 0 else ())], "\n"))


def first_problem(error: ValidationError) -> Text:
    """Return the first wrong field and its problem."""
    return problem_of(error.errors(include_url=False)[0])


def problem_of(details: "ErrorDetails") -> Text:
    """Return a wrong field and its problem; the problem alone if it is about the whole value."""
    field, demand = field_name(details["loc"]), demand_of(details)
    return joined([field, demand], ": ") if field else demand


_MUST_BE_INTEGER, _MUST_BE_NUMBER = _("must be an integer"), _("must be a number")
_MUST_BE_BOOLEAN, _MUST_BE_LIST = _("must be true or false"), _("must be a list")
_MUST_BE_OBJECT = _("must be a JSON object")
_DEMANDS: dict[str, Message] = {  # by pydantic's type of error
    "missing": _("this field is required"),
    "extra_forbidden": _("there is no such field"),
    "string_type": _("must be text"),
    "int_type": _MUST_BE_INTEGER,
    "int_parsing": _MUST_BE_INTEGER,
    "int_from_float": _MUST_BE_INTEGER,
    "float_type": _MUST_BE_NUMBER,
    "float_parsing": _MUST_BE_NUMBER,
    "finite_number": _("must be a finite number"),
    "bool_type": _MUST_BE_BOOLEAN,
    "bool_parsing": _MUST_BE_BOOLEAN,
    "list_type": _MUST_BE_LIST,
    "tuple_type": _MUST_BE_LIST,
    "dict_type": _MUST_BE_OBJECT,
    "model_type": _MUST_BE_OBJECT,
    "none_required": _("must be null"),
}


def demand_of(details: "ErrorDetails") -> Text:
    """Return what a value must be; pydantic's own words for types of errors without a message here."""
    kind, context = details["type"], details.get("ctx", {})
    if kind in _DEMANDS:
        return _DEMANDS[kind]
    raised = context.get("error")
    if isinstance(raised, Exception) and raised.args and isinstance(raised.args[0], str):
        return raised.args[0]
    return _limit_of(kind, context) or details["msg"]


def _limit_of(kind: str, context: dict[str, Any]) -> Message | None:  # noqa: PLR0911  a case for each type
    match kind:
        case "greater_than":
            return _("must be greater than {limit:,.12g}", limit=float(context["gt"]))
        case "greater_than_equal":
            return _("must be {limit:,.12g} or more", limit=float(context["ge"]))
        case "less_than":
            return _("must be less than {limit:,.12g}", limit=float(context["lt"]))
        case "less_than_equal":
            return _("must be {limit:,.12g} or less", limit=float(context["le"]))
        case "literal_error":
            known = str(context["expected"]).replace(" or ", ", ")
            return _("must be one of {known}", known=known)
        case "string_too_short" | "too_short":
            return _("must have a length of at least {least:,}", least=context["min_length"])
        case "string_too_long" | "too_long":
            return _("must have a length of at most {most:,}", most=context["max_length"])
        case "string_pattern_mismatch":
            return _("must match the pattern {pattern}", pattern=context["pattern"])
        case _unknown:
            return None


def field_name(location: Sequence[int | str]) -> str:
    """Return `("expected_spans", 0, "start")` as `expected_spans[0].start`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return "".join(steps).removeprefix(".")


def meant_by(name: str, known: Iterable[str]) -> Text:
    """Return a hint for an unknown name: the most similar known one, or all of them."""
    names = sorted(known)
    similar = difflib.get_close_matches(name, names, 1)
    if similar:
        return _("Did you mean {name}?", name=similar[0])
    return _("Known names: {names}.", names=names)


def toml_values(text: str, parse_float: Callable[[str], object] = float) -> dict[str, Any]:
    """Return the values of a TOML text.

    Args:
        parse_float: makes a number of its digits.

    Raises:
        ValueError: it is no TOML, is nested too deeply, or has a number that Python cannot read.
    """
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except RecursionError as error:
        raise ValueError(_("the content is nested too deeply")) from error
    except ArithmeticError as error:  # of `parse_float`
        raise ValueError(_("a number is too large")) from error
