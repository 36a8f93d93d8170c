"""What an answer leaves out: told by the model, and believed only with words of a note that it does not have."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gigamind.evidence.result import Alignment, is_same_place
from gigamind.judges.search_qa.numbers import known_numbers, new_numbers
from gigamind.judges.search_qa.reply import Omission
from gigamind.judges.search_qa.verify import Doubt, Verifier
from gigamind.judges.search_qa.words import GRAMMAR, stems


@dataclass(frozen=True, slots=True)
class JudgedOmission:
    """Something that the model says is left out.

    Attributes:
        what: in the words of the model.
        note: number of the note that says it, from 1; None without proof.
        evidence: where the quote stands, or why it does not.
        doubt: why it does not count: no proof; `given`, the answer says it; `repeated`, one before it is of the same
            place.  None where it counts.
    """

    what: str
    note: int | None
    evidence: Alignment
    doubt: Doubt | Literal["given", "repeated"] | None


def judged_omissions(
    told: Sequence[Omission], answer: str, verifier: Verifier
) -> tuple[JudgedOmission, ...]:
    """What the model says is left out, each with what becomes of it."""
    places = verifier.align([(one.note, one.quote) for one in told])
    found: list[JudgedOmission] = []
    for omission, quoted in zip(told, places, strict=True):
        place, weakness = verifier.proof(quoted)
        doubt: Doubt | Literal["given", "repeated"] | None = weakness
        if doubt is None and _gives(answer, omission.quote):
            doubt = "given"
        if doubt is None and any(
            one.doubt is None and is_same_place(one.evidence, place) for one in found
        ):
            doubt = "repeated"
        note = omission.note if doubt is None else None
        found.append(JudgedOmission(omission.what, note, place, doubt))
    return tuple(found)


def _gives(answer: str, quote: str) -> bool:
    """Whether an answer has every number and every word of some meaning of a quote."""
    return stems(quote) - GRAMMAR <= stems(answer) and not new_numbers(quote, known_numbers(answer))
