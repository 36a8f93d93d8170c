"""A language model that gives validated replies; each is stored, paid for once, and recorded in the ledger.

Each request passes through the store, the budget, the limiter and the ledger.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from gigamind.errors import InputError
from gigamind.i18n import _
from gigamind.llm.batches.batcher import Batches, BatchSender
from gigamind.llm.booking import Booking, Call
from gigamind.llm.budget import Budget, budget_of
from gigamind.llm.client import Client, Message, Request
from gigamind.llm.completion import Completions, accepted
from gigamind.llm.conversation import Conversation, Reply
from gigamind.llm.ledger import STORE, Attempt, Ledger
from gigamind.llm.limiter import Gates
from gigamind.llm.loading import check_installed
from gigamind.llm.prices import price_of, read_prices
from gigamind.llm.sender import Sender
from gigamind.llm.settings import ModelOptions, ModelSettings
from gigamind.llm.speed import Speed
from gigamind.llm.store import Record, Store, key_of
from gigamind.llm.usage import Price


class LanguageModel:
    """One model with the store, the budget and the ledger of its calls."""

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
        self._store.tell = lambda line: self.gates.tell(line)  # noqa: PLW0108  can be set later
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
        """The wanted parameters without those that the model rejected."""
        return {k: v for k, v in self._wanted.items() if k not in self._refused - {"max_tokens"}}

    async def measure(self, request: Request) -> Speed | None:
        """Measure the speed of the server for requests like this one; None (and reported to the gates) on failure."""
        return await self._sender.measure(request)

    async def close(self) -> None:
        """Close the connections and release the ledger for the next writer."""
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
        """Return a validated reply.

        Args:
            fresh: Neither use a stored reply nor store this one, to test whether the model repeats its reply.
            fingerprint: Fingerprint of the judge; stored replies of other judges are not used.
            repeat: Number of an intentional repetition of the same request.
            max_tokens: None for the limit in the settings.

        Raises:
            LlmError: The model, the budget or the store gave no reply.
        """
        parameters = dict(self._wanted)  # the key of stored replies includes rejected parameters
        if max_tokens is not None:
            parameters["max_tokens"] = max_tokens
        key = self._key(messages, reply, parameters, fingerprint, repeat)
        call = Call(item_id, key, fresh)
        await self._sender.ready()
        conversation = self._conversation(call, messages, parameters)
        if fresh:
            return await conversation.ask(reply)

        async def make() -> tuple[Record, Reply]:
            validated = await conversation.ask(reply)
            return {"model": self.settings.model, "reply": _plain(validated)}, validated

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
        """Return a complete answer in plain text; `on_text` receives it in pieces.  The store is not used.

        Raises:
            LlmError: The model or the budget gave no complete answer; pieces already passed on remain valid.
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
    """Return a model by its litellm name, called one request at a time or in batches.

    Raises:
        InputError: The price is unknown and the budget is limited in dollars, or the provider has no batches.
        LlmError: The key is not in the environment, or the provider is unknown.
        ModuleNotFoundError: gigamind was installed without its extra `llm`.
    """
    check_installed()
    return LanguageModel(
        settings,
        client=batches or Completions(settings),
        parameters=accepted(settings),
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
    """Return the model of the options, or `model`; closing it closes the ledger too.

    Args:
        store: Folder of stored replies, unless the options name another.
        adjust: Applies the settings of a judge file or a command, such as temperature and tokens.
        budget: A budget shared with other models; None for one of its own.

    Raises:
        InputError: No model is named, or its price is unknown and the cost is limited.
        LlmError: The key is not in the environment, or the provider is unknown.
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
    """Return the error for a cost limit with a model of unknown price."""
    message = _(
        "{model}: the price is unknown, so --max-cost-usd cannot be enforced. Set a price with"
        " --prices, or use --max-calls.",
        model=model,
    )
    return InputError(message)


@cache
def _schema(reply: type[BaseModel]) -> dict[str, Any]:
    return reply.model_json_schema()


def _plain(reply: BaseModel) -> dict[str, Any]:
    return reply.model_dump(mode="json", by_alias=True)
