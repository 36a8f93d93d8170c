"""Fits the `calibrated` judge to labelled queries, and tells how far it is to be trusted.

Every figure and the threshold come from cross-validation: each query is judged by coefficients that have seen
neither it nor any query with one of its notes.  The coefficients that are kept are then fitted on all rows.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from gigamind.errors import DatasetError
from gigamind.judges.calibrated import (
    Coefficient,
    CosineCalibration,
    KeywordCalibration,
    KeywordSignalName,
    Reliability,
    SignalName,
)
from gigamind.judges.folds import count_groups, grouped_folds
from gigamind.judges.labelled import Labelled
from gigamind.judges.logistic import Logistic, Matrix, fit_logistic
from gigamind.metrics.answerability import confusion
from gigamind.metrics.calibration import auc, brier, expected_calibration_error

FOLDS = 10
FEWEST = 20  # queries of each kind: with fewer, a fold has no two of them
RIDGE = 1.0
_DIGITS = 6

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
Name = TypeVar("Name", KeywordSignalName, SignalName)


def fit_keyword(rows: Sequence[Labelled]) -> KeywordCalibration:
    """Coefficients over the signals of the keyword index.

    Raises:
        DatasetError: too few queries of a kind; says how many are needed.
    """
    logistic, threshold, reliability = _fitted(rows, KEYWORD_SIGNALS)
    return KeywordCalibration(
        intercept=logistic.intercept,
        min_probability=threshold,
        signals=_coefficients(KEYWORD_SIGNALS, logistic),
        reliability=reliability,
    )


def fit_cosine(rows: Sequence[Labelled], embedder: str) -> CosineCalibration:
    """Coefficients over all signals, for one embedder.

    Raises:
        DatasetError: as for `fit_keyword`.
    """
    logistic, threshold, reliability = _fitted(rows, COSINE_SIGNALS)
    return CosineCalibration(
        embedder=embedder,
        intercept=logistic.intercept,
        min_probability=threshold,
        signals=_coefficients(COSINE_SIGNALS, logistic),
        reliability=reliability,
    )


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
    return round(float(best[np.argmin(np.abs(best - 0.5))]), _DIGITS)


def _fitted(rows: Sequence[Labelled], names: Sequence[str]) -> tuple[Logistic, float, Reliability]:
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
    reliability = _reliability(unseen, judged, threshold)
    return fit_logistic(features, truth, RIDGE), threshold, reliability


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
    return Reliability(
        queries=len(rows),
        unanswerable=len(rows) - sum(answerable),
        left_out=sum(row.left_out for row in rows),
        folds=FOLDS,
        auc=_rounded(auc(unseen, answerable)),
        f1=_rounded(counts.f1),
        far=_rounded(counts.far),
        brier=_rounded(brier(unseen, answerable)),
        ece=_rounded(expected_calibration_error(unseen, answerable)),
    )


def _rounded(figure: float | None) -> float:
    if figure is None:
        raise ValueError("both kinds of queries are there, so every figure is defined")
    return round(figure, _DIGITS)


def _coefficients(names: Sequence[Name], fitted: Logistic) -> dict[Name, Coefficient]:
    table = zip(
        names, fitted.mean.tolist(), fitted.scale.tolist(), fitted.weights.tolist(), strict=True
    )
    return {
        name: Coefficient(mean=mean, scale=scale, weight=weight)
        for name, mean, scale, weight in table
    }
