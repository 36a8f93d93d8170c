"""Whether an entry may be verified.  Rules are code; no model is asked."""

from dataclasses import dataclass

from gigamind.evidence.result import Aligned, AlignResult

_REFUSAL = "Evidence alignment failed"


@dataclass(frozen=True, slots=True)
class Promoted:
    """The entry becomes verified."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """The entry stays a candidate.

    Attributes:
        reason: begins with "Evidence alignment failed".
        failed_quotes: the quotes that stand in the way.
    """

    reason: str
    failed_quotes: tuple[str, ...]


def decide(evidence: AlignResult) -> Promoted | Blocked:
    """Promote an entry with at least one quote, none of which failed, each proof enough by itself."""
    if not evidence.outcomes:
        return Blocked(f"{_REFUSAL}: the entry has no evidence.", ())
    if evidence.failed:
        reasons = ", ".join(sorted({one.reason for one in evidence.failed}))
        counted = f"{len(evidence.failed)} of {len(evidence.outcomes)} quotes not found ({reasons})"
        return Blocked(f"{_REFUSAL}: {counted}.", tuple(one.quote.text for one in evidence.failed))
    doubtful = [one for one in evidence.aligned if not one.promotable]
    if doubtful:
        doubts = "; ".join(sorted({_doubt(one) for one in doubtful}))
        return Blocked(f"{_REFUSAL}: {doubts}.", tuple(one.quote.text for one in doubtful))
    return Promoted()


def _doubt(aligned: Aligned) -> str:
    if aligned.critical:
        return f"a quote differs from its source in {' and '.join(aligned.critical)}"
    return "a quote that only resembles its source is too short to prove anything"
