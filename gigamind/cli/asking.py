"""What the commands that ask one model share: opening it by its options, and telling what it cost.

Answers are kept: repeating a command, or going on after a failure, pays for nothing twice and says the same.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from gigamind.cli.errors import say_line
from gigamind.llm.ask import LanguageModel, open_model
from gigamind.llm.fences import fence_key
from gigamind.llm.ledger import Ledger, Totals, totals
from gigamind.llm.limiter import Gates
from gigamind.llm.options import ModelOptions

Result = TypeVar("Result")


def ask_model(
    options: ModelOptions,
    work: Callable[[LanguageModel, bytes], Awaitable[Result]],
    *,
    max_tokens: int,
    store: Path,
    ledger: Path,
) -> Result:
    """What `work` makes of the model and the key of its fences; the cost is told however it ends.

    Args:
        store: folder of the answers, unless the options name another.

    Raises:
        InputError: an option cannot be used.
        LlmError: the model cannot be called, or gave no usable reply.
    """
    store = options.store or store
    key = fence_key(
        store, options.store_mode
    )  # answers are found by their prompt, which holds its mark
    model = open_model(
        options,
        Ledger(ledger),
        store,
        lambda settings: replace(settings, max_tokens=max_tokens),
        gates=told_gates(),
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
        tell_cost(totals(model.ledger.rows[before:]), f"{model.settings.model}: ")


def told_gates() -> Gates:
    """Gates of servers that tell a person who waits, on standard error, what holds the requests up."""
    return Gates(lambda line: say_line(line, err=True))


def tell_cost(spent: Totals, model: str = "") -> None:
    """One line on standard error."""
    cost = "unknown" if spent.micro_usd is None else f"{spent.micro_usd / 1e6:.6f} USD"
    line = f"requests: {spent.http_calls}, from the store: {spent.store_hits}, cost: {cost}"
    say_line(f"{model}{line}", err=True)
