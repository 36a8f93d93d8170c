"""The linking habits of a vault: weights of features and their calibration, fitted by hiding some of its links.

`Habits` tell how likely a person would link a place to a note. The shipped weights are in `weights.toml`. For names and
phrases, benchmarks/fit_links.py fitted them on links removed from vaults; for meaning, they were fitted on phrases that
a reader judged. None is negative.

A vault fits its own by hiding some of its links. Let k links of a note be hidden and m be assumed missing. A suggestion
that is a link with probability π is then a hidden one with probability π k / (k + m). A logistic function of the
features, with a prior around the shipped weights, gives π. A second fit calibrates the score of the best suggestions of
a note. Without hidden links the odds are lower by the share of missing ones. Names and phrases have separate weights
and curves.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from importlib.resources import files
from math import exp, inf, log, log1p
from operator import attrgetter
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field

from gigamind.datasets.generate_links import NoteLink, removable_links, unlinked
from gigamind.linking.features import Candidate, Features, MeantFeatures, NamedFeatures
from gigamind.stats.logistic import fit_logistic
from gigamind.vault.identity import Identities
from gigamind.vault.markdown import Document
from gigamind.vault.notes import Note, Vault

_PRIOR = 10.0  # weight of the shipped calibration, in suggestions
_FAR = 4  # folders; longer distances count the same
_Floats = npt.NDArray[np.float64]

_OF_NAMES: Mapping[str, Callable[[NamedFeatures], float]] = {
    "link_probability": lambda f: log(f.link_probability / (1 - f.link_probability)),
    "commonness": lambda f: log(f.commonness),
    # A single word linked once or twice is often a word.
    "named": lambda f: float(f.kind != "text" or f.words > 1),
    # One common word that is no title does not show alone that a note is meant.
    "distinct": lambda f: float(
        f.words > 1 or (f.spelled_as_name and f.kind in {"title", "heading"})
    ),
    "rarely_said": lambda f: -log1p(f.saying_notes),
    "spelled_as_name": lambda f: float(f.spelled_as_name),
}
_OF_PHRASES: Mapping[str, Callable[[MeantFeatures], float]] = {
    name: attrgetter(name)
    for name in ("name_cosine", "beginning_cosine", "lead", "note_cosine", "overlap")
}
# Beyond these values, a phrase does not mean a note more clearly: a reader accepts no more of them.
_CLOSE, _CLEAR = 1.05, 0.3  # sum of both cosines; lead
_OF_MEANING: Mapping[str, Callable[[MeantFeatures], float]] = {
    "close": lambda f: min(f.name_cosine + f.beginning_cosine, _CLOSE),
    "clear": lambda f: min(f.lead, _CLEAR),
    "clear_words": lambda f: (f.words > 1) * min(f.lead, _CLEAR),
}
_OF_BOTH: Mapping[str, Callable[[Features], float]] = {
    "chars": lambda f: log(f.chars),
    "first": lambda f: -log(f.occurrence),
    "names_in_note": lambda f: -log(f.names_in_note),
    "words_shared": attrgetter("words_shared"),
    "words_shared_by_notes": attrgetter("words_shared_by_notes"),
    "neighbours": attrgetter("neighbours"),
    "folder_near": lambda f: -float(min(f.folders_between, _FAR)),
    "not_linked": lambda f: float(not f.linked),
    "linked_back": lambda f: float(f.linked_back),
    "centrality": lambda f: log(f.centrality),
}
_TERMS: Mapping[str, Callable[[Any], float]] = {
    **_OF_BOTH, **_OF_NAMES, **_OF_PHRASES, **_OF_MEANING
}  # fmt: skip
# All other terms except bias and centrality describe the place: the score "context".
_MENTION = frozenset((*_OF_NAMES, "name_cosine", "beginning_cosine", "lead", "overlap", "chars"))

_Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Weights(BaseModel, extra="forbid", frozen=True):
    """A model: a weight for each of `_terms`."""

    bias: float = Field(allow_inf_nan=False)
    weights: dict[str, _Weight]

    def score(self, features: Features) -> float:
        """Return log odds."""
        return self.bias + sum([weight * term(features) for weight, term in self._weighing])

    @cached_property
    def _weighing(self) -> list[tuple[float, Callable[[Any], float]]]:
        return [(self.weights[name], _TERMS[name]) for name in _TERMS if self.weights.get(name)]


class _Shipped(_Weights, frozen=True):
    """Weights, and the spread of each term in the data they were fitted on."""

    spreads: dict[str, _Weight]


class Scores(NamedTuple):
    """The evidence for a suggestion, each in (0, 1)."""

    mention: float  # the words themselves: a name of the target, or close to it in meaning
    context: float  # the surroundings, and texts, links and folders of both notes
    centrality: float  # PageRank of the target divided by the highest


class _Models(BaseModel, extra="forbid", frozen=True):
    """The models of names and phrases."""

    names: _Weights
    phrases: _Weights

    def of(self, features: Features) -> _Weights:
        """Return the model for these features."""
        return self.phrases if isinstance(features, MeantFeatures) else self.names

    def scores(self, features: Features) -> Scores:
        """Return the parts of a suggestion's score, with the model's bias shared by the first two."""
        weights = self.of(features)
        parts = {name: weights.weights[name] * value for name, value in _terms(features).items()}
        mention = sum(part for name, part in parts.items() if name in _MENTION)
        context = sum(parts.values()) - mention - parts["centrality"]
        half = weights.bias / 2
        return Scores(logistic(half + mention), logistic(half + context), features.centrality)


class _WeightFile(_Models, frozen=True):
    """The content of `weights.toml`."""

    fitted_on: str
    names: _Shipped
    phrases: _Shipped
    meaning: _Weights  # whether a reader accepts a phrase, whatever the vault links


def _terms(features: Features) -> dict[str, float]:
    """Return name of a weight -> the value that it multiplies."""
    return {name: _TERMS[name](features) for name in _term_names(type(features))}


def _term_names(kind: type[Features]) -> list[str]:
    """Return the weights of the model for features of this kind, in the order of `_terms`."""
    return [*_OF_BOTH, *(_OF_PHRASES if issubclass(kind, MeantFeatures) else _OF_NAMES)]


def logistic(score: float) -> float:
    """Return the probability of log odds."""
    return exp(min(score, 0.0)) / (1 + exp(-abs(score)))


@cache
def load_weights() -> _WeightFile:
    """Return the shipped weights."""
    text = (files("gigamind.linking") / "weights.toml").read_text("utf-8")
    return _WeightFile.model_validate(tomllib.loads(text))


def clearness(features: Features) -> float:
    """Return the log odds that a reader accepts a phrase, whatever the vault links; -inf for a name."""
    return load_weights().meaning.score(features) if isinstance(features, MeantFeatures) else -inf


class Scored(NamedTuple):
    """A suggestion: its log odds and its target."""

    score: float
    target: str


@dataclass(frozen=True, slots=True)
class _Curve:
    """Beta calibration of log odds: low · ln p - high · ln(1 - p) + offset (Kull 2017)."""

    low: float = 1.0  # steepness for unlikely links, above 0
    high: float = 1.0  # steepness for likely links; equal values give a line
    offset: float = 0.0

    def toward(self, other: "_Curve", share: float) -> "_Curve":
        """Interpolate: this curve at a share of 0, the other at 1."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return _Curve(*(own + share * (its - own) for own, its in pairs))

    def __call__(self, score: float) -> float:
        unlikely, likely = _bends(score)
        return self.low * float(unlikely) + self.high * float(likely) + self.offset


