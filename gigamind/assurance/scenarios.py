"""The scenarios of judge trials (`judges/trials/scenarios.jsonl`), and the trial files that refer to them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from gigamind.assets import asset
from gigamind.errors import InputError
from gigamind.evidence.schema import Encodable, Strict, read_text
from gigamind.i18n import Language, _
from gigamind.llm.fences import Source
from gigamind.loading import numbered_lines, parsed

AnswerName = Literal["right", "wrong", "useless"]
TrialText = Annotated[Encodable, Field(min_length=1)]
_MAX_BYTES = 10_000_000


class TrialRow(Strict):
    """A row of a file in `judges/trials/`."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]


class ScenarioRow(TrialRow):
    """A row that refers to a scenario."""

    scenario: str


class TrialNote(Strict):
    """A note of a scenario."""

    title: TrialText
    text: TrialText


class Answers(Strict):
    """Answers to a scenario's question: right (grounded and useful), wrong (not grounded), useless (off topic)."""

    right: TrialText
    wrong: TrialText
    useless: TrialText


class Scenario(TrialRow):
    """A question about notes, without any attack.

    Attributes:
        answerable: Whether the notes answer it.  If not, the right answer says so.
    """

    language: Language
    question: TrialText
    answerable: bool
    notes: tuple[TrialNote, ...] = Field(min_length=1, strict=False)
    answers: Answers

    @property
    def sources(self) -> tuple[Source, ...]:
        """The notes as the judge reads them."""
        return tuple(Source(note.title, note.text) for note in self.notes)


Row = TypeVar("Row", bound=TrialRow)
OfScenario = TypeVar("OfScenario", bound=ScenarioRow)


def _read_rows(path: Path, model: type[Row]) -> dict[str, tuple[str, Row]]:
    """Return the rows of a trial file by id, each with its place as `file:line`."""
    rows: dict[str, tuple[str, Row]] = {}
    for number, line in numbered_lines(read_text(path, _MAX_BYTES)):
        where = f"{path}:{number}"
        row = parsed(model, line, where)
        if row.id in rows:
            message = _(
                "{where}: the id {id!r} is already used at {other}",
                where=where,
                id=row.id,
                other=rows[row.id][0],
            )
            raise InputError(message)
        rows[row.id] = (where, row)
    if not rows:
        raise InputError(_("{file}: the file has no rows", file=path))
    return rows


def read_scenario_rows(
    folder: Path | None, name: str, model: type[OfScenario]
) -> Iterator[tuple[str, OfScenario, Scenario]]:
    """Yield the rows of a trial file (by default a packaged one): place as `file:line`, row and scenario.

    Raises:
        InputError: A file cannot be read or is empty, or a row is invalid, repeats an id or names no scenario.
    """
    folder = folder or asset("judges") / "trials"
    scenarios = _read_rows(folder / "scenarios.jsonl", Scenario)
    for where, row in _read_rows(folder / name, model).values():
        if row.scenario not in scenarios:
            message = _(
                "{where}: scenario: unknown scenario {scenario!r}. Use one of: {known}",
                where=where,
                scenario=row.scenario,
                known=sorted(scenarios),
            )
            raise InputError(message)
        yield where, row, scenarios[row.scenario][1]
