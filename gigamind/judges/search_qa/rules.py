"""What a judged answer is worth: the product's rules (seed 004), none of which a model is asked to apply."""

from collections.abc import Sequence
from typing import Literal

from gigamind.judges.search_qa.segments.pieces import Piece
from gigamind.judges.search_qa.verify import JudgedClaim

Outcome = Literal["judged", "abstained", "no_claims"]
Confidence = Literal["high", "medium", "low"]
Answerable = Literal["proven", "told", "no"]
"""Whether the notes answer a question: by a quote that proves it, by the word of a model alone, or not."""


def correctness(claims: Sequence[JudgedClaim]) -> float | None:
    """Verified supported claims over all, in [0, 1]; None without claims: nothing was right, and nothing wrong."""
    if not claims:
        return None
    return sum(one.verdict == "supported" for one in claims) / len(claims)


def outcome(claims: Sequence[JudgedClaim], pieces: Sequence[Piece], *, abstains: bool) -> Outcome:
    """What kind of answer it is: one with claims is judged by them, whatever it says about not knowing.

    `abstains` is the model's word, taken only where there is nothing else to judge.
    """
    if claims:
        return "judged"
    said = abstains or any(piece.role == "abstention" for piece in pieces)
    return "abstained" if said else "no_claims"


def utility(kind: Outcome, reported: float, *, answerable: bool) -> float:
    """How useful an answer is, in [0, 1].

    To say that the notes do not tell is useful if they do not, and useless if they do.  An answer that says nothing at
    all is useless.

    Args:
        answerable: whether anybody says that the notes answer: nothing speaks for an abstention from what a model says
            is told, although it proves it not.
    """
    if kind == "judged":
        return reported
    return float(kind == "abstained" and not answerable)


def answerable(*, told: bool, proven: bool) -> Answerable:
    """What the word of a model and its quote amount to."""
    if not told:
        return "no"
    return "proven" if proven else "told"


def confidence(correct: float | None, useful: float) -> Confidence | None:
    """Grade by the rule of the seed; None where there was no claim to be correct about."""
    if correct is None:
        return None
    if correct >= 0.8 and useful >= 0.7:  # noqa: PLR2004
        return "high"
    return "medium" if correct >= 0.5 else "low"  # noqa: PLR2004
