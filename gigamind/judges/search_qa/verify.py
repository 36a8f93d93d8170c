"""Believes what a model says about a claim only with a quote that stands in the note it names.

A quote of another note, one that is too short to prove anything, and one in which a number or a negation was changed
are no proof: such a claim is `unverified`, and counts as not supported.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gigamind.evidence.align import align_all
from gigamind.evidence.result import Aligned, Alignment, Quote
from gigamind.judges.search_qa.claims import Claim
from gigamind.judges.search_qa.reply import ClaimFinding, SearchQAJudgeFile, Told
from gigamind.llm.fences import Source
from gigamind.spans import Span

Verdict = Literal["supported", "contradicted", "not_found", "unverified"]
Doubt = Literal[
    "no_such_note", "no_quote", "quote_not_in_note", "quote_of_another_note", "quote_too_short",
    "quote_changed", "new_number",
]  # fmt: skip
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A claim and what became of the model's word about it.

    Attributes:
        verdict: the one that counts.
        note: number of the note that proves it, from 1; None without proof.
        evidence: where the quote stands, or why it does not; None when none was given.
        doubt: why the model was not believed; None when it was.
        new_numbers: of a supported claim, numbers that stand neither in that note nor in the question.
    """

    claim: Claim
    told: Told
    verdict: Verdict
    note: int | None
    evidence: Alignment | None
    doubt: Doubt | None
    new_numbers: tuple[str, ...]


class Verifier:
    """Checks quotes against the notes of one item."""

    def __init__(self, notes: Sequence[Source], question: str, file: SearchQAJudgeFile) -> None:
        self._notes = notes
        self._texts = [note.text for note in notes]
        self._question = question
        self._file = file

    def judge(
        self, claims: Sequence[Claim], findings: Mapping[int, ClaimFinding]
    ) -> tuple[JudgedClaim, ...]:
        """Every claim with its verdict; `findings` has one for each id."""
        told = [findings[claim.id] for claim in claims]
        places = self.align([(one.note, one.quote) for one in told])
        return tuple(
            self._judged(claim, finding, place)
            for claim, finding, place in zip(claims, told, places, strict=True)
        )

    def align(self, quotes: Sequence[tuple[int | None, str]]) -> tuple[Alignment, ...]:
        """Where quotes stand in the notes that they are said to be of."""
        asked = [Quote(quote, source_index=(note or 0) - 1) for note, quote in quotes]
        return align_all(asked, self._texts).outcomes

    def doubt(self, place: Alignment) -> Doubt | None:
        """Why a quote proves nothing; None when it does."""
        if not 0 <= place.quote.source_index < len(self._notes):
            return "no_such_note"
        if not isinstance(place, Aligned):
            return self._why_not_found(place)
        if place.critical:
            return "quote_changed"
        text = self._texts[place.quote.source_index]
        return "quote_too_short" if self._is_too_short(place.span, text) else None

    def _judged(self, claim: Claim, finding: ClaimFinding, place: Alignment) -> JudgedClaim:
        if finding.verdict == "not_found":
            return JudgedClaim(claim, "not_found", "not_found", None, None, None, ())
        doubt, new = self.doubt(place), ()
        if doubt is None and finding.verdict == "supported":
            new = self._new_numbers(claim.piece.text, place.quote.source_index)
            doubt = "new_number" if new and self._file.new_numbers == "refuse" else None
        verdict = finding.verdict if doubt is None else "unverified"
        note = finding.note if doubt is None else None
        return JudgedClaim(claim, finding.verdict, verdict, note, place, doubt, new)

    def _why_not_found(self, place: Alignment) -> Doubt:
        quote = place.quote.text
        if not quote.strip():
            return "no_quote"
        others = [Quote(quote, source_index=index) for index in range(len(self._texts))]
        found = align_all(others, self._texts).aligned
        proving = any(
            not self._is_too_short(one.span, self._texts[one.quote.source_index]) for one in found
        )
        return "quote_of_another_note" if proving else "quote_not_in_note"

    def _is_too_short(self, span: Span, text: str) -> bool:
        """A single letter stands in every note.  A whole line or cell is as much as there is to quote."""
        if sum(char.isalnum() for char in span.slice(text)) >= self._file.min_quote_chars:
            return False
        before = text[: span.start].rstrip(" \t*_`-+>")
        behind = text[span.end :].lstrip(" \t*_`.。")
        whole = before[-1:] in {"", "\n", "|", ":"} and behind[:1] in {"", "\n", "|"}
        return not (whole and any(char.isalnum() for char in span.slice(text)))

    def _new_numbers(self, claim: str, index: int) -> tuple[str, ...]:
        note = self._notes[index]
        known = _numbers(f"{note.title} {note.text} {self._question}")
        return tuple(number for number in _numbers(claim) if number not in known)


def _numbers(text: str) -> dict[str, None]:
    """Runs of digits without leading zeros, each once: "2026-03-05" and "2026년 3월 5일" have the same."""
    return dict.fromkeys(found.lstrip("0") or "0" for found in _DIGITS.findall(text))
