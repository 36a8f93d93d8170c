"""What the out folder of an answer run says of the checklist: of each answer, and the rates over all."""

from gigamind.records.judged import Count, JudgeReport, Report, Share


class QualityItemReport(Report):
    """One item of the checklist.

    Attributes:
        text: the question, in the language it was asked in.
        yes: by the rule of the judge file.
        told: what the model said; null when it was not asked.
        quote: what it gave as proof; empty without any.
        trusted: the quote stands where the item asks for it, no number or negation changed.
        source: where it stands: 0 the answer, from 1 on a note of that number; null when it stands nowhere.
        flipped: whether a fresh check says otherwise; null where there was none.
    """

    id: str
    text: str
    yes: bool
    told: bool | None
    quote: str
    trusted: bool
    source: Count | None
    flipped: bool | None = None


class QualityReport(Report):
    """Whether an answer passes its checklist.

    Attributes:
        ratio: items with a yes over all items.
        flipped: whether a fresh check ends otherwise, or has no verdict; null where none was asked for.
    """

    passed: bool
    ratio: Share
    items: tuple[QualityItemReport, ...]
    flipped: bool | None = None


class QualityItemRate(Report):
    """How many answers fulfil one item.

    Attributes:
        ko: the question in Korean; `en` in English.
        low: of the 95 % Wilson interval of the rate, as `high`.
        unproven: answers of which the model said yes without a quote that stands.
    """

    id: str
    ko: str
    en: str
    yes: Count
    rate: Share | None
    low: Share | None
    high: Share | None
    unproven: Count


class QualitySliceReport(Report):
    """The gate over some answers; `low`, `high`: 95 % Wilson interval of the pass rate."""

    checked: Count
    passed: Count
    pass_rate: Share | None
    low: Share | None
    high: Share | None
    items: tuple[QualityItemRate, ...]


class QualitySummaryReport(Report):
    """The `quality` block of summary.json.

    Attributes:
        unchecked: answers that have no result: see errors.jsonl.
        not_run: answers that an interrupted run did not come to check.
    """

    judge: JudgeReport
    feature: str
    min_pass_ratio: Share
    unchecked: Count
    not_run: Count = 0
    overall: QualitySliceReport
    by_language: dict[str, QualitySliceReport]
