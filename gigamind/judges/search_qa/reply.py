"""The replies of models to the judge: observations, not yet verified.  Descriptions are prompt text."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from gigamind.prompting.replies import Auxiliary, ModelReply, Most, Quotation, ReportedShare
from gigamind.records.judged import ReportedVerdict

ReportedRole = Literal[
    "claim", "abstention", "courtesy", "lead_in", "question", "heading", "source"
]
# Part of the fingerprint. Increment it whenever the code gives the same reply another verdict: rules of proof, of
# numbers or of utility, or how an answer is split into claims.
RULES = 12
MOST_CLAIMS = 200
"""Sentences of one call."""


class ProofRules(BaseModel):
    """What a claim has to pass beside its quote; the models of judge files inherit it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    min_quote_chars: Annotated[int, Field(ge=1, le=100)] = 8
    second_look: Literal["doubtful", "all", "never"] = "doubtful"


class ClaimFinding(ModelReply, frozen=True):
    """What the model says about one sentence; without a role or words of abstention, it is a claim."""

    id: int = Field(description="number of the sentence")
    role: Annotated[ReportedRole, Auxiliary("claim")] = Field(
        description="what the sentence is there for; claim if in doubt"
    )
    abstention_quote: Annotated[Quotation, Auxiliary("")] = Field(
        description="the words of the sentence that say that the notes do not tell, copied; empty if none do"
    )
    verdict: ReportedVerdict = Field(
        description="supported: a note says it; contradicted: a note says otherwise; not_found: neither"
    )
    note: Annotated[int | None, Auxiliary()] = Field(
        description="number of that note; null if not_found"
    )
    quote: Annotated[Quotation, Auxiliary("")] = Field(
        description="the words of that note that show it, copied character for character; empty if not_found"
    )

    def quoting(self, note: int, quote: str) -> "ClaimFinding":
        """Return the finding with a quote of a note that supports the claim."""
        return self.model_copy(update={"verdict": "supported", "note": note, "quote": quote})


class Omission(ModelReply, frozen=True):
    """What the model says that an answer leaves out."""

    what: Annotated[str, Auxiliary(""), Most(300)] = Field(
        description="what is left out, in a few words"
    )
    note: Annotated[int | None, Auxiliary()] = Field(description="number of the note that says it")
    quote: Quotation = Field(description="the words of that note, copied character for character")


class NoteUse(ModelReply, frozen=True):
    """What the model says about one note."""

    note_index: int = Field(description="number of the note")
    relevant: bool = Field(description="whether it tells something that the question asks for")
    cited: bool = Field(description="whether the answer uses it")
    relevant_claim: Annotated[Quotation, Auxiliary("")] = Field(
        description="the words of the answer that use it; empty if none do"
    )
    quote: Annotated[Quotation, Auxiliary("")] = Field(
        description="the words of the note that were used, copied; empty if none were"
    )


class ClaimsReply(ModelReply, frozen=True):
    """A reply about some sentences."""

    claims: Annotated[tuple[ClaimFinding, ...], Most(MOST_CLAIMS)] = Field(
        description="one for each sentence asked about"
    )


class SearchQAReply(ClaimsReply, frozen=True):
    """A reply about sentences and the whole answer."""

    source_coverage: Annotated[tuple[NoteUse, ...], Auxiliary(()), Most(100)] = Field(
        description="one for each note"
    )
    grounding_issues: Annotated[tuple[Annotated[str, Most(400)], ...], Auxiliary(()), Most(30)] = (
        Field(description="what the answer says without a note")
    )
    omissions: Annotated[tuple[Omission, ...], Auxiliary(()), Most(30)] = Field(
        description="what the question asks for and a note says, and the answer leaves out"
    )
    answerable: bool = Field(description="whether the notes answer the question")
    answer_note: Annotated[int | None, Auxiliary()] = Field(
        description="number of a note that answers it, or null"
    )
    answer_quote: Annotated[Quotation, Auxiliary("")] = Field(
        description="its words that answer it, copied; empty if none do"
    )
    utility_reason: Annotated[str, Auxiliary(""), Most(600)] = Field(
        description="why the answer helps or does not, in one sentence"
    )
    utility: ReportedShare = Field(description="by the rubric")
    correctness: Annotated[ReportedShare | SkipJsonSchema[None], Auxiliary()] = Field(
        description="your estimate of the grounded share"
    )
    summary: Annotated[str, Auxiliary(""), Most(600)] = Field(
        description="the judgement in one sentence"
    )
