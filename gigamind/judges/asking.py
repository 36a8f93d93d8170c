"""The requests of a judge about one item, and the calls that it plans for an estimate."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pydantic import BaseModel

from gigamind.errors import LlmCode, LlmError
from gigamind.i18n import Text, _
from gigamind.llm.client import Asked, Message, Reply, Request
from gigamind.llm.store import Record, Store, key_of
from gigamind.prompting.replies import unread_in

OF_THE_REPLY: frozenset[LlmCode] = frozenset(
    {"invalid_output", "truncated", "refused", "content_filtered"}
)
"""Codes of replies that are the model's own doing; the others are of network, budget or user."""

_ANSWERS = 100  # apart are the numbers of repeated requests, part of the keys of stored replies
Key = TypeVar("Key")
Row = TypeVar("Row")


def once(rows: Sequence[Row], key: Callable[[Row], Key]) -> dict[Key, Row]:
    """Return the rows by their keys, without those that share their key with another row."""
    times = Counter(map(key, rows))
    return {key(row): row for row in rows if times[key(row)] == 1}


@dataclass(frozen=True, slots=True)
class Asking:
    """Access to the models for the judgement of one item; the first of `models` judges.

    Attributes:
        fence_key: secret key of the fences around third-party texts.
        fresh: send a new request even if a reply is stored.
        shorter: advice for prompts that exceed the model's context.
        unread: count of reply parts that could not be read, by field.
        store: keeps what judges without an LLM compute.
        repeat: number of the answer to its question; a stored reply about another one is not used.
    """

    models: Mapping[str, Asked]
    item_id: str
    fence_key: bytes
    fresh: bool = False
    shorter: str = ""
    unread: Counter[str] = field(default_factory=Counter[str])
    store: Store = field(default_factory=Store)
    repeat: int = 1

    def afresh(self) -> "Asking":
        """Return a copy for re-judging the item: it sends new requests and counts its own unread parts."""
        return replace(self, fresh=True, unread=Counter())

    @property
    def first(self) -> str:
        return next(iter(self.models))

    async def ask(
        self,
        messages: Sequence[Message],
        reply: type[Reply],
        *,
        fingerprint: str,
        model: str = "",
        max_tokens: int | None = None,
    ) -> Reply:
        """Return a validated reply of a model, by default the first; raise LlmError without a usable one."""
        try:
            answer = await self.models[model or self.first].ask(
                messages,
                reply,
                item_id=self.item_id,
                fingerprint=fingerprint,
                repeat=_ANSWERS * (self.repeat - 1),
                fresh=self.fresh,
                max_tokens=max_tokens,
            )
        except LlmError as error:
            if error.code != "context_too_long" or not self.shorter:
                raise
            text = _("{reason} Alternatively: {advice}", reason=error.message, advice=self.shorter)
            raise LlmError(text, *error.args[1:]) from None
        self.unread.update(unread_in(answer))
        return answer

    async def stored(
        self, request: Mapping[str, Any], make: Callable[[], Awaitable[Record]]
    ) -> Record:
        """Return what `make` returns, in JSON values, or the stored result of an earlier run.

        `request` is everything that determines it. Raises LlmError if `make` does, or the mode `replay` finds none.
        """

        async def made() -> tuple[Record, Record]:
            record = await make()
            return record, record

        store = Store() if self.fresh else self.store
        again = {"repeat": self.repeat} if self.repeat > 1 else {}
        return (await store.fetch(key_of({"computed": request, **again}), dict, made))[0]


_JUDGING = _("judging")


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A request that judging a case would send, for `what`; its `max_tokens` is not used.

    One that is not `certain` counts only for the upper end of an estimate.
    """

    request: Request
    least: int  # tokens of the reply
    most: int
    what: Text = _JUDGING
    model: str = ""  # the model that receives it, if not the one that judges
    certain: bool = True


def counted(messages: Sequence[Message], reply: type[BaseModel]) -> Request:
    """Return a request that is only counted, never sent."""
    return Request(tuple(messages), reply.model_json_schema(), {"max_tokens": 0})
