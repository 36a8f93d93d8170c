"""Checklist results in an answer run's out folder: of each answer, and the rates over all answers."""

from typing import Annotated

from pydantic import Field

from gigamind.records.judged import Count, JudgeReport, Report, Share


class QualityItemReport(Report):
    """One item of the checklist.

    Attributes:
        text: The question, in the language of the request.
        yes: The result by the rule of the judge file.
        `told`: The model's reply; null if no model was called.
        quote: The model's proof; empty without one.
        trusted: Whether the required text contains the quote, with no number or negation changed.
        source: Source of the quote: 0 is the answer, 1 and above a note; null if none contains it.
        flipped: Whether a second check differs; null without one.
    """

    id: str
    text: str
    yes: bool
    reported_yes: Annotated[bool | None, Field(alias="told")]
    quote: str
    trusted: bool
    source: Count | None
    flipped: bool | None = None


class QualityReport(Report):
    """Whether an answer passes its checklist.

    Attributes:
        ratio: Share of items with a yes.
        flipped: Whether a second check has another result; null without one.
    """

    passed: bool
    ratio: Share
    items: tuple[QualityItemReport, ...]
    flipped: bool | None = None


class QualityItemRate(Report):
    """Share of answers that meet one item.

    Attributes:
        ko, en: The question in Korean and in English.
        low, high: 95 % Wilson interval of the rate.
        unproven: Answers for which the model replied yes without a valid quote.
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
    """Checklist results of a set of answers; `low` and `high` are the 95 % Wilson interval of the pass rate."""

    checked: Count
    passed: Count
    pass_rate: Share | None
    low: Share | None
    high: Share | None
    items: tuple[QualityItemRate, ...]


class QualitySummaryReport(Report):
    """The `quality` block of summary.json.

    Attributes:
        not_run: Answers that an interrupted run did not check.
    """

    judge: JudgeReport
    feature: str
    min_pass_ratio: Share
    unchecked: Count
    not_run: Count = 0
    overall: QualitySliceReport
    by_language: dict[str, QualitySliceReport]