def _bends(scores: _Floats | float) -> tuple[_Floats, _Floats]:
    """Return ln p and -ln(1 - p) of log odds."""
    return -np.logaddexp(0.0, np.negative(scores)), np.logaddexp(0.0, scores)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Converts log odds to a confidence."""

    names: _Curve = _Curve()
    phrases: _Curve = _Curve()
    suggestions: int = 0  # number of names it was fitted on; 0 for the shipped calibration
    phrase_links: int = 0  # number of hidden links that phrases found: links on names say nothing

    @property
    def is_of_other_vaults(self) -> bool:
        """Return whether this vault's links weigh less than the shipped calibration."""
        return self.suggestions < _PRIOR

    @property
    def phrases_are_of_other_vaults(self) -> bool:
        """Return the same for phrases."""
        return self.phrase_links < _PRIOR

    @classmethod
    def fitted(
        cls,
        hidden: "_Draws",
        names: Callable[[Note], Sequence[Scored]],
        phrases: "Callable[[Note, Calibration], Sequence[Scored]] | None" = None,
        *,
        notes: int = 0,
    ) -> Self:
        """Fit the calibration of a vault by the best names and phrases of notes that lack some of their links."""
        curve, suggestions, _ = _fitted_curve(hidden, names, _Curve(offset=_NO_HABIT))
        calibration = cls(curve, suggestions=suggestions)
        if phrases is None:
            return calibration
        chance = log(max(1.0, notes / _FEW_NOTES))
        curve, _, links = _fitted_curve(
            hidden,
            lambda note: phrases(note, calibration),
            _Curve(high=_LIKELY_PHRASE, offset=_NO_HABIT - chance),
        )
        return replace(calibration, phrases=curve, phrase_links=links)


