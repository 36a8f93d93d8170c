"""An answer as any system tells it: its text, and the contexts that it rests on, as JSON and in Python.

A context is a text, a note by its name, or both: which of them a lone string is, only a vault can tell.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from gigamind.interop.ranking import Oddity, RankedNote, note_of, whole_text

_PAIR = 2


@dataclass(frozen=True)
class Reply:
    """What a system answered to one question.

    Attributes:
        contexts: what it says that the answer rests on, in its order.
        oddities: what was odd, and how often.
    """

    answer: str
    contexts: tuple[RankedNote, ...] = ()
    oddities: Mapping[Oddity, int] = field(default_factory=dict[Oddity, int])


def told_reply(payload: object) -> Reply:
    """The answer in a text, in a pair [answer, contexts], or in an object with `answer`, and `contexts` if it has any.

    Raises:
        ValueError: there is no answer, or contexts are none; says what.
    """
    reply = recorded_reply(payload)
    if not reply.answer.strip():
        raise ValueError("the answer is empty")
    return reply


def recorded_reply(payload: object) -> Reply:
    """The same of a line of a run, where an empty answer is one: the system's fault, and none of the line.

    Raises:
        ValueError: there is no answer, or contexts are none; says what.
    """
    if isinstance(payload, Reply):
        return Reply(_answer(payload.answer), payload.contexts, payload.oddities)
    if isinstance(payload, Mapping):
        fields = cast("Mapping[object, object]", payload)
        return Reply(_answer(fields.get("answer")), told_contexts(fields.get("contexts")))
    if isinstance(payload, list | tuple) and len(pair := cast("list[object]", payload)) == _PAIR:
        return Reply(_answer(pair[0]), told_contexts(pair[1]))
    return Reply(_answer(cast("object", payload)))


def told_contexts(payload: object) -> tuple[RankedNote, ...]:
    """The contexts in a list: each a string, or an object with its `note`, its `text`, or both; none for None.

    Of an object `score`, and `start` and `end` are read besides, where it has them.

    Raises:
        ValueError: it is no list, or a context is neither; says which.
    """
    if payload is None:
        return ()
    if isinstance(payload, str | Mapping) or not isinstance(payload, Iterable):
        raise ValueError("the contexts are no list")  # noqa: TRY004  the text is at fault
    contexts = cast("Iterable[object]", payload)
    return tuple(_told_context(context, place) for place, context in enumerate(contexts, start=1))


def _told_context(context: object, place: int) -> RankedNote:
    if isinstance(context, Mapping):
        context = note_of(cast("Mapping[object, object]", context))
    elif isinstance(context, str):
        context = RankedNote("", text=whole_text(context))
    if not isinstance(context, RankedNote) or not (context.note.strip() or context.text.strip()):
        raise ValueError(f"context {place} is neither a text nor an object with note or text")
    return context


def _answer(answer: object) -> str:
    if not isinstance(answer, str):
        kind = "nothing" if answer is None else f"a {type(answer).__name__}"
        raise ValueError(f"the answer is {kind}, and no text")  # noqa: TRY004  the text is at fault
    return whole_text(answer)
