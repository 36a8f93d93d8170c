"""What a run costs: an estimate before it starts (spec 4.3), and the `llm` block of its summary, from its ledger.

Estimates are ranges, as tokenizers and answers differ. Caches and stored replies are ignored. Only a local model, which
is free, gets a few small requests that measure its speed; other speeds are assumed.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gigamind.errors import LlmError, Outcome
from gigamind.evaluation.options import ModelRunOptions
from gigamind.evaluation.shards import ModelRun
from gigamind.evaluation.task import Estimate
from gigamind.event_loop import run_async
from gigamind.i18n import Text, _
from gigamind.judges.protocol import PlannedCall
from gigamind.llm.ask import LanguageModel, unpriced
from gigamind.llm.client import Usage, likely_tokens, most_tokens
from gigamind.llm.ledger import LOCAL, Attempt, Price, Totals, micro_usd, price_of, read_prices
from gigamind.llm.limiter import Limiters, Speed
from gigamind.llm.settings import DEFAULT_IN_FLIGHT, ModelOptions
from gigamind.records import judged
from gigamind.runs.store import ItemResult
from gigamind.stats.intervals import Estimate as Measured
from gigamind.stats.intervals import clusters_of, sliced

_REPLY_S = (1.0, 8.0)  # assumed range per request
_ASSUMED = _(
    "assuming that a model reply takes {low:g} to {high:g} s", low=_REPLY_S[0], high=_REPLY_S[1]
)


def estimate_calls(
    work: Text,
    model: str,
    calls: Sequence[PlannedCall],
    options: ModelRunOptions,
    *,
    limiters: Limiters,
) -> Estimate:
    """Estimate calls to one model, with those that are repeated to measure test-retest consistency.

    Args:
        work: what the calls do, for the report.
        limiters: remember the speeds of servers for the next estimate.

    Raises:
        InputError: the price file cannot be read, or the cost is limited and the price unknown.
    """
    calls = [*calls, *calls[: math.ceil(options.fresh_fraction * len(calls))]]
    certain = [call for call in calls if call.certain]
    sizes = [likely_tokens(call.request) for call in calls]
    likely = sum(sizes)
    certain_tokens = sum(size for size, call in zip(sizes, calls, strict=True) if call.certain)
    most = min(sum(most_tokens(call.request) for call in calls), 1.6 * likely)
    low = (round(0.7 * certain_tokens), sum(call.least for call in certain))
    high = (round(most), sum(call.most for call in calls))
    own = read_prices(options.prices) if options.prices else {}
    price = price_of(model, own, api_base=options.api_base, batch=options.batch)
    if price is None and options.max_cost_usd is not None:
        raise unpriced(model)
    speed = _measured(model, calls, options, limiters) if price is LOCAL and calls else None
    in_flight = options.max_in_flight or DEFAULT_IN_FLIGHT

    def seconds(requests: int, used: tuple[int, int], reply_s: float) -> float:
        computed_s = math.ceil(requests / in_flight) * reply_s
        if speed:
            computed_s = speed.seconds(*used) / min(speed.at_once, in_flight)
        limits = (requests, options.requests_per_minute), (sum(used), options.tokens_per_minute)
        return max([computed_s, *(60 * count / limit for count, limit in limits if limit)])

    return Estimate(
        _("{work} with {model}", work=work, model=model),
        len(calls),
        (sum(low), sum(high)),
        dollars_of(price, [low, high]),
        (seconds(len(certain), low, _REPLY_S[0]), seconds(len(calls), high, _REPLY_S[1])),
        _("model speed, measured with a few small requests: {speed}", speed=speed.describe())
        if speed
        else _ASSUMED,
        options.batch,
    )


def _measured(
    name: str, calls: Sequence[PlannedCall], options: ModelOptions, limiters: Limiters
) -> Speed | None:
    """Measure the speed of a local model; None if that fails, for example because no server runs."""
    longest = max(calls, key=lambda call: likely_tokens(call.request)).request

    async def measure() -> Speed | None:
        model = LanguageModel(options.settings(name), limiters=limiters)
        parameters = {**model.parameters, "max_tokens": max(call.most for call in calls)}
        try:
            return await model.measure(replace(longest, parameters=parameters))
        finally:
            await model.close()

    try:
        return run_async(measure())
    except LlmError:
        return None


def dollars_of(price: Price | None, used: Sequence[tuple[int, int]]) -> tuple[float, float] | None:
    """Return the cost in dollars of the low and the high number of prompt and completion tokens."""
    if price is None:
        return None
    low, high = (micro_usd(price.cost_pico_usd(Usage(*pair))) / 1e6 for pair in used)
    return low, high


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
    sums = Totals.of(rows)
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
    share = Measured.share(count, n, clusters_of(cluster for _flipped, cluster in known))
    return judged.FlipReport.like(share, judged_again=n, flipped=count, rate=share.value)
