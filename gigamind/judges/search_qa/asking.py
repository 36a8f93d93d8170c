"""What defines the judge (file, prompts, fingerprint), its calls about one answer, and the answer as they show it.

One call for an answer of usual length; the sentences of a longer one are asked about in turn.  A sentence that the
model left out, or judged twice, is asked about once more; then the item is unscored.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, Field

from gigamind.errors import LlmError
from gigamind.i18n import _
from gigamind.judges.asking import Asking, PanelMember
from gigamind.judges.panel import PanelJudgeFile
from gigamind.judges.protocol import AnswerCase
from gigamind.judges.search_qa.reply import (
    MOST_CLAIMS,
    RULES,
    ClaimFinding,
    ClaimsReply,
    PartsReply,
    ProofRules,
    SearchQAReply,
)
from gigamind.judges.search_qa.second_look import SecondLook, load_second_look
from gigamind.judges.search_qa.segments.claims import claims_of
from gigamind.judges.search_qa.segments.pieces import Piece
from gigamind.judges.spec import (
    Language,
    LlmJudge,
    PromptName,
    fingerprint_of,
    load_judge_prompt,
    load_llm_judge,
)
from gigamind.llm.client import Message
from gigamind.llm.fences import fence
from gigamind.llm.prompts import Prompt, as_json

Reply = TypeVar("Reply", bound=ClaimsReply)
Part = Literal["whole", "claims", "again"]
_GIVEN = ("nonce", "notes", "question", "answer", "ids", "part")  # the variables of its prompts
_CLAIMS_IN_MAX_TOKENS = (
    4  # of about 120 Korean characters of quote each, beside 250 tokens for the rest
)


class SearchQAJudgeFile(PanelJudgeFile, ProofRules):
    """A judge file of kind `search_qa`."""

    kind: Literal["search_qa"]
    tokens_per_claim: Annotated[int, Field(ge=16, le=2_000)] = 160
    claims_per_call: Annotated[int, Field(ge=1, le=MOST_CLAIMS)] = 24
    max_claims: Annotated[int, Field(ge=1, le=2_000)] = 200
    second_model: Annotated[str, Field(max_length=200)] = ""
    second_prompt: PromptName = "search_qa_second/v1"
    claims: Literal["sentences", "llm"] = "sentences"
    claims_prompt: PromptName = "search_qa_claims/v1"

    def tokens_for(self, claims: int) -> int:
        """Tokens that a reply about so many claims may take."""
        return self.max_tokens + self.tokens_per_claim * max(0, claims - _CLAIMS_IN_MAX_TOKENS)


@dataclass(frozen=True, slots=True)
class SearchQAJudge(LlmJudge[SearchQAJudgeFile]):
    """The judge.

    Attributes:
        cutting: how a model is asked to cut sentences into claims; None where our code does it alone.
        second: how it is asked to look at claims once more; None where it is not.
    """

    cutting: Prompt | None = None
    second: SecondLook | None = None

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """All that it sends."""
        more = (self.cutting, self.second.prompt if self.second else None)
        return (self.prompt, *filter(None, more))


def load_search_qa_judge(path: Path, language: Language) -> SearchQAJudge:
    """The judge of a file, with its prompts in one language.

    Raises:
        InputError: see `load_llm_judge`.
    """
    judge = load_llm_judge(path, language, SearchQAJudgeFile, SearchQAReply, _GIVEN)
    file, cutting, second = judge.file, None, None
    parts: list[str | type[BaseModel]] = [judge.fingerprint, f"rules {RULES}"]
    if file.claims == "llm":
        cutting = load_judge_prompt(file.claims_prompt, language, ("sentences",))
        parts += [cutting.fingerprint, PartsReply]
    if file.second_look != "never":
        second = load_second_look(file.second_prompt, language, file.second_model)
        parts.append(second.fingerprint)
    return SearchQAJudge(file, judge.prompt, fingerprint_of(file, *parts), cutting, second)


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
    member: PanelMember

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
        findings = _once(reply, ids)
        missing = [number for number in ids if number not in findings]
        if not missing:
            return findings
        findings |= _once(await self._ask(missing, "again", ClaimsReply), missing)
        lost = [number for number in ids if number not in findings]
        if lost:
            text = _(
                "The model gave no single verdict on these sentences: {sentences}.", sentences=lost
            )
            raise LlmError(text, "invalid_output")
        return findings

    async def _ask(self, ids: Sequence[int], part: Part, reply: type[Reply]) -> Reply:
        return await self.asking.ask(
            self.questions.messages(ids, part),
            reply,
            fingerprint=self.judge.fingerprint,
            member=self.member,
            max_tokens=self.judge.file.tokens_for(len(ids)),
        )


def answer_as_json(pieces: Sequence[Piece]) -> str:
    """An answer as a judge reads it: its pieces in order, sentences with their ids, citations apart from the text."""
    numbers = iter(claims_of(pieces))
    shown: list[dict[str, object]] = []
    for piece in pieces:
        fields: dict[str, object] = {"id": next(numbers).id} if piece.role != "other" else {}
        fields["text"] = piece.text
        if piece.cited:
            fields["cites"] = list(piece.cited)
        shown.append(fields)
    return json.dumps(shown, ensure_ascii=False)


def _once(reply: ClaimsReply, ids: Sequence[int]) -> dict[int, ClaimFinding]:
    """The findings about the sentences asked for that were given exactly once."""
    times = Counter(finding.id for finding in reply.claims)
    return {
        finding.id: finding
        for finding in reply.claims
        if finding.id in ids and times[finding.id] == 1
    }
