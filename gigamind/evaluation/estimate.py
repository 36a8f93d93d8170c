"""What a run would cost and last, before anything is sent (seed 4.3): calls, tokens, dollars, time.

Tokenizers differ by half for Korean, and nobody knows how long a model will answer, so figures are ranges.  What an
earlier run left in a cache or a store is not counted: the estimate is of a first run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gigamind.llm.client import Usage
from gigamind.llm.prices import Price, micro_usd

REPLY_S = (1.0, 8.0)  # of one request


@dataclass(frozen=True, slots=True)
class Estimate:
    """One kind of work.

    Attributes:
        calls: requests over HTTP, none of them failing; 0 for work that is done here.
        tokens: sent and answered, low and high.
        usd: low and high; None where the price is not known.
        seconds: low and high.
    """

    what: str
    calls: int
    tokens: tuple[int, int]
    usd: tuple[float, float] | None
    seconds: tuple[float, float]

    def describe(self) -> str:
        """In a line."""
        low, high = (_duration(seconds) for seconds in self.seconds)
        parts = [self.what]
        if self.calls:
            parts.append(f"{self.calls:,} requests, {_between(*self.tokens)} tokens")
        parts.append(_dollars(self.usd))
        parts.append(low if low == high else f"{low} to {high}")
        return ": ".join([parts[0], ", ".join(parts[1:])])


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