@dataclass(frozen=True, slots=True)
class Habits:
    """The linking habits of a vault: weights and their calibration."""

    models: _Models
    calibration: Calibration = Calibration()

    def score(self, features: Features) -> float:
        """Return log odds by the weights."""
        return self.models.of(features).score(features)

    def odds(self, features: Features) -> float:
        """Return calibrated log odds of a link in this vault."""
        is_phrase = isinstance(features, MeantFeatures)
        curve = self.calibration.phrases if is_phrase else self.calibration.names
        return curve(self.score(features))


_MISSING = 0.3  # share that `generate-links` removes
_AS_MANY = _MISSING / (1 - _MISSING)  # relative to the remaining links
_MOST_NOTES = 100  # maximum number of notes whose links are hidden at once


class _Hidden(NamedTuple):
    """A note without some of its links: their targets, the number of hidden ones, and of missing ones."""

    note: Note
    targets: frozenset[str]
    links: int
    missing: float

    @property
    def share(self) -> float:
        """Return the share of hidden links among those that the note lacks, in (0, 1]."""
        return self.links / (self.links + self.missing)


_Draws = Callable[[int], Sequence[_Hidden]]
"""Returns notes without some of their links; a different sample for each number."""


def hidden_links(vault: Vault, identities: Identities) -> _Draws:
    """Return a function that draws samples of notes with hidden links; each sample is drawn once."""
    by_note: dict[str, list[NoteLink]] = {}
    for link in removable_links(vault, identities):
        by_note.setdefault(link.note.path, []).append(link)

    # If links are missing at random, notes with j links lack (j + 1) n(j + 1) / n(j) times _AS_MANY links, where n(j)
    # is the number of such notes (Robbins 1956). Summed over all notes with a link, that is the number of their links
    # times _AS_MANY, without the links of notes with one link.
    counts = [len(links) for links in by_note.values()]
    missing = _AS_MANY * (1 - counts.count(1) / max(1, sum(counts)))

    @cache
    def draw(number: int) -> list[_Hidden]:
        def is_drawn(link: NoteLink) -> bool:
            drawn = _digest(f"{number} {link.note.path}\0{link.link.span.start}")
            return int.from_bytes(drawn[:4], "big") < _AS_MANY * 2**32

        drawn = ((list(filter(is_drawn, links)), len(links)) for links in by_note.values())
        losing = [(links, left) for links, left in drawn if links]
        losing.sort(key=lambda pair: _digest(pair[0][0].note.path))
        return [
            _Hidden(
                _without(links), frozenset(link.target for link in links), len(links), n * missing
            )
            for links, n in losing[:_MOST_NOTES]
        ]

    return draw


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def _without(links: Sequence[NoteLink]) -> Note:
    note = links[0].note
    text, _spans = unlinked(note.text, [link.link for link in links])
    return replace(note, text=text, document=Document.parse(text))


# Log odds. A vault without links lacks all of them, not a share (-ln MISSING), and shows no habit. What people accept
# then counts more than what others linked (+1 for phrases reviewed by hand, see benchmarks/MEASUREMENTS.md).
_NO_HABIT = 2.0
# Without links, a phrase is compared with all notes, and more notes mean more chance matches. This number of notes,
# that of the specification's example, costs nothing.
_FEW_NOTES = 6
# Without links, high scores of phrases are less reliable: in the vaults that the weights were fitted on, with all links
# hidden, 2 of 42 phrases with a confidence from .5 were links, and 33 of 190 from .1 to .5. This is the most likely
# steepness; leaving out one project or another it was .1 to .3.
_LIKELY_PHRASE = 0.25
# Hidden links are found more easily than missing ones, because names and neighbours were learned with them. In
# log odds, chosen on the vaults that the weights were fitted on.
_EASIER = 0.3
_ENOUGH = 400  # suggestions; small vaults draw links repeatedly,
_DRAWS = 8  # but at most this often
# Precision of the prior around the shipped weights, relative to the squared spread of a term. Chosen by leave-one-out
# over the vaults that the weights were fitted on.
_PRIOR_PRECISION, _BIAS_PRECISION, _LEAST_SPREAD_OF_TERM = 30.0, 0.3, 0.01
_LEAST_SPREAD, _LEAST_SLOPE = 0.1, 0.05


