"""Fits a `calibrated` judge by logistic regression over the search signals of labelled queries.

Vaults have equal weight once they have enough queries. At the threshold, the share of answerable queries refused equals
that of unanswerable ones accepted.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gigamind.datasets.check import CheckedQuery
from gigamind.errors import DatasetError
from gigamind.judges.unanswerable import (
    _Coefficient,
    _KeywordCalibration,
    _KeywordSignalName,
    _SignalName,
    _size_of,
    _VectorCalibration,
)
from gigamind.metrics.answerability import Confusion
from gigamind.retrieval.hit import Signals
from gigamind.retrieval.retriever import Retriever
from gigamind.retrieval.signals import signals_of
from gigamind.stats.agreement import expected_calibration_error, reliability_bins
from gigamind.stats.logistic import _sigmoid
from gigamind.stats.logistic import fit_logistic as fit_weights


def auc(probabilities: Sequence[float], positive: Sequence[bool]) -> float | None:
    """Return the probability, ties counting half, that a positive item scores above a negative; None without both."""
    scores, truth = np.asarray(probabilities, dtype=float), np.asarray(positive, dtype=bool)
    above, others = scores[truth], np.sort(scores[~truth])
    if not (len(above) and len(others)):
        return None
    lower, upto = (np.searchsorted(others, above, side=side) for side in ("left", "right"))
    return float((lower + upto).mean() / 2 / len(others))


def brier(probabilities: Sequence[float], positive: Sequence[bool]) -> float:
    """Return the mean squared error, in [0, 1], 0 best, of at least one item."""
    distance = np.asarray(probabilities, dtype=float) - np.asarray(positive, dtype=float)
    return float((distance**2).mean())


@dataclass(frozen=True, slots=True)
class Labelled:
    """One query over a vault, given by the hash of its notes, or over the vault without the notes that answer it.

    Rows that share one of the `keys`, which are its id and the paths of its notes, must be on the same side of a split.
    """

    signals: Signals
    answerable: bool
    left_out: bool
    keys: frozenset[str]
    vault: str = ""


def label(
    retriever: Retriever, queries: Sequence[CheckedQuery], vault: str = "", *, leave_out: bool
) -> list[Labelled]:
    """Return rows in the order of the queries; with `leave_out`, each answerable query again without its notes.

    The label of the second row can be wrong: another note may answer the query, too. Raises EmbeddingError,
    IndexingError.
    """
    _base, recalled = retriever.recording()
    rows: list[Labelled] = []
    for query in queries:
        item = query.item
        keys = frozenset({f"id {item.id}", *(f"note {vault} {path}" for path in query.relevant)})
        whole = signals_of(recalled, item.query)
        rows.append(Labelled(whole, item.answerable, left_out=False, keys=keys, vault=vault))
        if leave_out and item.answerable:
            without = signals_of(recalled, item.query, without=query.relevant)
            rows.append(Labelled(without, answerable=False, left_out=True, keys=keys, vault=vault))
    return rows


def grouped_folds(
    keys: Sequence[Collection[str]], stratum: Sequence[bool], folds: int
) -> list[int]:
    """Return the fold of each row, in [0, folds); rows that share a key, even indirectly, share a fold.

    Each group, those with a row of `stratum` first, goes to the fold with the fewest rows. Deterministic.
    """
    groups = _groups(keys)
    members: dict[int, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)

    def place(group: int) -> tuple[bool, str]:
        least = min((key for row in members[group] for key in keys[row]), default=str(group))
        has_none = not any(stratum[row] for row in members[group])
        return has_none, hashlib.sha256(least.encode()).hexdigest()

    sizes = [0] * folds
    fold_of = [0] * len(keys)
    for group in sorted(members, key=place):
        fold = sizes.index(min(sizes))
        sizes[fold] += len(members[group])
        for row in members[group]:
            fold_of[row] = fold
    return fold_of


def _groups(keys: Sequence[Collection[str]]) -> list[int]:
    """Return the first row of each row's group, by spreading the lowest row along shared keys."""
    groups, before = list(range(len(keys))), list[int]()
    while groups != before:
        before, lowest = groups, dict[str, int]()
        for group, own in zip(groups, keys, strict=True):
            lowest |= {key: min(group, lowest.get(key, group)) for key in own}
        groups = [
            min((lowest[key] for key in own), default=group)
            for group, own in zip(groups, keys, strict=True)
        ]
    return groups


