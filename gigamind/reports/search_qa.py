"""A judged answer as it leaves the program: the fields of the seed (004) under their names, and ours beside them."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

Confidence = Literal["high", "medium", "low"]
Outcome = Literal["judged", "abstained", "no_claims"]
Told = Literal["supported", "contradicted", "not_found"]
Verdict = Literal["supported", "contradicted", "not_found", "unverified"]


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceCoverage(_Written):
    """Which note was used (seed 004); `relevant` and `marked` are ours, see `Coverage` of the judge."""

    note_index: int
    note_title: str
    cited: bool
    relevant_claim: str
    relevant: bool | None
    marked: bool


class EvaluatedClaim(_Written):
    """One claim; offsets are half-open, in the answer.

    Attributes:
        start: code points; so is `end`.
        utf16_start: UTF-16 code units; so is `utf16_end`.
        cited: numbers of the notes that the answer names for it.
        cut: `part` of a sentence that a model cut; `uncut` when its parts did not stand in the sentence.
        cautions: what in the quote of a supported claim speaks against it; see `JudgedClaim` of the judge.
        evidence: where its quote stands, as `AlignedRecord`, or why it does not, as `FailedRecord`.
    """

    id: int
    text: str
    offset_unit: Literal["code_point"] = "code_point"
    start: int
    end: int
    utf16_start: int
    utf16_end: int
    cited: tuple[int, ...]
    told: Told
    verdict: Verdict
    note: int | None
    doubt: str | None
    new_numbers: tuple[str, ...]
    evidence: dict[str, Any] | None
    cut: Literal["sentence", "part", "uncut"] = "sentence"
    cautions: tuple[str, ...] = ()


class SearchQAEvaluation(_Written):
    """The evaluation of an answer: six fields of the seed, then ours, see `Judgement` of the judge.

    Attributes:
        correctness: in [0, 1]; None without claims, where the seed has a number always.  So is `confidence`.
        utility: in [0, 1].
        grounding_issues: one sentence for each claim that is not supported, in the language of the item.
    """

    correctness: float | None
    utility: float
    confidence: Confidence | None
    source_coverage: tuple[SourceCoverage, ...]
    grounding_issues: tuple[str, ...]
    summary: str
    outcome: Outcome
    claims: tuple[EvaluatedClaim, ...]
    abstains: bool
    answerable: bool
    told_answerable: bool | None
    reported_correctness: float | None
    reported_utility: float | None
    utility_reason: str
    reported_issues: tuple[str, ...]
    flagged: dict[int, tuple[str, ...]]
