"""Tokens of an answer and their cost in integer picodollars (1e-12 USD), so that sums are exact."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer as the server reported them; unchecked until `tokens.Counted` has seen them."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0  # of the prompt, read from the server's cache
    written_tokens: int = 0  # of the prompt, written to its cache, if that has a price


PICO_PER_MICRO = 10**6


@dataclass(frozen=True, slots=True)
class Price:
    """Picodollars per token."""

    prompt: int
    completion: int
    cached: int  # for a prompt token read from the cache
    source: str = "file"  # `local` for a model on this machine
    written: int | None = None  # to the cache; None for 1.25 times `prompt`, as for Anthropic

    def cost_pico_usd(self, usage: Usage) -> int:
        """Return the cost of one answer."""
        fresh = usage.prompt_tokens - usage.cached_tokens - usage.written_tokens
        written = -(-self.prompt * 5 // 4) if self.written is None else self.written
        return (
            fresh * self.prompt
            + usage.cached_tokens * self.cached
            + usage.written_tokens * written
            + usage.completion_tokens * self.completion
        )

    def halved(self) -> "Price":
        """Return the price in a batch file for OpenAI and Anthropic: half, rounded up."""
        prompt, completion, cached = (
            -(-each // 2) for each in (self.prompt, self.completion, self.cached)
        )
        written = None if self.written is None else -(-self.written // 2)
        return replace(self, prompt=prompt, completion=completion, cached=cached, written=written)


def micro_usd(pico_usd: int) -> int:
    """Convert to integer microdollars (1e-6 USD), rounded half up; apply once, to a sum."""
    return (pico_usd + PICO_PER_MICRO // 2) // PICO_PER_MICRO
