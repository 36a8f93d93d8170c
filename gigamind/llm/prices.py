"""Prices of tokens, in integer picodollars (1e-12 USD), so that sums are exact.

A price comes from the caller's file if it is there.  Else a model on this machine costs nothing, and other models have
the price in litellm's table.  The cost of a model without a price is unknown, never zero.
"""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from gigamind.errors import InputError, reason_of
from gigamind.llm.client import on_loopback
from gigamind.llm.ledger import Price
from gigamind.llm.loading import load_litellm
from gigamind.loading import first_problem, toml_values

_PICO_PER_USD = 10**12
_IN_BATCH, _OUT_BATCH = "input_cost_per_token_batches", "output_cost_per_token_batches"
_Usd = Annotated[Decimal, Field(ge=0, le=10**9, allow_inf_nan=False)]


class _Row(BaseModel, extra="forbid", frozen=True):
    """USD per million tokens."""

    prompt: _Usd
    completion: _Usd
    cached: _Usd | None = None
    written: _Usd | None = None

    def price(self) -> Price:
        usd = {name: value for name, value in self if value is not None}
        pico = {name: round(each * _PICO_PER_USD / 10**6) for name, each in usd.items()}
        return Price(**{"cached": pico["prompt"], **pico})


class _File(BaseModel, extra="forbid", frozen=True):
    models: dict[str, _Row]


def read_prices(path: Path) -> dict[str, Price]:
    """Read prices by model from a TOML file, in USD per million tokens; raise InputError if it is invalid.

    A table `[models."openai/x"]` has `prompt`, `completion` and, if it differs from `prompt`, `cached`.  Add `written`
    if the server reports tokens written to its cache and they do not cost a quarter more than `prompt`.
    """
    try:
        # Decimal keeps the digits as written: the float 0.15 is not exactly 0.15.
        rows = toml_values(path.read_text(encoding="utf-8"), Decimal)
        return {name: row.price() for name, row in _File.model_validate(rows).models.items()}
    except ValidationError as error:
        raise InputError(
            '{file}: {problem}. Write [models."NAME"] with prompt and completion, in USD per million tokens.',
            file=path,
            problem=first_problem(error),
        ) from None
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise InputError(
            "{file}: the price file cannot be read: {reason}", file=path, reason=reason
        ) from error


def price_of(
    model: str, own: Mapping[str, Price], *, api_base: str | None = None, batch: bool = False
) -> Price | None:
    """Return the price of a model: from `own`, else 0 on loopback, else from litellm's table; None if unknown.

    A request in a `batch` has the batch price of the table, or half of the normal price.
    """
    price = own.get(model)
    if price and batch:
        return price.halved()
    return price or (LOCAL if on_loopback(api_base) else _listed(model, batch=batch))


LOCAL = Price(0, 0, 0, source="local")
"""Price of a model on this machine that no table lists."""


def _listed(model: str, *, batch: bool) -> Price | None:
    try:
        row: Mapping[str, Any] = load_litellm().get_model_info(model)
    except Exception:  # noqa: BLE001  litellm raises a plain Exception for unknown models
        return None
    prompt, completion = _pico(row, "input_cost_per_token"), _pico(row, "output_cost_per_token")
    if prompt is None or completion is None:
        return None
    cached = _pico(row, "cache_read_input_token_cost")
    cached = prompt if cached is None else cached
    price = Price(
        prompt, completion, cached, "litellm", _pico(row, "cache_creation_input_token_cost")
    )
    return _batch_price(row, price) if batch else price


def _batch_price(row: Mapping[str, Any], price: Price) -> Price:
    half = price.halved()
    prompt, completion = _pico(row, _IN_BATCH), _pico(row, _OUT_BATCH)
    if prompt is not None and completion is not None:
        half = replace(half, prompt=prompt, completion=completion)
    if row.get("litellm_provider") == "anthropic":
        return half
    flex = _pico(row, "cache_read_input_token_cost_flex")  # flex and batch have the same price
    return replace(half, cached=half.prompt if flex is None else flex)


def _pico(row: Mapping[str, Any], name: str) -> int | None:
    usd = row.get(name)
    return None if usd is None else round(Decimal(str(usd)) * _PICO_PER_USD)
