"""The doors that a claim had to pass to be supported (told, proven, supports), and how many were stopped at which."""

from gigamind.reports.cards.line import tried
from gigamind.tasks.answers.schema import AnswerSummaryReport, EvaluatedClaim
from gigamind.wording import Words

_OF_SUPPORT = (
    "contradiction", "new_name", "new_number", "added", "only_possible", "other_limits", "other_word",
    "not_confirmed", "not_looked_at", "little_in_common",
)  # fmt: skip


def doors(claim: EvaluatedClaim) -> list[tuple[str, bool | None]]:
    """What a claim had to pass to be supported, in order: each with whether it did; None where nobody can tell.

    The model says so, where one was asked; its quote is proven; the sentence around the quote says the claim.
    """
    doors: list[tuple[str, bool | None]] = []
    if claim.told:
        doors.append((f"told_{claim.told}", claim.told == "supported"))
    elif claim.evidence is None:
        return doors
    if claim.told == "not_found":
        return doors
    proven = claim.doubt is None or claim.doubt in _OF_SUPPORT
    doors.append(("proven" if proven else "unproven", proven))
    if not proven or claim.source is None:
        return doors
    if claim.doubt:
        return [*doors, (claim.doubt, None if claim.doubt in _OF_SUPPORT[-2:] else False)]
    if claim.said:
        return [*doors, ("confirmed", True)]
    return [*doors, ("flagged", None) if claim.contradictions else ("says", True)]


def contradictions(claim: EvaluatedClaim) -> list[tuple[str, str]]:
    """What in the source speaks against a claim: its name, and the numbers that are meant."""
    numbers = ", ".join(claim.new_numbers)
    return [(name, numbers if name == "number" else "") for name in claim.contradictions]


def not_believed(summary: AnswerSummaryReport, say: Words) -> str:
    """How many claims that the model calls supported are not, and why; "" where it calls none so.

    Of claims that no model was asked about, how far their verdicts go.
    """
    told_supported, stopped = summary.told.get("supported", 0), summary.not_believed
    if not summary.told and summary.counts.claims:
        supported = summary.verdicts.get("supported", 0)
        loose = say("answer.by_words", supported=supported, loose=summary.loose)
        return f"{say('answer.words_blind')} {loose}"
    if not told_supported:
        return ""
    if not stopped:
        return say("answer.all_believed", told=told_supported)
    most_first = sorted(stopped.items(), key=lambda pair: -pair[1])
    return say(
        "answer.not_believed",
        told=told_supported,
        stopped=sum(stopped.values()),
        why=", ".join(f"{say(f'answer_script.{name}')} ({count})" for name, count in most_first),
    )


def second_look(summary: AnswerSummaryReport, say: Words) -> str:
    """Who looked at doubtful claims once more, and whether that is believed; "" where nobody was asked to."""
    if not summary.second_looks:
        return ""
    models = "; ".join(tried(look, say.language) for look in summary.second_looks)
    return say("answer.second_look", count=summary.looked_at, models=models)
