"""What reports say of judges: which one a run was judged by, what a model told about an item, and what asking cost.

Offsets are UTF-16 code units, half-open, in the note's file.  An unknown cost is null, never 0.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from gigamind.runs.store import Outcome

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
FLAGGED = "flagged"  # what became of a quote out of text that speaks to the judge


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class JudgeReport(_Report):
    """The judge of a run, in run.json.

    Attributes:
        file: the judge file; "judges/..." for one that comes with gigamind.
        fingerprint: changes with anything that may change a verdict on the same input, the model included.
        setting: the score below which an item fails; null for a judge without one.
        model: null for a judge that asks none.
        languages: of its prompts; empty without prompts.
    """

    kind: str
    file: str
    fingerprint: str
    setting: Share | None = None
    model: str | None = None
    languages: tuple[str, ...] = ()

    @property
    def asks_a_model(self) -> bool:
        """Whether its verdicts may differ between equal runs."""
        return self.model is not None

    def describe(self) -> str:
        """In a line, for people: runs in which it is the same can be compared."""
        asked = f" asking {self.model}" if self.model else ""
        return f"{self.file}{asked} (fingerprint {self.fingerprint[:12]})"


class QuoteReport(_Report):
    """A quote that a model gave as proof, and where it stands.

    Attributes:
        note: path of the note it was said to be from; null when the model named no note that there is.
        found: `exact`, `normalized`, `fuzzy`, or why it does not stand there; `flagged`: in words to the judge.
        trusted: it stands there, no number or negation is changed, and it is not flagged.
    """

    text: str
    note: str | None
    found: str
    trusted: bool
    utf16_start: Count | None = None
    utf16_end: Count | None = None


class JudgementReport(_Report):
    """What a model told about one item, in per_item.jsonl.

    Attributes:
        outcome: `scored`, or why there is no verdict; `code` is that of errors.jsonl.
        unanswerable: by the rule of the judge file; null without a verdict.
        told_unanswerable: what the model said; null where it was not asked, or gave no verdict.
        verified: it said "answerable", and a quote that stands in its note proves it.
        flagged: notes that a person should look at before trusting the verdict, and why.
        flipped: whether a fresh judgment differs from this one; null where none was asked for.
    """

    outcome: Outcome
    code: str = ""
    unanswerable: bool | None = None
    told_unanswerable: bool | None = None
    verified: bool = False
    answer: str = ""
    confidence: Share | None = None
    quotes: tuple[QuoteReport, ...] = ()
    flagged: dict[str, tuple[str, ...]] = {}
    flipped: bool | None = None


class UsageReport(_Report):
    """Sums over the rows of attempts.jsonl.

    Attributes:
        calls: requests over HTTP, failed ones included.
        cache_hits: answers from the store, which cost nothing.
        usd: null when a paid call has no price.
        usd_source: `table`, `estimated` when a server did not tell its tokens, or `unpriced`.
    """

    calls: Count
    cache_hits: Count
    prompt_tokens: Count
    completion_tokens: Count
    cached_tokens: Count
    usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    usd_source: Literal["table", "estimated", "unpriced"]


class FlipReport(_Report):
    """How often a fresh judgment differed from the one that counts; `low`, `high`: 95 % Wilson interval."""

    judged_again: Count
    flipped: Count
    rate: Share | None
    low: Share | None
    high: Share | None


class LlmReport(UsageReport):
    """The `llm` block of summary.json.

    Attributes:
        by_role: the same sums by "role: model".
        outcomes: items by how they ended: scored, unscored, refused, error, skipped_budget.
        items: items that were to be judged.
        coverage: share of them that has a verdict.
        flips: null unless a share was judged again (`--fresh-fraction`).
        rates: figures under another rule than the judge file's, by rule and name.
        flagged: items whose notes a person should look at before trusting the verdict.
        flagged_quotes: quotes that stand in their note, in text that speaks to the judge, and so prove nothing.
    """

    by_role: dict[str, UsageReport]
    outcomes: dict[Outcome, Count]
    items: Count
    coverage: Share | None
    flips: FlipReport | None = None
    rates: dict[str, dict[str, Share | None]] = {}
    flagged: Count = 0
    flagged_quotes: Count = 0
