"""Parse answers from JSON or Python values: a text and its contexts, each a text, a note name (by a vault), or both."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from gigamind.i18n import _
from gigamind.interop.ranking import Oddity, RankedNote, note_of, whole_text

_PAIR = 2


@dataclass(frozen=True)
class Reply:
    """The answer of a system to one question."""

    answer: str
    contexts: tuple[RankedNote, ...] = ()  # in the system's order
    oddities: Mapping[Oddity, int] = field(default_factory=dict[Oddity, int])  # how often


def parse_reply(payload: object) -> Reply:
    """Parse a text, a pair [answer, contexts], or an object with `answer` and `contexts`; ValueError if malformed."""
    reply = recorded_reply(payload)
    if not reply.answer.strip():
        raise ValueError(_("the answer is empty"))
    return reply


def recorded_reply(payload: object) -> Reply:
    """Parse an answer of a run file, which may be empty: that is the system's fault, not the file's; or ValueError."""
    if isinstance(payload, Reply):
        return Reply(_answer(payload.answer), payload.contexts, payload.oddities)
    if isinstance(payload, Mapping):
        fields = cast("Mapping[object, object]", payload)
        return Reply(_answer(fields.get("answer")), _parse_contexts(fields.get("contexts")))
    if isinstance(payload, list | tuple) and len(pair := cast("list[object]", payload)) == _PAIR:
        return Reply(_answer(pair[0]), _parse_contexts(pair[1]))
    return Reply(_answer(cast("object", payload)))


def _parse_contexts(payload: object) -> tuple[RankedNote, ...]:
    if payload is None:
        return ()
    if isinstance(payload, str | Mapping) or not isinstance(payload, Iterable):
        raise ValueError(_("the contexts are not a list"))  # noqa: TRY004  the text is at fault
    contexts = cast("Iterable[object]", payload)
    return tuple(_parse_context(context, place) for place, context in enumerate(contexts, start=1))


def _parse_context(context: object, place: int) -> RankedNote:
    if isinstance(context, Mapping):
        context = note_of(cast("Mapping[object, object]", context))
    elif isinstance(context, str):
        context = RankedNote("", text=whole_text(context))
    if not isinstance(context, RankedNote) or not (context.note.strip() or context.text.strip()):
        raise ValueError(
            _('context {number} must be a text, or an object with "note" or "text"', number=place)
        )
    return context


def _answer(answer: object) -> str:
    if not isinstance(answer, str):
        raise ValueError(  # noqa: TRY004  the text is at fault
            _("the answer is missing")
            if answer is None
            else _("the answer is not a text but a {type}", type=type(answer).__name__)
        )
    return whole_text(answer)
