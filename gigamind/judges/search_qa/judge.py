"""Judges an answer with one model or a panel: from findings about its claims to verdicts and a `Judgement`.

With `claims = "llm"`, a model first reports where the claims of a sentence begin. Every word stays in one of the parts.

The sentences of a long answer are split into batches. A sentence without exactly one finding is requested twice.
"""

import asyncio
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import BaseModel, Field

from gigamind.choices import PromptLanguage
from gigamind.errors import LlmError
from gigamind.evidence.align import align
from gigamind.evidence.result import Aligned, is_same_place
from gigamind.i18n import _
from gigamind.judges.asking import Asking, PanelMember, PlannedCall, counted
from gigamind.judges.panel import PanelJudgeFile, Vote, collect_votes, decide_graded, is_near
from gigamind.judges.protocol import KEY, AnswerCase, PanelJudge, Scale, Verdict
from gigamind.judges.search_qa.judged import JudgedClaim
from gigamind.judges.search_qa.judgement import (
    Heard,
    Judgement,
    PanelOfAnswer,
    completeness,
    confidence,
    correctness,
    judgement_of,
    outcome,
    silent,
    utility,
    verdict_of,
)
from gigamind.judges.search_qa.passage import Passage
from gigamind.judges.search_qa.reply import (
    MOST_CLAIMS,
    RULES,
    ClaimFinding,
    ClaimsReply,
    PartsReply,
    ProofRules,
    SearchQAReply,
)
from gigamind.judges.search_qa.second_look import SecondLook, Trial, load_second_look, statement_of
from gigamind.judges.search_qa.segments.citations import (
    end_of_citations,
    with_citations_blank,
    without_citations,
    without_note_names,
)
from gigamind.judges.search_qa.segments.claims import claims_of, pieces_of
from gigamind.judges.search_qa.segments.lines import Piece, composed, piece
from gigamind.judges.search_qa.verify import JudgedOmission, Verifier, agreed
from gigamind.judges.spec import (
    LANGUAGES,
    Language,
    LlmJudge,
    PromptName,
    fingerprint_of,
    load_judge_prompt,
    load_llm_judge,
)
from gigamind.llm.client import Message
from gigamind.llm.settings import ModelOptions
from gigamind.prompting.fences import fence
from gigamind.prompting.prompts import Prompt, as_json
from gigamind.spans import Span

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
    for one in pieces:
        fields: dict[str, object] = {"id": next(numbers).id} if one.role != "other" else {}
        fields["text"] = one.text
        if one.cited:
            fields["cites"] = list(one.cited)
        shown.append(fields)
    return json.dumps(shown, ensure_ascii=False)


def _once(reply: ClaimsReply, ids: Sequence[int]) -> dict[int, ClaimFinding]:
    times = Counter(finding.id for finding in reply.claims)
    return {
        finding.id: finding
        for finding in reply.claims
        if finding.id in ids and times[finding.id] == 1
    }


async def judge_answer(
    judge: SearchQAJudge,
    case: AnswerCase,
    pieces: Sequence[Piece],
    asking: Asking,
    member: PanelMember,
) -> Judgement:
    """Return the judgement of one panel member on an answer, cut into `pieces`, with a note that has text.

    Raises:
        LlmError: the model gave no usable reply; the item is unscored.
    """
    if not case.answer.strip():
        return silent(case)
    questions = Questions(judge, case, pieces, asking.fence_key)
    reply, findings = await ask_all(judge, questions, asking, member)
    verifier = Verifier(case.notes, case.question, judge.file)
    # Aligning quotes with a long note takes time; a thread lets other requests continue.
    judged = await asyncio.to_thread(verifier.judge, claims_of(pieces), findings)
    trial, confirmed = await _second_look(
        judge, case, verifier.for_second_look(judged), asking, member
    )
    heard = Heard(reply, findings, verifier.with_second_look(judged, confirmed), trial)
    return await asyncio.to_thread(judgement_of, case, pieces, verifier, heard)


async def _second_look(
    judge: SearchQAJudge,
    case: AnswerCase,
    claims: Sequence[JudgedClaim],
    asking: Asking,
    member: PanelMember,
) -> tuple[Trial | None, Mapping[int, bool | None]]:
    statements = {
        claim.claim.id: statement_of(without_note_names(claim.stated), claim.passage, case)
        for claim in claims
        if claim.passage
    }
    if judge.second is None or not statements:
        return None, {}
    trial, confirmed = await judge.second.look(list(statements.values()), asking, member)
    return trial, dict(zip(statements, confirmed, strict=True))


