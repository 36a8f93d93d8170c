"""Read files of other tools: bytes, text in several encodings, and lines with their places."""

import json
from pathlib import Path
from typing import cast

from gigamind.errors import InputError, text_of
from gigamind.i18n import Message, _
from gigamind.loading import read_text, refuse_problems

Fields = dict[str, object]


def placed_lines(path: Path, text: str) -> list[tuple[str, str]]:
    """Return the non-blank lines, stripped, each with its place as `file:line`."""
    numbered = enumerate(text.split("\n"), start=1)
    return [(f"{path}:{number}", line.strip()) for number, line in numbered if line.strip()]


def json_lines(path: Path, what: Message) -> list[tuple[str, Fields]]:
    """Return the objects of a JSON lines file, each with its place.

    Raises:
        InputError: it cannot be read, or a line is not an object.
    """
    rows: list[tuple[str, Fields]] = []
    problems: list[Message] = []
    for place, line in placed_lines(path, read_text(path, what)):
        try:
            rows.append((place, _object(json.loads(line))))
        except (ValueError, RecursionError) as error:
            problems.append(
                _(
                    "{place}: not a JSON object ({reason}). Write one per line.",
                    place=place,
                    reason=text_of(error),
                )
            )
    refuse_problems(problems)
    return rows


def json_whole(path: Path, what: Message) -> object:
    """Return the value of a JSON file.

    Raises:
        InputError: it cannot be read, or is not JSON; names the line.
    """
    text = read_text(path, what)
    try:
        return cast("object", json.loads(text))
    except json.JSONDecodeError as error:
        raise InputError(
            "{file}:{line}: invalid JSON ({reason}). Fix the line, or export the file again.",
            file=path,
            line=error.lineno,
            reason=error.msg,
        ) from error
    except (ValueError, RecursionError) as error:  # a number of 5 000 digits; nested too deeply
        raise InputError(
            "{file}: cannot be read ({reason}). Export it again.", file=path, reason=str(error)
        ) from error


def _object(value: object) -> Fields:
    if not isinstance(value, dict):
        raise ValueError(_("found a value of type {type}", type=type(value).__name__))  # noqa: TRY004  the text is at fault
    return cast("Fields", value)
