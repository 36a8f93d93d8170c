"""A sentence of an answer as it was judged."""

from dataclasses import dataclass
from typing import Literal

from gigamind.evidence.result import Alignment
from gigamind.judges.quotes import Weakness
from gigamind.judges.search_qa.passage import Contradiction, Passage, Support
from gigamind.judges.search_qa.reply import Told
from gigamind.judges.search_qa.segments.claims import Claim
from gigamind.judges.search_qa.segments.pieces import Role

ClaimVerdict = Literal["supported", "contradicted", "not_found", "unverified"]
Doubt = (
    Literal[
        "no_such_note",
        "no_quote",
        "quote_not_in_note",
        "quote_of_another_note",
        "quote_changed",
        "contradiction",
        "new_name",
        "new_number",
        "added",
        "only_possible",
        "other_limits",
        "other_word",
        "little_in_common",
        "not_confirmed",
        "not_looked_at",
    ]
    | Weakness
)
Veto = Literal[
    "form", "citation", "number", "word_of_a_note", "states", "no_words", "answered", "proven"
]


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A sentence and what became of the model's word about it; one that is no claim has the verdict `not_found`.

    Attributes:
        told: what the model said; None where none was asked.
        verdict: the one that counts.
        note: number of the note that proves it, from 1; None without proof.
        evidence: where the quote stands, or why it does not; None when none was given.
        doubt: why the model was not believed; None when it was.
        new_numbers: of a claim with a proven quote, numbers that stand neither in that note nor in the question.
        stated: of such a claim, its words but for those that say that the notes do not tell.
        passage: of such a claim, the whole sentence around its quote; `support`: what that says of the claim.
        said: what a second look at that sentence found; None where nobody looked.
        role: what it counts as; only claims count in correctness.
        told_role: what the model said it is.
        veto: why it is a claim although the model said otherwise; see `roles`.
        untold: it says, maybe beside a claim, that the notes do not tell.
    """

    claim: Claim
    told: Told | None
    verdict: ClaimVerdict
    note: int | None
    evidence: Alignment | None
    doubt: Doubt | None
    new_numbers: tuple[str, ...]
    stated: str = ""
    passage: Passage | None = None
    support: Support | None = None
    said: bool | None = None
    role: Role = "claim"
    told_role: Role = "claim"
    veto: Veto | None = None
    untold: bool = False

    @property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """What in the source sentence speaks against the claim."""
        return self.support.contradictions if self.support else ()
