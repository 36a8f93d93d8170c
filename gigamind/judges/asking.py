"""How a judge asks: by seats of a panel, about one item; and what it would send, for an estimate."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gigamind.errors import LlmCode, LlmError
from gigamind.i18n import Text, _
from gigamind.llm.client import Asked, Message, Reply, Request
from gigamind.llm.replies import unread_in

OF_THE_REPLY: frozenset[LlmCode] = frozenset(
    {"invalid_output", "truncated", "refused", "content_filtered"}
)
"""Codes of replies that are the model's own doing; the others are of network, budget or user."""


@dataclass(frozen=True, slots=True, order=True)
class PanelMember:
    """A place in a panel: a model, and the number of its repetition from 0."""

    model: str
    repeat: int = 0

    @property
    def name(self) -> str:
        """As people are told of it."""
        return f"{self.model} (vote {self.repeat + 1})" if self.repeat else self.model


@dataclass(frozen=True, slots=True)
class Asking:
    """How a judge asks about one item.

    Attributes:
        models: by name, the first one first.
        fence_key: of the marks around texts of others.
        fresh: ask anew even where a reply is stored.
        shorter: what helps where all that it asks is longer than the model's context.
        unread: what could not be read of the replies so far, by field; see `unread_in`.
    """

    models: Mapping[str, Asked]
    item_id: str
    fence_key: bytes
    fresh: bool = False
    shorter: str = ""
    unread: Counter[str] = field(default_factory=Counter[str])

    def afresh(self) -> "Asking":
        """The same once more, to see whether the verdict is another: what cannot be read then is not counted."""
        return replace(self, fresh=True, unread=Counter())

    @property
    def first(self) -> PanelMember:
        """The first vote of the first model."""
        return PanelMember(next(iter(self.models)))

    async def ask(
        self,
        messages: Sequence[Message],
        reply: type[Reply],
        *,
        fingerprint: str,
        member: PanelMember | None = None,
        max_tokens: int | None = None,
    ) -> Reply:
        """A validated reply of a seat, without one of the first; see `LanguageModel.ask`.

        Raises:
            LlmError: it gave none.
        """
        voter = member or self.first
        try:
            answer = await self.models[voter.model].ask(
                messages,
                reply,
                item_id=self.item_id,
                fingerprint=fingerprint,
                repeat=voter.repeat,
                fresh=self.fresh,
                max_tokens=max_tokens,
            )
        except LlmError as error:
            if error.code != "context_too_long" or not self.shorter:
                raise
            raise LlmError(f"{error}, or {self.shorter}", *error.args[1:]) from None
        self.unread.update(unread_in(answer))
        return answer


_JUDGING = _("judging")


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A request that judging a case would make.

    Attributes:
        request: its `max_tokens` count for nothing here.
        least, most: tokens of the reply.
        seats: whether every seat of a panel makes it; else the first one alone.
        what: it is for, in words that go before "... answers with MODEL".
        model: that is asked, whoever votes; empty for those that do.
        certain: whether it is made at all; else it counts for the high end of an estimate alone.
    """

    request: Request
    least: int
    most: int
    all_members: bool = True
    what: Text = _JUDGING
    model: str = ""
    certain: bool = True


def counted(messages: Sequence[Mapping[str, object]], schema: Mapping[str, object]) -> Request:
    """A request that is only counted."""
    return Request(tuple(messages), schema, {"max_tokens": 0})
