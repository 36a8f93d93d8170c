"""Read files of other tools: bytes, text in several encodings, and lines with their places."""

import json
from pathlib import Path
from typing import cast

from gigamind.errors import InputError, reason_of, text_of
from gigamind.i18n import Message, _
from gigamind.loading import refuse_problems

Fields = dict[str, object]


def read_bytes(path: Path, what: Message) -> bytes:
    """Return the content of a file.

    Raises:
        InputError: it cannot be read; `what` names it in the message.
    """
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
    """Decode UTF-8, or UTF-16 with a byte order mark.

    Raises:
        InputError: another encoding; names the line.
    """
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


def read_text(path: Path, what: Message) -> str:
    """Return the text of a file; see `read_bytes` and `decoded`."""
    return decoded(path, read_bytes(path, what))


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
