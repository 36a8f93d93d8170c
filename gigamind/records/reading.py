"""Reads again what gigamind wrote: whole files, and lines of JSON."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from gigamind.errors import InputError
from gigamind.loading import first_problem

Model = TypeVar("Model", bound=BaseModel)


def read_report(path: Path, model: type[Model], missing: str) -> Model:
    """What such a file holds.

    Raises:
        InputError: see `read_written`; or it is not as gigamind writes it.
    """
    return parse_report(read_written(path, missing), model, str(path))


def read_reports(path: Path, model: type[Model], missing: str) -> list[Model]:
    """What each line of such a file holds.

    Raises:
        InputError: as `read_report`; names the line.
    """
    return [parse_report(line, model, place) for place, line in written_lines(path, missing)]


def parse_report(text: str, model: type[Model], place: str) -> Model:
    """What gigamind wrote at that place.

    Raises:
        InputError: it is not as gigamind writes it.
    """
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise InputError(f"{place}: not as gigamind writes it ({first_problem(error)})") from error


def read_written(path: Path, missing: str) -> str:
    """The text of a file that gigamind wrote; `missing` says what it means that there is none.

    Raises:
        InputError: there is none, or it cannot be read.
    """
    try:
        return path.read_text("utf-8")
    except FileNotFoundError as error:
        raise InputError(f"{path}: {missing}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def written_lines(path: Path, missing: str) -> list[tuple[str, str]]:
    """The lines of such a file that are not empty, each behind its place as `file:line`.

    Raises:
        InputError: see `read_written`.
    """
    # Not splitlines: a note's text may hold U+2028, which JSON leaves as it is.
    lines = read_written(path, missing).split("\n")
    return [(f"{path}:{number}", line) for number, line in enumerate(lines, start=1) if line]
