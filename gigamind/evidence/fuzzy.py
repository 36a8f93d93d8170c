"""Where in a long text a quote fits with the fewest edits, and which of the windows there is meant.

Shared grams tell where it is worth looking, or rapidfuzz where those say little.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rapidfuzz import process
from rapidfuzz.distance import LCSseq, Levenshtein

from gigamind.evidence.bitvector import nearest_ends, starts
from gigamind.evidence.normalize import Folding
from gigamind.spans import Span

_EPSILON = 1e-9  # so that 4 edits of 20 are 0.80, and not 0.7999...
# Ends whose windows are measured; natural text has a handful, a text like "abababab..." one every other character.
_MAX_ENDS = 256
_LONG = 4  # quotes: what is shorter has no stretch to leave out
_FEW = (
    2  # what shares enough is less than one part in so many of the text, or it is sought by blocks
)


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch `[start, end)` of the normalised text.

    Attributes:
        distance: edits between the quote and the stretch.
        similarity: 1 - distance / the longer of the two lengths, in [0, 1].
        word_edges: how many of its ends, 0 to 2, neither cut a word nor are white space.
    """

    start: int
    end: int
    distance: int
    similarity: float
    word_edges: int


def reaches(similarity: float, threshold: float) -> bool:
    """Whether a similarity meets a threshold, forgiving the last bits of the division."""
    return similarity >= threshold - _EPSILON


def search(quote: str, source: Folding, threshold: float, accepted: float) -> list[Window]:
    """The best window of each place with the fewest edits, best place first; none when none reaches `threshold`.

    Best means `accepted` reached, then the fewest edits, then whole words, then the greatest similarity, then the
    length nearest to the quote's, then leftmost; an end that cuts no word makes up for one edit.  Of the orders
    measured that was the most exact: both bounds right at 5, 10, 15 % edits in 0.995, 0.985, 0.990 of 200 quotes each
    of benchmarks/evidence.py; with similarity before whole words in 0.960, 0.925, 0.885.
    """
    limit = int((1 - threshold) * len(quote) / threshold + _EPSILON)
    distance, ends = ends_in(quote, source, limit)

    def rank(window: Window) -> tuple[bool, int, int, float, int, int]:
        refused = not reaches(window.similarity, accepted)
        off = abs(window.end - window.start - len(quote))
        cost = window.distance - window.word_edges
        return refused, cost, -window.word_edges, -window.similarity, off, window.start

    best: list[Window] = []
    for place in _places(ends[:_MAX_ENDS], len(quote)):
        windows = (
            _window(quote, source, start, end)
            for stop in place
            for first in starts(quote, source.text, stop, distance)
            for start in _with_rest_of_word(source.text, first, -1)
            for end in _with_rest_of_word(source.text, stop, 1)
        )
        best.append(min(windows, key=rank))
    return sorted((window for window in best if reaches(window.similarity, threshold)), key=rank)


def ends_in(quote: str, source: Folding, limit: int) -> tuple[int, list[int]]:
    """The fewest edits, at most `limit`, with which the quote fits anywhere in `source`, and every end where it does.

    As `best_ends` of the whole text, which takes a microsecond a character.
    """
    return _by_grams(quote, source, limit) or _by_blocks(quote, source.text, limit)


def _by_grams(quote: str, source: Folding, limit: int) -> tuple[int, list[int]] | None:
    """The same where few stretches share enough with the quote, None elsewhere."""
    text = source.text
    if len(text) < _LONG * len(quote):
        return None
    shared = source.grams.shared(quote)
    likeliest = Span(*shared.likeliest())
    best, inside = nearest_ends(quote, likeliest.slice(text), limit)
    enough = shared.enough(best) if inside else None
    if enough is None:
        return None
    stretches = [Span(*stretch) for stretch in enough]
    if sum(map(len, stretches)) * _FEW > len(text):
        return None
    ends = {likeliest.start + end for end in inside}
    for stretch in stretches:
        for part, before, behind in _outside(stretch, likeliest, len(quote) + best):
            inner = part.slice(text)
            if LCSseq.similarity(quote, inner, score_cutoff=len(quote) - best):
                distance, inside = nearest_ends(quote, inner, best, before=before, behind=behind)
                if inside and distance < best:
                    ends.clear()
                best = distance
                ends.update(part.start + end for end in inside)
    return best, sorted(ends)


