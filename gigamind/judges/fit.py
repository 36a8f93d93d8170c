"""Fits a `calibrated` judge: queries with known answers, a logistic regression over their signals, a threshold.

Few vaults have many queries that are known to be unanswerable.  An answerable one becomes unanswerable when the notes
that answer it are left out of the vault.
"""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize  # pyright: ignore[reportUnknownVariableType]

from gigamind.choices import LeaveOut
from gigamind.datasets.check import CheckedQuery
from gigamind.errors import DatasetError
from gigamind.judges.calibrated import (
    Coefficient,
    CosineCalibration,
    KeywordCalibration,
    KeywordSignalName,
    Reliability,
    SignalName,
)
from gigamind.metrics.answerability import confusion
from gigamind.metrics.calibration import auc, brier
from gigamind.retrieval.cache import Progress
from gigamind.retrieval.retriever import Retriever, recording
from gigamind.retrieval.signals import Signals, signals_of
from gigamind.stats.agreement import expected_calibration_error, reliability_bins

ENOUGH_UNANSWERABLE = 50  # with so many, "auto" leaves no note out


@dataclass(frozen=True, slots=True)
class Labelled:
    """One query of a vault, or of the vault without the notes that answer it.

    Attributes:
        keys: what it shares with others that must not be on both sides of a split: its id, and its notes' paths.
    """

    signals: Signals
    answerable: bool
    left_out: bool
    keys: frozenset[str]


def label(
    retriever: Retriever, queries: Sequence[CheckedQuery], leave_out: LeaveOut, progress: Progress
) -> list[Labelled]:
    """Rows in the order of the queries; a query asked once more without its notes follows itself.

    Left-out rows err on one side: another note may answer the query too, and then the row is wrong.

    Raises:
        EmbeddingError, IndexingError: a search failed.
    """
    known = sum(not query.item.answerable for query in queries)
    few = leave_out == "always" or (leave_out == "auto" and known < ENOUGH_UNANSWERABLE)
    _, recalled = recording(retriever)
    rows: list[Labelled] = []
    for done, query in enumerate(queries, start=1):
        rows += _rows_of(recalled, query, twice=few and query.item.answerable)
        progress(done, len(queries))
    return rows


def _rows_of(retriever: Retriever, query: CheckedQuery, *, twice: bool) -> Iterator[Labelled]:
    text = query.item.query
    keys = frozenset({f"id {query.item.id}", *(f"note {path}" for path in query.qrels)})
    yield Labelled(signals_of(retriever, text), query.item.answerable, left_out=False, keys=keys)
    if twice:
        without = signals_of(retriever, text, without=query.qrels)
        yield Labelled(without, answerable=False, left_out=True, keys=keys)


