"""How a vault links, and what a score is worth in it: some of its links are hidden, and it is seen which come back.

A vault is taken to lack a share `MISSING` of the links that it should have, and as many more are hidden.  Those that
are missing come back, too, and look wrong: where k links of a note are hidden and m are thought to be missing, a
suggestion that is a link of either kind with a chance π is one of the hidden with π k / (k + m).  π is a logistic
function of the features, its weights held near to the shipped ones, which decide alone where a vault has few links.
What the sum is worth among the best of a note, which are looked at, is fitted once more, as a curve.  With nothing
hidden, its odds are lower by the share of the missing.  Equal vaults give equal numbers.

Names and phrases have weights and numbers of their own: vaults that link every name they say link phrases seldom, and
how much a score of phrases tells differs more by vault than that of names.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cache
from hashlib import sha256
from math import log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gigamind.datasets.generate_links import NoteLink, removable_links, unlinked
from gigamind.linking.features import Candidate, Features, MeantFeatures, NamedFeatures
from gigamind.linking.ranking import Models, Shipped, Weights, load_weights, terms
from gigamind.vault.identity import Identities
from gigamind.vault.markdown import parse
from gigamind.vault.notes import Note, Vault

MISSING = 0.3  # what `generate-links` takes away
_AS_MANY = MISSING / (1 - MISSING)  # of the links that are left
# A vault without links lacks all of them, not a share (-ln MISSING), and has no habit to go by: what a person would
# accept counts, more than what others had linked (+1 for phrases that were read by eye, see benchmarks/README.md).
_NO_HABIT = 2.0
# There a phrase means one of all notes, and the more there are, the more are near to it by chance.  As many as in the
# seed's example, which wants its phrases shown, cost it nothing.
_FEW_NOTES = 6
# Nor does a high score of a phrase say there what it says elsewhere: in the vaults that the weights were fitted on, all
# of their links hidden, 2 of 42 phrases told .5 and more were links, and 33 of 190 told .1 to .5.  The steepness at
# which these are likeliest; without one project or another it was .1 to .3.
_LIKELY_PHRASE = 0.25
# Hidden links come back more easily than those that are missing: what the vault tells of names, cues and neighbours was
# told with them.  In log odds, chosen on the vaults that the weights were fitted on.
_EASIER = 0.3
_NOTES = 100  # at most, whose links are hidden at once
_ENOUGH = 400  # suggestions; of a small vault links are drawn again,
_DRAWS = 8  # but so often at most
_PRIOR = 10.0  # suggestions that the shipped numbers are worth
# What a weight may stray from the shipped one by, as the share of a term's usual spread that tells: one over the root
# of this.  Chosen on the vaults that the weights were fitted on, each left out of them in turn.
_HELD, _BIAS_HELD, _LEAST_SPREAD_OF_TERM = 30.0, 0.3, 0.01
_ROUNDS = 50  # of which about six are needed
_SETTLED, _LARGE, _LEAST_SPREAD, _LEAST_SLOPE = 1e-9, 30.0, 0.1, 0.05

_Floats = npt.NDArray[np.float64]


class Scored(NamedTuple):
    """One suggestion: its log odds, and its target."""

    score: float
    target: str


@dataclass(frozen=True, slots=True)
class Curve:
    """Turns log odds by the weights into those in a vault: low · ln p - high · ln(1 - p) + offset (Kull 2017).

    Attributes:
        low: steepness where a link is unlikely, above 0.
        high: where it is likely; a line where both are the same.
    """

    low: float = 1.0
    high: float = 1.0
    offset: float = 0.0

    def toward(self, other: "Curve", share: float) -> "Curve":
        """This one at a share of 0, the other at 1."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Curve(*(own + share * (its - own) for own, its in pairs))

    def __call__(self, score: float) -> float:
        unlikely, likely = _bends(score)
        return self.low * float(unlikely) + self.high * float(likely) + self.offset


def _bends(scores: "_Floats | float") -> "tuple[_Floats, _Floats]":
    """Ln p and -ln(1 - p) of log odds."""
    return -np.logaddexp(0.0, np.negative(scores)), np.logaddexp(0.0, scores)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Turns log odds into a confidence.

    Attributes:
        suggestions: names by which the numbers were found; 0: the shipped ones.
    """

    names: Curve = Curve()
    phrases: Curve = Curve()
    suggestions: int = 0

    @property
    def is_of_other_vaults(self) -> bool:
        """Whether this vault's own links say less than the shipped numbers do."""
        return self.suggestions < _PRIOR

    def odds(self, score: float, *, is_phrase: bool) -> float:
        """Log odds of a link in this vault, by the sum of its weights."""
        return (self.phrases if is_phrase else self.names)(score)


@dataclass(frozen=True, slots=True)
class Habits:
    """How a vault links: its weights, and what their sum is worth."""

    models: Models
    calibration: Calibration = Calibration()

    def score(self, features: Features) -> float:
        """Log odds by the weights."""
        return self.models.of(features).score(features)

    def odds(self, features: Features) -> float:
        """Log odds of a link in this vault."""
        is_phrase = isinstance(features, MeantFeatures)
        return self.calibration.odds(self.score(features), is_phrase=is_phrase)


