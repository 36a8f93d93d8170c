"""Judges answers by their words, without a model: free and deterministic. See docs/judges.md.

Each claim is compared with the sentence of the notes that shares most of its words: a guard may refuse it, then a score
decides.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import groupby
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from gigamind.evidence.proof import is_question
from gigamind.i18n import Language
from gigamind.judges.protocol import AnswerCase, Asking, Judge, Verdict
from gigamind.judges.search_qa.judgement import evaluation_of, verdict_of
from gigamind.judges.search_qa.passage import Asked, NoteSentence, Passage, is_row, sentences_of
from gigamind.judges.search_qa.reply import (
    RULES,
    ClaimFinding,
    ProofRules,
    ReportedRole,
    SearchQAReply,
)
from gigamind.judges.search_qa.roles import Roles
from gigamind.judges.search_qa.segments import Piece, claims_of, pieces_of, without_note_names
from gigamind.judges.search_qa.support import LEAST, support
from gigamind.judges.search_qa.verify import Doubt, JudgedClaim, Verifier
from gigamind.judges.search_qa.words import Reading
from gigamind.judges.spec import JudgeFile
from gigamind.prompting.fences import Source
from gigamind.records.judged import SearchQAEvaluation, Share

# Part of the fingerprint, like RULES of the judge with a model.
RULES_OF_WORDS = 7


class WordsJudgeFile(JudgeFile):
    """A judge file of kind `words`: by language, the score in [0, 1] from which a claim is supported."""

    kind: Literal["words"]
    min_quote_chars: Annotated[int, Field(ge=1, le=100)] = 8
    min_score: Mapping[Language, Share] = Field(default={"ko": LEAST[True], "en": LEAST[False]})

    def least(self, *, is_korean: bool) -> float:
        return self.min_score.get("ko" if is_korean else "en", LEAST[is_korean])


@dataclass(frozen=True)
class WordsJudge(Judge[AnswerCase, SearchQAEvaluation | None]):
    """The judge of kind `words`: whether the notes state every claim of an answer in the same words."""

    file: WordsJudgeFile

    kind = "words"
    scales: ClassVar = {"correctness": "graded", "supported": "binary"}

    def fingerprint(self, model: str) -> str:
        return self.file.fingerprint_with(f"rules {RULES}, of words {RULES_OF_WORDS}", model)

    async def judge(self, case: AnswerCase, asking: Asking) -> Verdict[SearchQAEvaluation | None]:
        del asking
        if not case.has_context:
            return Verdict({}, None)
        return verdict_of(await asyncio.to_thread(_judged_by_words, case, self.file))


_BY_A_MODEL = ("utility", "confidence", "reported_answerable", "reported_utility")


class Comparison:
    """The claims of an answer, whose notes have text, and what judges without an LLM compare them with."""

    def __init__(self, case: AnswerCase, pieces: Sequence[Piece], min_quote_chars: int) -> None:
        self.case, self.pieces, self.claims = case, pieces, claims_of(pieces)
        rules = ProofRules(min_quote_chars=min_quote_chars, second_look="never")
        self.verifier = Verifier(case, rules)
        self.lines = _Lines(case.notes, self.verifier.asked if len(self.claims) == 1 else None)
        roles = Roles(case.question, case.notes, self.claims)
        self.findings = {claim.id: _finding(claim, roles.by_form(claim)) for claim in self.claims}

    def evaluation_of(self, judged: Sequence[JudgedClaim]) -> SearchQAEvaluation:
        """Return the evaluation for the verdicts on the claims; what only an LLM can report is None."""
        findings = tuple(self.findings.values())
        reply = SearchQAReply.model_validate(
            {"claims": findings, "answerable": False, "utility": 0.0}
        )
        untold = [replace(claim, reported_verdict=None) for claim in judged]
        found = evaluation_of(self.pieces, self.verifier, reply, untold)
        return found.model_copy(update=dict.fromkeys(_BY_A_MODEL))


def _judged_by_words(case: AnswerCase, file: WordsJudgeFile) -> SearchQAEvaluation:
    """Return the evaluation of an answer whose notes have text; figures that words cannot give are None."""
    comparison = Comparison(case, pieces_of(case.answer), file.min_quote_chars)
    findings = comparison.findings
    for claim in comparison.claims:
        if findings[claim.id].role == "claim":
            for note, quote in comparison.lines.best(claim, 1):
                findings[claim.id] = findings[claim.id].quoting(note, quote)
    rows = comparison.verifier.judge(comparison.claims, list(findings.values()))
    least = (file.least(is_korean=Reading(row.stated).is_korean) for row in rows)
    return comparison.evaluation_of(list(map(by_rule, rows, least)))


def _finding(claim: Piece, role: ReportedRole) -> ClaimFinding:
    """Return what a model would report of a sentence by its form, without a quote."""
    return ClaimFinding(
        id=claim.id,
        role=role,
        abstention_quote=claim.text if role == "abstention" else "",
        verdict="not_found",
        note=None,
        quote="",
    )


def by_rule(claim: JudgedClaim, least: float | None = None) -> JudgedClaim:
    """Return a claim with its verdict: supported if the guard passes and the score reaches `least`.

    Without `least`, only the guard decides: numbers, negations, names, limits, other words.
    """
    support = claim.support
    if support is None or claim.verdict not in {"supported", "unverified"}:
        return replace(claim, verdict="not_found", note=None)
    is_carried = not support.sparse if least is None else support.share >= least
    if support.contradictions and is_carried and claim.evidence:
        note = claim.evidence.quote.source_index + 1
        return replace(claim, verdict="contradicted", note=note, doubt="contradiction")
    if support.foreign:
        return replace(claim, verdict="not_found", note=None)
    doubt = support.refusal or claim.doubt
    if least is not None and not is_carried:
        doubt = doubt or "little_in_common"
    return replace(claim, verdict="not_found", note=None, doubt=doubt) if doubt else claim


def why_unsupported(text: str, passages: Sequence[Passage]) -> Doubt | Literal["added"] | None:
    """Return why passages do not state a text on their own, by the rules of this judge; None if they do.

    Stricter than for an answer, which is shown beside its notes: each content word must be in the passages.
    """
    said = "\n".join(dict.fromkeys(passage.text for passage in passages))
    whole = Passage(passages[0].heading, said)
    found = support(text, whole, note=said)
    if found.contradictions:
        return "contradiction"
    if found.refusal or found.foreign or found.sparse:
        return found.refusal or "little_in_common"
    return None if Reading(text).content <= Reading(f"{whole.heading}\n{said}").content else "added"


def _under_headers(rows: Sequence[NoteSentence]) -> Iterator[NoteSentence]:
    """Yield sentences for comparison: a table row includes the words of its header, which states nothing by itself."""
    for table, group in groupby(rows, key=lambda row: is_row(row.text)):
        if not table:
            yield from group
            continue
        header, *below = group
        if not below:
            yield header
        for row in below:
            is_korean = header.is_korean or row.is_korean
            yield replace(row, content=row.content | header.content, is_korean=is_korean)


class _Lines:
    """The sentences of the notes, across line wraps, for finding those that share words with a claim."""

    def __init__(self, notes: Sequence[Source], question: Asked | None) -> None:
        """Take the question for an answer of one sentence, which it may complete."""
        self._lines: list[tuple[int, NoteSentence, float]] = []
        for number, note in enumerate(notes, start=1):
            for row in _under_headers(sentences_of(note.text)):
                around = f"{note.title}\n{row.heading}\n{row.text}"
                answered = question.answered(around) if question else None
                self._lines.append((number, row, answered or 0.0))

    def best(self, claim: Piece, count: int) -> list[tuple[int, str]]:
        """Return up to `count` notes and sentences of the claim's language that share words with it, best first."""
        reading = Reading(without_note_names(claim.text))
        asks = is_question(claim.text)

        def rank(line: tuple[int, NoteSentence, float]) -> tuple[bool, int, float, int, bool]:
            number, row, answered = line
            shared = len(reading.content & row.content)
            cited = number in claim.cited
            return row.states or asks, shared, answered, -len(row.content), cited

        sharing = (
            line
            for line in self._lines
            if not reading.content.isdisjoint(line[1].content)
            and not reading.is_foreign_to(is_korean=line[1].is_korean)
        )
        best = nlargest(count, sharing, key=rank)
        return [(number, row.text) for number, row, _answered in best]
