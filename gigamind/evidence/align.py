"""Locates a quote: verbatim, then at each level of normalisation, then by edit distance.

Every span is checked against its quote before it is returned.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import takewhile
from typing import Literal, NamedTuple, Self

from rapidfuzz.distance import Levenshtein

from gigamind.checksum import text_hash
from gigamind.errors import EvaluationError, InputError
from gigamind.evidence import critical, fuzzy
from gigamind.evidence.normalize import (
    Folding,
    foldings_of_quote,
    is_boundary,
    spaceless_text,
)
from gigamind.evidence.proof import why_unproven
from gigamind.evidence.result import (
    Aligned,
    Alignment,
    AlignResult,
    Failed,
    Level,
    Method,
    NearMiss,
    Quote,
    TextQuoteSelector,
)
from gigamind.evidence.schema import DEFAULT, AlignConfig
from gigamind.evidence.stated import why_unstated
from gigamind.spans import Span

_NormalLevel = Literal["N1", "N2", "N3"]


class Source:
    """One message or one note. A match never spans two sources. Raises InputError if the text exceeds the limit."""

    def __init__(self, text: str, *, max_chars: int = DEFAULT.max_source_chars) -> None:
        if len(text) > max_chars:
            raise InputError(
                "The source text has {n:,} characters; the limit (max_source_chars) is {limit:,}. Split the text.",
                n=len(text),
                limit=max_chars,
            )
        self.text = text

    @cached_property
    def sha256(self) -> str:
        """The hash of the text, as `text_hash`; the offsets of a result are valid for this text only."""
        return text_hash(self.text)

    @cached_property
    def unglossed(self) -> Folding:
        """N2 without the contents of brackets; N2 itself if there are none."""
        return self._n2.unglossed()

    def level(self, name: _NormalLevel) -> Folding:
        if name == "N1":
            return self._n1
        return self._n2 if name == "N2" else self._n3

    @cached_property
    def _n1(self) -> Folding:
        return Folding.visible(self.text)

    @cached_property
    def _n2(self) -> Folding:
        return Folding.unmarked(self.text, self._n1, is_quote=False)

    @cached_property
    def spaceless(self) -> str:
        """The text of N3."""
        return spaceless_text(self._n2.text)

    @cached_property
    def _n3(self) -> Folding:
        return self._n2.spaceless()


_MAX_SITES = 10_000


def exact_sites(quote: str, text: str) -> list[Span]:
    """Return the places, also overlapping ones, where `quote` occurs verbatim; at most 10 000."""
    starts = _occurrences(quote, text, partial(is_boundary, text))
    return [Span(start, start + len(quote)) for start in starts]


def _folded_sites(quote: str, source: Folding) -> list[Span]:
    """Return the places of whole characters whose folded text is `quote`; at most 10 000."""
    starts = _occurrences(quote, source.text, source.is_edge)
    return [source.span(start, start + len(quote)) for start in starts]


def _choose(
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


def _occurrences(needle: str, text: str, is_edge: Callable[[int], bool]) -> Iterator[int]:
    found, start = 0, text.find(needle)
    while start >= 0 and found < _MAX_SITES:
        if is_edge(start) and is_edge(start + len(needle)):
            found += 1
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
    return Folding.visible(text).text.strip()


def _common_head(wanted: str, actual: str) -> int:
    pairs = zip(wanted, actual, strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return common if 2 * common >= len(wanted) else 0


_MARKS = ('"', "'", "..", "[...]")
_MARK = r"""(?:["'\s]|\.{2,}+|\[\.{3}\])"""
_OUTER_MARKS = re.compile(rf"^{_MARK}+|(?<![\s.\"'\]]){_MARK}+$")


class _Forms(NamedTuple):
    """The normalised texts of one quote, without white space at their ends; each may be empty."""

    n1: str
    n2: str
    n3: str

    @classmethod
    def of(cls, quote: str) -> Self:
        n1, n2, _n3 = foldings_of_quote(quote)
        return cls(n1.text.strip(), n2.text.strip(), spaceless_text(n2.text))

    def at(self, level: _NormalLevel) -> str:
        return self[_NORMAL_LEVELS.index(level)]

    def bare(self) -> "_Forms":
        """Return the texts without enclosing quotation marks and ellipses, which models like to add."""
        marked = any(text.startswith(_MARKS) or text.endswith(_MARKS) for text in self)
        return _Forms(*(_OUTER_MARKS.sub("", text) for text in self)) if marked else self


_NORMAL_LEVELS: tuple[_NormalLevel, ...] = ("N1", "N2", "N3")
_FUZZY_LEVELS: tuple[_NormalLevel, ...] = ("N1", "N2")
_NORMALIZED_CONFIDENCE = 0.99
_ELLIPSIS = re.compile(r"(?:(?<!\s)\s++)?(?:\.{2,}+|[\[(](?:\.{3}|중략|생략)[\])])\s*+")
_MIN_PIECE = 6  # characters on either side of an ellipsis
_MAX_GAP = 300  # most characters that an ellipsis may replace
_MAX_PASSAGES = 100


@dataclass(frozen=True, slots=True)
class _Match:
    """Equally good places of a quote, best first, and the form of the quote that matches there."""

    method: Method
    level: Level
    sites: list[Span]
    form: str
    distance: int = 0
    similarity: float = 1.0
    abridged: bool = False


def align(
    quote: str,
    source: str | Source,
    *,
    prefix: str = "",
    suffix: str = "",
    hint: int | None = None,
    used: Collection[Span] = (),
    config: AlignConfig = DEFAULT,
) -> Alignment:
    """Locate one quote in one source, if possible not at places that are `used` by other quotes.

    Raises:
        InputError: the source is longer than `config.max_source_chars`.
    """
    if isinstance(source, str):
        source = Source(source, max_chars=config.max_source_chars)
    wanted = Quote(quote, prefix=prefix, suffix=suffix, hint=hint)
    return _locate(wanted, source, used, config)


def align_all(
    quotes: Iterable[Quote], sources: Sequence[str], *, config: AlignConfig = DEFAULT
) -> AlignResult:
    """Locate every quote in its source. Quotes of one entry take different places of a source if there are any.

    Raises:
        InputError: a source is longer than `config.max_source_chars`.
    """
    distinct = {text: Source(text, max_chars=config.max_source_chars) for text in sources}
    used: dict[tuple[str, int], set[Span]] = {}
    outcomes: list[Alignment] = []
    for quote in quotes:
        if not 0 <= quote.source_index < len(sources):
            outcomes.append(Failed(quote, None, "source_index_out_of_range"))
            continue
        taken = used.setdefault((quote.entry_id, quote.source_index), set())
        outcome = _locate(quote, distinct[sources[quote.source_index]], taken, config)
        if quote.entry_id and isinstance(outcome, Aligned):
            taken.add(outcome.span)
        outcomes.append(outcome)
    return AlignResult(tuple(outcomes))


def _locate(quote: Quote, source: Source, used: Collection[Span], config: AlignConfig) -> Alignment:
    forms = _Forms.of(quote.text[: config.max_quote_chars])
    if not any(char.isalnum() for char in forms.n1):
        return Failed(quote, source.sha256, "empty_quote")
    if len(quote.text) > config.max_quote_chars:
        return Failed(quote, source.sha256, "quote_too_long")
    sites = exact_sites(quote.text, source.text)
    match = _Match("exact", "raw", sites, quote.text) if sites else None
    match = match or _normalized(forms, source, config)
    if match is None:
        if not config.fuzzy:
            return Failed(quote, source.sha256, "fuzzy_disabled")
        if len(forms.n1) < config.min_fuzzy_chars:
            return Failed(quote, source.sha256, "quote_too_short_for_fuzzy")
        match = _fuzzy(forms, source, config)
        if match is None or not fuzzy.reaches(match.similarity, config.fuzzy_threshold):
            match = _abridged(forms, source) or match
    abridged = match is not None and match.abridged
    if match is None or not (abridged or fuzzy.reaches(match.similarity, config.fuzzy_threshold)):
        near_miss = match and NearMiss(match.sites[0], match.similarity)
        return Failed(quote, source.sha256, "below_threshold", near_miss)
    return _aligned(quote, source, match, used, config)


def _normalized(forms: _Forms, source: Source, config: AlignConfig) -> _Match | None:
    """Return the first level that matches, with the quote's outer marks, then without them."""
    for variant in dict.fromkeys((forms, forms.bare())):
        for level in _NORMAL_LEVELS:
            form = variant.at(level)
            if not form or (level == "N3" and len(form) < config.min_spaceless_chars):
                continue
            if level == "N2" and _is_n1(variant, source):
                continue
            # A quote as a reader sees it may have signs that would be markers in the source.
            for own in dict.fromkeys((form, variant.n1) if level == "N2" else (form,)):
                # Perhaps inside a unit; this avoids building N3 in vain.
                if own not in (source.spaceless if level == "N3" else source.level(level).text):
                    continue
                if sites := _folded_sites(own, source.level(level)):
                    return _Match("normalized", level, sites, own)
    return None


def _is_n1(forms: _Forms, source: Source) -> bool:
    return forms.n1 == forms.n2 and source.level("N2") is source.level("N1")


def _fuzzy(forms: _Forms, source: Source, config: AlignConfig) -> _Match | None:
    """Return the most similar match of both levels; omits outer marks only if the match is refused with them."""
    best: _Match | None = None
    for variant in dict.fromkeys((forms, forms.bare())):
        if best is not None and fuzzy.reaches(best.similarity, config.fuzzy_threshold):
            break
        levels = ("N1",) if _is_n1(variant, source) else _FUZZY_LEVELS
        for level in levels:
            match = _most_similar(variant.at(level), source, level, config)
            if match and (best is None or match.similarity > best.similarity):
                best = match
    return best


def _abridged(forms: _Forms, source: Source) -> _Match | None:
    """Return the shortest passage that has the quote's words, apart from those that "..." or brackets replace."""
    form = forms.bare().n2
    pieces = _ELLIPSIS.split(form)
    if min(map(len, pieces)) < _MIN_PIECE:
        return None
    for folding in (source.level("N2"), source.unglossed):
        if passages := list(_passages(pieces, folding)):
            start, end = min(passages, key=lambda passage: passage[1] - passage[0])
            span = folding.span(start, end)
            whole = source.level("N2").under(span)
            distance = Levenshtein.distance(form, whole)
            similarity = 1 - distance / max(len(form), len(whole))
            return _Match("fuzzy", "N2", [span], form, distance, similarity, abridged=True)
    return None


def _passages(pieces: Sequence[str], source: Folding) -> Iterator[tuple[int, int]]:
    """Yield the spans that hold all pieces in order, each within reach of the previous one."""
    start = source.text.find(pieces[0])
    for _attempt in range(_MAX_PASSAGES):
        if start < 0:
            return
        end = start + len(pieces[0])
        for piece in pieces[1:]:
            at = source.text.find(piece, end, end + _MAX_GAP + len(piece))
            end = at + len(piece) if at >= 0 else -1
            if end < 0:
                break
        if end > 0 and source.is_edge(start) and source.is_edge(end):
            yield start, end
        start = source.text.find(pieces[0], start + 1)


def _most_similar(
    form: str, source: Source, level: _NormalLevel, config: AlignConfig
) -> _Match | None:
    if len(form) < config.min_fuzzy_chars:
        return None
    folding = source.level(level)
    windows = fuzzy.search(form, folding, config.search_threshold, config.fuzzy_threshold)
    if not windows:
        return None
    best = windows[0]
    equal = [w for w in windows if (w.distance, w.similarity) == (best.distance, best.similarity)]
    sites = [folding.span(window.start, window.end) for window in equal]
    return _Match("fuzzy", level, sites, form, best.distance, best.similarity)


def _aligned(
    quote: Quote, source: Source, match: _Match, used: Collection[Span], config: AlignConfig
) -> Aligned:
    proving = [site for site in match.sites if not why_unstated(source.text, site)]
    span, ambiguous = _choose(proving or match.sites, source.text, quote, used)
    matched = _checked(span, match, source)
    changes = critical.differences(match.form, matched) if match.method == "fuzzy" else ()
    is_fuzzy = match.method == "fuzzy"
    unproven = why_unproven(quote.text, span, source.text, fuzzy=is_fuzzy)
    long_enough = not is_fuzzy or len(match.form) >= config.min_promotable_chars
    return Aligned(
        quote=quote,
        source_sha256=source.sha256,
        span=span,
        method=match.method,
        level=match.level,
        confidence=_NORMALIZED_CONFIDENCE if match.method == "normalized" else match.similarity,
        occurrences=len(match.sites),
        ambiguous=ambiguous,
        critical=changes,
        unproven=unproven,
        promotable=long_enough and unproven is None,
        selector=TextQuoteSelector.of(span, source.text),
    )


def _checked(span: Span, match: _Match, source: Source) -> str:
    """Return the source under `span` at the level of the match; raises if the edit distance is another."""
    level = match.level
    matched = span.slice(source.text) if level == "raw" else source.level(level).under(span)
    inside = 0 <= span.start < span.end <= len(source.text)
    if not inside or Levenshtein.distance(match.form, matched) != match.distance:
        raise EvaluationError(
            "Internal error: characters {start} to {end} of the source do not match the quote {quote!r}.",
            start=span.start,
            end=span.end,
            quote=match.form,
        )
    return matched
