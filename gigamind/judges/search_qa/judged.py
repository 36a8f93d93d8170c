"""A sentence of an answer with its verdict."""

from dataclasses import dataclass
from typing import Literal

from gigamind.evidence.result import Alignment
from gigamind.judges.quotes import Weakness
from gigamind.judges.search_qa.passage import Contradiction, Passage, Refusal, Support
from gigamind.judges.search_qa.reply import ReportedVerdict
from gigamind.judges.search_qa.segments.claims import Claim
from gigamind.judges.search_qa.segments.lines import Role

ClaimVerdict = Literal["supported", "contradicted", "not_found", "unverified"]
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
Veto = Literal[
    "form", "citation", "number", "word_of_a_note", "states", "no_words", "answered", "proven"
]


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A sentence and its verdict; one that is no claim has the verdict `not_found`.

    Attributes:
        reported_verdict: the model's verdict; None without a model. `verdict` is the final one.
        note: number of the note that proves it, from 1; None without proof.
        evidence: where the quote is, or why it failed; None without a quote.
        doubt: why the model was not believed; None if it was.
        new_numbers: for a claim with a proven quote: numbers that neither that note nor the question has.
        stated: for a proven claim: its words without an abstention.
        passage: for a proven claim: the whole sentences around its quote, with `title`, that of the note.
        support: how they support the claim.
        confirmed: result of the second check; None without one.
        score: of a judge with a threshold, in [0, 1]: how well the best passage supports it; None if none was scored.
        role: what it counts as; only claims count for correctness. `reported_role` is that of the model.
        veto: why it is a claim although the model reported another role; see `roles`.
        untold: it abstains, possibly in addition to a claim.
    """

    claim: Claim
    reported_verdict: ReportedVerdict | None
    verdict: ClaimVerdict
    note: int | None
    evidence: Alignment | None
    doubt: Doubt | None
    new_numbers: tuple[str, ...]
    stated: str = ""
    passage: Passage | None = None
    title: str = ""
    support: Support | None = None
    confirmed: bool | None = None
    score: float | None = None
    role: Role = "claim"
    reported_role: Role = "claim"
    veto: Veto | None = None
    untold: bool = False

    @property
    def contradictions(self) -> tuple[Contradiction, ...]:
        return self.support.contradictions if self.support else ()
