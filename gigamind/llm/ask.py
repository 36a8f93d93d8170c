"""A language model that is asked questions and gives validated replies, each stored, paid for once, and booked.

Each request runs through the store, the budget, the limiter and the ledger.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from gigamind.errors import InputError
from gigamind.llm.batches.batcher import Batches
from gigamind.llm.batches.sender import BatchSender
from gigamind.llm.booking import Booking, Call
from gigamind.llm.budget import Budget, budget_of
from gigamind.llm.client import Client, Message, Request
from gigamind.llm.conversation import Conversation, Reply
from gigamind.llm.ledger import STORE, Attempt, Ledger
from gigamind.llm.limiter import Gates
from gigamind.llm.loading import check_installed
from gigamind.llm.options import ModelOptions
from gigamind.llm.prices import price_of, read_prices
from gigamind.llm.sender import Sender
from gigamind.llm.settings import ModelSettings
from gigamind.llm.speed import Speed
from gigamind.llm.store import Record, Store, key_of
from gigamind.llm.through_litellm import LitellmClient, taken
from gigamind.llm.transport import OpenAIClient, speaks_openai, wanted
from gigamind.llm.usage import Price


class LanguageModel:
    """One model, with the store, the budget and the ledger that its calls go through."""

    def __init__(
        self,
        settings: ModelSettings,
        *,
        client: Client | Batches,
        parameters: Mapping[str, int | float],
        price: Price | None = None,
        store: Store | None = None,
        budget: Budget | None = None,
        ledger: Ledger | None = None,
        gates: Gates | None = None,
    ) -> None:
        self.settings = settings
        self._wanted = parameters
        self._refused: set[str] = set()
        self.price = price
        self.ledger = ledger or Ledger()
        self.budget = budget or Budget()
        self.gates = gates or Gates()
        self._store = store or Store()
        self._store.tell = lambda line: self.gates.tell(line)  # noqa: PLW0108  which may be set later
        self._store.shared = not self.gates.alone
        account = (self.budget, self.ledger, price)
        self._sender: Booking = (
            BatchSender(settings, client, *account)
            if isinstance(client, Batches)
            else Sender(settings, client, *account, gates=self.gates)
        )
        if price is None and self.budget.limits.micro_usd is not None:
            raise unpriced(settings.model)

    @property
    def parameters(self) -> dict[str, int | float]:
        """What is sent, less what the model has refused."""
        return {k: v for k, v in self._wanted.items() if k not in self._refused - {"max_tokens"}}

    async def measure(self, request: Request) -> Speed | None:
        """The speed of its server, for requests such as this one; None where that failed, which the gates are told."""
        return await self._sender.measure(request)

    async def close(self) -> None:
        """Close the connections, and let the next writer of the ledger in."""
        await self._sender.close()
        self.ledger.close()

    async def ask(
        self,
        messages: Sequence[Message],
        reply: type[Reply],
        *,
        item_id: str,
        fingerprint: str = "",
        repeat: int = 0,
        fresh: bool = False,
        max_tokens: int | None = None,
    ) -> Reply:
        """A validated reply.

        Args:
            fresh: neither take a stored reply nor keep this one: to see whether the model says the same again.
            fingerprint: of the judge that asks; another judge's stored replies are not taken.
            repeat: number of the repetition, when the same is asked several times on purpose.
            max_tokens: of this answer; None for as many as of any.

        Raises:
            LlmError: the model, the budget or the store gave none.
        """
        parameters = dict(self._wanted)  # as stored replies are found, whatever is refused later
        if max_tokens is not None:
            parameters["max_tokens"] = max_tokens
        key = self._key(messages, reply, parameters, fingerprint, repeat)
        call = Call(item_id, key, fresh)
        await self._sender.ready()
        conversation = self._conversation(call, messages, parameters)
        if fresh:
            return await conversation.ask(reply)

        async def make() -> tuple[Record, Reply]:
            made = await conversation.ask(reply)
            return {"model": self.settings.model, "reply": _plain(made)}, made

        validated, stored = await self._store.fetch(
            key, lambda record: reply.model_validate(record["reply"]), make
        )
        if stored:
            row = Attempt(item_id, 1, STORE, "ok", self.settings.model, key)
            self.ledger.append(replace(row, role=self.settings.role))
        return validated

    async def tell(
        self,
        messages: Sequence[Message],
        on_text: Callable[[str], Awaitable[None]],
        *,
        item_id: str,
    ) -> str:
        """An answer in plain text, all of it; it is neither taken from the store nor kept there.

        Args:
            on_text: gets it piece by piece, as the model gives it.

        Raises:
            LlmError: the model or the budget gave none, or not all of it: what was told by then stands.
        """
        await self._sender.ready()
        call = Call(item_id, "", fresh=True)
        return await self._conversation(call, messages, self._wanted).tell(on_text)

    def _conversation(
        self, call: Call, messages: Sequence[Message], parameters: Mapping[str, int | float]
    ) -> Conversation:
        return Conversation(self._sender, call, messages, dict(parameters), self._refused)

    def _key(
        self,
        messages: Sequence[Message],
        reply: type[BaseModel],
        parameters: Mapping[str, int | float],
        fingerprint: str,
        repeat: int,
    ) -> str:
        settings = self.settings
        return key_of({
            "endpoint": settings.api_base or "",
            "model": settings.model,
            "mode": settings.mode,
            "messages": [dict(message) for message in messages],
            "schema": _schema(reply),
            "parameters": dict(parameters),
            "fingerprint": fingerprint,
            "repeat": repeat,
        })  # fmt: skip


def connect(
    settings: ModelSettings,
    *,
    store: Store | None = None,
    budget: Budget | None = None,
    ledger: Ledger | None = None,
    gates: Gates | None = None,
    batches: Batches | None = None,
    prices: Mapping[str, Price] | None = None,
) -> LanguageModel:
    """A model by its name: asked directly where it speaks OpenAI's protocol, else through litellm; or in batches.

    Raises:
        InputError: its price is unknown, and the budget has a limit in dollars; or its provider has no batches.
        LlmError: its key is not in the environment, or its provider is unknown.
        ModuleNotFoundError: gigamind was installed without its extra `llm`.
    """
    check_installed()
    directly = speaks_openai(settings.model)
    return LanguageModel(
        settings,
        client=batches or (OpenAIClient(settings) if directly else LitellmClient(settings)),
        parameters=wanted(settings) if directly else taken(settings, wanted(settings)),
        price=price_of(
            settings.model, prices or {}, api_base=settings.api_base, batch=batches is not None
        ),
        store=store,
        budget=budget,
        ledger=ledger,
        gates=gates,
    )


def open_model(
    options: ModelOptions,
    ledger: Ledger,
    store: Path,
    adjust: Callable[[ModelSettings], ModelSettings] = lambda settings: settings,
    budget: Budget | None = None,
    *,
    model: str | None = None,
    gates: Gates | None = None,
    batches: Batches | None = None,
) -> LanguageModel:
    """The model of the options; closing it closes the ledger, too.

    Args:
        store: where answers are kept, unless the options name another folder.
        adjust: sets what a judge file or a command decides, such as temperature and tokens.
        budget: shared with other models; one of its own without it.
        gates: shared with them, too.
        model: another one than that of the options.

    Raises:
        InputError: no model is named, or its price is unknown and the cost is limited.
        LlmError: its key is not in the environment, or its provider is unknown.
    """
    try:
        return connect(
            adjust(options.settings(model)),
            prices=read_prices(options.prices) if options.prices else {},
            store=Store(options.store or store, options.store_mode),
            budget=budget or budget_of(options),
            ledger=ledger,
            gates=gates,
            batches=batches,
        )
    except BaseException:
        ledger.close()
        raise


def unpriced(model: str) -> InputError:
    """Why a run whose cost is limited cannot ask a model whose price is not known."""
    return InputError(
        f"{model} has no known price, so --max-cost-usd cannot be kept: name one with --prices, or limit --max-calls"
    )


@cache
def _schema(reply: type[BaseModel]) -> dict[str, Any]:
    return reply.model_json_schema()


def _plain(reply: BaseModel) -> dict[str, Any]:
    return reply.model_dump(mode="json", by_alias=True)
