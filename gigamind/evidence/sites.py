"""Finds the places of a quote and chooses among them. Spans are in code points of the source."""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice, takewhile

from gigamind.evidence.normalize import Folding, is_boundary, visible
from gigamind.evidence.result import Quote
from gigamind.spans import Span

_MAX_SITES = 10_000


def exact_sites(quote: str, text: str) -> list[Span]:
    """Return the places, also overlapping ones, where `quote` occurs verbatim; at most 10 000."""
    sites = (
        Span(start, start + len(quote))
        for start in _occurrences(quote, text)
        if is_boundary(text, start) and is_boundary(text, start + len(quote))
    )
    return list(islice(sites, _MAX_SITES))


def folded_sites(quote: str, source: Folding) -> list[Span]:
    """Return the places of whole characters whose folded text is `quote`; at most 10 000."""
    sites = (
        source.span(start, start + len(quote))
        for start in _occurrences(quote, source.text)
        if source.is_edge(start) and source.is_edge(start + len(quote))
    )
    return list(islice(sites, _MAX_SITES))


def choose(
    sites: Sequence[Span], text: str, quote: Quote, used: Collection[Span] = ()
) -> tuple[Span, bool]:
    """Return the best of one or more places, and whether no context selects it among several.

    `used` are places that the same entry quotes.

    Prefers unused places, then those whose surroundings agree best, then the closest to the hint, then the first.
    """
    unused = [site for site in sites if site not in used] or list(sites)
    agreements = [_agreement(site, text, quote) for site in unused]
    best = max(agreements)
    agreeing = [site for site, score in zip(unused, agreements, strict=True) if score == best]
    ambiguous = len(sites) > 1 and not (best > 0 and len(agreeing) == 1)
    hint = quote.hint
    if hint is None:
        return agreeing[0], ambiguous
    return min(agreeing, key=lambda site: abs(site.start - hint)), ambiguous


def _occurrences(needle: str, text: str) -> Iterator[int]:
    start = text.find(needle)
    while start >= 0:
        yield start
        start = text.find(needle, start + 1)


def _agreement(site: Span, text: str, quote: Quote) -> int:
    score = 0
    if quote.prefix:
        before = text[max(0, site.start - 2 * len(quote.prefix)) : site.start]
        score += _common_head(_visible(quote.prefix)[::-1], _visible(before)[::-1])
    if quote.suffix:
        after = text[site.end : site.end + 2 * len(quote.suffix)]
        score += _common_head(_visible(quote.suffix), _visible(after))
    return score


def _visible(text: str) -> str:
    return visible(text).text.strip()


def _common_head(wanted: str, actual: str) -> int:
    pairs = zip(wanted, actual, strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return common if 2 * common >= len(wanted) else 0
