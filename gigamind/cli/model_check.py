"""Test whether a model can serve as a judge with one call: structured-output mode, price and speed, or the error."""

from dataclasses import dataclass, replace
from typing import Literal

from pydantic import Field

from gigamind.errors import LlmError
from gigamind.llm.ask import LanguageModel
from gigamind.llm.faults import advice_for
from gigamind.llm.ledger import Attempt
from gigamind.llm.settings import ModelSettings
from gigamind.prompting.replies import ModelReply, ReportedConfidence

_QUESTION = "In which language is the text 「휴가는 팀장에게 신청한다.」, and how sure are you?"


class _Reply(ModelReply, frozen=True):
    language: Literal["ko", "en"] = Field(description="language of the text")
    confidence: ReportedConfidence = Field(description="how sure you are")


@dataclass(frozen=True, slots=True)
class Checkup:
    """The result of the test call."""

    error: LlmError | None  # None if a valid reply came
    advice: str
    attempt: Attempt | None  # the last HTTP attempt; None if nothing was sent


def single_call(settings: ModelSettings) -> ModelSettings:
    """Return settings for exactly one request, without retries and speed measurement."""
    return replace(settings, attempts=1, reasks=0, timeout_fixed=True, in_flight_fixed=True)


async def check(model: LanguageModel) -> Checkup:
    """Ask the model one small question."""
    error = None
    try:
        await model.ask([{"role": "user", "content": _QUESTION}], _Reply, item_id="check")
    except LlmError as raised:
        error = raised
    advice = advice_for(error, model.settings) if error else ""
    return Checkup(error, advice, model.ledger.rows[-1] if model.ledger.rows else None)
