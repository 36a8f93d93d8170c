"""Build the `llm` block of a summary: cost, outcomes, test-retest consistency and panel agreement."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from gigamind.errors import Outcome
from gigamind.evaluation.shards import ModelRun
from gigamind.judges.asking import PanelMember
from gigamind.judges.panel import PanelVerdict, Vote, panel_alpha
from gigamind.llm.ledger import Attempt, totals
from gigamind.records import judged
from gigamind.runs.store import ItemResult
from gigamind.stats.agreement import Level
from gigamind.stats.intervals import Estimate, clusters_of, sliced

_PAIR = 2


def llm_report(
    run: ModelRun,
    items: int,
    flips: judged.FlipReport | None = None,
    rates: Mapping[str, Mapping[str, float | None]] | None = None,
    *,
    panel: judged.PanelReport | None = None,
    checks: judged.CoverageReport | None = None,
) -> judged.LlmReport:
    """Return the block for a run over `items` items; results of checks are reported separately."""
    roles = sliced(
        run.attempts, lambda row: [f"{row.role}: {row.model}" if row.role else row.model]
    )
    covered = coverage_report(run.results.values(), items, flips)
    return judged.LlmReport(
        **usage(run.attempts).model_dump(),
        by_role={role: usage(rows) for role, rows in roles.items()},
        **dict(covered),
        rates={rule: dict(figures) for rule, figures in (rates or {}).items()},
        panel=panel,
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


def usage(rows: Sequence[Attempt]) -> judged.UsageReport:
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


CastVote = TypeVar("CastVote", bound=judged.SeatReport)


def panel_report(
    items: Iterable[tuple[Sequence[CastVote], str, str]],
    level: Level,
    value: Callable[[CastVote], float],
    label: Callable[[CastVote], Hashable],
    *,
    seed: int,
) -> judged.PanelReport | None:
    """Return the agreement of a panel; None if no member voted.

    Args:
        items: votes on each item, the error code if it has no verdict, and its cluster.
        label: property that differs if votes are split.
    """
    voted = [item for item in items if item[0]]
    if not voted:
        return None
    cast = [{PanelMember(v.model, v.repeat): v for v in votes if not v.code} for votes, *_ in voted]
    paired = [votes for votes in cast if len(votes) >= _PAIR]
    groups = clusters_of(x[2] for x, votes in zip(voted, cast, strict=True) if len(votes) >= _PAIR)
    split, count = sum(len(set(map(label, votes.values()))) > 1 for votes in paired), len(paired)
    alone = sum(len(votes) == 1 for votes, *_ in voted)
    verdicts: list[PanelVerdict[float]] = [
        PanelVerdict(None, None, {s: Vote(value(v)) for s, v in votes.items()}, (), None)
        for votes in paired
    ]
    share = Estimate.share(split, count, groups)
    alpha = Estimate(None, None, 0, 0)
    if not alone:
        alpha = panel_alpha(verdicts, level, seed=seed, clusters=groups)
    codes = Counter(code for _, code, _cluster in voted)
    return judged.PanelReport(
        seats=len({seat for votes in cast for seat in votes}),
        items=count,
        split=split,
        rate=share.value,
        low=share.low,
        high=share.high,
        alpha=alpha.value,
        alpha_low=alpha.interval.low if alpha.interval else None,
        alpha_high=alpha.interval.high if alpha.interval else None,
        incomplete=codes["panel_incomplete"],
        tied=codes["panel_tied"],
        alone=alone,
        short=sum(not code and any(vote.code for vote in votes) for votes, code, _cluster in voted),
    )
