"""What tokens cost, in whole picodollars (1e-12 USD): exact for every published price, so sums are exact too.

A price comes from the caller's own file first; else a model that this machine serves costs nothing, and any other what
the table says that litellm carries.  A model in none is unpriced: its cost is unknown, never zero.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError

from gigamind.errors import InputError
from gigamind.llm.client import Usage
from gigamind.llm.loading import load_litellm

PICO_PER_MICRO = 10**6
_PICO_PER_USD = Decimal(10**12)
_MILLION = 10**6


@dataclass(frozen=True, slots=True)
class Price:
    """Picodollars a token.

    Attributes:
        prompt: of a token sent.
        completion: of a token answered.
        cached: of a token sent that the server had in its cache.
        source: where it was found; `local` where nobody else's machine is asked.
    """

    prompt: int
    completion: int
    cached: int
    source: str = "file"

    def cost_pico_usd(self, usage: Usage) -> int:
        """Cost of one answer."""
        fresh = usage.prompt_tokens - usage.cached_tokens
        return (
            fresh * self.prompt
            + usage.cached_tokens * self.cached
            + usage.completion_tokens * self.completion
        )


def micro_usd(pico_usd: int) -> int:
    """Whole microdollars (1e-6 USD), rounded half up: once, on a sum."""
    return (pico_usd + PICO_PER_MICRO // 2) // PICO_PER_MICRO


_Usd = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]


class _Row(BaseModel, extra="forbid", frozen=True):
    """USD a million tokens."""

    prompt: _Usd
    completion: _Usd
    cached: _Usd | None = None

    def price(self) -> Price:
        cached = self.prompt if self.cached is None else self.cached
        return Price(_per_token(self.prompt), _per_token(self.completion), _per_token(cached))


class _File(BaseModel, extra="forbid", frozen=True):
    models: dict[str, _Row]


def read_prices(path: Path) -> dict[str, Price]:
    """Prices by model from a TOML file, in USD a million tokens.

    A table `[models."openai/x"]` has `prompt`, `completion` and, if it differs from `prompt`, `cached`.

    Raises:
        InputError: it cannot be read, or holds something else.
    """
    try:
        # Decimal from the digits as written: a float of 0.15 is not 0.15.
        rows = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
        return {name: row.price() for name, row in _File.model_validate(rows).models.items()}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: the price file cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path}: {place}: {first['msg']}") from None


def price_of(model: str, own: Mapping[str, Price], *, api_base: str | None = None) -> Price | None:
    """The price of a model: from `own`, else 0 on loopback, else from litellm's table; None where it is not known.

    What a gateway on loopback passes on to a provider has its price in `own`.
    """
    return own.get(model) or (LOCAL if on_loopback(api_base) else _listed(model))


LOCAL = Price(0, 0, 0, source="local")
"""Of a model of this machine that no table has."""


def on_loopback(address: str | None) -> bool:
    """Whether an address is of this machine."""
    host = urlsplit(address or "").hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return host == "localhost"


def _listed(model: str) -> Price | None:
    try:
        row = load_litellm().get_model_info(model)
    except Exception:  # noqa: BLE001  litellm raises a plain Exception for a model that it does not list
        return None
    prompt, completion = row.get("input_cost_per_token"), row.get("output_cost_per_token")
    if prompt is None or completion is None:
        return None
    cached = row.get("cache_read_input_token_cost")
    cached = prompt if cached is None else cached
    return Price(_pico(prompt), _pico(completion), _pico(cached), source="litellm")


def _per_token(usd_per_million: Decimal) -> int:
    return int((usd_per_million * _PICO_PER_USD / _MILLION).to_integral_value())


def _pico(usd: float) -> int:
    return int((Decimal(str(usd)) * _PICO_PER_USD).to_integral_value())
