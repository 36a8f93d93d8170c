"""What a score is worth in a vault, and its weights: some of its links are hidden, and it is seen which come back.

Those that are missing come back, too, and look wrong: where k links of a note are hidden and m are thought to be
missing, a suggestion that is a link of either kind with a chance π is one of the hidden with π k / (k + m).  π is a
logistic function of the features, its weights held near to the shipped ones, which decide alone where a vault has few
links.  What the sum is worth among the best of a note, which are looked at, is fitted once more, as a curve.  With
nothing hidden, its odds are lower by the share of the missing.  Equal vaults give equal numbers.

Names and phrases have weights and numbers of their own: vaults that link every name they say link phrases seldom, and
how much a score of phrases tells differs more by vault than that of names.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import log

import numpy as np
import numpy.typing as npt

from gigamind.linking.features import Candidate, Features, MeantFeatures, NamedFeatures
from gigamind.linking.habits import PRIOR, Calibration, Curve, Scored, bends
from gigamind.linking.hidden import MOST_NOTES, Draws
from gigamind.linking.ranking import Models, Shipped, Weights, load_weights, terms
from gigamind.stats.logistic import likeliest_weights
from gigamind.vault.notes import Note

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
_ENOUGH = 400  # suggestions; of a small vault links are drawn again,
_DRAWS = 8  # but so often at most
# What a weight may stray from the shipped one by, as the share of a term's usual spread that tells: one over the root
# of this.  Chosen on the vaults that the weights were fitted on, each left out of them in turn.
_HELD, _BIAS_HELD, _LEAST_SPREAD_OF_TERM = 30.0, 0.3, 0.01
_LEAST_SPREAD, _LEAST_SLOPE = 0.1, 0.05

_Floats = npt.NDArray[np.float64]


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
        if notes >= MOST_NOTES:
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
    found = likeliest_weights(
        columns,
        np.array([is_hidden for _, _, is_hidden in examples], dtype=np.float64),
        prior,
        draws * np.array([*(_HELD * spreads**2), _BIAS_HELD]),
        seen=np.array([share for _, share, _ in examples]),
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
    held = PRIOR / 4 * (draw + 1)
    fitted = _curve(scored, np.array(hits, dtype=np.float64), np.array(shares), held)
    suggestions = len(scored) // (draw + 1)
    # A vault with one link is one without, nearly.
    known = suggestions**2 / (suggestions**2 + PRIOR**2)
    return replace(fitted, offset=fitted.offset + lower).toward(unknown, 1 - known), suggestions


def _curve(scored: Sequence[Scored], right: _Floats, shares: _Floats, held: float) -> Curve:
    """The numbers of π under which the hits are likeliest, near to those that change nothing.

    Args:
        right: 1 for each suggestion that is one of the hidden links, else 0; shape (len(scored),).
        shares: of the hidden among the links that its note lacks, in (0, 1].
        held: how much.
    """
    bent = np.column_stack(bends(np.array([suggestion.score for suggestion in scored])))
    center, spread = bent.mean(axis=0), bent.std(axis=0) + _LEAST_SPREAD
    columns = np.column_stack([(bent - center) / spread, np.ones(len(bent))])
    prior = np.array([*spread, center.sum()])
    *steep, height = likeliest_weights(columns, right, prior, np.full(3, held), seen=shares)
    # A vault whose links contradict the shipped order does not turn it round.
    low, high = np.maximum(np.array(steep) / spread, _LEAST_SLOPE).tolist()
    return Curve(low, high, float(height - low * center[0] - high * center[1]))
