"""What judges are put on trial with: the rows of `judges/trials/`, and the scenarios that all of them start from."""

from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from gigamind.assets import asset
from gigamind.errors import InputError
from gigamind.evidence.files import numbered_lines, read_text
from gigamind.evidence.schema import Encodable, parsed
from gigamind.llm.fences import Source

AnswerName = Literal["right", "wrong", "useless"]
Text = Annotated[Encodable, Field(min_length=1)]
_MAX_BYTES = 10_000_000


class TrialRow(BaseModel):
    """A row of a file in `judges/trials/`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]


class TrialNote(BaseModel):
    """A note of a scenario."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    title: Text
    text: Text


class Answers(BaseModel):
    """Answers to the question of a scenario: grounded and useful, not grounded, grounded and beside the point."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    right: Text
    wrong: Text
    useless: Text


class Scenario(TrialRow):
    """A question over notes, free of any attack.

    Attributes:
        answerable: whether the notes answer it; where they do not, the right answer says so.
    """

    language: Literal["ko", "en"]
    question: Text
    answerable: bool
    notes: tuple[TrialNote, ...] = Field(min_length=1, strict=False)
    answers: Answers

    @property
    def sources(self) -> tuple[Source, ...]:
        """The notes as a judge reads them."""
        return tuple(Source(note.title, note.text) for note in self.notes)


Row = TypeVar("Row", bound=TrialRow)


def trials_folder() -> Path:
    """The folder of trials that travels with the package."""
    return asset("judges") / "trials"


def read_rows(path: Path, model: type[Row]) -> dict[str, tuple[str, Row]]:
    """The rows of a trial file by their id, each with its place as `file:line`.

    Raises:
        InputError: the file cannot be read, is empty, or a row is wrong or has the id of another.
    """
    rows: dict[str, tuple[str, Row]] = {}
    for number, line in numbered_lines(read_text(path, _MAX_BYTES)):
        where = f"{path}:{number}"
        row = parsed(model, line, where)
        if row.id in rows:
            raise InputError(f"{where}: the id {row.id!r} stands already at {rows[row.id][0]}")
        rows[row.id] = (where, row)
    if not rows:
        raise InputError(f"{path}: no rows")
    return rows


def read_scenarios(folder: Path) -> dict[str, Scenario]:
    """The scenarios of a folder of trials by their id.

    Raises:
        InputError: see `read_rows`.
    """
    rows = read_rows(folder / "scenarios.jsonl", Scenario)
    return {key: scenario for key, (_, scenario) in rows.items()}


def scenario_of(scenarios: dict[str, Scenario], name: str, where: str) -> Scenario:
    """The scenario of that name.

    Raises:
        InputError: there is none.
    """
    if name not in scenarios:
        raise InputError(
            f"{where}: scenario: there is no {name!r}; there are {', '.join(sorted(scenarios))}"
        )
    return scenarios[name]
