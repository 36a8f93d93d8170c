"""The scenarios that judges are tried with, `judges/trials/scenarios.jsonl`, and the files of trials that name them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from gigamind.assets import asset
from gigamind.errors import InputError
from gigamind.evidence.schema import Encodable, Strict, read_text
from gigamind.llm.fences import Source
from gigamind.loading import numbered_lines, parsed
from gigamind.wording import Language

AnswerName = Literal["right", "wrong", "useless"]
TrialText = Annotated[Encodable, Field(min_length=1)]
_MAX_BYTES = 10_000_000


class TrialRow(Strict):
    """A row of a file in `judges/trials/`."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]


class ScenarioRow(TrialRow):
    """A row about a scenario, which it names."""

    scenario: str


class TrialNote(Strict):
    """A note of a scenario."""

    title: TrialText
    text: TrialText


class Answers(Strict):
    """Answers to the question of a scenario: grounded and useful, not grounded, grounded and beside the point."""

    right: TrialText
    wrong: TrialText
    useless: TrialText


class Scenario(TrialRow):
    """A question over notes, free of any attack.

    Attributes:
        answerable: whether the notes answer it; where they do not, the right answer says so.
    """

    language: Language
    question: TrialText
    answerable: bool
    notes: tuple[TrialNote, ...] = Field(min_length=1, strict=False)
    answers: Answers

    @property
    def sources(self) -> tuple[Source, ...]:
        """The notes as a judge reads them."""
        return tuple(Source(note.title, note.text) for note in self.notes)


Row = TypeVar("Row", bound=TrialRow)
OfScenario = TypeVar("OfScenario", bound=ScenarioRow)


def _read_rows(path: Path, model: type[Row]) -> dict[str, tuple[str, Row]]:
    """The rows of a trial file by their id, each with its place as `file:line`."""
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


def read_scenario_rows(
    folder: Path | None, name: str, model: type[OfScenario]
) -> Iterator[tuple[str, OfScenario, Scenario]]:
    """The rows of a file of trials: the place as `file:line`, the row and its scenario.

    Args:
        folder: of the trials; None for the one that travels with the package.

    Raises:
        InputError: a file cannot be read or is empty, or a row is wrong, has the id of another or names no scenario.
    """
    folder = folder or asset("judges") / "trials"
    scenarios = _read_rows(folder / "scenarios.jsonl", Scenario)
    for where, row in _read_rows(folder / name, model).values():
        if row.scenario not in scenarios:
            known = ", ".join(sorted(scenarios))
            raise InputError(f"{where}: scenario: there is no {row.scenario!r}; there are {known}")
        yield where, row, scenarios[row.scenario][1]
