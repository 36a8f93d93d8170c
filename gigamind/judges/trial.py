"""Puts a judge on trial: shows it cases whose right verdict is known, and keeps what can be seen of its verdicts.

A judge of any kind takes part through `JudgeOnTrial`.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict

from gigamind.errors import EvaluationError, LlmCode, LlmError
from gigamind.llm.fences import Source
from gigamind.stats.proportion import wilson

Kind = Literal["unanswerable", "search_qa"]
# The model's own doing, so what an attack may bring about; the others are of network, budget or user.
OF_THE_REPLY: frozenset[LlmCode] = frozenset(
    {"refused", "content_filtered", "truncated", "invalid_output", "context_too_long", "panel_tied"}
)


@dataclass(frozen=True, slots=True)
class Case:
    """What a judge is asked to decide on.

    Attributes:
        answer: empty where the judge is asked about question and notes alone.
        counted_chars: of the answer, how many code points in front its claims are counted in; None for all.
    """

    id: str
    question: str
    notes: tuple[Source, ...]
    answer: str = ""
    counted_chars: int | None = None


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
        """Its system messages, with nothing of a case in them; a model that repeats one leaks it."""
        ...

    async def judge(self, case: Case) -> Observed:
        """One verdict.

        Raises:
            LlmError: the model gave no usable reply.
        """
        ...


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
    unasked = [error for error in errors if error.code not in OF_THE_REPLY]
    if unasked:
        raise EvaluationError(
            f"{len(unasked)} of {len(found)} cases could not be asked about: {unasked[0]}; run it again, what was "
            "answered is kept"
        )
    if errors and len(errors) == len(found):
        raise EvaluationError(f"no verdict on any of {len(found)} cases: {errors[0]}")
    return found
