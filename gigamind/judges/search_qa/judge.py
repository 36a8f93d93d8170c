"""Judges an answer with a model: from findings about its claims to verdicts and the evaluation.

The sentences of a long answer are split into batches. Sentences without exactly one finding get one more request.
"""

import asyncio
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import BaseModel, Field

from gigamind.choices import PromptLanguage
from gigamind.errors import LlmError
from gigamind.judges.protocol import AnswerCase, Asking, LocalisedJudge, PlannedCall, Verdict, once
from gigamind.judges.search_qa.judgement import evaluation_of, silent, verdict_of
from gigamind.judges.search_qa.passage import Passage
from gigamind.judges.search_qa.reply import (
    MOST_CLAIMS,
    RULES,
    ClaimFinding,
    ClaimsReply,
    ProofRules,
    SearchQAReply,
)
from gigamind.judges.search_qa.second_look import SecondLook, load_second_look, statement_of
from gigamind.judges.search_qa.segments import Piece, claims_of, pieces_of, without_note_names
from gigamind.judges.search_qa.verify import Verifier
from gigamind.judges.spec import (
    LANGUAGES,
    NO_PANEL,
    Language,
    LlmJudge,
    LlmJudgeFile,
    fingerprint_of,
    load_llm_judge,
)
from gigamind.llm.client import Message
from gigamind.llm.settings import ModelOptions
from gigamind.prompting.prompts import Prompt, as_json
from gigamind.records.judged import ReportedVerdict, SearchQAEvaluation

Reply = TypeVar("Reply", bound=ClaimsReply)
Part = Literal["whole", "claims", "again"]
# Variables of the prompts.
_GIVEN = ("nonce", "notes", "question", "answer", "ids", "part", "examples", "emphasis")
_CLAIMS_IN_MAX_TOKENS = 4  # each with about 120 Korean characters of quote


class LabelledExample(BaseModel, extra="forbid", frozen=True):
    """A sentence of a labelled answer, for the prompt; `id` is that of the answer, `source` a sentence of its notes."""

    id: str
    sentence: str
    source: str
    verdict: ReportedVerdict
    reason: str = ""


class SearchQAJudgeFile(LlmJudgeFile, ProofRules):
    """A judge file of kind `search_qa`; prompts from version 3 on use `examples` and `emphasis`."""

    also_hashed = NO_PANEL

    kind: Literal["search_qa"]
    tokens_per_claim: Annotated[int, Field(ge=16, le=2_000)] = 160
    claims_per_call: Annotated[int, Field(ge=1, le=MOST_CLAIMS)] = 24
    max_claims: Annotated[int, Field(ge=1, le=2_000)] = 200
    second_model: Annotated[str, Field(max_length=200)] = ""
    examples: tuple[LabelledExample, ...] = Field((), exclude_if=lambda examples: not examples)
    emphasis: Literal["", "details", "meaning"] = Field("", exclude_if=lambda name: not name)

    def tokens_for(self, claims: int) -> int:
        return self.max_tokens + self.tokens_per_claim * max(0, claims - _CLAIMS_IN_MAX_TOKENS)


@dataclass(frozen=True, slots=True)
class SearchQAJudge(LlmJudge[SearchQAJudgeFile]):
    """The judge in one language; without `second` no second check."""

    second: SecondLook | None = None

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        return (self.prompt, self.second.prompt) if self.second else (self.prompt,)


def load_search_qa_judge(path: Path, language: Language) -> SearchQAJudge:
    """Return the judge of a file with its prompts in one language; raises as `load_llm_judge`."""
    judge = load_llm_judge(path, language, SearchQAJudgeFile, SearchQAReply, _GIVEN)
    file, second, parts = judge.file, None, [judge.fingerprint, f"rules {RULES}"]
    if file.second_look != "never":
        second = load_second_look(language, file.second_model)
        parts.append(second.fingerprint)
    return SearchQAJudge(file, judge.prompt, fingerprint_of(file, *parts), second)


