"""Build the `llm` block of a summary: cost, outcomes and test-retest consistency."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gigamind.errors import Outcome
from gigamind.evaluation.shards import ModelRun
from gigamind.llm.ledger import Attempt, totals
from gigamind.records import judged
from gigamind.runs.store import ItemResult
from gigamind.stats.intervals import Estimate, clusters_of, sliced


def llm_report(
    run: ModelRun,
    items: int,
    flips: judged.FlipReport | None = None,
    rates: Mapping[str, Mapping[str, float | None]] | None = None,
    *,
    checks: judged.CoverageReport | None = None,
) -> judged.LlmReport:
    """Return the block for a run over `items` items; results of checks are reported separately."""
    roles = sliced(run.attempts, lambda x: [f"{x.role}: {x.model}" if x.role else x.model])
    covered = coverage_report(run.results.values(), items, flips)
    return judged.LlmReport(
        **_usage(run.attempts).model_dump(),
        by_role={role: _usage(rows) for role, rows in roles.items()},
        **dict(covered),
        rates={rule: dict(figures) for rule, figures in (rates or {}).items()},
        checks=checks,
    )


def coverage_report(
    results: Iterable[ItemResult], items: int, flips: judged.FlipReport | None = None
) -> judged.CoverageReport:
    """Return how the questions about `items` items ended."""
    results = list(results)
    outcomes: Counter[Outcome] = Counter(result.outcome for result in results)
    return judged.CoverageReport(
        outcomes={name: outcomes[name] for name in sorted(outcomes)},
        items=items,
        coverage=outcomes["scored"] / items if items else None,
        flips=flips,
        unread=unread_fields(results),
    )


def unread_fields(results: Iterable[ItemResult]) -> dict[str, int]:
    """Count fields of replies that could not be read, most frequent first."""
    counts: Counter[str] = Counter()
    for result in results:
        value: dict[str, Any] = result.value or {}
        counts.update(value.get("unread", {}))
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _usage(rows: Sequence[Attempt]) -> judged.UsageReport:
    """Return the totals of some requests."""
    sums = totals(rows)
    return judged.UsageReport.like(
        sums,
        calls=sums.http_calls,
        cache_hits=sums.store_hits,
        usd=None if sums.micro_usd is None else sums.micro_usd / 1e6,
        usd_source=sums.cost_source,
        reserved_usd=None if sums.reserved_micro_usd is None else sums.reserved_micro_usd / 1e6,
        answered_by=tuple(sorted({row.answered_by for row in rows if row.answered_by})),
    )


def flip_report(flips: Iterable[tuple[bool | None, str]]) -> judged.FlipReport | None:
    """Return how often repeated judgements differed, of (differs, cluster); None (not repeated) is left out."""
    known = [(flipped, cluster) for flipped, cluster in flips if flipped is not None]
    if not known:
        return None
    count, n = sum(flipped for flipped, _cluster in known), len(known)
    share = Estimate.share(count, n, clusters_of(cluster for _flipped, cluster in known))
    return judged.FlipReport.like(share, judged_again=n, flipped=count, rate=share.value)