async def cut_answer(judge: SearchQAJudge, answer: str, asking: Asking) -> tuple[Piece, ...]:
    """Return the pieces of an answer, split by code alone, or further by the model, as the judge file says.

    Raises:
        LlmError: the reply is unusable, or there are more claims than the file allows (`context_too_long`).
    """
    pieces = pieces_of(answer)
    refuse_too_many(pieces, judge.file.max_claims)
    parts_by_id: dict[int, tuple[str, ...]] = {}
    for messages, sentences in cutting_calls(judge, answer, pieces):
        most, mark = judge.file.tokens_for(sentences), judge.fingerprint
        reply = await asking.ask(messages, PartsReply, fingerprint=mark, max_tokens=most)
        parts_by_id |= {sentence.id: sentence.parts for sentence in reply.sentences}
    pieces = refined(answer, pieces, parts_by_id)
    refuse_too_many(pieces, judge.file.max_claims)
    return pieces


def refuse_too_many(pieces: Sequence[Piece], most: int) -> None:
    """Raise LlmError (`context_too_long`) if an answer has more than `most` claims."""
    if (claims := len(claims_of(pieces))) > most:
        text = _(
            "The answer has {n:,} claims, but the judge accepts at most {limit:,}. Split the answer, or increase"
            " max_claims in the judge file.",
            n=claims,
            limit=most,
        )
        raise LlmError(text, "context_too_long")


# Correctness and utility at which the confidence of an answer changes.
_CORRECTNESS = (0.5, 0.8)
_UTILITY = 0.7


async def judge_answer_by_panel(
    judge: SearchQAJudge, case: AnswerCase, asking: Asking
) -> PanelOfAnswer:
    """Return the judgement of the panel in the judge file.

    Raises:
        LlmError: see `cut_answer`; also `judge_answer` without a panel, `collect_votes` with one.
    """
    judgements: dict[PanelMember, Judgement] = {}
    fields, first = judge.file, asking.first
    if not case.has_context:
        return PanelOfAnswer(None, None, {}, {})
    # All members vote on the same claims, so one model splits them for all.
    pieces = await cut_answer(judge, case.answer, asking)

    async def ask(member: PanelMember) -> Vote[float]:
        judgement = judgements[member] = await judge_answer(judge, case, pieces, asking, member)
        graded = judgement.voted_utility if judgement.correctness is None else judgement.correctness
        # One vote is sufficient if no quote failed and the utility is not near its threshold.
        doubted = any(claim.doubt is not None for claim in judgement.claims)
        says_more = bool(judgement.reported_answerable) and not judgement.answerable
        near = is_near(judgement.voted_utility, [_UTILITY], fields.near)
        return Vote(graded, proven=not (doubted or (judgement.abstains and says_more) or near))

    if not fields.is_panel:
        await ask(first)
        return PanelOfAnswer(judgements.get(first), None, {}, {})
    ballot = await collect_votes(fields, first.model, ask, thresholds=_CORRECTNESS)
    votes = {
        member: Vote(judgements[member].voted_utility)
        for member in ballot.members
        if member in ballot.votes
    }
    panel = decide_graded(votes, ballot.members, fields)
    by_member = {member: judgements[member] for member in votes}
    whole = None if panel.value is None else _together(list(by_member.values()))
    return PanelOfAnswer(whole, panel, by_member, ballot.errors)


