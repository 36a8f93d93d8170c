"""Sentences about a run over answers that summary.md and report.html both have."""

from gigamind.tasks.answers.schema import AnswerRunRecord, QualitySummaryReport
from gigamind.wording import Words

_CUTS = ("part", "sentence", "uncut")


def checklist_lead(quality: QualitySummaryReport, say: Words) -> str:
    """How many answers pass the checklist, and how many could not be checked."""
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
    """Whether correctness and utility say different things on this data."""
    found = record.summary.correlation
    if found.r is None:
        return say("answer.separation_unknown", n=found.n)
    key = "answer.separate" if found.separate else "answer.inseparable"
    return say(key, n=found.n, r=f"{found.r:.2f}".replace("-", "−"))


def cuts(record: AnswerRunRecord, say: Words) -> str:
    """How far a model cut the claims; empty where none was asked to."""
    found = record.summary.cuts
    if not found.get("part") and not found.get("uncut"):
        return ""
    return say("answer.cuts", **{name: found.get(name, 0) for name in _CUTS})
