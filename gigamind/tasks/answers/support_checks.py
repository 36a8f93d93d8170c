"""The checks that a supported claim passes: the model's verdict, the proven quote, and the source sentence."""

from collections.abc import Iterator

from gigamind.i18n import Text, _
from gigamind.reports.labels import LABELS
from gigamind.tasks.answers.schema import EvaluatedClaim

_SOURCE_DOUBTS = (
    "contradiction", "new_name", "new_number", "added", "only_possible", "other_limits", "other_word",
    "not_confirmed", "not_looked_at", "little_in_common",
)  # fmt: skip


def support_checks(claim: EvaluatedClaim) -> list[tuple[str, bool | None]]:
    """Return the checks of a claim (model's verdict, proof, meaning) in order with their results; None if unknown."""
    checks: list[tuple[str, bool | None]] = []
    if claim.reported_verdict:
        checks.append((f"told_{claim.reported_verdict}", claim.reported_verdict == "supported"))
    elif claim.evidence is None:
        return checks
    if claim.reported_verdict == "not_found":
        return checks
    proven = claim.doubt is None or claim.doubt in _SOURCE_DOUBTS
    checks.append(("proven" if proven else "unproven", proven))
    if not proven or claim.source is None:
        return checks
    if claim.doubt:
        return [*checks, (claim.doubt, None if claim.doubt in _SOURCE_DOUBTS[-2:] else False)]
    if claim.confirmed:
        return [*checks, ("confirmed", True)]
    return [*checks, ("flagged", None) if claim.contradictions else ("says", True)]


def reasons(claim: EvaluatedClaim) -> Iterator[Text]:
    """Yield why a claim is not supported, the main reason first; contradictions also of a supported claim."""
    if claim.doubt:
        yield LABELS[claim.doubt]
    elif claim.reported_verdict is None and claim.evidence is None:
        yield _("no sentence of the notes has the words of the claim")
    elif claim.verdict != "supported":
        yield LABELS[claim.verdict]
    for name in claim.contradictions:
        what = LABELS[f"differs_{name}"]
        numbers = claim.new_numbers if name == "number" else ()
        yield _("{reason}: {numbers}", reason=what, numbers=numbers) if numbers else what
