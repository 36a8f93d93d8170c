"""Believes a model's verdict about a claim only with a quote that is in the note it names and proves something.

Otherwise the claim is `unverified`. Omissions are believed only with words of a note that the answer lacks.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from gigamind.evidence.align import align, align_all
from gigamind.evidence.result import Aligned, Alignment, Quote, is_same_place, record
from gigamind.evidence.stated import stated as stated_text
from gigamind.judges.protocol import AnswerCase, once
from gigamind.judges.quotes import Weakness, is_too_short, strongest
from gigamind.judges.search_qa.numbers import known_numbers, new_numbers
from gigamind.judges.search_qa.passage import (
    Asked,
    Contradiction,
    NoteSentence,
    Passage,
    Refusal,
    Support,
    sentences_of,
)
from gigamind.judges.search_qa.reply import ClaimFinding, NoteUse, Omission, ProofRules
from gigamind.judges.search_qa.roles import Veto, is_abstention
from gigamind.judges.search_qa.segments import Piece, Role, without_note_names
from gigamind.judges.search_qa.support import substitution, support
from gigamind.judges.search_qa.words import GRAMMAR, Reading, stems
from gigamind.prompting.fences import Source
from gigamind.records.judged import ClaimVerdict, EvaluatedOmission, ReportedVerdict, SourceCoverage
from gigamind.spans import Utf16

Doubt = (
    Literal[
        "no_such_note",
        "no_quote",
        "quote_not_in_note",
        "quote_of_another_note",
        "quote_changed",
        "contradiction",
        "sources_differ",
        "little_in_common",
        "not_confirmed",
        "not_looked_at",
        "not_entailed",
        "too_long",
    ]
    | Refusal
    | Weakness
)


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A sentence and its verdict; one that is no claim has the verdict `not_found`."""

    claim: Piece
    reported_verdict: ReportedVerdict | None = "not_found"  # of the model; None without one
    verdict: ClaimVerdict = "not_found"  # the final one
    note: int | None = None  # number of the note that proves it, from 1; None without proof
    evidence: Alignment | None = None  # where the quote is, or why it failed; None without a quote
    doubt: Doubt | None = None  # why the model was not believed; None if it was
    # for a claim with a proven quote: numbers that neither that note nor the question has
    new_numbers: tuple[str, ...] = ()
    stated: str = ""  # for a proven claim: its words without an abstention
    passage: Passage | None = None  # the sentences around the quote of a proven claim
    title: str = ""
    support: Support | None = None
    confirmed: bool | None = None  # result of the second check; None without one
    # of a judge with a threshold, in [0, 1]: how well the best passage supports it; None if none was scored
    score: float | None = None
    role: Role = "claim"
    reported_role: Role = "claim"
    veto: Veto | None = None  # why it is a claim although another role was reported; see `roles`
    untold: bool = False  # it abstains, possibly in addition to a claim

    @property
    def contradictions(self) -> tuple[Contradiction, ...]:
        return self.support.contradictions if self.support else ()


# Contradictions between two sentences with the same words otherwise.
_DENYING: AbstractSet[Contradiction] = frozenset({"number", "negation", "polarity"})
# Refusals of claims that may say the same in other words: code cannot tell.
_UNDECIDED: AbstractSet[Refusal | None] = frozenset({"other_limits", "other_question"})