Matrix = npt.NDArray[np.float64]
_DIGITS = 6  # of a coefficient; further digits differ between machines


@dataclass(frozen=True, slots=True)
class Logistic:
    """Coefficients of standardised features, rounded to six digits; arrays of shape (features,)."""

    mean: Matrix
    scale: Matrix
    weights: Matrix
    intercept: float

    def odds(self, features: Matrix, offset: Matrix) -> Matrix:
        """Return the log-odds of each row of `features`, shape (rows,)."""
        return ((features - self.mean) / self.scale) @ self.weights + self.intercept + offset


def fit_logistic(
    features: Matrix, positive: Matrix, offset: Matrix, share: Matrix, ridge: float
) -> Logistic:
    """Fit a logistic regression with an L2 penalty (ridge / 2 * squared weights); the intercept is not penalised.

    Args:
        features: shape (rows, features); a constant one gets scale 1 and weight 0. The other arrays: shape (rows,).
        positive: 1.0 or 0.0; both must occur.
        offset: fixed part of the log-odds.
        share: weight of each row.
        ridge: positive, so that the optimum is unique.
    """
    mean: Matrix = features.mean(axis=0).round(_DIGITS)
    spread: Matrix = features.std(axis=0).round(_DIGITS)
    scale: Matrix = np.where(spread > 0, spread, 1.0)
    standard: Matrix = (features - mean) / scale

    rows: Matrix = np.column_stack([np.ones(len(standard)), standard])
    precision: Matrix = np.array([0.0, *[ridge] * features.shape[1]])
    coefficients = fit_weights(
        rows,
        positive,
        prior_mean=np.zeros(len(precision)),
        prior_precision=precision,
        sample_weight=share,
        offset=offset,
    )
    coefficients = coefficients.round(_DIGITS)
    return Logistic(mean, scale, coefficients[1:], float(coefficients[0]))


FOLDS = 10
FEWEST = 20  # queries of each kind; with fewer, a fold has less than two of them
FULL = 100  # queries of a kind over one vault; further ones do not increase the vault's weight
RIDGE = 1.0
THRESHOLD = 0.5
_FIGURE_DIGITS = 6

# Each of n notes is the answer with probability 1/n, which gives 1.0 if all notes were equally similar. A free fit on
# vaults padded with unrelated documentation up to 5 000 notes gives 0.8 for words. With vectors, 0.2 predicts unseen
# queries best, 0.1 and 0.3 hardly worse: the best irrelevant cosine rises little while a vault grows.
KEYWORD_KAPPA = 0.8
VECTOR_KAPPA = 0.2

# Chosen by performance on collections outside the fit. The raw BM25 of the top result, which a judge file may use,
# grows with the vault.
KEYWORD_SIGNALS: tuple[_KeywordSignalName, ...] = ("word_coverage", "note_coverage", "peak")
VECTOR_SIGNALS: tuple[_SignalName, ...] = (
    *KEYWORD_SIGNALS,
    "nearest_coverage",
    "cosine_top",
    "cosine_lead",
    "agreement",
)
CROSS_SIGNALS: tuple[_SignalName, ...] = (
    "word_coverage",
    "nearest_coverage",
    "cosine_top",
    "cosine_lead",
    "agreement",
)


def fit_keyword(rows: Sequence[Labelled]) -> _KeywordCalibration:
    """Fit coefficients for the signals of the keyword index; raise DatasetError with too few queries of a kind."""
    return _KeywordCalibration.model_validate(_fitted(rows, KEYWORD_SIGNALS, vectors=False))


def fit_cosine(rows: Sequence[Labelled]) -> _VectorCalibration:
    """Fit coefficients for all signals; raises DatasetError as `fit_keyword` does."""
    return _VectorCalibration.model_validate(_fitted(rows, VECTOR_SIGNALS, vectors=True))


def fit_cross(rows: Sequence[Labelled]) -> _VectorCalibration | None:
    """Fit coefficients for queries in another language than their nearest note; None if there are too few."""
    across = [row for row in rows if row.signals.cross_lingual]
    try:
        return _VectorCalibration.model_validate(_fitted(across, CROSS_SIGNALS, vectors=True))
    except DatasetError:
        return None


