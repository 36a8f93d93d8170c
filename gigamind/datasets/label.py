"""Add human judgements of unjudged hits to the rows of a dataset."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from gigamind.datasets.schema import Gain, Id, QueryItem
from gigamind.errors import InputError
from gigamind.i18n import _
from gigamind.loading import numbered_lines, parsed, read_text


class _Line(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    id: Id
    note: Id
    gain: Gain | None = None


def read_gains(path: Path, known: Collection[str]) -> dict[str, dict[str, int]]:
    """Return query -> note -> grade of the lines that have one.

    Raises:
        InputError: the file cannot be read, a line is invalid or about no `known` query, or no line has a grade.
    """
    text = read_text(path, _("the file of labels"))
    gains: dict[str, dict[str, int]] = {}
    for number, row in numbered_lines(text):
        line = parsed(_Line, row, f"{path}:{number}")
        if line.id not in known:
            raise InputError(
                '{file}:{line}: the dataset has no query "{id}". Give the dataset that the labelled run used.',
                file=path,
                line=number,
                id=line.id,
            )
        if line.gain is None:
            continue
        if gains.setdefault(line.id, {}).setdefault(line.note, line.gain) != line.gain:
            raise InputError(
                '{file}:{line}: an earlier line gives "{note}" a different gain for the same query. Keep one'
                " of the two lines.",
                file=path,
                line=number,
                note=line.note,
            )
    if not gains:
        raise InputError(
            '{file}: no line has a gain. Write "gain": 0 for an irrelevant note, 1 or more for a relevant one.',
            file=path,
        )
    return gains


def labelled(
    items: Sequence[QueryItem], gains: Mapping[str, Mapping[str, int]]
) -> Iterator[QueryItem]:
    """Yield the rows with new grades, which override older ones; a relevant note makes a row answerable."""
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
