"""The rates of alignments over all quotes of a run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from gigamind.records.judged import Count, Report, Share


class AlignmentQuality(Report):
    """Rates over all quotes, in [0, 1]. Exact, normalized, fuzzy and failed add up to 1.

    Attributes:
        quotes: number of quotes; 1 or more.
        near_miss: failed, but a similar passage exists.
        ambiguous: aligned at one of several places that no context distinguishes.
        critical: aligned, but a number, a negation or an opposite differs.
    """

    quotes: Count
    exact: Share
    normalized: Share
    fuzzy: Share
    failed: Share
    near_miss: Share
    ambiguous: Share
    critical: Share


def quality(written: Sequence[Mapping[str, Any]]) -> AlignmentQuality | None:
    """Return the rates over records; None without records."""
    if not written:
        return None
    counts = Counter(quote.get("method", "failed") for quote in written)
    for name in ("near_miss", "ambiguous", "critical"):
        counts[name] = sum(bool(quote.get(name)) for quote in written)
    names = AlignmentQuality.model_fields.keys() - {"quotes"}
    shares = {name: counts[name] / len(written) for name in names}
    return AlignmentQuality(quotes=len(written), **shares)
