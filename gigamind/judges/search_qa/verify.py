"""Believes what a model says about a claim only with a quote that stands in the note it names.

A quote of another note, one that was changed, and one that proves nothing by the rules of `quotes` are no proof: such a
claim is `unverified`, and counts as not supported.  From what is proven follows which notes an answer makes use of.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gigamind.evidence.align import align, align_all
from gigamind.evidence.clause import is_asked
from gigamind.evidence.critical import opposed
from gigamind.evidence.result import Aligned, Alignment, Quote
from gigamind.judges.quotes import Weakness, is_too_short, strongest
from gigamind.judges.search_qa.numbers import Number, known_numbers, new_numbers
from gigamind.judges.search_qa.reply import ClaimFinding, NoteUse, SearchQAJudgeFile, Told
from gigamind.judges.search_qa.segments.citations import without_note_names
from gigamind.judges.search_qa.segments.claims import Claim
from gigamind.judges.search_qa.segments.pieces import Piece, Role
from gigamind.llm.fences import Source
from gigamind.spans import Span
from gigamind.text import sentences

Verdict = Literal["supported", "contradicted", "not_found", "unverified"]
Doubt = (
    Literal[
        "no_such_note",
        "no_quote",
        "quote_not_in_note",
        "quote_of_another_note",
        "quote_changed",
        "new_number",
    ]
    | Weakness
)
Caution = Literal["negation", "polarity", "question"]
Veto = Literal[
    "form", "citation", "number", "word_of_a_note", "states", "no_words", "answered", "proven"
]


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A sentence and what became of the model's word about it; one that is no claim has the verdict `not_found`.

    Attributes:
        verdict: the one that counts.
        note: number of the note that proves it, from 1; None without proof.
        evidence: where the quote stands, or why it does not; None when none was given.
        doubt: why the model was not believed; None when it was.
        new_numbers: of a supported claim, numbers that stand neither in that note nor in the question.
        cautions: of a supported claim, what in the quote speaks against it: a negation that only one of the two has, a
            word whose opposite the claim has, or a question that states nothing.  It changes no verdict.
        role: what it counts as; only claims count in correctness.
        told_role: what the model said it is.
        veto: why it is a claim although the model said otherwise; see `roles`.
        untold: it says, maybe beside a claim, that the notes do not tell.
    """

    claim: Claim
    told: Told
    verdict: Verdict
    note: int | None
    evidence: Alignment | None
    doubt: Doubt | None
    new_numbers: tuple[str, ...]
    cautions: tuple[Caution, ...] = ()
    role: Role = "claim"
    told_role: Role = "claim"
    veto: Veto | None = None
    untold: bool = False


class Verifier:
    """Checks quotes against the notes of one item."""

    def __init__(self, notes: Sequence[Source], question: str, file: SearchQAJudgeFile) -> None:
        self._notes = notes
        self._texts = [note.text for note in notes]
        self._question = question
        self._file = file
        self._known: dict[int, frozenset[Number]] = {}

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

    def proof(self, place: Alignment, *, says: str | None = None) -> tuple[Alignment, Doubt | None]:
        """The quote where it proves most, and why it proves nothing; None when it does.

        Args:
            says: what it is to prove.
        """
        if not 0 <= place.quote.source_index < len(self._notes):
            return place, "no_such_note"
        if not isinstance(place, Aligned):
            return place, self._why_not_found(place)
        text = self._texts[place.quote.source_index]
        return strongest(place, text, self._file.min_quote_chars, says=says)

    def _judged(self, claim: Claim, finding: ClaimFinding, place: Alignment) -> JudgedClaim:
        if finding.verdict == "not_found":
            return JudgedClaim(claim, "not_found", "not_found", None, None, None, ())
        text = claim.piece.text
        # What speaks against a claim need not share its words.
        supports = finding.verdict == "supported"
        place, doubt = self.proof(place, says=text if supports else None)
        new: tuple[str, ...] = ()
        cautions: tuple[Caution, ...] = ()
        if doubt is None and supports:
            index = place.quote.source_index
            new = new_numbers(without_note_names(text), self._numbers_known(index))
            doubt = "new_number" if new and self._file.new_numbers == "refuse" else None
            cautions = _cautions(text, place, self._texts[index])
        verdict = finding.verdict if doubt is None else "unverified"
        note = finding.note if doubt is None else None
        return JudgedClaim(claim, finding.verdict, verdict, note, place, doubt, new, cautions)

    def _why_not_found(self, place: Alignment) -> Doubt:
        quote = place.quote.text
        if not quote.strip():
            return "no_quote"
        others = [Quote(quote, source_index=index) for index in range(len(self._texts))]
        found = align_all(others, self._texts).aligned
        proving = any(self.proof(one)[1] is None for one in found)
        return "quote_of_another_note" if proving else "quote_not_in_note"

    def _numbers_known(self, index: int) -> frozenset[Number]:
        """Those of a note and of the question: what the asker says is not new in an answer."""
        if index not in self._known:
            note = self._notes[index]
            self._known[index] = known_numbers(f"{note.title}\n{note.text}\n{self._question}")
        return self._known[index]


