"""The definition of the judge (file, prompts, fingerprint), its requests, and the answer as they show it.

The sentences of a long answer are split into batches. A sentence without exactly one finding is requested twice.
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
from gigamind.prompting.fences import fence
from gigamind.prompting.prompts import Prompt, as_json

Reply = TypeVar("Reply", bound=ClaimsReply)
Part = Literal["whole", "claims", "again"]
_GIVEN = ("nonce", "notes", "question", "answer", "ids", "part")  # variables of the prompts
_CLAIMS_IN_MAX_TOKENS = 4  # each with about 120 Korean characters of quote


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
        return self.max_tokens + self.tokens_per_claim * max(0, claims - _CLAIMS_IN_MAX_TOKENS)


@dataclass(frozen=True, slots=True)
class SearchQAJudge(LlmJudge[SearchQAJudgeFile]):
    """The judge in one language; without `cutting` only code splits sentences, without `second` no second check."""

    cutting: Prompt | None = None
    second: SecondLook | None = None

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        more = (self.cutting, self.second.prompt if self.second else None)
        return (self.prompt, *filter(None, more))


def load_search_qa_judge(path: Path, language: Language) -> SearchQAJudge:
    """Return the judge of a file with its prompts in one language; raises as `load_llm_judge`."""
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
    """The requests about one answer. Each contains all notes and the answer, so that a server may cache them."""

    def __init__(
        self, judge: SearchQAJudge, case: AnswerCase, pieces: Sequence[Piece], fence_key: bytes
    ) -> None:
        self.claims = claims_of(pieces)
        self._judge = judge
        self._question = as_json(case.question)
        self._answer = answer_as_json(pieces)
        self._fenced = fence(case.notes, fence_key)

    def batches(self) -> list[list[int]]:
        """Return the ids of the sentences of each request; the first one also covers the whole answer."""
        size = self._judge.file.claims_per_call
        ids = [claim.id for claim in self.claims]
        return [ids[start : start + size] for start in range(0, max(1, len(ids)), size)]

    def messages(self, ids: Sequence[int], part: Part) -> list[Message]:
        return self._judge.prompt.render(
            nonce=self._fenced.nonce,
            notes=self._fenced.text,
            question=self._question,
            answer=self._answer,
            ids=", ".join(str(number) for number in ids) or "-",
            part=part,
        )


async def ask_all(
    judge: SearchQAJudge, questions: Questions, asking: Asking, member: PanelMember
) -> tuple[SearchQAReply, Mapping[int, ClaimFinding]]:
    """Return a panel member's reply about the whole answer and its finding for each sentence.

    Raises:
        LlmError: the model gave no usable reply.
    """

    async def ask(ids: Sequence[int], part: Part, reply: type[Reply]) -> Reply:
        return await asking.ask(
            questions.messages(ids, part),
            reply,
            fingerprint=judge.fingerprint,
            member=member,
            max_tokens=judge.file.tokens_for(len(ids)),
        )

    findings: dict[int, ClaimFinding] = {}

    async def complete(ids: Sequence[int], reply: ClaimsReply) -> None:
        findings.update(_once(reply, ids))
        if missing := [number for number in ids if number not in findings]:
            findings.update(_once(await ask(missing, "again", ClaimsReply), missing))
        if lost := [number for number in ids if number not in findings]:
            text = _(
                "The judge model gave no verdict or several verdicts on the answer's sentences with these numbers:"
                " {sentences}.",
                sentences=lost,
            )
            raise LlmError(text, "invalid_output")

    first, *others = questions.batches()
    whole = await ask(first, "whole", SearchQAReply)
    await complete(first, whole)
    for batch in others:
        await complete(batch, await ask(batch, "claims", ClaimsReply))
    return whole, findings


def answer_as_json(pieces: Sequence[Piece]) -> str:
    """Return an answer for the judge: its pieces in order, sentences with ids, citations apart from the text."""
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
    times = Counter(finding.id for finding in reply.claims)
    return {
        finding.id: finding
        for finding in reply.claims
        if finding.id in ids and times[finding.id] == 1
    }
