"""Reads labels that people gave to items, JSON lines `{"id": ..., ...}`: values that a judge can be held to."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gigamind.errors import InputError
from gigamind.loading import parsed, refuse_problems

_Grade = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)]


class Label(BaseModel):
    """What every row has; fields that are not known (who labelled, a remark) are left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: Annotated[str, Field(min_length=1, strict=True)]

    def values(self) -> Mapping[str, float]:
        """The label on each scale it speaks to, in [0, 1]."""
        return {
            name: float(value)
            for name, value in self.model_dump(exclude={"id"}).items()
            if value is not None
        }


class AnswerabilityLabel(Label):
    """Whether the vault answers a query."""

    unanswerable: Annotated[bool, Field(strict=True)]


class AnswerLabel(Label):
    """How good an answer is; all but one may be left out."""

    correctness: _Grade | None = None
    completeness: _Grade | None = None
    utility: _Grade | None = None

    @model_validator(mode="after")
    def _check_any(self) -> Self:
        if not self.values():
            raise ValueError("has neither correctness nor completeness nor utility")
        return self


class ScoreLabel(Label):
    """A value on any of the scales of a team's own judge."""

    model_config = ConfigDict(extra="allow", frozen=True)

    def values(self) -> Mapping[str, float]:
        """The label on each scale it speaks to, in [0, 1]; what is no such number is a remark."""
        return {
            name: float(value)
            for name, value in (self.model_extra or {}).items()
            if isinstance(value, int | float) and 0 <= value <= 1
        }


@dataclass(frozen=True, slots=True)
class Labels:
    """A file of labels.

    Attributes:
        values: item id -> scale -> label, in file order.
        lines: item id -> 1-based line.
        sha256: of the file's bytes, in hexadecimal.
    """

    path: Path
    values: Mapping[str, Mapping[str, float]]
    lines: Mapping[str, int]
    sha256: str


def read_labels(path: Path, model: type[Label]) -> Labels:
    """All labels of a file; a label in doubt is no label, so one bad row refuses the file.

    Raises:
        InputError: it cannot be read, holds no row, or rows that are no labels; names the lines.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: the labels cannot be read ({error.strerror})") from error
    values: dict[str, Mapping[str, float]] = {}
    lines: dict[str, int] = {}
    problems: list[str] = []
    for number, row in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not row.strip():
            continue
        where = f"{path}:{number}"
        try:
            label = parsed(model, row, where)
        except InputError as error:
            problems.append(str(error))
            continue
        if label.id in lines:
            problems.append(
                f'{where}: "{label.id}" is already labelled in line {lines[label.id]}; keep one'
            )
        else:
            values[label.id], lines[label.id] = label.values(), number
    refuse_problems(problems)
    if not values:
        fields = ", ".join(f'"{name}": ...' for name in model.model_fields)
        raise InputError(f"{path}: holds no label. Write one JSON object a line: {{{fields}}}.")
    return Labels(path, values, lines, hashlib.sha256(content).hexdigest())