def grouped_folds(
    keys: Sequence[Collection[str]], stratum: Sequence[bool], folds: int
) -> list[int]:
    """The fold of each row, in [0, folds); rows that share a key, even through others, share a fold.

    Groups go one by one, those with a row of `stratum` first, into the fold that holds the fewest rows: sizes and
    shares come out alike.  The same rows always give the same folds.
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


def count_groups(keys: Sequence[Collection[str]]) -> int:
    """How many folds could be made at most."""
    return len(set(_groups(keys)))


def _groups(keys: Sequence[Collection[str]]) -> list[int]:
    """The first row of each row's group: union-find over the keys."""
    parent = list(range(len(keys)))

    def root(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    first: dict[str, int] = {}
    for row, own in enumerate(keys):
        for key in own:
            low, high = sorted((root(first.setdefault(key, row)), root(row)))
            parent[high] = low
    return [root(row) for row in range(len(keys))]


Matrix = npt.NDArray[np.float64]
_DIGITS = 6  # of a coefficient: more depends on the machine's own sums, and helps nobody who reads the file
_CLOSE = 1e-9  # gradient at which the optimum is reached


@dataclass(frozen=True, slots=True)
class Logistic:
    """Coefficients of standardised features, rounded to six digits.

    Attributes:
        mean, scale, weights: shape (features,); a feature adds weight * (value - mean) / scale to the log-odds.
    """

    mean: Matrix
    scale: Matrix
    weights: Matrix
    intercept: float

    def probabilities(self, features: Matrix) -> Matrix:
        """Of each row of `features`, shape (rows,), in [0, 1]."""
        odds: Matrix = ((features - self.mean) / self.scale) @ self.weights + self.intercept
        return _sigmoid(odds)


def fit_logistic(features: Matrix, positive: Matrix, ridge: float) -> Logistic:
    """The least negative log-likelihood plus ridge / 2 * squared weights; the intercept goes free.

    Args:
        features: shape (rows, features); a constant one gets the scale 1 and the weight 0.
        positive: shape (rows,), 1.0 or 0.0, both present.
        ridge: above 0, so that there is exactly one optimum.
    """
    mean: Matrix = features.mean(axis=0).round(_DIGITS)
    spread: Matrix = features.std(axis=0).round(_DIGITS)
    scale: Matrix = np.where(spread > 0, spread, 1.0)
    standard: Matrix = (features - mean) / scale

    def loss(at: Matrix) -> tuple[float, Matrix]:
        odds: Matrix = standard @ at[1:] + at[0]
        value = float(np.logaddexp(0, odds).sum() - positive @ odds)
        error = _sigmoid(odds) - positive
        slope = np.concatenate([np.atleast_1d(error.sum()), standard.T @ error + ridge * at[1:]])
        return value + ridge / 2 * float(at[1:] @ at[1:]), slope

    start = np.zeros(features.shape[1] + 1)
    options = {"gtol": _CLOSE, "ftol": 0.0, "maxiter": 10_000, "maxfun": 100_000}
    optimum = cast("Any", minimize(loss, start, jac=True, method="L-BFGS-B", options=options))
    coefficients: Matrix = np.asarray(optimum.x, dtype=np.float64).round(_DIGITS)
    return Logistic(mean, scale, coefficients[1:], float(coefficients[0]))


def _sigmoid(odds: Matrix) -> Matrix:
    falling: Matrix = np.logaddexp(0, -odds)  # exp(-odds) alone overflows
    return np.exp(-falling)


FOLDS = 10
FEWEST = 20  # queries of each kind: with fewer, a fold has no two of them
RIDGE = 1.0
_FIGURE_DIGITS = 6

# Chosen by what carries over to collections that were not fitted on.  The raw BM25 of the Top-1 grows with the vault,
# and its share of the query's IDF says what `word_coverage` says: neither gained anything there.
KEYWORD_SIGNALS: tuple[KeywordSignalName, ...] = (
    "word_coverage",
    "sentence_coverage",
    "note_coverage",
    "bm25_z",
    "query_words",
)
COSINE_SIGNALS: tuple[SignalName, ...] = (
    *KEYWORD_SIGNALS,
    "nearest_coverage",
    "cosine_top",
    "cosine_lead",
    "agreement",
)


def fit_keyword(rows: Sequence[Labelled]) -> KeywordCalibration:
    """Coefficients over the signals of the keyword index.

    Raises:
        DatasetError: too few queries of a kind; says how many are needed.
    """
    return KeywordCalibration.model_validate(_fitted(rows, KEYWORD_SIGNALS))


def fit_cosine(rows: Sequence[Labelled], embedder: str) -> CosineCalibration:
    """Coefficients over all signals, for one embedder.

    Raises:
        DatasetError: as for `fit_keyword`.
    """
    return CosineCalibration.model_validate(_fitted(rows, COSINE_SIGNALS) | {"embedder": embedder})


def best_threshold(probabilities: Sequence[float], answerable: Sequence[bool]) -> float:
    """Where F1 of "unanswerable: below the threshold" is highest, midway between two probabilities.

    Of equal F1, the one nearest to 0.5: there the verdict and the more likely kind agree.
    """
    order = np.argsort(np.asarray(probabilities), kind="stable")
    sorted_p = np.asarray(probabilities, dtype=float)[order]
    unanswerable = ~np.asarray(answerable, dtype=bool)[order]
    edges = np.concatenate([[0.0], (sorted_p[1:] + sorted_p[:-1]) / 2, [1.0]])
    # A threshold between equal values separates nothing: count what really lies below it.
    below = np.searchsorted(sorted_p, edges, side="left")
    caught = np.concatenate([[0], np.cumsum(unanswerable)])[below]
    f1 = 2 * caught / (below + unanswerable.sum())
    best = edges[f1 >= f1.max() - 1e-12]
    return round(float(best[np.argmin(np.abs(best - 0.5))]), _FIGURE_DIGITS)


def _fitted(rows: Sequence[Labelled], names: Sequence[str]) -> dict[str, object]:
    """The fields that both kinds of calibration have."""
    # What finds nothing is unanswerable without coefficients, and would only bend them.
    judged = [row for row in rows if row.signals.found]
    answerable = [row.answerable for row in judged]
    _refuse_too_few(judged)
    features = np.array([[getattr(row.signals, name) for name in names] for row in judged])
    truth = np.array(answerable, dtype=np.float64)
    keys = [row.keys for row in judged]
    folds = grouped_folds(keys, [not kind for kind in answerable], FOLDS)
    unseen = _out_of_fold(features, truth, np.array(folds))
    threshold = best_threshold(unseen, answerable)
    logistic = fit_logistic(features, truth, RIDGE)
    columns = (logistic.mean.tolist(), logistic.scale.tolist(), logistic.weights.tolist())
    return {
        "intercept": logistic.intercept,
        "min_probability": threshold,
        "signals": {
            name: Coefficient(mean=mean, scale=scale, weight=weight)
            for name, mean, scale, weight in zip(names, *columns, strict=True)
        },
        "reliability": _reliability(unseen, judged, threshold),
    }


def _refuse_too_few(rows: Sequence[Labelled]) -> None:
    answerable = sum(row.answerable for row in rows)
    for kind, count in (("answerable", answerable), ("unanswerable", len(rows) - answerable)):
        if count < FEWEST:
            raise DatasetError(
                f"too few queries to fit a judge on: {count} {kind} ones that find a note, and {FEWEST} are needed."
                " Add queries; answerable ones make unanswerable ones too (--leave-out always)."
            )
    if (groups := count_groups([row.keys for row in rows])) < FOLDS:
        raise DatasetError(
            f"the queries share their notes: only {groups} groups of them have no note in common,"
            f" and {FOLDS} are needed. Add queries that other notes answer."
        )


def _out_of_fold(features: Matrix, truth: Matrix, folds: np.ndarray) -> list[float]:
    """The probability of each row by coefficients fitted on the other folds."""
    unseen = np.zeros(len(truth))
    for fold in range(FOLDS):
        inside = folds == fold
        fitted = fit_logistic(features[~inside], truth[~inside], RIDGE)
        unseen[inside] = fitted.probabilities(features[inside])
    return unseen.tolist()


def _reliability(
    unseen: Sequence[float], rows: Sequence[Labelled], threshold: float
) -> Reliability:
    answerable = [row.answerable for row in rows]
    judged = zip(answerable, unseen, strict=True)
    counts = confusion((not kind, probability < threshold) for kind, probability in judged)
    bins = reliability_bins(np.asarray(unseen, float), np.asarray(answerable, bool))
    return Reliability(
        queries=len(rows),
        unanswerable=len(rows) - sum(answerable),
        left_out=sum(row.left_out for row in rows),
        folds=FOLDS,
        auc=_rounded(auc(unseen, answerable)),
        f1=_rounded(counts.f1),
        far=_rounded(counts.far),
        brier=_rounded(brier(unseen, answerable)),
        ece=_rounded(expected_calibration_error(bins) or 0.0),
    )


def _rounded(figure: float | None) -> float:
    if figure is None:
        raise ValueError("both kinds of queries are there, so every figure is defined")
    return round(figure, _FIGURE_DIGITS)
