"""The options with which `gigamind memory` asks a model, and what that costs.

Answers are kept beside the event log: repeating a session, or going on after a crash, costs nothing and says the same.
"""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import click
from pydantic import Field

from gigamind.llm.ask import LanguageModel
from gigamind.llm.fences import fence_key
from gigamind.llm.ledger import Ledger, totals
from gigamind.llm.options import ModelOptions, open_model
from gigamind.llm.settings import ModelSettings
from gigamind.memory.model_extractor import ModelExtractor
from gigamind.memory.schema import Extraction, Session


class ExtractionOptions(ModelOptions):
    """Which model extracts, and what it may cost."""

    prompt_lang: Literal["auto", "ko", "en"] = Field(
        "auto", description="language of the prompt; auto: that of the session"
    )
    max_tokens: int = Field(4_096, ge=1, description="of an answer; doubled once if it is cut off")
    ledger: Path | None = Field(
        None, description="account of requests; attempts.jsonl beside the log without it"
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
    def long_enough(settings: ModelSettings) -> ModelSettings:
        return replace(settings, max_tokens=options.max_tokens)

    return open_model(options, Ledger(ledger_path), store, long_enough)


def _tell_cost(model: LanguageModel, before: int) -> None:
    spent = totals(model.ledger.rows[before:])
    cost = "unknown" if spent.micro_usd is None else f"{spent.micro_usd / 1e6:.6f} USD"
    told = f"requests: {spent.http_calls}, from the store: {spent.store_hits}, cost: {cost}"
    click.echo(f"{model.settings.model}: {told}", err=True)
