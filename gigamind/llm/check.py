"""Whether a model can serve as a judge: one call, and what it tells about mode, price and speed, or what is wrong."""

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Literal

from pydantic import Field

from gigamind.errors import LlmCode, LlmError
from gigamind.llm.ask import LanguageModel
from gigamind.llm.faults import missing_provider
from gigamind.llm.ledger import Attempt
from gigamind.llm.replies import ModelReply, ToldConfidence
from gigamind.llm.settings import ModelSettings

_QUESTION = "In which language is the text 「휴가는 팀장에게 신청한다.」, and how sure are you?"


class _Reply(ModelReply, frozen=True):
    language: Literal["ko", "en"] = Field(description="language of the text")
    confidence: ToldConfidence = Field(description="how sure you are")


@dataclass(frozen=True, slots=True)
class Checkup:
    """How the one call ended.

    Attributes:
        error: None when a valid reply came.
        advice: how to mend the error.
        attempt: the last HTTP attempt; None when nothing was sent.
    """

    error: LlmError | None
    advice: str
    attempt: Attempt | None


def for_one_call(settings: ModelSettings) -> ModelSettings:
    """The same model, asked once and no more."""
    return replace(settings, attempts=1, reasks=0)


async def check(model: LanguageModel) -> Checkup:
    """Ask one small question."""
    error = None
    try:
        await model.ask([{"role": "user", "content": _QUESTION}], _Reply, item_id="check")
    except LlmError as raised:
        error = raised
    advice = advice_for(error, model.settings) if error else ""
    return Checkup(error, advice, model.ledger.rows[-1] if model.ledger.rows else None)


def advice_for(error: LlmError, settings: ModelSettings) -> str:
    """How to mend an error, as a sentence or two."""
    advice = _advice(error, settings)
    missing = missing_provider(settings.model, settings.api_base)
    if missing in str(error):
        return missing
    return advice if "/" in settings.model else f"{advice} {missing}"


def _advice(error: LlmError, settings: ModelSettings) -> str:
    if settings.mode == "json_schema":
        if error.code == "invalid_output":
            return "Its reply is not as asked for: try --structured md_json, or a larger model."
        if error.code == "bad_request" and error.status not in {None, HTTPStatus.NOT_FOUND}:
            return "The model gives no structured output: try --structured md_json."
    advice = _ADVICE.get(error.code, "This model cannot judge as it is called here.")
    if error.status == HTTPStatus.NOT_FOUND:
        advice = "There is no such model, or no such address: check both names."
    return advice.format(where=settings.api_base or "The provider")


_SILENT = "{where} does not answer: is the address right, and is the server running?"
_ADVICE: dict[LlmCode, str] = {
    "auth_failed": "The key is missing or refused: set the provider's key in the environment.",
    "quota_exhausted": "The account has no quota left: look at the provider's billing page.",
    "rate_limited": "The server answers, but has no room now: try again later.",
    "timeout": _SILENT,
    "server_error": _SILENT,
    "malformed_response": "{where} answers in another protocol: is the address right (often .../v1)?",
}