def fit_models(hidden: _Draws, places: Callable[[Note], Iterable[Sequence[Candidate]]]) -> _Models:
    """Fit the weights of a vault; `places` returns the candidates of each place of a note."""
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
        if notes >= _MOST_NOTES:
            break
    return _Models(
        names=_fitted(examples[NamedFeatures], shipped.names, draw + 1),
        phrases=_fitted(examples[MeantFeatures], shipped.phrases, draw + 1),
    )


def _likeliest(places: Iterable[Sequence[Candidate]], models: _Models) -> Iterable[Candidate]:
    best: dict[str, tuple[tuple[bool, float], Candidate]] = {}
    for place in places:
        for candidate in place:
            features = candidate.features
            order = not isinstance(features, MeantFeatures), models.of(features).score(features)
            if candidate.target not in best or order > best[candidate.target][0]:
                best[candidate.target] = order, candidate
    return [candidate for _, candidate in best.values()]


def _fitted(
    examples: Sequence[tuple[Features, float, bool]], shipped: _Shipped, draws: int
) -> _Weights:
    """Fit the weights of one kind; repeated draws add no information, so they increase the precision of the prior.

    No weight is negative: more of a feature never makes a link less likely.
    """
    if not examples:
        return shipped
    names = list(shipped.weights)
    rows = [_terms(features) for features, _, _ in examples]
    columns = np.array([[*(row[name] for name in names), 1.0] for row in rows])
    prior = np.array([*shipped.weights.values(), shipped.bias])
    spreads = np.array([max(_LEAST_SPREAD_OF_TERM, shipped.spreads[name]) for name in names])
    coefficients = fit_logistic(
        columns,
        np.array([is_hidden for _, _, is_hidden in examples], dtype=np.float64),
        prior_mean=prior,
        prior_precision=draws * np.array([*(_PRIOR_PRECISION * spreads**2), _BIAS_PRECISION]),
        label_frequency=np.array([share for _, share, _ in examples]),
    )
    weights = [max(0.0, weight) for weight in coefficients[:-1].tolist()]
    return _Weights(bias=float(coefficients[-1]), weights=dict(zip(names, weights, strict=True)))


def _fitted_curve(
    hidden: _Draws, suggest: Callable[[Note], Sequence[Scored]], unknown: _Curve
) -> tuple[_Curve, int, int]:
    """Return the curve for suggestions of one kind, their number, and that of hidden links among them.

    Few suggestions keep the curve close to `unknown`.
    """
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
        return unknown, 0, 0
    # Share of the missing links among all links to find, given the number of hidden ones.
    lower = float(np.log(counts[0] / counts.sum())) - _EASIER
    # Repeated draws add no information, so they increase the precision of the prior.
    precision = _PRIOR / 4 * (draw + 1)
    fitted = _curve(scored, np.array(hits, dtype=np.float64), np.array(shares), precision)
    suggestions = len(scored) // (draw + 1)
    # A vault with one link is nearly one without.
    known = suggestions**2 / (suggestions**2 + _PRIOR**2)
    curve = replace(fitted, offset=fitted.offset + lower).toward(unknown, 1 - known)
    return curve, suggestions, sum(hits) // (draw + 1)


def _curve(scored: Sequence[Scored], hits: _Floats, shares: _Floats, precision: float) -> _Curve:
    """Fit the curve of π to the hits, 1 for a hidden link, with a prior around the identity."""
    bent = np.column_stack(_bends(np.array([suggestion.score for suggestion in scored])))
    center, spread = bent.mean(axis=0), bent.std(axis=0) + _LEAST_SPREAD
    columns = np.column_stack([(bent - center) / spread, np.ones(len(bent))])
    prior = np.array([*spread, center.sum()])
    *steep, height = fit_logistic(
        columns,
        hits,
        prior_mean=prior,
        prior_precision=np.full(3, precision),
        label_frequency=shares,
    )
    # A vault whose links contradict the shipped order does not reverse it.
    low, high = np.maximum(np.array(steep) / spread, _LEAST_SLOPE).tolist()
    return _Curve(low, high, float(height - low * center[0] - high * center[1]))