def _cautions(claim: str, place: Alignment, text: str) -> tuple[Caution, ...]:
    if not isinstance(place, Aligned):
        return ()
    quoted = place.span.slice(text)
    signs: tuple[Caution, ...] = opposed(claim.casefold(), quoted.casefold())
    return (*signs, "question") if _is_asked(place.span, text) else signs


def _is_asked(span: Span, text: str) -> bool:
    """Whether the sentence that a span ends in is a question."""
    last = next((one for one in sentences(text) if one.start < span.end <= one.end), span)
    return is_asked(last.slice(text))


_FEW = 4  # letters and digits of an answer; fewer stand in any


@dataclass(frozen=True, slots=True)
class Coverage:
    """One note and its use.

    Attributes:
        note_index: its number, from 1.
        relevant: what the model says about its bearing on the question; None when it says nothing.
        marked: whether the answer names it, as in `[노트 1]`.
        relevant_claim: the words of the answer that use it; empty when it is not cited.
        shown: the words that the model showed to use it, with a proof; empty when it showed none.
    """

    note_index: int
    note_title: str
    cited: bool
    relevant: bool | None
    marked: bool
    relevant_claim: str
    shown: str = ""


def coverage(
    notes: Sequence[Source],
    answer: str,
    *,
    pieces: Sequence[Piece],
    claims: Sequence[JudgedClaim],
    uses: Sequence[NoteUse],
    verifier: Verifier,
) -> tuple[Coverage, ...]:
    """Every note in its order.  Titles are ours; a note that the model names twice counts as not named."""
    told = _once(uses)
    marked = {number for piece in pieces for number in piece.cited}
    found: list[Coverage] = []
    for number, note in enumerate(notes, start=1):
        use = told.get(number)
        shown = _shown(use, answer, verifier) if use else ""
        relevant = use.relevant if use else None
        one = Coverage(
            note_index=number,
            note_title=note.title,
            cited=False,
            relevant=relevant,
            marked=number in marked,
            relevant_claim="",
            shown=shown,
        )
        found.append(_cited(one, claims))
    return tuple(found)


def agreed(
    seats: Sequence[Sequence[Coverage]], claims: Sequence[JudgedClaim]
) -> tuple[Coverage, ...]:
    """Every note as a panel has it: cited by the claims that the panel supports, or by what more than half show."""
    found: list[Coverage] = []
    for rows in zip(*seats, strict=True):
        shown = [row.shown for row in rows if row.shown]
        relevant = [row.relevant for row in rows if row.relevant is not None]
        one = replace(
            rows[0],
            relevant=2 * sum(relevant) > len(relevant) if relevant else None,
            shown=shown[0] if 2 * len(shown) > len(rows) else "",
        )
        found.append(_cited(one, claims))
    return tuple(found)


def _cited(one: Coverage, claims: Sequence[JudgedClaim]) -> Coverage:
    supported = (
        claim.claim.piece.text
        for claim in claims
        if claim.verdict == "supported" and claim.note == one.note_index
    )
    claim = next(supported, "") or one.shown
    return replace(one, cited=bool(claim), relevant_claim=claim)


def _once(uses: Sequence[NoteUse]) -> Mapping[int, NoteUse]:
    numbers = [use.note_index for use in uses]
    return {use.note_index: use for use in uses if numbers.count(use.note_index) == 1}


def _shown(use: NoteUse, answer: str, verifier: Verifier) -> str:
    if not use.cited:
        return ""
    (place,) = verifier.align([(use.note_index, use.quote)])
    if verifier.proof(place, says=use.relevant_claim)[1] is not None:
        return ""
    words = align(use.relevant_claim, answer)
    if not isinstance(words, Aligned) or words.unproven or is_too_short(words.span, answer, _FEW):
        return ""
    return words.span.slice(answer)
