"""Whether a claim copies a sentence word for word but for one that it puts in the place of another.

Sentences that differ by an opposite, a role, a unit, a number word or a name share nearly all their words, so no share
of words tells them apart; the place does, and no list says which words are opposites.  It costs honest answers that
copy a sentence with a synonym in it: the bounds were chosen so that few do (benchmarks/README.md).
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from gigamind.evidence.words import ELLIPSIS, Word, is_typo
from gigamind.judges.search_qa.reading import (
    Change,
    Reading,
    is_bound_otherwise,
    is_content,
    is_other_word,
    key_of,
)

# Of the longer of a claim and what it copies, from which it is a copy: with several differences, and with one alone.
_COPIED, _COPIED_BUT_ONCE = 0.85, 0.6
_JOINING = frozenset(("and", "or", "with", "및", "와", "과", "또는", "그리고"))


@dataclass(frozen=True, slots=True)
class Substitution:
    """Words of a claim as it has them, and those of its source that stand in their place."""

    ours: str
    theirs: str


def substitution(says: Reading, source: Reading) -> Substitution | None:
    """The first word that stands in the place of another in an otherwise copied sentence; None where none does."""
    gaps = list(_gaps(says, source))
    equal = len(says.keys) - sum(len(gap.ours) for gap in gaps)
    whole = equal + sum(max(len(gap.ours), len(gap.theirs)) for gap in gaps)
    if equal < (_COPIED if len(gaps) > 1 else _COPIED_BUT_ONCE) * whole:
        return None
    exchanged = _exchanged(gaps, says)
    replaced = (gap for gap in gaps if gap.ours and gap.theirs)
    others = (gap for gap in replaced if _is_other(gap, says, source, exchanged))
    return next((Substitution(*gap.texts) for gap in others), None)


def _gaps(says: Reading, source: Reading) -> Iterator[Change]:
    """What differs, in order; of the source's words before and behind the claim's as many as stand in their place."""
    ours: list[Word] = []
    theirs: list[Word] = []
    begun = False
    for code in Levenshtein.opcodes(says.keys, source.keys):
        here = says.words[code.src_start : code.src_end]
        there = source.words[code.dest_start : code.dest_end]
        if code.tag != "equal":
            ours += here
            theirs += there
            continue
        if not begun:
            theirs = theirs[len(theirs) - len(ours) :] if ours else []
        if ours or theirs:
            yield Change(ours, theirs)
        pairs = zip(here, there, strict=True)
        yield from (Change([one], [other]) for one, other in pairs if is_other_word(one, other))
        ours, theirs, begun = [], [], True
    if ours:
        yield Change(ours, theirs[: len(ours)])


def _is_other(gap: Change, says: Reading, source: Reading, exchanged: Collection[str]) -> bool:
    """Whether a content word of the source is gone, and another stands in its place; or a bound, such as all or some.

    The other may stand elsewhere in the source: "the installer" for "the owner", where both are spoken of.
    """
    if len(gap.ours) != 1 or len(gap.theirs) != 1:  # several are said in other words
        return False
    one, other = gap.ours[0], gap.theirs[0]
    if one.is_number or other.is_number or ELLIPSIS in one.text:  # digits are compared by `numbers`
        return False
    if is_bound_otherwise(one.whole, other.whole):
        return True
    # A Korean predicate at the end is often said in other words: 4 of 7 honest pairs that this cost in half of KorNLI.
    if says.is_korean and one is says.words[-1]:
        return False
    here, there = key_of(one.text), key_of(other.text)
    is_gone = there in exchanged or says.keys.count(there) < source.keys.count(there)
    return (
        is_content(here) and is_content(there) and is_gone and not is_typo(one, other, frozenset())
    )


def _exchanged(gaps: Sequence[Change], says: Reading) -> frozenset[str]:
    """Words that have changed places, but for such as only are listed in another order."""
    ours = {key_of(word.text) for gap in gaps for word in gap.ours}
    both = ours & {key_of(word.text) for gap in gaps for word in gap.theirs}
    places = [at for at, key in enumerate(says.keys) if key in both]
    listed = places and _JOINING & {*says.keys[places[0] : places[-1]]}
    return frozenset() if listed else frozenset(both)
