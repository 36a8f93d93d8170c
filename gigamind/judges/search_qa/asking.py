"""The calls about one answer, and the answer as they show it.

One call for an answer of usual length; the sentences of a longer one are asked about in turn.  A sentence that the
model left out, or judged twice, is asked about once more; then the item is unscored.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from gigamind.errors import LlmError
from gigamind.judges.asking import Asking, Seat
from gigamind.judges.protocol import AnswerCase
from gigamind.judges.search_qa.definition import SearchQAJudge
from gigamind.judges.search_qa.reply import ClaimFinding, ClaimsReply, SearchQAReply
from gigamind.judges.search_qa.segments.claims import claims_of
from gigamind.judges.search_qa.segments.pieces import Piece
from gigamind.llm.client import Message
from gigamind.llm.fences import fence
from gigamind.llm.prompts import as_json

Reply = TypeVar("Reply", bound=ClaimsReply)
Part = Literal["whole", "claims", "again"]


class Questions:
    """What is sent about one answer; the notes and the answer stand in each call, so that a server may keep them."""

    def __init__(
        self, judge: SearchQAJudge, case: AnswerCase, pieces: Sequence[Piece], fence_key: bytes
    ) -> None:
        self.claims = claims_of(pieces)
        self._judge = judge
        self._question = as_json(case.question)
        self._answer = answer_as_json(pieces)
        self._fenced = fence(case.notes, fence_key)

    def batches(self) -> list[list[int]]:
        """Ids of the sentences of each call, the first one about the whole as well."""
        size = self._judge.file.claims_per_call
        ids = [claim.id for claim in self.claims]
        return [ids[start : start + size] for start in range(0, max(1, len(ids)), size)]

    def messages(self, ids: Sequence[int], part: Part) -> list[Message]:
        """One call."""
        return self._judge.prompt.render(
            nonce=self._fenced.nonce,
            notes=self._fenced.text,
            question=self._question,
            answer=self._answer,
            ids=", ".join(str(number) for number in ids) or "-",
            part=part,
        )


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of one seat about one answer."""

    judge: SearchQAJudge
    questions: Questions
    asking: Asking
    seat: Seat

    async def all_of_them(self) -> tuple[SearchQAReply, Mapping[int, ClaimFinding]]:
        """What the model says of the whole, and of each sentence.

        Raises:
            LlmError: it gave no usable reply.
        """
        first, *others = self.questions.batches()
        whole = await self._ask(first, "whole", SearchQAReply)
        findings = await self._completed(first, whole)
        for batch in others:
            findings |= await self._completed(batch, await self._ask(batch, "claims", ClaimsReply))
        return whole, findings

    async def _completed(self, ids: Sequence[int], reply: ClaimsReply) -> dict[int, ClaimFinding]:
        found = _once(reply, ids)
        missing = [number for number in ids if number not in found]
        if not missing:
            return found
        found |= _once(await self._ask(missing, "again", ClaimsReply), missing)
        lost = [number for number in ids if number not in found]
        if lost:
            named = ", ".join(str(number) for number in lost)
            raise LlmError(
                f"the model gave no verdict, or several, on sentence {named}, twice",
                "invalid_output",
            )
        return found

    async def _ask(self, ids: Sequence[int], part: Part, reply: type[Reply]) -> Reply:
        return await self.asking.ask(
            self.questions.messages(ids, part),
            reply,
            fingerprint=self.judge.fingerprint,
            seat=self.seat,
            max_tokens=self.judge.file.tokens_for(len(ids)),
        )


def answer_as_json(pieces: Sequence[Piece]) -> str:
    """An answer as a judge reads it: its pieces in order, sentences with their ids, citations apart from the text."""
    numbers = iter(claims_of(pieces))
    shown: list[dict[str, object]] = []
    for piece in pieces:
        one: dict[str, object] = {"id": next(numbers).id} if piece.role != "other" else {}
        one["text"] = piece.text
        if piece.cited:
            one["cites"] = list(piece.cited)
        shown.append(one)
    return json.dumps(shown, ensure_ascii=False)


def _once(reply: ClaimsReply, ids: Sequence[int]) -> dict[int, ClaimFinding]:
    """The findings about the sentences asked for that were given exactly once."""
    times = Counter(one.id for one in reply.claims)
    return {one.id: one for one in reply.claims if one.id in ids and times[one.id] == 1}