def _outside(
    stretch: Span, searched: Span, width: int
) -> Iterator[tuple[Span, int | None, int | None]]:
    """Where in a stretch the windows of at most `width` lie that do not lie in what is searched already.

    Beside each part: how many characters such a window leaves out before it and behind it at most.
    """
    if stretch.start < searched.start:
        end = min(stretch.end, searched.start + width)
        yield Span(stretch.start, end), searched.start - stretch.start - 1, None
    if searched.end < stretch.end:
        start = max(stretch.start, searched.end - width)
        yield Span(start, stretch.end), None, stretch.end - searched.end - 1


def _by_blocks(quote: str, text: str, limit: int) -> tuple[int, list[int]]:
    """The same, sought in all blocks that share enough characters in order with the quote."""
    step = 2 * len(
        quote
    )  # fewer overlap more; longer ones leave more to search: 0.86 of the time of one length
    width = len(quote) + limit + step  # a window that starts in one step ends within the block
    # Each distinct block is searched once: a million "㈜" have three, with many starts each.
    blocks: dict[str, list[int]] = {}
    for start in range(0, max(1, len(text)), step):
        blocks.setdefault(text[start : start + width], []).append(start)
    shared = process.extract(
        quote, list(blocks), scorer=LCSseq.similarity, score_cutoff=len(quote) - limit, limit=None
    )
    if len(shared) * width > len(text) + width:
        return nearest_ends(quote, text, limit)
    best, ends = limit, set[int]()
    for block, common, _ in shared:  # most in common first
        if len(quote) - common > best:
            break
        distance, inside = nearest_ends(quote, block, best)
        if inside and distance < best:
            ends.clear()
        best = distance
        ends.update(start + end for start in blocks[block] for end in inside)
    return best, sorted(ends)


def _places(ends: list[int], length: int) -> Iterator[list[int]]:
    """Ends that belong to one place: those of a place lie less than a quote's length apart."""
    place: list[int] = []
    for end in ends:
        if place and end - place[0] >= length:
            yield place
            place = []
        place.append(end)
    if place:
        yield place


def _window(quote: str, source: Folding, start: int, end: int) -> Window:
    """A window widened to whole characters of the original, and measured anew."""
    while not source.is_edge(start):
        start -= 1
    while not source.is_edge(end):
        end += 1
    text = source.text
    distance = Levenshtein.distance(quote, text[start:end])
    similarity = 1 - distance / max(len(quote), end - start)
    edges = _is_word_edge(text, start, start) + _is_word_edge(text, end, end - 1)
    return Window(start, end, distance, similarity, edges)


def _is_word_edge(text: str, offset: int, outermost: int) -> bool:
    """Whether a window whose outermost character this is ends well at `offset`: not in a word, not with a space."""
    if text[outermost] == " ":
        return False
    return not _cuts_word(text, offset)


def _with_rest_of_word(text: str, offset: int, step: int) -> tuple[int, ...]:
    """`offset`, and the offset one character further out where it cuts a word that ends there.

    An edit of a quote's first or last character would otherwise leave that character out of the span: both bounds are
    then right in 0.960, 0.925, 0.905 of the quotes that `search` names.
    """
    if _cuts_word(text, offset) and not _cuts_word(text, offset + step):
        return offset, offset + step
    return (offset,)


def _cuts_word(text: str, offset: int) -> bool:
    return 0 < offset < len(text) and text[offset - 1].isalnum() and text[offset].isalnum()