def _together(judgements: Sequence[Judgement]) -> Judgement:
    """Combine judgements on the same claims; ties go to the less favourable verdict."""
    sentences = tuple(
        _majority(rows)
        for rows in zip(*(judgement.sentences for judgement in judgements), strict=True)
    )
    claims = [sentence for sentence in sentences if sentence.role == "claim"]
    kind, correct = outcome(sentences), correctness(claims)
    reported = median(judgement.reported_utility or 0.0 for judgement in judgements)
    says_answerable = [bool(judgement.reported_answerable) for judgement in judgements]
    reported_answerable = 2 * sum(says_answerable) >= len(judgements)
    answered = max(
        (own.answers_question for own in judgements if own.answers_question is not None),
        default=None,
    )
    answers = 2 * sum(judgement.answers for judgement in judgements) >= len(judgements)
    useful = utility(
        kind, reported, answerable=reported_answerable, correct=correct, answers=answers
    )

    def distance(judgement: Judgement) -> tuple[float, float]:
        own = judgement.correctness
        apart = 0.0 if own is None or correct is None else abs(own - correct)
        return apart, abs(judgement.voted_utility - useful)

    speaker = min(judgements, key=distance)
    proven = [[o for o in judgement.omissions if o.doubt is None] for judgement in judgements]

    def is_agreed(omission: JudgedOmission) -> bool:
        """Return whether more than half of the members prove an omission here; unproven ones are kept."""
        alike = (any(is_same_place(o.evidence, omission.evidence) for o in own) for own in proven)
        return omission.doubt is not None or 2 * sum(alike) > len(judgements)

    omissions = tuple(filter(is_agreed, speaker.omissions))
    return replace(
        speaker,
        outcome=kind,
        sentences=sentences,
        omissions=omissions,
        coverage=agreed([judgement.coverage for judgement in judgements], claims),
        completeness=completeness(
            claims,
            omissions,
            answerable=reported_answerable,
            tells_omissions=speaker.tells_omissions,
        ),
        correctness=correct,
        utility=useful,
        confidence=confidence(correct, useful, answered),
        answers_question=answered,
        answers=answers,
        abstains=any(sentence.untold for sentence in sentences),
        answerable=2 * sum(judgement.answerable for judgement in judgements) >= len(judgements),
        reported_answerable=reported_answerable,
    )


def _majority(rows: Sequence[JudgedClaim]) -> JudgedClaim:
    role, count = Counter(row.role for row in rows).most_common(1)[0]
    if role != "claim" and 2 * count > len(rows):
        return next(row for row in rows if row.role == role)
    verdict, count = Counter(row.verdict for row in rows).most_common(1)[0]
    row = next(
        row
        for row in rows
        if (row.verdict == verdict if 2 * count > len(rows) else row.verdict != "supported")
    )
    return replace(row, role="claim")


# Minimum tokens of a reply, and of each claim in it.
_LEAST_REPLY, _LEAST_CLAIM = 120, 40
_PARTS = 2  # usual maximum of claims per sentence that a model splits
_DOUBTFUL = 0.34  # share of an answer's claims, for estimates


class SearchQA(PanelJudge[AnswerCase, PanelOfAnswer, SearchQAJudge]):
    """The judge of kind `search_qa`: is every claim of an answer grounded in its notes, and does the answer help?"""

    kind = "search_qa"
    scales: ClassVar[Mapping[str, Scale]] = {
        "correctness": "graded",
        "completeness": "graded",
        "utility": "graded",
        "supported": "binary",
    }

    @property
    def cuts(self) -> bool:
        return self.judge_in("").cutting is not None

    def looking_once(self) -> "SearchQA":
        """Return the judge without second checks: doubtful claims stay unverified."""
        judges = self.by_language.items()
        return SearchQA({language: replace(judge, second=None) for language, judge in judges})

    def models(self, options: ModelOptions) -> tuple[str, ...]:
        voting = self.voters(options)
        second = self.judge_in("").second
        return tuple(dict.fromkeys((*voting, second.model))) if second and second.model else voting

    def voters(self, options: ModelOptions) -> tuple[str, ...]:
        return super().models(options)

    def planned(self, case: AnswerCase) -> Iterator[PlannedCall]:
        if not case.answer.strip() or not case.has_context:
            return
        judge, pieces = self.judge_in(case.language), pieces_of(case.answer)
        for messages, sentences in cutting_calls(judge, case.answer, pieces):
            yield PlannedCall(
                counted(messages, PartsReply.model_json_schema()),
                _LEAST_CLAIM * sentences,
                judge.file.tokens_for(sentences),
                all_members=False,
                what=_("splitting the claims of"),
            )
        claims = _PARTS if judge.cutting else 1
        questions = Questions(judge, case, pieces, KEY)
        for place, ids in enumerate(questions.batches()):
            messages = questions.messages(ids, "claims" if place else "whole")
            yield PlannedCall(
                counted(messages, SearchQAReply.model_json_schema()),
                _LEAST_REPLY * (not place) + _LEAST_CLAIM * len(ids),
                judge.file.tokens_for(claims * len(ids)),
            )
        if judge.second and questions.claims:
            doubtful = [
                statement_of(claim.piece.text, Passage("", claim.piece.text), case)
                for claim in questions.claims[: math.ceil(_DOUBTFUL * len(questions.claims))]
            ]
            for rows in judge.second.batches(doubtful):
                yield judge.second.planned([row for row, _control in rows])

    async def judge(self, case: AnswerCase, asking: Asking) -> Verdict[PanelOfAnswer]:
        return verdict_of(await judge_answer_by_panel(self.judge_in(case.language), case, asking))