class Verifier:
    """Checks quotes against the notes of one answer."""

    def __init__(self, case: AnswerCase, rules: ProofRules) -> None:
        self.case = case
        self._texts = [note.text for note in case.notes]
        self.asked = Asked.of(case.question, case.notes)
        self._rules = rules

    def judge(
        self, claims: Sequence[Piece], findings: Sequence[ClaimFinding]
    ) -> tuple[JudgedClaim, ...]:
        places = self.align([(finding.note, finding.quote) for finding in findings])
        alone = self.asked if len(claims) == 1 else None
        return tuple(
            self._judged(claim, finding, place, alone)
            for claim, finding, place in zip(claims, findings, places, strict=True)
        )

    def align(self, quotes: Sequence[tuple[int | None, str]]) -> tuple[Alignment, ...]:
        indexed = [Quote(quote, source_index=(note or 0) - 1) for note, quote in quotes]
        return align_all(indexed, self._texts).outcomes

    @cached_property
    def _units(self) -> Sequence[Utf16]:
        return [*map(Utf16, self._texts)]

    def record(self, place: Alignment) -> dict[str, Any]:
        """Return the place of a quote as JSON values."""
        return dict(record(place, self._units))

    def proof(
        self, place: Alignment, *, statement: str | None = None
    ) -> tuple[Alignment, Doubt | None]:
        """Return the place where the quote proves most of `statement`, and why it proves nothing; None if it does."""
        if not 0 <= place.quote.source_index < len(self.case.notes):
            return place, "no_such_note"
        if not isinstance(place, Aligned):
            return place, self._reason_not_located(place)
        text = self._texts[place.quote.source_index]
        return strongest(place, text, self._rules.min_quote_chars, statement=statement)

    def _judged(
        self, claim: Piece, finding: ClaimFinding, place: Alignment, alone: Asked | None
    ) -> JudgedClaim:
        if finding.verdict == "not_found":
            return JudgedClaim(claim)
        text = claim.text
        # A contradicting quote need not share words with the claim.
        supports = finding.verdict == "supported"
        place, doubt = self.proof(place, statement=text if supports else None)
        judged = JudgedClaim(claim, finding.verdict, finding.verdict, finding.note, place, doubt)
        if doubt is None and supports:
            words = finding.abstention_quote
            stated = text.replace(words, " ", 1) if words and is_abstention(words, text) else text
            judged = self._compared_with_source(replace(judged, stated=stated), place, alone)
        if judged.doubt is not None:
            return replace(judged, verdict="unverified", note=None)
        return judged

    def _compared_with_source(
        self, judged: JudgedClaim, place: Alignment, alone: Asked | None
    ) -> JudgedClaim:
        case, stated = self.case, judged.stated
        note = case.notes[place.quote.source_index]
        if not isinstance(place, Aligned):
            return judged
        note_text = stated_text(note.text)
        passage = Passage.of(place.span, note_text)
        backing = support(
            stated, passage, title=note.title, question=case.question, note=note_text, asked=alone
        )
        doubt: Doubt | None = "contradiction" if backing.contradictions else None
        if doubt is None and not backing.foreign and self._is_denied_elsewhere(stated, passage):
            doubt = "sources_differ"
        return replace(
            judged,
            new_numbers=new_numbers(
                without_note_names(stated),
                known_numbers(f"{note.title}\n{note_text}\n{case.question}"),
            ),
            passage=passage,
            title=note.title,
            support=backing,
            doubt=doubt,
        )

    def _is_denied_elsewhere(self, stated: str, passage: Passage) -> bool:
        """Return whether another sentence of the notes says the same with a number, negation or word changed.

        Another word counts only if the passage has words around the claim: the two may be about two things.
        """
        claim = Reading(without_note_names(stated))
        if len(claim.content) < _FEWEST_COMPARED:
            return False
        said = Reading(passage.said).content
        for note, row in self._prose:
            missing = {key for key in claim.content - row.content if key.isalpha()}
            shared = {key for key in claim.content & row.content if key.isalpha() and len(key) > 1}
            text = stated_text(note.text)
            if not shared or len(missing) > 1 or row.span.slice(text) in passage.text:
                continue
            place = Passage.of(row.span, text)
            found = support(claim.raw, place, title=note.title, question=self.case.question)
            denied = not _DENYING.isdisjoint(found.contradictions)
            around = len(said - claim.content - row.content) >= _FEWEST_AROUND
            other = substitution(claim, Reading(place.text)) if around and not denied else None
            if (denied and not missing) or (other and missing <= Reading(other.texts[0]).content):
                return True
        return False

    @cached_property
    def _prose(self) -> Sequence[tuple[Source, NoteSentence]]:
        """The prose sentences of the notes; rows and items are parts of one whole."""
        rows = ((note, row) for note in self.case.notes for row in sentences_of(note.text))
        return [(note, row) for note, row in rows if row.is_prose]

    def for_second_look(self, claims: Sequence[JudgedClaim]) -> list[JudgedClaim]:
        rule = self._rules.second_look
        believed = (claim for claim in claims if claim.verdict == "supported" and claim.support)
        return [
            claim
            for claim in believed
            if _refusal(claim) is None
            and (rule == "all" or (rule == "doubtful" and _is_doubtful(claim)))
        ]

    def with_second_look(
        self, claims: Sequence[JudgedClaim], confirmed: Mapping[int, bool | None]
    ) -> tuple[JudgedClaim, ...]:
        """Return the claims with the results of the second check by id; None is no reliable result."""
        checked = (replace(claim, confirmed=confirmed.get(claim.claim.id)) for claim in claims)
        return tuple(
            replace(claim, verdict="unverified", note=None, doubt=doubt)
            if (doubt := self._doubt_of_second_look(claim))
            else claim
            for claim in checked
        )

    def _doubt_of_second_look(self, claim: JudgedClaim) -> Doubt | None:
        if claim.verdict != "supported":
            return None
        doubt = _refusal(claim)
        if doubt or claim.confirmed:
            return doubt
        if claim.confirmed is False:
            return "not_confirmed"
        if _is_doubtful(claim) and self._rules.second_look != "never":
            return "not_looked_at"
        is_sparse = claim.support is not None and claim.support.sparse
        return "little_in_common" if is_sparse else None

    def _reason_not_located(self, place: Alignment) -> Doubt:
        quote = place.quote.text
        if not quote.strip():
            return "no_quote"
        others = [Quote(quote, source_index=index) for index in range(len(self._texts))]
        alignments = align_all(others, self._texts).aligned
        proving = any(self.proof(alignment)[1] is None for alignment in alignments)
        return "quote_of_another_note" if proving else "quote_not_in_note"

    def coverage(
        self, pieces: Sequence[Piece], claims: Sequence[JudgedClaim], uses: Sequence[NoteUse]
    ) -> tuple[SourceCoverage, ...]:
        """Return the use of every note in order; a note that the model lists twice counts as not listed."""
        by_note = once(uses, lambda use: use.note_index)
        marked = {number for piece in pieces for number in piece.cited}
        coverages: list[SourceCoverage] = []
        for number, note in enumerate(self.case.notes, start=1):
            use = by_note.get(number)
            shown = self._shown(use) if use else ""
            supported = (
                claim.claim.text
                for claim in claims
                if claim.verdict == "supported" and claim.note == number
            )
            claim = next(supported, "") or shown
            row = SourceCoverage(
                note_index=number,
                note_title=note.title,
                cited=bool(claim),
                relevant_claim=claim,
                relevant=use.relevant if use else None,
                marked=number in marked,
            )
            coverages.append(row)
        return tuple(coverages)

    def _shown(self, use: NoteUse) -> str:
        answer = self.case.answer
        if not use.cited:
            return ""
        (place,) = self.align([(use.note_index, use.quote)])
        if self.proof(place, statement=use.relevant_claim)[1] is not None:
            return ""
        words = align(use.relevant_claim, answer)
        if (
            not isinstance(words, Aligned)
            or words.unproven
            or is_too_short(words.span, answer, _FEW)
        ):
            return ""
        return words.span.slice(answer)

    def omissions(self, reported: Sequence[Omission]) -> tuple[EvaluatedOmission, ...]:
        """Return the omissions reported by the model, each with its verdict."""
        places = self.align([(omission.note, omission.quote) for omission in reported])
        judged: list[EvaluatedOmission] = []
        counted: list[Alignment] = []
        answer = self.case.answer
        for omission, quoted in zip(reported, places, strict=True):
            place, weakness = self.proof(quoted)
            doubt: Doubt | Literal["given", "repeated"] | None = weakness
            quote = omission.quote
            if doubt is None and stems(quote) - GRAMMAR <= stems(answer):
                doubt = None if new_numbers(quote, known_numbers(answer)) else "given"
            if doubt is None and any(is_same_place(other, place) for other in counted):
                doubt = "repeated"
            if doubt is None:
                counted.append(place)
            note = omission.note if doubt is None else None
            evidence = self.record(place)
            own = EvaluatedOmission(what=omission.what, note=note, doubt=doubt, evidence=evidence)
            judged.append(own)
        return tuple(judged)


def _refusal(claim: JudgedClaim) -> Doubt | None:
    """Return why the guard (`support.py`) refuses a claim; no model may overrule it. None if it does not."""
    found = claim.support.refusal if claim.support else None
    return None if found in _UNDECIDED else found


def _is_doubtful(claim: JudgedClaim) -> bool:
    return claim.support is not None and claim.support.doubtful


_FEWEST_COMPARED = 3  # content words of a claim; an answer with fewer is part of a sentence
_FEWEST_AROUND = 2  # content words
_FEW = 4  # letters and digits of an answer; fewer occur by chance
