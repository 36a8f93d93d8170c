"""Sentences about an answer run that summary.md and report.html share."""

from gigamind.tasks.answers.quality import QualitySummaryReport
from gigamind.tasks.answers.schema import AnswerRunRecord
from gigamind.wording import Words

_CUTS = ("part", "sentence", "uncut")


def checklist_lead(quality: QualitySummaryReport, say: Words) -> str:
    """Return how many answers pass the checklist, and how many could not be checked."""
    overall = quality.overall
    lead = say(
        "answer.checklist_lead",
        feature=quality.feature,
        passed=overall.passed,
        checked=overall.checked,
        ratio=f"{100 * quality.min_pass_ratio:g}\u00a0%",
    )
    counts = {"answer.unchecked": quality.unchecked, "answer.unchecked_yet": quality.not_run}
    return " ".join([lead, *(say(key, count=count) for key, count in counts.items() if count)])


def separation(record: AnswerRunRecord, say: Words) -> str:
    """Return whether correctness and utility measure different things on this data."""
    correlation = record.summary.correlation
    if correlation.r is None:
        return say("answer.separation_unknown", n=correlation.n)
    key = "answer.separate" if correlation.separate else "answer.inseparable"
    return say(key, n=correlation.n, r=f"{correlation.r:.2f}".replace("-", "−"))


def cuts(record: AnswerRunRecord, say: Words) -> str:
    """Return how a model split sentences into claims; "" if none did."""
    counts = record.summary.cuts
    if not counts.get("part") and not counts.get("uncut"):
        return ""
    return say("answer.cuts", **{name: counts.get(name, 0) for name in _CUTS})
