"""Read human labels, JSON lines `{"id": ..., ...}`, that judges are compared with."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from gigamind.datasets.schema import QueryItem
from gigamind.errors import InputError
from gigamind.i18n import Text, _
from gigamind.loading import parsed, read_bytes, refuse_problems
from gigamind.text import written_id

_Grade = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)]


class Label(BaseModel):
    """Fields of every row; unknown ones (annotator, remark) are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: Annotated[str, Field(min_length=1, strict=True), BeforeValidator(written_id)]

    def values(self) -> Mapping[str, float]:
        """Return the label per scale, in [0, 1]."""
        given = self.model_dump(exclude={"id"}, exclude_none=True)
        return {name: float(value) for name, value in given.items()}


class AnswerabilityLabel(Label):
    """Whether the vault answers a query."""

    unanswerable: Annotated[bool, Field(strict=True)]


class AnswerLabel(Label):
    """How good an answer is; at least one scale is required."""

    correctness: _Grade | None = None
    completeness: _Grade | None = None
    utility: _Grade | None = None

    @model_validator(mode="after")
    def _check_any(self) -> Self:
        if not self.values():
            raise ValueError(_("at least one of correctness, completeness and utility is required"))
        return self


class ScoreLabel(Label):
    """A value on any scale of a user-supplied judge."""

    model_config = ConfigDict(extra="allow", frozen=True)

    def values(self) -> Mapping[str, float]:
        """Return the label per scale, in [0, 1]; anything else is a remark."""
        return {
            name: float(value)
            for name, value in (self.model_extra or {}).items()
            if isinstance(value, int | float) and 0 <= value <= 1
        }


@dataclass(frozen=True, slots=True)
class _Labels:
    """A file of labels."""

    path: Path
    values: Mapping[str, Mapping[str, float]]  # item id -> scale -> label, in file order
    lines: Mapping[str, int]  # item id -> 1-based line
    sha256: str  # of the file's bytes, in hexadecimal


def read_labels(path: Path, model: type[Label]) -> _Labels:
    """Read all labels of a file; one invalid row rejects the file, because a doubtful label is no label.

    Raises:
        InputError: it cannot be read, has no rows, or has invalid rows; names the lines.
    """
    content = read_bytes(path, _("the file of labels"))
    values: dict[str, Mapping[str, float]] = {}
    lines: dict[str, int] = {}
    problems: list[Text] = []
    for number, row in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not row.strip():
            continue
        where = f"{path}:{number}"
        try:
            label = parsed(model, row, where)
        except InputError as error:
            problems.append(error.message)
            continue
        if label.id in lines:
            problem = _(
                '{place}: line {line} already has a label for "{id}". Keep one of the two lines.',
                place=where,
                id=label.id,
                line=lines[label.id],
            )
            problems.append(problem)
        else:
            values[label.id], lines[label.id] = label.values(), number
    refuse_problems(problems)
    if not values:
        fields = ", ".join(f'"{name}": ...' for name in model.model_fields)
        raise InputError(
            "{file}: no labels. Write one JSON object per line: {{{fields}}}.",
            file=path,
            fields=fields,
        )
    return _Labels(path, values, lines, hashlib.sha256(content).hexdigest())


def labelled(
    items: Sequence[QueryItem], gains: Mapping[str, Mapping[str, int]]
) -> Iterator[QueryItem]:
    """Yield rows with grades by people, which override older ones; a relevant note makes a row answerable."""
    for item in items:
        own = gains.get(item.id)
        if own is None:
            yield item
            continue
        grades = {**(item.gains or {}), **own}
        expected = [note for note in item.expected_notes if grades.get(note, 1) > 0]
        expected += [note for note, gain in own.items() if gain > 0 and note not in expected]
        answerable = item.answerable or bool(expected)
        update = {"gains": grades, "expected_notes": tuple(expected), "answerable": answerable}
        yield item.model_copy(update=update)


class LabelRow(BaseModel, frozen=True, extra="forbid"):
    """One row that `gigamind label` appends to a file of labels.

    Attributes:
        id: Of the run's item; for a hit, of the query, and `note` is the path of the hit.
        content: Digest of what the label depends on; a changed item does not keep its labels.
        later: Given after the annotator had seen the judge's verdict; not used for estimates.
        again: A second label of the same annotator for the same task, to measure consistency.
        settled: Decides a task on which annotators disagree.
        withdrawn: Takes back the annotator's last label of the task.
    """

    id: Annotated[str, Field(min_length=1)]
    note: str | None = None
    kind: str
    choice: str
    content: str
    annotator: Annotated[str, Field(min_length=1, max_length=100)]
    labelled_at: str
    reason: str = ""
    seconds: float | None = None
    later: bool = False
    again: bool = False
    settled: bool = False
    skipped: bool = False
    withdrawn: bool = False

    @property
    def key(self) -> str:
        return f"{self.id}@{self.note}" if self.note else self.id
