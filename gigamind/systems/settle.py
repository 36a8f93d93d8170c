"""Normalise a ranking for measurement: each note once, under the name that labels use, with anomalies counted."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from gigamind.interop.ranking import Oddity, RankedNote, Ranking
from gigamind.vault.identity import Found


def settle(
    ranking: Ranking[RankedNote], topk: int, identify: Callable[[str], Found | None]
) -> Ranking[RankedNote]:
    """Return the first `topk` distinct notes by `identify` (None: unknown); scores that are not finite become None."""
    odd: Counter[Oddity] = Counter(ranking.oddities)
    hits: dict[str, RankedNote] = {}
    for hit in ranking.hits:
        if len(hits) == topk:
            break
        found = identify(hit.note)
        note = found.name if found else hit.note
        if note in hits:
            odd["repeated_notes"] += 1
            continue
        bad = hit.base_score is not None and not math.isfinite(hit.base_score)
        odd["bad_scores"] += bad
        odd["unknown_notes"] += found is None
        is_folded = found is not None and found.is_folded
        odd["folded_names"] += is_folded
        score = None if bad else hit.base_score
        hits[note] = replace(
            hit, note=note, base_score=score, written=hit.note if is_folded else ""
        )
    known = [hit.base_score for hit in hits.values() if hit.base_score is not None]
    odd["rising_scores"] += sum(after > before for before, after in pairwise(known))
    odd["tied_scores"] += sum(after == before for before, after in pairwise(known))
    odd["fewer_hits"] += topk - len(hits)
    return Ranking(tuple(hits.values()), {name: count for name, count in odd.items() if count})
