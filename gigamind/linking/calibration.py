"""What a score is worth in this vault: some of its own links are hidden, and it is seen which come back.

A vault is taken to lack a share `MISSING` of the links that it should have, and as many more are hidden.  Those that
are missing come back, too, and look wrong: where k links of a note are hidden and m are thought to be missing, a
suggestion that is a link of either kind with a chance π is one of the hidden with π k / (k + m).  π is a logistic
function of the score (Platt 1999), its numbers held near to the shipped ones, which decide alone where a vault has few
links.  With nothing hidden, its odds are lower by the share of the missing.  Equal vaults give equal numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gigamind.datasets.generate_links import NoteLink, removable_links, unlinked
from gigamind.vault.identity import Identities
from gigamind.vault.markdown import parse
from gigamind.vault.notes import Note, Vault

MISSING = 0.3  # what `generate-links` takes away
_AS_MANY = MISSING / (1 - MISSING)  # of the links that are left
# A vault without links lacks all of them, not a share (-ln MISSING), and has no habit to go by: what a person would
# accept counts, more than what others had linked (+1 for phrases that were read by eye, see benchmarks/README.md).
_NO_HABIT = 2.0
# A note that lacks the only link it had is not among those whose links can be hidden, and has fewer than these: in log
# odds, chosen on the vaults that the weights were fitted on.
_ONLY_ONES = 0.2
_NOTES = 100  # at most, whose links are hidden at once
_ENOUGH = 400  # suggestions; of a small vault links are drawn again,
_DRAWS = 8  # but so often at most
_PRIOR = 10.0  # suggestions that the shipped numbers are worth
_ROUNDS = 50  # of which about six are needed
_SETTLED, _LARGE, _LEAST_SPREAD, _LEAST_SLOPE = 1e-9, 30.0, 1e-6, 0.05

_Floats = npt.NDArray[np.float64]


class Scored(NamedTuple):
    """One suggestion: its log odds, whether it is a phrase rather than a name, and its target."""

    score: float
    is_phrase: bool
    target: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """Turns log odds into a confidence.

    Attributes:
        slope: above 0.
        offset: of names.
        phrase_offset: of phrases, which some vaults link and some do not.
        suggestions: by which the numbers were found; 0: the shipped ones.
    """

    slope: float = 1.0
    offset: float = 0.0
    phrase_offset: float = 0.0
    suggestions: int = 0

    def odds(self, score: float, *, is_phrase: bool) -> float:
        """Log odds of a link in this vault, by those of the shipped weights."""
        return self.slope * score + (self.phrase_offset if is_phrase else self.offset)


def calibrate(
    vault: Vault, identities: Identities, suggest: Callable[[Note], Sequence[Scored]]
) -> Calibration:
    """Find the numbers of a vault.

    Args:
        suggest: the best suggestions of a note, which is one of the vault without some of its links.
    """
    by_note: dict[str, list[NoteLink]] = {}
    for link in removable_links(vault, identities):
        by_note.setdefault(link.note.path, []).append(link)
    scored: list[Scored] = []
    hits: list[bool] = []
    shares: list[float] = []
    counts = np.zeros(2)
    for draw in range(_DRAWS):
        for links, left in _hidden(by_note, draw):
            targets = {link.target for link in links}
            found = suggest(_without(links))
            scored += found
            hits += [one.target in targets for one in found]
            shares += [len(links) / (len(links) + left * _AS_MANY)] * len(found)
            counts += (len(links), left * _AS_MANY)
        if len(scored) >= _ENOUGH:
            break
    if not scored:
        return Calibration(offset=_NO_HABIT, phrase_offset=_NO_HABIT)
    # Seen beside as many that are hidden, the missing are this share of all that are to be found.
    lower = float(np.log(counts[0] / counts.sum())) - _ONLY_ONES
    found = _platt(scored, np.array(hits, dtype=np.float64), np.array(shares))
    return replace(found, offset=found.offset + lower, phrase_offset=found.phrase_offset + lower)


def _hidden(
    by_note: Mapping[str, Sequence[NoteLink]], draw: int
) -> list[tuple[list[NoteLink], int]]:
    """The links that are hidden at once, by note, of a sample of the notes, with how many links each note has."""
    drawn = (
        ([one for one in links if _drawn(one, draw)], len(links)) for links in by_note.values()
    )
    losing = [(links, left) for links, left in drawn if links]
    return sorted(losing, key=lambda one: _digest(one[0][0].note.path))[:_NOTES]


def _drawn(link: NoteLink, draw: int) -> bool:
    drawn = _digest(f"{draw} {link.note.path}\0{link.link.span.start}")
    return int.from_bytes(drawn[:4], "big") < _AS_MANY * 2**32


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def _without(links: Sequence[NoteLink]) -> Note:
    note = links[0].note
    text, _ = unlinked(note.text, [link.link for link in links])
    return replace(note, text=text, document=parse(text))


def _platt(scored: Sequence[Scored], right: _Floats, shares: _Floats) -> Calibration:
    """The numbers of π under which the hits are likeliest, near to 1, 0 and 0.

    Args:
        right: 1 for each suggestion that is one of the hidden links, else 0; shape (len(scored),).
        shares: of the hidden among the links that its note lacks, in (0, 1).
    """
    scores = np.array([one.score for one in scored])
    phrases = np.array([float(one.is_phrase) for one in scored])
    center, spread = float(scores.mean()), float(scores.std()) + _LEAST_SPREAD
    columns = np.column_stack([(scores - center) / spread, np.ones(len(scores)), phrases])
    shipped = np.array([spread, center, 0.0])
    weights: _Floats = shipped.copy()

    def chances(at: _Floats) -> _Floats:
        return 1 / (1 + np.exp(-np.clip(columns @ at, -_LARGE, _LARGE)))

    def loss(at: _Floats) -> float:
        found = shares * chances(at)
        nats = right * np.log(found) + (1 - right) * np.log1p(-found)
        return float(-np.sum(nats) + _PRIOR / 8 * np.sum((at - shipped) ** 2))

    for _ in range(_ROUNDS):  # Fisher scoring
        chance = chances(weights)
        found = shares * chance
        slopes = found * (1 - chance)
        spreads = found * (1 - found)
        gradient = columns.T @ (slopes / spreads * (found - right)) + _PRIOR / 4 * (
            weights - shipped
        )
        curved = (columns * (slopes**2 / spreads)[:, None]).T @ columns
        solved = np.linalg.solve(curved + _PRIOR / 4 * np.eye(len(weights)), gradient)
        step = solved.astype(np.float64)
        while loss(weights - step) > loss(weights) and abs(step).max() > _SETTLED:
            step /= 2  # a whole step may lead too far
        weights = weights - step
        if abs(step).max() < _SETTLED:
            break
    # A vault whose links contradict the shipped order does not turn it round.
    slope = max(float(weights[0] / spread), _LEAST_SLOPE)
    offset = float(weights[1] - slope * center)
    return Calibration(slope, offset, offset + float(weights[2]), len(scored))