class Questions:
    """The requests about one answer in pieces: each has all notes and the answer, so that a server may cache them."""

    def __init__(
        self, judge: SearchQAJudge, case: AnswerCase, pieces: Sequence[Piece], fence_key: bytes
    ) -> None:
        self.claims = claims_of(pieces)
        self._judge, self._case, self._pieces, self._key = judge, case, pieces, fence_key

    def batches(self) -> list[list[int]]:
        """Return the ids of the sentences of each request; the first one also covers the whole answer."""
        size = self._judge.file.claims_per_call
        ids = [claim.id for claim in self.claims]
        return [ids[start : start + size] for start in range(0, max(1, len(ids)), size)]

    def messages(self, ids: Sequence[int], part: Part) -> list[Message]:
        """Return a request about sentences; the answer is in pieces, without their citations."""
        answer = [
            ({"id": one.id} if one.id else {})
            | {"text": one.text}
            | ({"cites": one.cited} if one.cited else {})
            for one in self._pieces
        ]
        examples = [one.model_dump(exclude={"id"}) for one in self._judge.file.examples]
        return self._judge.prompt.about(
            self._case.notes,
            self._key,
            question=as_json(self._case.question),
            answer=json.dumps(answer, ensure_ascii=False),
            ids=", ".join(str(number) for number in ids) or "-",
            part=part,
            examples=json.dumps(examples, ensure_ascii=False) if examples else "",
            emphasis=self._judge.file.emphasis,
        )

    async def _reply(self, asking: Asking) -> SearchQAReply:
        """Return the model's reply about the whole answer, with one finding for each sentence in order."""

        async def ask(ids: Sequence[int], part: Part, reply: type[Reply]) -> Reply:
            return await asking.ask(
                self.messages(ids, part),
                reply,
                fingerprint=self._judge.fingerprint,
                max_tokens=self._judge.file.tokens_for(len(ids)),
            )

        findings: dict[int, ClaimFinding] = {}

        def missing(ids: Sequence[int], reply: ClaimsReply) -> list[int]:
            given = once(reply.claims, lambda finding: finding.id)
            findings.update((number, given[number]) for number in ids if number in given)
            return [number for number in ids if number not in findings]

        first, *others = self.batches()
        whole = await ask(first, "whole", SearchQAReply)
        for batch in (first, *others):
            reply = whole if batch is first else await ask(batch, "claims", ClaimsReply)
            left = missing(batch, reply)
            if left and (lost := missing(left, await ask(left, "again", ClaimsReply))):
                raise LlmError(
                    "The judge model gave no verdict or several verdicts on the answer's sentences with these"
                    " numbers: {sentences}.",
                    "invalid_output",
                    sentences=lost,
                )
        return whole.model_copy(update={"claims": tuple(findings[one.id] for one in self.claims)})

    async def evaluation(self, asking: Asking) -> SearchQAEvaluation:
        """Return the evaluation by the model; raises as `Asking.ask`."""
        case, second = self._case, self._judge.second
        verifier = Verifier(case, self._judge.file)
        if not case.answer.strip():
            return silent(verifier)
        reply = await self._reply(asking)
        # Aligning quotes with a long note takes time; a thread lets other requests continue.
        judged = await asyncio.to_thread(verifier.judge, self.claims, reply.claims)
        look, confirmed = None, dict[int, bool | None]()
        statements = {
            claim.claim.id: statement_of(without_note_names(claim.stated), claim.passage, case)
            for claim in verifier.for_second_look(judged)
            if second and claim.passage
        }
        if second and statements:
            look, answers = await second.look(list(statements.values()), asking)
            confirmed = dict(zip(statements, answers, strict=True))
        checked = verifier.with_second_look(judged, confirmed)
        found = await asyncio.to_thread(evaluation_of, self._pieces, verifier, reply, checked)
        return found.model_copy(update={"second_look": look})


def refuse_too_many(pieces: Sequence[Piece], most: int) -> None:
    """Raise LlmError (`context_too_long`) if an answer has more than `most` claims."""
    if (claims := len(claims_of(pieces))) > most:
        raise LlmError(
            "The answer has {n:,} claims, but the judge accepts at most {limit:,}. Split the answer, or increase"
            " max_claims in the judge file.",
            "context_too_long",
            n=claims,
            limit=most,
        )


# Minimum tokens of a reply, and of each claim in it.
_LEAST_REPLY, _LEAST_CLAIM = 120, 40
_DOUBTFUL = 0.34  # share of an answer's claims, for estimates


class SearchQA(LocalisedJudge[AnswerCase, SearchQAEvaluation | None, SearchQAJudge]):
    """The judge of kind `search_qa`: is every claim of an answer grounded in its notes, and does the answer help?"""

    kind = "search_qa"
    scales: ClassVar = {
        "correctness": "graded",
        "completeness": "graded",
        "utility": "graded",
        "supported": "binary",
    }

    def looking_once(self) -> "SearchQA":
        """Return the judge without second checks: doubtful claims stay unverified."""
        judges = self.by_language.items()
        return SearchQA({language: replace(judge, second=None) for language, judge in judges})

    def models(self, options: ModelOptions) -> tuple[str, ...]:
        own, second = super().models(options), self.judge_in("").second
        return tuple(dict.fromkeys((*own, second.model))) if second and second.model else own

    def planned(self, case: AnswerCase) -> Iterator[PlannedCall]:
        if not case.answer.strip() or not case.has_context:
            return
        judge, pieces = self.judge_in(case.language), pieces_of(case.answer)
        questions = Questions(judge, case, pieces, b"")
        for place, ids in enumerate(questions.batches()):
            messages = questions.messages(ids, "claims" if place else "whole")
            yield PlannedCall.of(
                messages,
                SearchQAReply,
                _LEAST_REPLY * (not place) + _LEAST_CLAIM * len(ids),
                judge.file.tokens_for(len(ids)),
            )
        if judge.second and questions.claims:
            doubtful = [
                statement_of(claim.text, Passage("", claim.text), case)
                for claim in questions.claims[: math.ceil(_DOUBTFUL * len(questions.claims))]
            ]
            for rows in judge.second.batches(doubtful):
                yield judge.second.planned([row for row, _control in rows])

    async def judge(self, case: AnswerCase, asking: Asking) -> Verdict[SearchQAEvaluation | None]:
        """Judge an answer; raise LlmError with too many claims or without a usable reply."""
        if not case.has_context:
            return Verdict({}, None)
        judge, pieces = self.judge_in(case.language), pieces_of(case.answer)
        refuse_too_many(pieces, judge.file.max_claims)
        return verdict_of(await Questions(judge, case, pieces, asking.fence_key).evaluation(asking))


def load_search_qa(path: Path, language: PromptLanguage = "auto") -> SearchQA:
    """Return the judge of a file of kind `search_qa`; raises as `load_llm_judge`."""
    return SearchQA({name: load_search_qa_judge(path, name) for name in LANGUAGES[language]})