def load_search_qa(path: Path, language: PromptLanguage = "auto") -> SearchQA:
    """Return the judge of a file of kind `search_qa`; raises as `load_llm_judge`."""
    return SearchQA({name: load_search_qa_judge(path, name) for name in LANGUAGES[language]})


_LEAST_WORDS = 2  # of a part; a single word makes no statement
_STOPS = " \t\n.,;:!?。，、！？…"
_BETWEEN_WORDS = re.compile(rf"\s|\[|$|[{re.escape(_STOPS)}\"'”’)」』]+(?:\s|\[|$)|[,;:，、](?!\d)")
_STOPS_BEHIND = re.compile(r"[.!?。！？…]*")
_AROUND = " \t\n,;·/–—-、，"


def cutting_calls(
    judge: SearchQAJudge, answer: str, pieces: Sequence[Piece]
) -> Iterator[tuple[list[Message], int]]:
    """Yield the requests that split an answer's claims, each with its number of sentences."""
    if judge.cutting is None:
        return
    several = [claim for claim in claims_of(pieces) if _may_state_two(claim.piece, answer)]
    size = judge.file.claims_per_call
    for start in range(0, len(several), size):
        batch = several[start : start + size]
        shown = [{"id": claim.id, "text": claim.piece.text} for claim in batch]
        yield (judge.cutting.render(sentences=json.dumps(shown, ensure_ascii=False)), len(batch))


def refined(
    answer: str, pieces: Sequence[Piece], parts_by_id: Mapping[int, Sequence[str]]
) -> tuple[Piece, ...]:
    """Return the pieces, with claims of these ids replaced by their parts; `uncut` if these do not occur in order."""
    numbers = {claim.piece.span: claim.id for claim in claims_of(pieces)}
    cut_pieces: list[Piece] = []
    for whole in pieces:
        parts = parts_by_id.get(numbers.get(whole.span, 0), ()) if whole.role != "other" else ()
        cut_pieces += _in_parts(answer, whole, parts) if len(parts) > 1 else (whole,)
    return tuple(cut_pieces)


def _may_state_two(whole: Piece, answer: str) -> bool:
    prose = whole.text == without_citations(whole.span.slice(answer))
    return prose and len(whole.text.split()) >= 2 * _LEAST_WORDS


def _in_parts(answer: str, whole: Piece, parts: Sequence[str]) -> tuple[Piece, ...]:
    sentence = composed(whole.span.slice(answer))
    spans = _spans(sentence.text, parts) if _may_state_two(whole, answer) else ()
    places = [sentence.origin(span) for span in spans]
    start = whole.span.start
    at = (Span(start + place.start, start + place.end) for place in places)
    cuts = [piece(answer, span, whole.shape) for span in at]
    if not cuts or any(len(part.text.split()) < _LEAST_WORDS for part in cuts):
        return (replace(whole, cut="uncut"),)
    cited = [part.cited for part in cuts]
    # Without citations of its own, a part has those of the next cited part, else of the closest one before.
    return tuple(
        replace(part, cut="part", cited=next(filter(None, (*cited[at:], *cited[at::-1])), ()))
        for at, part in enumerate(cuts)
    )


def _spans(sentence: str, parts: Sequence[str]) -> list[Span]:
    """Return the spans of the parts, which together cover every word; [] if they do not occur in this order."""
    shown = with_citations_blank(sentence)  # as shown to the model, with the same offsets
    ends = [0]
    for part in parts:
        place = align(part.rstrip(_STOPS), shown[ends[-1] :])
        if not isinstance(place, Aligned):
            return []
        end = ends[-1] + place.span.end
        if not _BETWEEN_WORDS.match(sentence, end):
            return []
        # With the citations after the part, if there are any.
        stops = _STOPS_BEHIND.match(sentence, end)
        at = stops.end() if stops else end
        behind = end_of_citations(sentence, at)
        ends.append(behind if behind > at else end)
    ends[-1] = len(sentence)
    return [_trimmed(sentence, start, end) for start, end in pairwise(ends)]


def _trimmed(sentence: str, start: int, end: int) -> Span:
    text = sentence[start:end]
    start += len(text) - len(text.lstrip(_AROUND))
    return Span(start, max(start, start + len(sentence[start:end].rstrip())))