class Hidden(NamedTuple):
    """A note without some of its links: their targets, how many are hidden, and how many are missing besides."""

    note: Note
    targets: frozenset[str]
    links: int
    missing: float

    @property
    def share(self) -> float:
        """Of the hidden among the links that the note is thought to lack, in (0, 1]."""
        return self.links / (self.links + self.missing)


Draws = Callable[[int], Sequence[Hidden]]
"""Notes without some of their links, others at each number."""


def hidden_links(vault: Vault, identities: Identities) -> Draws:
    """Each draw is made once."""
    by_note: dict[str, list[NoteLink]] = {}
    for link in removable_links(vault, identities):
        by_note.setdefault(link.note.path, []).append(link)

    # Of notes with j links those that are missing are (j + 1) n(j + 1) / n(j) times _AS_MANY, n(j) being the number of
    # such notes, for each link is missing by chance (Robbins 1956): in all notes with a link as many as all their links
    # are times _AS_MANY, but for the links of notes with one.
    counts = [len(links) for links in by_note.values()]
    missing = _AS_MANY * (1 - counts.count(1) / max(1, sum(counts)))

    @cache
    def draw(number: int) -> list[Hidden]:
        return _hidden(by_note, missing, number)

    return draw


def fit_models(hidden: Draws, places: Callable[[Note], Iterable[Sequence[Candidate]]]) -> Models:
    """The weights of a vault.

    Args:
        places: what the places of a note may mean.
    """
    shipped = load_weights()
    examples: dict[type[Features], list[tuple[Features, float, bool]]] = {
        NamedFeatures: [],
        MeantFeatures: [],
    }
    notes = draw = 0
    for draw in range(_DRAWS):
        for note in hidden(draw):
            notes += 1
            for candidate in _likeliest(places(note.note), shipped):
                features, is_hidden = candidate.features, candidate.target in note.targets
                examples[type(features)].append((features, note.share, is_hidden))
        if notes >= _NOTES:
            break
    return Models(
        names=_fitted(examples[NamedFeatures], shipped.names, draw + 1),
        phrases=_fitted(examples[MeantFeatures], shipped.phrases, draw + 1),
    )


def _likeliest(places: Iterable[Sequence[Candidate]], models: Models) -> Iterable[Candidate]:
    """Of each target the likeliest place; one that is named is meant by no phrase."""
    best: dict[str, tuple[tuple[bool, float], Candidate]] = {}
    for place in places:
        for candidate in place:
            features = candidate.features
            order = not isinstance(features, MeantFeatures), models.of(features).score(features)
            if candidate.target not in best or order > best[candidate.target][0]:
                best[candidate.target] = order, candidate
    return [candidate for _, candidate in best.values()]


def _fitted(
    examples: Sequence[tuple[Features, float, bool]], shipped: Shipped, draws: int
) -> Weights:
    """The weights of one kind; what was drawn again says nothing new, but is said as often.

    No weight is negative: more of a feature never makes a link less likely.
    """
    if not examples:
        return shipped
    names = list(shipped.weights)
    rows = [terms(features) for features, _, _ in examples]
    columns = np.array([[*(row[name] for name in names), 1.0] for row in rows])
    prior = np.array([*shipped.weights.values(), shipped.bias])
    spreads = np.array([max(_LEAST_SPREAD_OF_TERM, shipped.spreads[name]) for name in names])
    found = _most_likely(
        columns,
        np.array([is_hidden for _, _, is_hidden in examples], dtype=np.float64),
        np.array([share for _, share, _ in examples]),
        prior,
        draws * np.array([*(_HELD * spreads**2), _BIAS_HELD]),
    )
    weights = [max(0.0, weight) for weight in found[:-1].tolist()]
    return Weights(bias=float(found[-1]), weights=dict(zip(names, weights, strict=True)))


def calibrate(
    hidden: Draws,
    names: Callable[[Note], Sequence[Scored]],
    phrases: Callable[[Note, Calibration], Sequence[Scored]] | None = None,
    *,
    notes: int = 0,
) -> Calibration:
    """Find what scores are worth in a vault.

    Args:
        names: the best names of a note, which is one of the vault without some of its links.
        phrases: its best phrases, where the numbers of names are these; None: there are none.
        notes: of the vault.
    """
    curve, suggestions = _fitted_curve(hidden, names, Curve(offset=_NO_HABIT))
    calibration = Calibration(curve, suggestions=suggestions)
    if phrases is None:
        return calibration
    chance = log(max(1.0, notes / _FEW_NOTES))
    curve, _ = _fitted_curve(
        hidden,
        lambda note: phrases(note, calibration),
        Curve(high=_LIKELY_PHRASE, offset=_NO_HABIT - chance),
    )
    return replace(calibration, phrases=curve)


