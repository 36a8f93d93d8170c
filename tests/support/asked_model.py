"""What the tests ask the mock model, and how it ended."""

import asyncio
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from gigamind.errors import LlmError
from gigamind.llm.ask import LanguageModel
from gigamind.llm.ledger import Attempt, Totals


class Verdict(BaseModel):
    """The reply."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    unanswerable: bool
    confidence: float = Field(ge=0, le=1)
    reason: str


@dataclass
class Asked:
    """How one question ended."""

    reply: BaseModel | None
    error: LlmError | None
    rows: list[Attempt]
    totals: Totals

    @property
    def statuses(self) -> list[str]:
        return [row.status for row in self.rows]


async def reply_to(model: LanguageModel, text: str = "Is it so?", item_id: str = "q1") -> Verdict:
    """The reply to a question."""
    return await model.ask([{"role": "user", "content": text}], Verdict, item_id=item_id)


async def end_of(model: LanguageModel, text: str, item_id: str) -> LlmError | None:
    """How a question ended: None, or the error."""
    try:
        await reply_to(model, text, item_id)
    except LlmError as error:
        return error
    return None


def ends_of(model: LanguageModel, count: int) -> list[LlmError | None]:
    """The same of so many questions, asked at the same time; then the model is closed."""

    async def all_of_them() -> list[LlmError | None]:
        try:
            names = (f"q{number}" for number in range(count))
            return await asyncio.gather(*(end_of(model, f"question {n}", n) for n in names))
        finally:
            await model.close()

    return asyncio.run(all_of_them())
