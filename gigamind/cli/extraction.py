"""The options with which `gigamind memory` asks a model, and what that costs.

Answers are kept beside the event log: repeating a session, or going on after a crash, costs nothing and says the same.
"""

from pathlib import Path
from typing import Literal

import click
from pydantic import BaseModel, ConfigDict, Field

from gigamind.llm.ask import LanguageModel, connect
from gigamind.llm.budget import Budget, Limits
from gigamind.llm.fences import fence_key
from gigamind.llm.ledger import Ledger, totals
from gigamind.llm.prices import read_prices
from gigamind.llm.settings import Mode, ModelSettings
from gigamind.llm.store import Store, StoreMode
from gigamind.memory.model_extractor import ModelExtractor
from gigamind.memory.schema import Extraction, Session

_MICRO_PER_USD = 10**6


class ExtractionOptions(BaseModel):
    """Which model extracts, and what it may cost."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = Field(
        None,
        description="Ask this model instead of --extracted: openai/..., anthropic/..., ollama_chat/...",
    )
    prompt_lang: Literal["auto", "ko", "en"] = Field(
        "auto", description="Language of the prompt; auto: that of the session."
    )
    api_base: str | None = Field(None, description="Address of another server of that protocol.")
    key_variable: str | None = Field(None, description="Environment variable that holds the key.")
    structured: Mode = Field(
        "json_schema", description="How the model is told the shape of its answer."
    )
    max_tokens: int = Field(4_096, ge=1, description="Of an answer; doubled once if it is cut off.")
    timeout_s: float = Field(60.0, ge=0.1, allow_inf_nan=False, description="Of one attempt.")
    prices: Path | None = Field(
        None,
        description='TOML: [models."NAME"] prompt, completion, cached, in USD a million tokens.',
    )
    max_cost_usd: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="Refuse requests that may cost more."
    )
    max_calls: int | None = Field(
        None, ge=0, description="Refuse requests beyond so many, those that fail included."
    )
    store: Path | None = Field(
        None, description="Folder of answers; replies/ beside the log without it."
    )
    store_mode: StoreMode = Field(
        "readwrite",
        description="readwrite keeps answers, refresh asks anew, replay asks nothing, off keeps nothing.",
    )
    ledger: Path | None = Field(
        None, description="Account of requests; attempts.jsonl beside the log without it."
    )


def extract(session: Session, options: ExtractionOptions, beside: Path) -> Extraction:
    """What the model says about a session; its cost is told on standard error, however it ends.

    Args:
        beside: folder of the store and the ledger, unless `options` name others.

    Raises:
        InputError: an option or the session cannot be used.
        LlmError: the model gave no usable reply.
    """
    store = options.store or beside / "replies"
    language = None if options.prompt_lang == "auto" else options.prompt_lang
    key = fence_key(store / "fence.key")  # answers are found by their prompt, which holds its mark
    model = _connected(options, store, options.ledger or beside / "attempts.jsonl")
    before = len(model.ledger.rows)
    try:
        with ModelExtractor(model, key, language) as extractor:
            return extractor.extract(session)
    finally:
        _tell_cost(model, before)


def _connected(options: ExtractionOptions, store: Path, ledger_path: Path) -> LanguageModel:
    settings = ModelSettings(
        options.model or "",
        api_base=options.api_base,
        key_variable=options.key_variable,
        mode=options.structured,
        max_tokens=options.max_tokens,
        timeout_s=options.timeout_s,
    )
    usd = options.max_cost_usd
    limits = Limits(None if usd is None else round(usd * _MICRO_PER_USD), options.max_calls)
    prices = read_prices(options.prices) if options.prices else {}
    ledger = Ledger(ledger_path)
    try:
        return connect(
            settings,
            prices=prices,
            store=Store(store, options.store_mode),
            budget=Budget(limits),
            ledger=ledger,
        )
    except BaseException:
        ledger.close()
        raise


def _tell_cost(model: LanguageModel, before: int) -> None:
    spent = totals(model.ledger.rows[before:])
    cost = "unknown" if spent.micro_usd is None else f"{spent.micro_usd / 1e6:.6f} USD"
    told = f"requests: {spent.http_calls}, from the store: {spent.store_hits}, cost: {cost}"
    click.echo(f"{model.settings.model}: {told}", err=True)