def _fitted_curve(
    hidden: Draws, suggest: Callable[[Note], Sequence[Scored]], unknown: Curve
) -> tuple[Curve, int]:
    """The numbers for suggestions of one kind, and how many of them there were; few of them leave much `unknown`."""
    scored: list[Scored] = []
    hits: list[bool] = []
    shares: list[float] = []
    counts = np.zeros(2)
    draw = 0
    for draw in range(_DRAWS):
        for note in hidden(draw):
            suggested = suggest(note.note)
            scored += suggested
            hits += [suggestion.target in note.targets for suggestion in suggested]
            shares += [note.share] * len(suggested)
            counts += (note.links, note.missing)
        if len(scored) >= _ENOUGH:
            break
    if not scored:
        return unknown, 0
    # Seen beside as many that are hidden, the missing are this share of all that are to be found.
    lower = float(np.log(counts[0] / counts.sum())) - _EASIER
    # What was drawn again says nothing new, but is said as often.
    held = _PRIOR / 4 * (draw + 1)
    fitted = _curve(scored, np.array(hits, dtype=np.float64), np.array(shares), held)
    suggestions = len(scored) // (draw + 1)
    # A vault with one link is one without, nearly.
    known = suggestions**2 / (suggestions**2 + _PRIOR**2)
    return replace(fitted, offset=fitted.offset + lower).toward(unknown, 1 - known), suggestions


def _hidden(by_note: Mapping[str, Sequence[NoteLink]], missing: float, draw: int) -> list[Hidden]:
    """A sample of the notes without the links that are hidden at once; `missing` for each link of a note."""
    drawn = (
        ([link for link in links if _drawn(link, draw)], len(links)) for links in by_note.values()
    )
    losing = [(links, left) for links, left in drawn if links]
    chosen = sorted(losing, key=lambda pair: _digest(pair[0][0].note.path))[:_NOTES]
    return [
        Hidden(
            _without(links), frozenset(link.target for link in links), len(links), count * missing
        )
        for links, count in chosen
    ]


def _drawn(link: NoteLink, draw: int) -> bool:
    drawn = _digest(f"{draw} {link.note.path}\0{link.link.span.start}")
    return int.from_bytes(drawn[:4], "big") < _AS_MANY * 2**32


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def _without(links: Sequence[NoteLink]) -> Note:
    note = links[0].note
    text, _ = unlinked(note.text, [link.link for link in links])
    return replace(note, text=text, document=parse(text))


def _curve(scored: Sequence[Scored], right: _Floats, shares: _Floats, held: float) -> Curve:
    """The numbers of π under which the hits are likeliest, near to those that change nothing.

    Args:
        right: 1 for each suggestion that is one of the hidden links, else 0; shape (len(scored),).
        shares: of the hidden among the links that its note lacks, in (0, 1].
        held: how much.
    """
    bends = np.column_stack(_bends(np.array([suggestion.score for suggestion in scored])))
    center, spread = bends.mean(axis=0), bends.std(axis=0) + _LEAST_SPREAD
    columns = np.column_stack([(bends - center) / spread, np.ones(len(bends))])
    prior = np.array([*spread, center.sum()])
    *steep, height = _most_likely(columns, right, shares, prior, np.full(3, held))
    # A vault whose links contradict the shipped order does not turn it round.
    low, high = np.maximum(np.array(steep) / spread, _LEAST_SLOPE).tolist()
    return Curve(low, high, float(height - low * center[0] - high * center[1]))


def _most_likely(
    columns: _Floats, right: _Floats, shares: _Floats, prior: _Floats, held: _Floats
) -> _Floats:
    """The weights under which the hits are likeliest, each held to its prior, by Fisher scoring.

    Args:
        columns: one row a suggestion, one column a weight.
        right: 1 for each suggestion that is one of the hidden links, else 0; shape (rows,).
        shares: of the hidden among the links that its note lacks, in (0, 1); shape (rows,).
        prior, held: shape (columns,); `held` is the precision of the prior.
    """
    weights: _Floats = prior.copy()

    def chances(at: _Floats) -> _Floats:
        return 1 / (1 + np.exp(-np.clip(columns @ at, -_LARGE, _LARGE)))

    def loss(at: _Floats) -> float:
        probabilities = shares * chances(at)
        nats = right * np.log(probabilities) + (1 - right) * np.log1p(-probabilities)
        return float(-np.sum(nats) + np.sum(held * (at - prior) ** 2) / 2)

    for _ in range(_ROUNDS):
        chance = chances(weights)
        expected = shares * chance
        slopes = expected * (1 - chance)
        spreads = expected * (1 - expected)
        gradient = columns.T @ (slopes / spreads * (expected - right)) + held * (weights - prior)
        curved = (columns * (slopes**2 / spreads)[:, None]).T @ columns
        solved = np.linalg.solve(curved + np.diag(held), gradient)
        step = solved.astype(np.float64)
        while loss(weights - step) > loss(weights) and abs(step).max() > _SETTLED:
            step /= 2  # a whole step may lead too far
        weights = weights - step
        if abs(step).max() < _SETTLED:
            break
    return weights