def balance(odds: Matrix, answerable: Matrix, share: Matrix) -> float:
    """Return the log-odds at which the weighted shares of answerable rows below and other rows above are equal."""
    order = np.argsort(odds, kind="stable")
    known: Matrix = odds[order]
    yes, no = (share * answerable)[order], (share * (1 - answerable))[order]
    edges = np.concatenate([known[:1] - 1, (known[1:] + known[:-1]) / 2, known[-1:] + 1])
    # A threshold between equal values separates nothing, so count the rows strictly below it.
    below = np.searchsorted(known, edges, side="left")
    refused = np.concatenate([[0.0], np.cumsum(yes)])[below] / yes.sum()
    passed = 1 - np.concatenate([[0.0], np.cumsum(no)])[below] / no.sum()
    gap = np.abs(refused - passed)
    return float(np.median(edges[gap <= gap.min() + 1e-12]))


def _fitted(rows: Sequence[Labelled], names: Sequence[str], *, vectors: bool) -> dict[str, object]:
    # Queries that find nothing are unanswerable without coefficients and would only distort them.
    judged = [row for row in rows if row.signals.matched]
    _refuse_too_few(judged)
    kappa = VECTOR_KAPPA if vectors else KEYWORD_KAPPA
    features = np.array([[getattr(row.signals, name) for name in names] for row in judged])
    offset = -kappa * np.array([_size_of(row.signals, vectors=vectors) for row in judged])
    truth = np.array([row.answerable for row in judged], dtype=np.float64)
    # The weights of one kind in a vault add up to their number, at most `FULL`.
    cells = [(row.vault, row.answerable) for row in judged]
    sizes = Counter(cells)
    share = np.array([min(1.0, FULL / sizes[cell]) for cell in cells])
    folds = np.array(grouped_folds([row.keys for row in judged], list(truth == 0), FOLDS))

    def fit(own: npt.NDArray[np.bool_]) -> Logistic:
        return fit_logistic(features[own], truth[own], offset[own], share[own], RIDGE)

    unseen = np.zeros(len(truth))
    for fold in range(FOLDS):
        unseen[folds == fold] = fit(folds != fold).odds(
            features[folds == fold], offset[folds == fold]
        )
    threshold = balance(unseen, truth, share)
    logistic = fit(np.ones(len(truth), dtype=bool))
    columns = (logistic.mean.tolist(), logistic.scale.tolist(), logistic.weights.tolist())
    return {
        "intercept": round(logistic.intercept - threshold, _DIGITS),
        "kappa": kappa,
        "signals": {
            name: _Coefficient(mean=mean, scale=scale, weight=weight)
            for name, mean, scale, weight in zip(names, *columns, strict=True)
        },
        "reliability": _reliability(_sigmoid(unseen - threshold).tolist(), judged),
    }


def _refuse_too_few(rows: Sequence[Labelled]) -> None:
    yes = sum(row.answerable for row in rows)
    for kind, count in (("answerable", yes), ("unanswerable", len(rows) - yes)):
        if count < FEWEST:
            raise DatasetError(
                "Too few queries to fit a judge: the search finds notes for only {n} {kind} queries; {least} are"
                " required.",
                n=count,
                kind=kind,
                least=FEWEST,
            )


def _reliability(unseen: Sequence[float], rows: Sequence[Labelled]) -> dict[str, Any]:
    """Return the cross-validated quality; unanswerable is the positive class of F1 and FAR.

    `left_out` counts the answerable queries that are repeated without their notes, which makes them unanswerable.
    """
    answerable = [row.answerable for row in rows]
    judged = zip(answerable, unseen, strict=True)
    counts = Confusion.of((not kind, probability < THRESHOLD) for kind, probability in judged)
    bins = reliability_bins(np.asarray(unseen, float), np.asarray(answerable, bool))
    # Both kinds of queries are there, so every figure is defined.
    figures = {
        "auc": auc(unseen, answerable),
        "f1": counts.f1,
        "far": counts.far,
        "false_refusals": counts.false_refusals,
        "brier": brier(unseen, answerable),
        "ece": expected_calibration_error(bins),
    }
    rounded = {name: value and round(value, _FIGURE_DIGITS) for name, value in figures.items()}
    left_out, unanswerable = sum(row.left_out for row in rows), answerable.count(False)
    sizes = {"queries": len(rows), "unanswerable": unanswerable, "left_out": left_out}
    return {**sizes, "folds": FOLDS, **rounded}
