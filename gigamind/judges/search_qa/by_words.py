"""Judges answers by their words, without a model: free, and the same every time.

A claim is held against the sentence of the notes that shares most of its words, by the rules that a model's quotes are
held to (`verify`, `support`).  It judges words, not meaning: a claim said in other words is not found, and one that
turns the meaning of the same words, without a sign that `support` knows, may pass.  Nothing here can tell how useful
an answer is or what it leaves out.  What was measured: docs/judges.md.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from gigamind.choices import PromptLanguage
from gigamind.judges.asking import Asking, PlannedCall
from gigamind.judges.protocol import AnswerCase, Judge, Scale, Verdict
from gigamind.judges.search_qa.judgement import (
    Heard,
    Judgement,
    PanelOfAnswer,
    judgement_of,
    verdict_of,
)
from gigamind.judges.search_qa.reading import Reading
from gigamind.judges.search_qa.reply import RULES, ClaimFinding, ProofRules, SearchQAReply, ToldRole
from gigamind.judges.search_qa.roles import Roles
from gigamind.judges.search_qa.segments.citations import without_note_names
from gigamind.judges.search_qa.segments.claims import Claim, claims_of, pieces_of
from gigamind.judges.search_qa.support import Contradiction, Support
from gigamind.judges.search_qa.verify import Doubt, JudgedClaim, Verifier
from gigamind.judges.spec import JudgeFile, fingerprint_of, read_judge_file
from gigamind.llm.fences import Source
from gigamind.llm.options import ModelOptions
from gigamind.llm.settings import ModelSettings
from gigamind.text import sentences, unwrapped

# Part of the fingerprint, as RULES of the judge that asks.
_RULES_OF_WORDS = 3
# What a sentence says otherwise, where the others but show that it does not state the claim.
_SAYS_OTHERWISE: frozenset[Contradiction] = frozenset(
    {"number", "negation", "polarity", "limit", "roles"}
)


class WordsJudgeFile(JudgeFile):
    """A judge file of kind `words`; `min_quote_chars` as of kind `search_qa`."""

    kind: Literal["words"]
    min_quote_chars: Annotated[int, Field(ge=1, le=100)] = 8


@dataclass(frozen=True)
class WordsJudge(Judge[AnswerCase, PanelOfAnswer]):
    """The judge of kind `words`: is every claim of an answer said by its notes in the same words?"""

    file: WordsJudgeFile

    kind = "words"
    scales: ClassVar[Mapping[str, Scale]] = {"correctness": "graded", "supported": "binary"}

    def models(self, options: ModelOptions) -> tuple[str, ...]:
        del options
        return ()

    def settings(self, settings: ModelSettings) -> ModelSettings:
        return settings

    def fingerprint(self, model: str) -> str:
        return fingerprint_of(self.file, f"rules {RULES}, of words {_RULES_OF_WORDS}", model)

    def planned(self, case: AnswerCase) -> Iterator[PlannedCall]:
        del case
        return iter(())

    async def judge(self, case: AnswerCase, asking: Asking) -> Verdict[PanelOfAnswer]:
        """Without a note that has text, there is nothing to judge by, and no score."""
        del asking
        if not case.has_context:
            return Verdict({}, PanelOfAnswer(None, None, {}, {}))
        judgement = await asyncio.to_thread(judged_by_words, case, self.file)
        return verdict_of(PanelOfAnswer(judgement, None, {}, {}))


def load_words_judge(path: Path, language: PromptLanguage = "auto") -> WordsJudge:
    """The judge of a file of kind `words`, which has no prompt, and so is the same in each language.

    Raises:
        InputError: the file cannot be read, or says something unknown.
    """
    del language
    return WordsJudge(read_judge_file(path, WordsJudgeFile))


def judged_by_words(case: AnswerCase, file: WordsJudgeFile) -> Judgement:
    """The judgement of an answer whose notes have text; None is what words cannot tell."""
    rules = ProofRules(min_quote_chars=file.min_quote_chars, second_look="never")
    verifier = Verifier(case.notes, case.question, rules)
    pieces = pieces_of(case.answer)
    claims = claims_of(pieces)
    findings = _findings(claims, case)
    judged = [_by_rule(claim) for claim in verifier.looked_at(verifier.judge(claims, findings), {})]
    reply = SearchQAReply(
        claims=tuple(findings.values()), source_coverage=(), grounding_issues=(), omissions=(),
        answerable=False, answer_note=None, answer_quote="", utility_reason="", utility=0.0,
        correctness=None, summary="",
    )  # fmt: skip
    judgement = judgement_of(case, pieces, verifier, Heard(reply, findings, judged))
    return replace(
        judgement,
        completeness=None,
        utility=None,
        confidence=None,
        sentences=tuple(replace(sentence, told=None) for sentence in judgement.sentences),
        told_answerable=None,
        tells_omissions=False,
        reported_utility=None,
    )


def _findings(claims: Sequence[Claim], case: AnswerCase) -> dict[int, ClaimFinding]:
    """What a model would be asked for, by the ids of sentences: their roles, and a quote for each claim."""
    roles, lines = Roles(case.question, case.notes, claims), _Lines(case.notes)
    return {claim.id: _finding(claim, roles.by_form(claim), lines) for claim in claims}


def _finding(claim: Claim, role: ToldRole, lines: "_Lines") -> ClaimFinding:
    text = claim.piece.text
    note, quote = lines.nearest(claim) if role == "claim" else (None, "")
    return ClaimFinding(
        id=claim.id,
        role=role,
        abstention_quote=text if role == "abstention" else "",
        verdict="supported" if quote else "not_found",
        note=note,
        quote=quote,
    )


def _by_rule(claim: JudgedClaim) -> JudgedClaim:
    """What becomes of a sentence that no model has said a word about, and so said nothing that is unverified."""
    support = claim.support
    if claim.verdict == "supported" and support and not support.foreign:
        doubt = _doubt_of_words(support)
        return replace(claim, verdict="not_found", note=None, doubt=doubt) if doubt else claim
    against = (
        support and not support.sparse and not _SAYS_OTHERWISE.isdisjoint(claim.contradictions)
    )
    if against and claim.evidence:
        note = claim.evidence.quote.source_index + 1
        return replace(claim, verdict="contradicted", note=note)
    return replace(claim, verdict="not_found", note=None)


def _doubt_of_words(support: Support) -> Doubt | None:
    """Why a claim is not believed without a second look, where the words of its source are like its own."""
    if support.new_names:
        return "new_name"
    if support.far_number:
        return "new_number"
    if support.only_possible:
        return "only_possible"
    if support.other_limits:
        return "other_limits"
    return "other_word" if support.substitution else None


class _Lines:
    """The sentences of the notes, over the lines that they were wrapped in, to find one by its words."""

    def __init__(self, notes: Sequence[Source]) -> None:
        self._lines = [
            (number, text, Reading(text))
            for number, note in enumerate(notes, start=1)
            for text in (span.slice(note.text) for span in sentences(unwrapped(note.text)))
        ]

    def nearest(self, claim: Claim) -> tuple[int | None, str]:
        """The number of a note and its sentence that has most of the words of a claim, the shortest of several.

        Of as short ones it is that of a note that the claim names; no note and "" where none has a word of it.
        """
        says = Reading(without_note_names(claim.piece.text))
        best: tuple[int | None, str] = (None, "")
        most = (0, 0, False)
        for number, text, line in self._lines:
            shared = len(says.content & line.content)
            rank = (shared, -len(line.content), number in claim.piece.cited)
            if shared and line.is_korean == says.is_korean and rank > most:
                best, most = (number, text), rank
        return best
