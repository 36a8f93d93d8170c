"""Has a model cut the sentences of an answer into finer claims: `claims = "llm"` in the judge file.

The model tells only where in a sentence one claim ends and the next begins.  Every word of the sentence stays in one of
its parts, as the answer has it: a cut can neither lose nor change what the answer says.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from gigamind.evidence.align import align
from gigamind.evidence.result import Aligned
from gigamind.judges.asking import Asking
from gigamind.judges.search_qa.definition import SearchQAJudge
from gigamind.judges.search_qa.reply import PartsReply
from gigamind.judges.search_qa.segments.citations import (
    end_of_citations,
    with_citations_blank,
    without_citations,
)
from gigamind.judges.search_qa.segments.claims import claims_of
from gigamind.judges.search_qa.segments.lines import composed
from gigamind.judges.search_qa.segments.pieces import Piece, piece
from gigamind.llm.client import Message
from gigamind.spans import Span

_LEAST_WORDS = 2  # of a part: a single word states nothing that could be judged
_STOPS = " \t\n.,;:!?。，、！？…"
_BETWEEN_WORDS = re.compile(rf"\s|\[|$|[{re.escape(_STOPS)}\"'”’)」』]+(?:\s|\[|$)|[,;:，、](?!\d)")
_STOPS_BEHIND = re.compile(r"[.!?。！？…]*")
_AROUND = " \t\n,;·/–—-、，"


def cutting_calls(
    judge: SearchQAJudge, answer: str, pieces: Sequence[Piece]
) -> Iterator[tuple[list[Message], int]]:
    """What is sent to have the claims of an answer cut: each call with the number of its sentences."""
    if judge.cutting is None:
        return
    asked = [claim for claim in claims_of(pieces) if _may_state_two(claim.piece, answer)]
    size = judge.file.claims_per_call
    for start in range(0, len(asked), size):
        batch = asked[start : start + size]
        shown = [{"id": claim.id, "text": claim.piece.text} for claim in batch]
        yield (
            judge.cutting.render(sentences=json.dumps(shown, ensure_ascii=False)),
            len(batch),
        )


async def cut(
    judge: SearchQAJudge, answer: str, pieces: Sequence[Piece], asking: Asking
) -> tuple[Piece, ...]:
    """The pieces of an answer, those claims in parts that the model finds to be several; unchanged by other judges.

    Raises:
        LlmError: the model gave no usable reply.
    """
    told: dict[int, tuple[str, ...]] = {}
    for messages, sentences in cutting_calls(judge, answer, pieces):
        most = judge.file.tokens_for(sentences)
        reply = await asking.ask(
            messages, PartsReply, fingerprint=judge.fingerprint, max_tokens=most
        )
        told |= {one.id: one.parts for one in reply.sentences}
    return refined(answer, pieces, told)


def refined(
    answer: str, pieces: Sequence[Piece], told: Mapping[int, Sequence[str]]
) -> tuple[Piece, ...]:
    """The pieces, with the claims of these ids in the parts that a model told.

    A claim whose parts do not stand in it one behind the other stays whole, and is marked as `uncut`.
    """
    numbers = {claim.piece.span: claim.id for claim in claims_of(pieces)}
    found: list[Piece] = []
    for one in pieces:
        parts = told.get(numbers.get(one.span, 0), ()) if one.role != "other" else ()
        found += _in_parts(answer, one, parts) if len(parts) > 1 else (one,)
    return tuple(found)


def _may_state_two(one: Piece, answer: str) -> bool:
    """Whether a claim is prose of enough words; the text of a table's row has column names that are not there."""
    prose = one.text == without_citations(one.span.slice(answer))
    return prose and len(one.text.split()) >= 2 * _LEAST_WORDS


def _in_parts(answer: str, whole: Piece, parts: Sequence[str]) -> tuple[Piece, ...]:
    sentence = composed(whole.span.slice(answer))
    spans = _spans(sentence.text, parts) if _may_state_two(whole, answer) else ()
    places = [sentence.origin(one) for one in spans]
    cuts = [
        piece(answer, Span(whole.span.start + one.start, whole.span.start + one.end), whole.shape)
        for one in places
    ]
    if not cuts or any(len(one.text.split()) < _LEAST_WORDS for one in cuts):
        return (replace(whole, cut="uncut"),)
    return tuple(
        replace(one, cut="part", cited=one.cited or _cited_for(cuts, place))
        for place, one in enumerate(cuts)
    )


def _spans(sentence: str, parts: Sequence[str]) -> list[Span]:
    """The parts of a sentence, which leave out no word of it; none when they do not stand in it in this order.

    What stands between two of them belongs to the later one; a citation, to the one that it follows.
    """
    shown = with_citations_blank(sentence)  # as the model was shown it, at the same offsets
    ends = [0]
    for part in parts:
        place = align(part.rstrip(_STOPS), shown[ends[-1] :])
        if not isinstance(place, Aligned):
            return []
        end = ends[-1] + place.span.end
        if not _BETWEEN_WORDS.match(sentence, end):
            return []
        ends.append(_end_behind(sentence, end))
    ends[-1] = len(sentence)
    return [_trimmed(sentence, start, end) for start, end in pairwise(ends)]


def _end_behind(sentence: str, end: int) -> int:
    """Where the citations behind a part end; the part's own end where there are none."""
    stops = _STOPS_BEHIND.match(sentence, end)
    at = stops.end() if stops else end
    behind = end_of_citations(sentence, at)
    return behind if behind > at else end


def _trimmed(sentence: str, start: int, end: int) -> Span:
    text = sentence[start:end]
    start += len(text) - len(text.lstrip(_AROUND))
    return Span(start, max(start, start + len(sentence[start:end].rstrip())))


def _cited_for(parts: Sequence[Piece], place: int) -> tuple[int, ...]:
    """Of a part without citations, those of the next part that has some, else of the last before it."""
    others = (*parts[place + 1 :], *reversed(parts[:place]))
    return next((one.cited for one in others if one.cited), ())
