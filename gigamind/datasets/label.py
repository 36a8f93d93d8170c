"""Adds what people said of unjudged hits to the rows of a dataset."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from gigamind.datasets.schema import Filled, Gain, QueryItem
from gigamind.errors import InputError
from gigamind.loading import numbered_lines, parsed


class _Line(BaseModel):
    """What is read of a line of unjudged.jsonl; null is a hit that nobody judged yet."""

    model_config = ConfigDict(strict=True, extra="ignore")

    id: Filled
    note: Filled
    gain: Gain | None = None


def read_gains(path: Path, known: Collection[str]) -> dict[str, dict[str, int]]:
    """Query -> note -> grade of the lines that have one.

    Args:
        known: ids of the queries of the dataset.

    Raises:
        InputError: the file cannot be read, a line is of no query of the dataset or no label, or none has a grade.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: the labels cannot be read ({error}); save it as UTF-8"
        ) from error
    gains: dict[str, dict[str, int]] = {}
    for number, row in numbered_lines(text):
        line = parsed(_Line, row, f"{path}:{number}")
        if line.id not in known:
            raise InputError(
                f'{path}:{number}: no query "{line.id}" in the dataset; give that of the run'
            )
        if line.gain is None:
            continue
        if gains.setdefault(line.id, {}).setdefault(line.note, line.gain) != line.gain:
            raise InputError(f'{path}:{number}: "{line.note}" has another gain above; keep one')
    if not gains:
        raise InputError(
            f'{path}: no line has a gain; write "gain": 0 for an irrelevant note, 1 or more for others'
        )
    return gains


def labelled(
    items: Sequence[QueryItem], gains: Mapping[str, Mapping[str, int]]
) -> Iterator[QueryItem]:
    """The rows with their new grades, which count before older ones; one that finds a relevant note is answerable."""
    for item in items:
        own = gains.get(item.id)
        if own is None:
            yield item
            continue
        grades = {**(item.gains or {}), **own}
        expected = [note for note in item.expected_notes if grades.get(note, 1) > 0]
        expected += [note for note, gain in own.items() if gain > 0 and note not in expected]
        yield item.model_copy(
            update={
                "gains": grades,
                "expected_notes": tuple(expected),
                "answerable": item.answerable or bool(expected),
            }
        )
