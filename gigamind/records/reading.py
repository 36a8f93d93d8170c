"""Read back files and JSON lines that gigamind wrote."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from gigamind.errors import InputError, reason_of
from gigamind.i18n import Text, _
from gigamind.loading import first_problem

Model = TypeVar("Model", bound=BaseModel)


def read_report(path: Path, model: type[Model], missing: Text) -> Model:
    """Read a file as a report.

    Raises:
        InputError: see `read_written`; or the file was not written by gigamind.
    """
    return parse_report(read_written(path, missing), model, str(path))


def read_reports(path: Path, model: type[Model], missing: Text) -> list[Model]:
    """Read each line of a file as a report.

    Raises:
        InputError: as for `read_report`; names the line.
    """
    return [parse_report(line, model, place) for place, line in written_lines(path, missing)]


def parse_report(text: str, model: type[Model], place: str) -> Model:
    """Parse a report; `place` names its source in messages.

    Raises:
        InputError: it was not written by gigamind.
    """
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise InputError(
            _(
                "{place}: not written by this version of gigamind ({reason})",
                place=place,
                reason=first_problem(error),
            )
        ) from error


def read_written(path: Path, missing: Text) -> str:
    """Return the text of a file that gigamind wrote; `missing` explains its absence in the message.

    Raises:
        InputError: it is missing or cannot be read.
    """
    try:
        return path.read_text("utf-8")
    except FileNotFoundError as error:
        raise InputError(_("{file}: {reason}", file=path, reason=missing)) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise InputError(
            _("{file}: cannot be read ({reason})", file=path, reason=reason)
        ) from error


def written_lines(path: Path, missing: Text) -> list[tuple[str, str]]:
    """Return the non-empty lines of a written file, each with its place as `file:line`.

    Raises:
        InputError: see `read_written`.
    """
    # Not splitlines: a note's text may contain U+2028, which JSON does not escape.
    lines = read_written(path, missing).split("\n")
    return [(f"{path}:{number}", line) for number, line in enumerate(lines, start=1) if line]
