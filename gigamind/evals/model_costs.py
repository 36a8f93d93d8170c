"""The `llm` block of a summary: what asking cost, and how the items ended."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from gigamind.evals.model_run import ModelRun
from gigamind.llm.ledger import Attempt, totals
from gigamind.reports.judged import (
    CoverageReport,
    FlipReport,
    LlmReport,
    PanelReport,
    UsageReport,
)
from gigamind.runs.store import ItemResult, Outcome
from gigamind.stats.proportion import wilson


def llm_report(
    run: ModelRun,
    items: int,
    flips: FlipReport | None = None,
    rates: Mapping[str, Mapping[str, float | None]] | None = None,
    *,
    panel: PanelReport | None = None,
    checks: CoverageReport | None = None,
) -> LlmReport:
    """The block of a run over so many items; results of checks are not among those of the run."""
    roles: dict[str, list[Attempt]] = {}
    for row in run.attempts:
        roles.setdefault(f"{row.role}: {row.model}" if row.role else row.model, []).append(row)
    told = coverage_report(run.results.values(), items, flips)
    return LlmReport(
        **usage(run.attempts).model_dump(),
        by_role={role: usage(roles[role]) for role in sorted(roles)},
        outcomes=told.outcomes,
        items=told.items,
        coverage=told.coverage,
        flips=told.flips,
        rates={rule: dict(figures) for rule, figures in (rates or {}).items()},
        panel=panel,
        checks=checks,
    )


def coverage_report(
    results: Iterable[ItemResult], items: int, flips: FlipReport | None = None
) -> CoverageReport:
    """How the questions about so many items ended."""
    outcomes: Counter[Outcome] = Counter(found.outcome for found in results)
    return CoverageReport(
        outcomes={name: outcomes[name] for name in sorted(outcomes)},
        items=items,
        coverage=outcomes["scored"] / items if items else None,
        flips=flips,
    )


def usage(rows: Sequence[Attempt]) -> UsageReport:
    """Sums over some requests."""
    sums = totals(rows)
    return UsageReport(
        calls=sums.http_calls,
        cache_hits=sums.store_hits,
        prompt_tokens=sums.prompt_tokens,
        completion_tokens=sums.completion_tokens,
        cached_tokens=sums.cached_tokens,
        usd=None if sums.micro_usd is None else sums.micro_usd / 1e6,
        usd_source=sums.cost_source,
    )


def flip_report(flipped: Sequence[bool]) -> FlipReport | None:
    """How often fresh judgments differed; None when there were none."""
    if not flipped:
        return None
    count, n = sum(flipped), len(flipped)
    interval = wilson(count, n)
    return FlipReport(
        judged_again=n, flipped=count, rate=count / n, low=interval.low, high=interval.high
    )
