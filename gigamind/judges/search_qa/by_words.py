"""Judges answers by their words, without a model: free and deterministic.

Each claim is compared with the one or two sentences of the notes that share most of its words, by the rules for quotes
of models. It does not find paraphrased claims, and cannot tell how useful an answer is. See docs/judges.md.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from gigamind.evidence.clause import is_question
from gigamind.evidence.stated import stated, unstated
from gigamind.judges.asking import Asking
from gigamind.judges.protocol import AnswerCase, Judge, Scale, Verdict
from gigamind.judges.search_qa.judged import Doubt, JudgedClaim
from gigamind.judges.search_qa.judgement import (
    Heard,
    Judgement,
    PanelOfAnswer,
    judgement_of,
    verdict_of,
)
from gigamind.judges.search_qa.passage import HEADING, Contradiction, Passage, Support, is_row
from gigamind.judges.search_qa.reading import Reading, is_content
from gigamind.judges.search_qa.reply import (
    RULES,
    ClaimFinding,
    ProofRules,
    ReportedRole,
    SearchQAReply,
)
from gigamind.judges.search_qa.roles import CLAUSES, Roles
from gigamind.judges.search_qa.segments.citations import without_note_names
from gigamind.judges.search_qa.segments.claims import Claim, claims_of, pieces_of
from gigamind.judges.search_qa.support import support
from gigamind.judges.search_qa.verify import Verifier
from gigamind.judges.spec import JudgeFile, fingerprint_of
from gigamind.prompting.fences import Source
from gigamind.text import sentences, unwrapped

# Part of the fingerprint, like RULES of the judge with a model.
_RULES_OF_WORDS = 6
# Doubts that show a different statement; the others show only that the sentence does not state the claim.
_SAYS_OTHERWISE: frozenset[Contradiction] = frozenset(
    {"number", "negation", "polarity", "limit", "roles"}
)
# Why a claim is not believed without a second check although its source has similar words, by fields of `Support`.
_DOUBTS: Mapping[str, Doubt] = {
    "new_names": "new_name",
    "far_number": "new_number",
    "added": "added",
    "only_possible": "only_possible",
    "other_limits": "other_limits",
    "substitution": "other_word",
}
# Doubts that the neighbouring sentence may resolve.
_OF_ONE_SENTENCE: frozenset[Doubt] = frozenset({"little_in_common", "new_number"})


class WordsJudgeFile(JudgeFile):
    """A judge file of kind `words`; `min_quote_chars` as for kind `search_qa`."""

    kind: Literal["words"]
    min_quote_chars: Annotated[int, Field(ge=1, le=100)] = 8


@dataclass(frozen=True)
class WordsJudge(Judge[AnswerCase, PanelOfAnswer]):
    """The judge of kind `words`: whether the notes state every claim of an answer in the same words."""

    file: WordsJudgeFile

    kind = "words"
    scales: ClassVar[Mapping[str, Scale]] = {"correctness": "graded", "supported": "binary"}

    def fingerprint(self, model: str) -> str:
        return fingerprint_of(self.file, f"rules {RULES}, of words {_RULES_OF_WORDS}", model)

    async def judge(self, case: AnswerCase, asking: Asking) -> Verdict[PanelOfAnswer]:
        del asking
        if not case.has_context:
            return Verdict({}, PanelOfAnswer(None, None, {}, {}))
        judgement = await asyncio.to_thread(judged_by_words, case, self.file)
        return verdict_of(PanelOfAnswer(judgement, None, {}, {}))


def judged_by_words(case: AnswerCase, file: WordsJudgeFile) -> Judgement:
    """Return the judgement of an answer whose notes have text; figures that words cannot give are None."""
    rules = ProofRules(min_quote_chars=file.min_quote_chars, second_look="never")
    verifier = Verifier(case.notes, case.question, rules)
    pieces = pieces_of(case.answer)
    claims = claims_of(pieces)
    lines = _Lines(case.notes)
    roles = Roles(case.question, case.notes, claims)
    findings = {claim.id: _finding(claim, roles.by_form(claim), lines) for claim in claims}
    judged = _judged(claims, findings, verifier)
    by_two = {
        row.claim.id: _with_quote(findings[row.claim.id], *lines.nearest_two(row.claim))
        for row in judged
        if row.doubt in _OF_ONE_SENTENCE
    }
    again = _judged([claim for claim in claims if claim.id in by_two], by_two, verifier)
    joined = {row.claim.id: row for row in again if row.verdict == "supported"}
    findings |= {id_: by_two[id_] for id_ in joined}
    judged = [joined.get(row.claim.id, row) for row in judged]
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
        sentences=tuple(
            replace(sentence, reported_verdict=None) for sentence in judgement.sentences
        ),
        reported_answerable=None,
        tells_omissions=False,
        reported_utility=None,
    )


def _finding(claim: Claim, role: ReportedRole, lines: "_Lines") -> ClaimFinding:
    text = claim.piece.text
    finding = ClaimFinding(
        id=claim.id,
        role=role,
        abstention_quote=text if role == "abstention" else "",
        verdict="not_found",
        note=None,
        quote="",
    )
    return _with_quote(finding, *lines.nearest(claim)) if role == "claim" else finding


def _with_quote(finding: ClaimFinding, note: int | None, quote: str) -> ClaimFinding:
    verdict = "supported" if quote else "not_found"
    return finding.model_copy(update={"verdict": verdict, "note": note, "quote": quote})


def _judged(
    claims: Sequence[Claim], findings: Mapping[int, ClaimFinding], verifier: Verifier
) -> list[JudgedClaim]:
    return [
        _by_rule(claim) for claim in verifier.with_second_look(verifier.judge(claims, findings), {})
    ]


def _by_rule(claim: JudgedClaim) -> JudgedClaim:
    found = claim.support
    if claim.verdict == "supported" and found and not found.foreign:
        doubt = _doubt_of(found)
        return replace(claim, verdict="not_found", note=None, doubt=doubt) if doubt else claim
    is_against = not _SAYS_OTHERWISE.isdisjoint(claim.contradictions)
    if found and not found.sparse and is_against and claim.evidence:
        note = claim.evidence.quote.source_index + 1
        return replace(claim, verdict="contradicted", note=note)
    return replace(claim, verdict="not_found", note=None)


def _doubt_of(found: Support) -> Doubt | None:
    return next((own for name, own in _DOUBTS.items() if getattr(found, name)), None)


def why_unsupported(text: str, passages: Sequence[Passage]) -> Doubt | None:
    """Return why passages do not state a text on their own, by the rules of this judge; None if they do.

    Stricter than for an answer, which is shown beside its notes: each content word must be in the passages.
    """
    whole = Passage(
        passages[0].heading, "\n".join(dict.fromkeys(passage.text for passage in passages))
    )
    found = support(text, whole, note=whole.text)
    if found.contradictions:
        return "contradiction"
    if found.foreign or found.sparse:
        return "little_in_common"
    said = Reading(f"{whole.heading}\n{whole.text}").content
    return _doubt_of(found) or (None if Reading(text).content <= said else "added")


_FEWEST_OF_TWO = 4  # words of a claim that connects two sentences


@dataclass(frozen=True, slots=True)
class _Line:
    """One or two sentences of a note that may serve as a quote; headings and questions state nothing."""

    note: int
    text: str
    content: AbstractSet[str]
    is_korean: bool
    states: bool


def _line(note: int, written: str, text: str) -> _Line:
    reading = Reading(text)
    states = not (HEADING.fullmatch(text) or is_question(text))
    return _Line(note, written, reading.content, reading.is_korean, states)


def _under_headers(lines: Sequence[_Line]) -> Iterator[_Line]:
    """Yield lines for comparison: a table row includes the words of its header, which states nothing by itself."""
    for table, group in groupby(lines, key=lambda line: is_row(line.text)):
        if not table:
            yield from group
            continue
        header, *rows = group
        if not rows:
            yield header
        for row in rows:
            is_korean = header.is_korean or row.is_korean
            yield replace(row, content=row.content | header.content, is_korean=is_korean)


class _Lines:
    """The sentences of the notes, across line wraps, for finding one or two by their words."""

    def __init__(self, notes: Sequence[Source]) -> None:
        self._lines: list[_Line] = []
        self._neighbours: list[tuple[_Line, _Line, str]] = []
        for number, note in enumerate(notes, start=1):
            text, written = unwrapped(stated(note.text)), unwrapped(note.text)
            spans = list(sentences(text))
            lines = [_line(number, span.slice(written), span.slice(text)) for span in spans]
            self._lines += _under_headers(lines)
            unstated_text = (span.slice(note.text) for span, _why in unstated(note.text))
            self._lines += (
                replace(_line(number, span.slice(part), span.slice(part)), states=False)
                for part in unstated_text
                for span in sentences(part)
            )
            neighbours = zip(pairwise(spans), pairwise(lines), strict=True)
            for (before, span), (first, second) in neighbours:
                same_paragraph = text.count("\n", before.end, span.start) <= 1
                if same_paragraph and not Passage("", second.text).is_terse:
                    both = written[before.start : span.end]
                    self._neighbours.append((first, second, both))

    def nearest(self, claim: Claim) -> tuple[int | None, str]:
        """Return the note and the sentence that shares most words with a claim; None and "" if none shares a word."""
        return _nearest(claim, _reading_of(claim), self._lines)

    def nearest_two(self, claim: Claim) -> tuple[int | None, str]:
        """Return the same for two sentences of one paragraph, each with a word that the other lacks."""
        reading = _reading_of(claim)
        pairs = (
            _Line(first.note, both, first.content | second.content, first.is_korean, states=True)
            for first, second, both in self._neighbours
            if len(reading.content) >= _FEWEST_OF_TWO
            and _joins(reading, first.content, second.content)
        )
        return _nearest(claim, reading, pairs)


def _joins(reading: Reading, first: AbstractSet[str], second: AbstractSet[str]) -> bool:
    """Return whether a claim has words of each sentence alone, linked by a clause boundary or mixed."""
    in_claim = [
        (word, key in first)
        for word, key in zip(reading.words, reading.keys, strict=True)
        if is_content(key) and (key in first) != (key in second)
    ]
    turns = [
        (a, b)
        for (a, of_first), (b, next_of_first) in pairwise(in_claim)
        if of_first != next_of_first
    ]
    return len(turns) > 1 or any(CLAUSES.search(reading.text[a.end : b.start]) for a, b in turns)


def _reading_of(claim: Claim) -> Reading:
    return Reading(without_note_names(claim.piece.text))


def _nearest(claim: Claim, reading: Reading, lines: Iterable[_Line]) -> tuple[int | None, str]:
    best: tuple[int | None, str] = (None, "")
    most = (False, 0, 0, False)
    asks = is_question(claim.piece.text)
    for line in lines:
        shared = len(reading.content & line.content)
        rank = (line.states or asks, shared, -len(line.content), line.note in claim.piece.cited)
        if shared and line.is_korean == reading.is_korean and rank > most:
            best, most = (line.note, line.text), rank
    return best
