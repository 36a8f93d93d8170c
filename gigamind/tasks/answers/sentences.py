"""Sentences about an answer run that summary.md and report.html share."""

from gigamind.i18n import Text, _, joined, n_
from gigamind.tasks.answers.quality import QualitySummaryReport
from gigamind.tasks.answers.schema import AnswerRunRecord


def checklist_lead(quality: QualitySummaryReport) -> Text:
    """Return how many answers pass the checklist, and how many could not be checked."""
    overall = quality.overall
    sentences = [
        _(
            "{passed:,} of {checked:,} answers pass the checklist of {feature}. To pass, at least {ratio:.0%} of"
            " the checklist items need a yes that a quote proves. The other verdicts do not affect this result.",
            passed=overall.passed,
            checked=overall.checked,
            feature=quality.feature,
            ratio=quality.min_pass_ratio,
        )
    ]
    if quality.unchecked:
        sentences.append(
            n_(
                "{n} answer could not be checked against the checklist. See Errors.",
                "{n:,} answers could not be checked against the checklist. See Errors.",
                n=quality.unchecked,
            )
        )
    if quality.not_run:
        sentences.append(
            n_(
                "{n} answer was not checked against the checklist, because the run was interrupted.",
                "{n:,} answers were not checked against the checklist, because the run was interrupted.",
                n=quality.not_run,
            )
        )
    return joined(sentences, " ")


def separation(record: AnswerRunRecord) -> Text:
    """Return whether correctness and utility measure different things on this data."""
    correlation = record.summary.correlation
    if correlation.r is None:
        return _(
            "The correlation of correctness and utility is unknown: only {answers:,} answers have both metrics, or"
            " one metric has the same value for all answers.",
            answers=correlation.n,
        )
    values = {"r": f"{correlation.r:.2f}".replace("-", "−"), "answers": correlation.n}
    if correlation.separate:
        return _(
            "Correctness and utility measure different things (r = {r}, {answers:,} answers).",
            **values,
        )
    return _(
        "Correctness and utility measure almost the same thing on this data (r = {r}, {answers:,} answers).",
        **values,
    )


def cuts(record: AnswerRunRecord) -> Text:
    """Return how a model split sentences into claims; "" if none did."""
    counts = record.summary.cuts
    if not counts.get("part") and not counts.get("uncut"):
        return ""
    return _(
        "A model split the sentences into claims: {part:,} parts of sentences and {sentence:,} whole sentences."
        " Another {uncut:,} sentences were not split, because the model's parts do not fit them.",
        part=counts.get("part", 0),
        sentence=counts.get("sentence", 0),
        uncut=counts.get("uncut", 0),
    )
