"""What reports say of judges: which one a run was judged by, what a model told about an item, and what asking cost.

Offsets are UTF-16 code units, half-open, in the note's file.  An unknown cost is null, never 0.
"""

from collections import Counter
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from gigamind.errors import Outcome
from gigamind.llm.replies import ReportedConfidence
from gigamind.metrics.spec import Metric, Text

Finite = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[Finite, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
AnswerOutcome = Literal["judged", "abstained", "no_claims"]
FLAGGED = "flagged"  # what became of a quote out of text that speaks to the judge


class Report(BaseModel):
    """A piece of a file that gigamind writes and reads back: nothing unknown in it, and nothing changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def like(cls, source: object, /, **own: object) -> Self:
        """The values that `source` has by the names of fields, beside those that are given."""
        names = (name for name in cls.model_fields if name not in own and hasattr(source, name))
        return cls.model_validate({name: getattr(source, name) for name in names} | own)


class MetricReport(Report):
    """A figure that a team's own judge gives, as pages, comparisons and gates are to know it."""

    name: str
    en: str
    ko: str
    about_en: str = ""
    about_ko: str = ""
    lower_is_better: bool = False

    @classmethod
    def of(cls, metric: Metric) -> "MetricReport":
        """As a judge says it."""
        en, ko = metric.about or ("", "")
        lower = metric.use.lower
        return cls.like(
            metric.label, name=metric.name, about_en=en, about_ko=ko, lower_is_better=lower
        )

    def metric(self) -> Metric:
        """The same, for the table."""
        about = Text(self.about_en, self.about_ko) if self.about_en else None
        label = Text(self.en, self.ko)
        return Metric.of_judge(self.name, label, about=about, lower=self.lower_is_better)


def _is_empty(value: object) -> bool:
    """What judges that come with gigamind leave out of run.json."""
    return not value


class JudgeReport(Report):
    """The judge of a run, in run.json.

    Attributes:
        file: the judge file; "judges/..." for one that comes with gigamind.
        fingerprint: changes with anything that may change a verdict on the same input, the model included.
        setting: the score below which an item fails, on the scale of the scores; null for a judge without one.
        model: null for a judge that asks none; those of a panel with commas between them.
        languages: of its prompts; empty without prompts.
        scales, metrics: of a team's own judge: what it may be certified on, and the figures that it gives.
    """

    kind: str
    file: str
    fingerprint: str
    setting: Annotated[float, Field(allow_inf_nan=False)] | None = None
    model: str | None = None
    languages: tuple[str, ...] = ()
    scales: dict[str, Literal["binary", "graded"]] = Field(default={}, exclude_if=_is_empty)
    metrics: tuple[MetricReport, ...] = Field(default=(), exclude_if=_is_empty)

    @property
    def asks_a_model(self) -> bool:
        """Whether its verdicts may differ between equal runs."""
        return self.model is not None

    def describe(self) -> str:
        """In a line, for people: runs in which it is the same can be compared."""
        asked = f" asking {self.model}" if self.model else ""
        return f"{self.file}{asked} (fingerprint {self.fingerprint[:12]})"


class QuoteReport(Report):
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


class SeatReport(Report):
    """A seat of a panel.

    Attributes:
        repeat: number of the repetition, from 0, where one model votes several times.
        code: why it did not vote; empty when it did.
    """

    model: str
    repeat: Count = 0
    code: str = ""


class EndedReport(Report):
    """How asking about an item ended: `scored`, or why there is no verdict; `code` is that of errors.jsonl."""

    outcome: Outcome
    code: str = ""


Conflict = Literal["unproven", "quoted"]
"""Where what a model said stands against its quotes: answered, and none proves it; or not answered, and one does."""


class SaidReport(Report):
    """What a model, or most of a panel, said of whether notes answer a question.

    Attributes:
        unanswerable: by the rule of the judge file; null without a verdict.
        told_unanswerable: what the model said, or most of a panel; null where none was asked, or gave no verdict.
        verified: it, or most of a panel, said "answerable", and a quote that stands in its note proves it.
        confidence: that of the model; null for a panel, or where it told none that can be read.
        conflict: what was said stands against its quotes; null where it does not.
    """

    unanswerable: bool | None = None
    told_unanswerable: bool | None = None
    verified: bool = False
    answer: str = ""
    confidence: ReportedConfidence | None = None
    conflict: Conflict | None = None
    quotes: tuple[QuoteReport, ...] = ()


class VoteReport(SaidReport, SeatReport):
    """What one seat of a panel said about an item."""


class JudgementReport(SaidReport, EndedReport):
    """What a model told about one item, in per_item.jsonl; of a panel, what the seats told that carried the vote.

    Attributes:
        flagged: notes that a person should look at before trusting the verdict, and why.
        flipped: whether a fresh judgment differs from this one; null where none was asked for.
        votes: of a panel, in the order of its seats, those that gave none included.
        disagreement: mean difference of two votes, in [0, 1]; null with fewer than two.
        unread: what could not be read of the replies; absent where all could.
    """

    flagged: dict[str, tuple[str, ...]] = {}
    flipped: bool | None = None
    votes: tuple[VoteReport, ...] = ()
    disagreement: Share | None = None
    unread: dict[str, Count] = Field(default={}, exclude_if=_is_empty)


class UsageReport(Report):
    """Sums over the rows of attempts.jsonl.

    Attributes:
        calls: requests over HTTP, failed ones included.
        cache_hits: answers from the store, which cost nothing.
        usd: null when a paid call has no price.
        usd_source: `table`, `estimated` when a server did not tell its tokens, or `unpriced`.
        answered_by: names that servers gave of the models that answered; answers from the store bear none.
    """

    calls: Count
    cache_hits: Count
    prompt_tokens: Count
    completion_tokens: Count
    cached_tokens: Count
    usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    usd_source: Literal["table", "estimated", "unpriced"]
    answered_by: tuple[str, ...] = ()


class FlipReport(Report):
    """How often a fresh judgment differed from the one that counts; `low`, `high`: 95 % Wilson interval."""

    judged_again: Count
    flipped: Count
    rate: Share | None
    low: Share | None
    high: Share | None


class PanelReport(Report):
    """How far the seats of a panel agree; intervals of 95 %.

    Attributes:
        seats: how many voted on any item.
        items: items on which two or more voted; of an adaptive panel the hard ones only.
        split: of them, those on which votes differ; `rate`, `low`, `high`: their share, with its Wilson interval.
        alone: items on which one seat voted and no other was asked, as an adaptive panel does where it is sure.
        alpha: Krippendorff's, of those items, by correctness for answers (by utility where one has no claim); null when
            all votes of the run are the same, or when `alone` is not 0: doubtful items say nothing of the others.
        incomplete: items without a verdict because a seat gave no vote.
        tied: items without a verdict because the votes are split in halves.
        short: items that have a verdict although a seat gave no vote (`missing_seat`).
    """

    seats: Count
    items: Count
    split: Count
    rate: Share | None
    low: Share | None
    high: Share | None
    alpha: Annotated[float, Field(le=1, allow_inf_nan=False)] | None
    alpha_low: Annotated[float, Field(le=1, allow_inf_nan=False)] | None
    alpha_high: Annotated[float, Field(le=1, allow_inf_nan=False)] | None
    incomplete: Count
    tied: Count
    alone: Count = 0
    short: Count = 0


class CoverageReport(Report):
    """How the questions of one kind ended; see `LlmReport`, which says the same of a run's main ones."""

    outcomes: dict[Outcome, Count]
    items: Count
    coverage: Share | None
    flips: FlipReport | None = None
    unread: dict[str, Count] = Field(default={}, exclude_if=_is_empty)


class LlmReport(UsageReport):
    """The `llm` block of summary.json.

    Attributes:
        by_role: the same sums by "role: model".
        outcomes: items by how they ended: scored, unscored, refused, error, skipped_budget.
        items: items that were to be judged.
        coverage: share of them that has a verdict.
        flips: null unless a share was judged again (`--fresh-fraction`).
        rates: figures under another rule than the judge file's, by rule and name.
        panel: null where no panel voted.
        flagged: items whose notes a person should look at before trusting the verdict.
        flagged_quotes: quotes that stand in their note, in text that speaks to the judge, and so prove nothing.
        checks: of the checklist beside the evaluations, which the figures of items leave out; null without one.
        conflicts: items by where the model's word stands against its quotes, `unproven` or `quoted`.
        unread: fields of replies that no verdict needs and that could not be read, by name; absent where all could.
    """

    by_role: dict[str, UsageReport]
    outcomes: dict[Outcome, Count]
    items: Count
    coverage: Share | None
    flips: FlipReport | None = None
    rates: dict[str, dict[str, Share | None]] = {}
    panel: PanelReport | None = None
    flagged: Count = 0
    flagged_quotes: Count = 0
    checks: CoverageReport | None = None
    conflicts: dict[Conflict, Count] = {}
    unread: dict[str, Count] = Field(default={}, exclude_if=_is_empty)

    @property
    def all_unread(self) -> Counter[str]:
        """What could not be read of any reply, those of checks included."""
        return Counter(self.unread) + Counter(self.checks.unread if self.checks else {})

    @property
    def models(self) -> dict[str, tuple[str, ...]]:
        """Names that servers gave of the models that answered, by role and model, where any said so."""
        return {role: part.answered_by for role, part in self.by_role.items() if part.answered_by}


class ProofReport(Report):
    """A quote that a model gave: of a note by its number from 1, or of the answer by 0; whether it proves anything."""

    note: Count
    quote: str
    proven: bool


class VerdictReport(Report):
    """What a team's own judge says of an answer.

    Attributes:
        scores: by scale; null where there is nothing to score.  `told` is the model's own word, where it said any.
        flagged: what a person should look at: in the answer by 0, in notes by their number.
    """

    scores: dict[str, Share | None]
    told: dict[str, Share | None] = {}
    proof: tuple[ProofReport, ...] = ()
    text: str = ""
    flagged: dict[int, tuple[str, ...]] = {}


class SecondLookReport(Report):
    """How a model that looks at claims once more told apart the pairs that every such model is tried with first.

    Attributes:
        said: pairs whose text says the statement, and how many of them it saw; `unsaid`: the others, as many.
        believed: it told enough of them apart for its looks to count.
    """

    model: str
    language: str
    said: tuple[Count, Count]
    unsaid: tuple[Count, Count]
    believed: bool
