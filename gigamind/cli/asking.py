"""Run a command's work with one model and report its cost; stored replies make repeating or resuming free."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from gigamind.cli.output import print_line
from gigamind.i18n import _, joined
from gigamind.llm.ask import LanguageModel, open_model
from gigamind.llm.ledger import Ledger, Totals, totals
from gigamind.llm.limiter import Limiters
from gigamind.llm.settings import ModelOptions
from gigamind.prompting.fences import fence_key

Result = TypeVar("Result")


def ask_model(
    options: ModelOptions,
    work: Callable[[LanguageModel, bytes], Awaitable[Result]],
    *,
    max_tokens: int,
    store: Path,
    ledger: Path,
) -> Result:
    """Return the result of `work` with the model and the key of its fences; report the cost in any case.

    Raises:
        InputError: an option is invalid.
        LlmError: the model cannot be called, or gave no usable reply.
    """
    store = options.store or store
    # Stored replies are found by their prompt, which contains a mark made with the key.
    key = fence_key(store, options.store_mode)
    model = open_model(
        options,
        Ledger(ledger),
        store,
        lambda settings: replace(settings, max_tokens=max_tokens),
        limiters=printing_limiters(),
    )
    before = len(model.ledger.rows)

    async def run() -> Result:
        try:
            return await work(model, key)
        finally:
            await model.close()

    try:
        return asyncio.run(run())
    finally:
        print_cost(totals(model.ledger.rows[before:]), model.settings.model)


def printing_limiters() -> Limiters:
    """Return limiters of servers that print to standard error what delays the requests."""
    return Limiters(lambda line: print_line(line, err=True))


def print_cost(spent: Totals, model: str = "") -> None:
    """Print requests and cost in one line to standard error."""
    cost = _("unknown")
    if spent.micro_usd is not None and spent.reserved_micro_usd is not None:
        reserved = spent.reserved_micro_usd
        cost = _("{usd:.6f} USD", usd=(spent.micro_usd - reserved) / 1e6)
        if reserved:
            cost = _("{cost}, and {usd:.6f} USD reserved", cost=cost, usd=reserved / 1e6)

    line = _(
        "requests sent: {n:,}, stored replies reused: {stored:,}, cost: {cost}",
        n=spent.http_calls,
        stored=spent.store_hits,
        cost=cost,
    )
    print_line(joined((model, line), ": ") if model else line, err=True)
