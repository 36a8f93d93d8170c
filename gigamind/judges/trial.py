"""Puts a judge on trial: shows it cases whose right verdict is known, and keeps what can be seen of its verdicts.

A judge of any kind takes part through `JudgeOnTrial`.  The data are in `judges/trials/`: scenarios, and the attacks and
unit tests that are made from them.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from gigamind.assets import asset
from gigamind.errors import EvaluationError, InputError, LlmCode, LlmError
from gigamind.evidence.files import numbered_lines, read_text
from gigamind.evidence.schema import Encodable, parsed
from gigamind.llm.fences import Source
from gigamind.stats.proportion import wilson

Kind = Literal["unanswerable", "search_qa"]
AnswerName = Literal["right", "wrong", "useless"]
Text = Annotated[Encodable, Field(min_length=1)]
_MAX_BYTES = 10_000_000
# The model's own doing, so what an attack may bring about; the others are of network, budget or user.
_OF_THE_REPLY: frozenset[LlmCode] = frozenset(
    {"refused", "content_filtered", "truncated", "invalid_output", "context_too_long"}
)


@dataclass(frozen=True, slots=True)
class Case:
    """What a judge is asked to decide on.

    Attributes:
        answer: empty where the judge is asked about question and notes alone.
    """

    id: str
    question: str
    notes: tuple[Source, ...]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """A verdict in the few fields that trials look at; None for what the judge does not decide.

    Attributes:
        correctness: in [0, 1].
        utility: in [0, 1].
    """

    unanswerable: bool | None = None
    correctness: float | None = None
    utility: float | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """What can be seen of one verdict.

    Attributes:
        verdict: by the rules of the judge.
        told: by the model's own word.
        proven: numbers of the notes, from 1, from which a quote was verified.
        text: whatever the model wrote that a person may read.
        flagged: whether anything that was read is marked as suspicious.
    """

    verdict: Reading
    told: Reading = field(default_factory=Reading)
    proven: frozenset[int] = frozenset()
    text: str = ""
    flagged: bool = False


class JudgeOnTrial(Protocol):
    """A judge and the model that it asks."""

    @property
    def kind(self) -> Kind: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def model_name(self) -> str: ...

    @property
    def instructions(self) -> str:
        """Its system message, with nothing of a case in it; a model that repeats it leaks it."""
        ...

    async def judge(self, case: Case) -> Observed:
        """One verdict.

        Raises:
            LlmError: the model gave no usable reply.
        """
        ...


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


class Share(BaseModel):
    """How many of some, with the Wilson interval of 95 %; None for the share of none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hits: int
    of: int
    rate: float | None
    low: float | None
    high: float | None

    @classmethod
    def among(cls, found: Sequence[bool]) -> "Share":
        """The share of those that are true."""
        hits, of = sum(found), len(found)
        if not of:
            return cls(hits=0, of=0, rate=None, low=None, high=None)
        interval = wilson(hits, of)
        return cls(hits=hits, of=of, rate=hits / of, low=interval.low, high=interval.high)


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


async def observe(judge: JudgeOnTrial, cases: Sequence[Case]) -> dict[str, Observed | LlmError]:
    """What the judge decides on each case, by its id; an error for a case whose reply was none.

    Raises:
        EvaluationError: some case could not be asked, or none was scored: an incomplete trial proves nothing.
    """

    async def one(case: Case) -> Observed | LlmError:
        try:
            return await judge.judge(case)
        except LlmError as error:
            return error

    found = dict(
        zip((case.id for case in cases), await asyncio.gather(*map(one, cases)), strict=True)
    )
    errors = [seen for seen in found.values() if isinstance(seen, LlmError)]
    unasked = [error for error in errors if error.code not in _OF_THE_REPLY]
    if unasked:
        raise EvaluationError(
            f"{len(unasked)} of {len(found)} cases could not be asked about: {unasked[0]}; run it again, what was "
            "answered is kept"
        )
    if errors and len(errors) == len(found):
        raise EvaluationError(f"no verdict on any of {len(found)} cases: {errors[0]}")
    return found
