"""Which notes an answer rests on.

A note counts as cited when a verified claim rests on it, or when the model shows the words of the answer that use it
and those of the note that are used, and both stand where it says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gigamind.evidence.align import align
from gigamind.evidence.result import Aligned
from gigamind.judges.quotes import is_too_short
from gigamind.judges.search_qa.reply import NoteUse
from gigamind.judges.search_qa.segments.pieces import Piece
from gigamind.judges.search_qa.verify import JudgedClaim, Verifier
from gigamind.llm.fences import Source

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
    claim = _first_claim(claims, one.note_index) or one.shown
    return replace(one, cited=bool(claim), relevant_claim=claim)


def _once(uses: Sequence[NoteUse]) -> Mapping[int, NoteUse]:
    numbers = [use.note_index for use in uses]
    return {use.note_index: use for use in uses if numbers.count(use.note_index) == 1}


def _first_claim(claims: Sequence[JudgedClaim], number: int) -> str:
    return next(
        (
            one.claim.piece.text
            for one in claims
            if one.verdict == "supported" and one.note == number
        ),
        "",
    )


def _shown(use: NoteUse, answer: str, verifier: Verifier) -> str:
    if not use.cited:
        return ""
    (place,) = verifier.align([(use.note_index, use.quote)])
    if verifier.proof(place, says=use.relevant_claim)[1] is not None:
        return ""
    words = align(use.relevant_claim, answer)
    if not isinstance(words, Aligned) or words.critical or is_too_short(words.span, answer, _FEW):
        return ""
    return words.span.slice(answer)
