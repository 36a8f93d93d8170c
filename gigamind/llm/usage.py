"""Tokens of an answer, and what they cost in whole picodollars (1e-12 USD), so that sums are exact."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer as the server counted them: any number, until `tokens.Counted` has looked at them.

    Attributes:
        cached_tokens: those of `prompt_tokens` that the server had in its cache.
        written_tokens: those of `prompt_tokens` that it put there, where it has a price for that.
    """

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    written_tokens: int = 0


PICO_PER_MICRO = 10**6


@dataclass(frozen=True, slots=True)
class Price:
    """Picodollars a token.

    Attributes:
        prompt: of a token sent.
        completion: of a token answered.
        cached: of a token sent that the server had in its cache.
        written: of a token sent that the server put there; None for a quarter more than `prompt`, as Anthropic asks.
        source: where it was found; `local` where nobody else's machine is asked.
    """

    prompt: int
    completion: int
    cached: int
    source: str = "file"
    written: int | None = None

    def cost_pico_usd(self, usage: Usage) -> int:
        """Cost of one answer."""
        fresh = usage.prompt_tokens - usage.cached_tokens - usage.written_tokens
        written = -(-self.prompt * 5 // 4) if self.written is None else self.written
        return (
            fresh * self.prompt
            + usage.cached_tokens * self.cached
            + usage.written_tokens * written
            + usage.completion_tokens * self.completion
        )

    def halved(self) -> "Price":
        """What both OpenAI and Anthropic ask for a request in a batch file; rounded up."""
        prompt, completion, cached = (
            -(-each // 2) for each in (self.prompt, self.completion, self.cached)
        )
        written = None if self.written is None else -(-self.written // 2)
        return replace(self, prompt=prompt, completion=completion, cached=cached, written=written)


def micro_usd(pico_usd: int) -> int:
    """Whole microdollars (1e-6 USD), rounded half up: once, on a sum."""
    return (pico_usd + PICO_PER_MICRO // 2) // PICO_PER_MICRO
