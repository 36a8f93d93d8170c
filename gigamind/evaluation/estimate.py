"""What a run would cost and last, before anything is sent (seed 4.3): calls, tokens, dollars, time.

Tokenizers differ by half for Korean, and nobody knows how long a model will answer, so figures are ranges.  What an
earlier run left in a cache or a store is not counted: the estimate is of a first run.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gigamind.evaluation.options import ModelRunOptions
from gigamind.judges.protocol import PlannedCall
from gigamind.llm import tokens
from gigamind.llm.ask import unpriced
from gigamind.llm.client import Usage
from gigamind.llm.options import ModelOptions
from gigamind.llm.prices import Price, micro_usd, price_of, read_prices

_REPLY_S = (1.0, 8.0)  # of one request


@dataclass(frozen=True, slots=True)
class Estimate:
    """One kind of work.

    Attributes:
        calls: requests over HTTP, none of them failing; 0 for work that is done here.
        tokens: sent and answered, low and high.
        usd: low and high; None where the price is not known.
        seconds: low and high.
        in_batches: at the price of batch files, and whenever they are done.
    """

    what: str
    calls: int
    tokens: tuple[int, int]
    usd: tuple[float, float] | None
    seconds: tuple[float, float]
    in_batches: bool = False

    def describe(self) -> str:
        """In a line."""
        low, high = (_duration(seconds) for seconds in self.seconds)
        parts = [self.what]
        if self.calls:
            parts.append(f"{self.calls:,} requests, {_between(*self.tokens)} tokens")
        parts.append(_dollars(self.usd))
        time = low if low == high else f"{low} to {high}"
        parts.append("at the batch price, up to 24 h" if self.in_batches else time)
        return ": ".join([parts[0], ", ".join(parts[1:])])


def with_fresh(calls: Sequence[PlannedCall], options: ModelRunOptions) -> list[PlannedCall]:
    """Calls, and those of them that are made a second time."""
    return [*calls, *calls[: math.ceil(options.fresh_fraction * len(calls))]]


def asking(
    what: str,
    model: str,
    calls: Sequence[PlannedCall],
    options: ModelRunOptions,
    votes: tuple[int, int] = (1, 1),
) -> Estimate:
    """Of calls to one model; `votes`: how often, at least and at most, each is made.

    Raises:
        InputError: the price file cannot be read, or the cost is limited and the price not known.
    """
    certain = [call for call in calls if call.certain]
    likely = sum(tokens.likely(call.request) for call in calls)
    surely = (
        likely
        if len(certain) == len(calls)
        else sum(tokens.likely(call.request) for call in certain)
    )
    most = min(sum(tokens.most(call.request) for call in calls), 1.6 * likely)
    low = (round(0.7 * votes[0] * surely), votes[0] * sum(call.least for call in certain))
    high = (round(votes[1] * most), votes[1] * sum(call.most for call in calls))
    own = read_prices(options.prices) if options.prices else {}
    price = price_of(model, own, api_base=options.api_base, batch=options.batch)
    if price is None and options.max_cost_usd is not None:
        raise unpriced(model)
    used = sum(low), sum(high)
    seconds = [
        _seconds(options, made * count, used_tokens, reply_s)
        for made, count, used_tokens, reply_s in zip(
            (len(certain), len(calls)), votes, used, _REPLY_S, strict=True
        )
    ]
    return Estimate(
        f"{what} with {model}",
        len(calls) * votes[1],
        used,
        dollars_of(price, [low, high]),
        (seconds[0], seconds[1]),
        options.batch,
    )


def _seconds(options: ModelOptions, calls: int, used_tokens: int, reply_s: float) -> float:
    """The slowest of what is waited for: replies, and the provider's limits a minute."""
    waits = [math.ceil(calls / options.max_in_flight) * reply_s]
    if options.requests_per_minute:
        waits.append(60 * calls / options.requests_per_minute)
    if options.tokens_per_minute:
        waits.append(60 * used_tokens / options.tokens_per_minute)
    return max(waits)


def dollars_of(price: Price | None, used: Sequence[tuple[int, int]]) -> tuple[float, float] | None:
    """Dollars of prompt and completion tokens, for the low and the high end."""
    if price is None:
        return None
    low, high = (micro_usd(price.cost_pico_usd(Usage(*pair))) / 1e6 for pair in used)
    return low, high


def _dollars(usd: tuple[float, float] | None) -> str:
    if usd is None:
        return "cost unknown (name a price with --prices)"
    return "0 USD" if usd == (0.0, 0.0) else f"{usd[0]:.4f} to {usd[1]:.4f} USD"


def _between(low: int, high: int) -> str:
    return f"{low:,} to {high:,}"


def _duration(seconds: float) -> str:
    """As people say it."""
    if seconds < 90:  # noqa: PLR2004
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min"
