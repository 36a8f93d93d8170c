"""Fits a `calibrated` judge: queries with known answers, a logistic regression over their signals.

Vaults weigh alike, once they have queries enough.  A probability of one half is the threshold, and there as large a
share of the answerable queries is refused as of the unanswerable ones let pass.

Few vaults have many queries that are known to be unanswerable.  An answerable one becomes unanswerable when the notes
that answer it are left out of the vault.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gigamind.choices import LeaveOut
from gigamind.datasets.check import CheckedQuery
from gigamind.errors import DatasetError
from gigamind.judges.calibrated import (
    Coefficient,
    KeywordCalibration,
    KeywordSignalName,
    Reliability,
    SignalName,
    VectorCalibration,
    size_of,
)
from gigamind.metrics.answerability import confusion
from gigamind.metrics.calibration import auc, brier
from gigamind.retrieval.cache import Progress
from gigamind.retrieval.hit import Signals
from gigamind.retrieval.retriever import Retriever, recording
from gigamind.retrieval.signals import signals_of
from gigamind.stats.agreement import expected_calibration_error, reliability_bins
from gigamind.stats.logistic import fit_logistic as fit_weights
from gigamind.stats.logistic import sigmoid

ENOUGH_UNANSWERABLE = 50  # with so many, "auto" leaves no note out


@dataclass(frozen=True, slots=True)
class Labelled:
    """One query of a vault, or of the vault without the notes that answer it.

    Attributes:
        vault: hash of the notes; vaults weigh alike.
        keys: what it shares with others that must not be on both sides of a split: its id, and its notes' paths.
    """

    signals: Signals
    answerable: bool
    left_out: bool
    keys: frozenset[str]
    vault: str = ""


def label(
    retriever: Retriever,
    queries: Sequence[CheckedQuery],
    leave_out: LeaveOut,
    progress: Progress,
    vault: str = "",
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
        rows += _rows_of(recalled, query, vault, twice=few and query.item.answerable)
        progress(done, len(queries))
    return rows


def _rows_of(
    retriever: Retriever, query: CheckedQuery, vault: str, *, twice: bool
) -> Iterator[Labelled]:
    item = query.item
    keys = frozenset({f"id {item.id}", *(f"note {vault} {path}" for path in query.relevant)})
    whole = signals_of(retriever, item.query)
    yield Labelled(whole, item.answerable, left_out=False, keys=keys, vault=vault)
    if twice:
        without = signals_of(retriever, item.query, without=query.relevant)
        yield Labelled(without, answerable=False, left_out=True, keys=keys, vault=vault)


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

    def odds(self, features: Matrix, offset: Matrix) -> Matrix:
        """Log-odds of each row of `features`, shape (rows,)."""
        return ((features - self.mean) / self.scale) @ self.weights + self.intercept + offset


def fit_logistic(
    features: Matrix, positive: Matrix, offset: Matrix, share: Matrix, ridge: float
) -> Logistic:
    """The least negative log-likelihood plus ridge / 2 * squared weights; the intercept goes free.

    Args:
        features: shape (rows, features); a constant one gets the scale 1 and the weight 0.
        positive: shape (rows,), 1.0 or 0.0, both present.
        offset: shape (rows,), what the log-odds have already.
        share: shape (rows,), how much each row counts.
        ridge: above 0, so that there is exactly one optimum.
    """
    mean: Matrix = features.mean(axis=0).round(_DIGITS)
    spread: Matrix = features.std(axis=0).round(_DIGITS)
    scale: Matrix = np.where(spread > 0, spread, 1.0)
    standard: Matrix = (features - mean) / scale

    rows: Matrix = np.column_stack([np.ones(len(standard)), standard])
    free = np.zeros(rows.shape[1])
    precision: Matrix = np.array([0.0, *[ridge] * features.shape[1]])
    coefficients = fit_weights(
        rows,
        positive,
        prior_mean=free,
        prior_precision=precision,
        sample_weight=share,
        offset=offset,
    )
    coefficients = coefficients.round(_DIGITS)
    return Logistic(mean, scale, coefficients[1:], float(coefficients[0]))


FOLDS = 10
FEWEST = 20  # queries of each kind: with fewer, a fold has no two of them
FULL = 100  # queries of a kind over one vault: more add nothing to its say
RIDGE = 1.0
THRESHOLD = 0.5
_FIGURE_DIGITS = 6

# Among n notes each is the answer with a chance of 1 in n: 1.0, if all were as near as the others.  Fitted freely on
# vaults that documentation on other matters fills up to 5 000 notes it is 0.8 for words.  With vectors 0.2 foretells
# unseen queries best, 0.1 and 0.3 hardly worse: the cosine of the best stranger gains little while a vault grows.
KEYWORD_KAPPA = 0.8
VECTOR_KAPPA = 0.2

# Chosen by what carries over to collections that were not fitted on.  The raw BM25 of the Top-1, which a judge file may
# weigh, grows with the vault.
KEYWORD_SIGNALS: tuple[KeywordSignalName, ...] = (
    "word_coverage",
    "note_coverage",
    "peak",
)
VECTOR_SIGNALS: tuple[SignalName, ...] = (
    *KEYWORD_SIGNALS,
    "nearest_coverage",
    "cosine_top",
    "cosine_lead",
    "agreement",
)
CROSS_SIGNALS: tuple[SignalName, ...] = (
    "word_coverage",
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
    return KeywordCalibration.model_validate(_fitted(rows, KEYWORD_SIGNALS, vectors=False))


def fit_cosine(rows: Sequence[Labelled]) -> VectorCalibration:
    """Coefficients over all signals.

    Raises:
        DatasetError: as for `fit_keyword`.
    """
    return VectorCalibration.model_validate(_fitted(rows, VECTOR_SIGNALS, vectors=True))


def fit_cross(rows: Sequence[Labelled]) -> VectorCalibration | None:
    """Coefficients for queries in another language than the note nearest to them; None where these are too few."""
    across = [row for row in rows if row.signals.cross_lingual]
    try:
        return VectorCalibration.model_validate(_fitted(across, CROSS_SIGNALS, vectors=True))
    except DatasetError:
        return None


def balance(odds: Matrix, answerable: Matrix, share: Matrix) -> float:
    """The log-odds below which as large a share of the answerable rows lies as of the others above; midway.

    Args:
        share: how much each row counts, shape (rows,).
    """
    order = np.argsort(odds, kind="stable")
    known: Matrix = odds[order]
    yes, no = (share * answerable)[order], (share * (1 - answerable))[order]
    edges = np.concatenate([known[:1] - 1, (known[1:] + known[:-1]) / 2, known[-1:] + 1])
    # A threshold between equal values separates nothing: count what really lies below it.
    below = np.searchsorted(known, edges, side="left")
    refused = np.concatenate([[0.0], np.cumsum(yes)])[below] / yes.sum()
    passed = 1 - np.concatenate([[0.0], np.cumsum(no)])[below] / no.sum()
    gap = np.abs(refused - passed)
    return float(np.median(edges[gap <= gap.min() + 1e-12]))


def _fitted(rows: Sequence[Labelled], names: Sequence[str], *, vectors: bool) -> dict[str, object]:
    """The fields of a calibration."""
    # What finds nothing is unanswerable without coefficients, and would only bend them.
    judged = [row for row in rows if row.signals.matched]
    _refuse_too_few(judged)
    kappa = VECTOR_KAPPA if vectors else KEYWORD_KAPPA
    features = np.array([[getattr(row.signals, name) for name in names] for row in judged])
    offset = -kappa * np.array([size_of(row.signals, vectors=vectors) for row in judged])
    truth = np.array([row.answerable for row in judged], dtype=np.float64)
    share = _shares(judged)
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
            name: Coefficient(mean=mean, scale=scale, weight=weight)
            for name, mean, scale, weight in zip(names, *columns, strict=True)
        },
        "reliability": _reliability(sigmoid(unseen - threshold).tolist(), judged),
    }


def _shares(rows: Sequence[Labelled]) -> Matrix:
    """What each row counts: those of a kind in a vault together as many as they are, `FULL` at most."""
    cells = [(row.vault, row.answerable) for row in rows]
    sizes = Counter(cells)
    return np.array([min(1.0, FULL / sizes[cell]) for cell in cells])


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


def _reliability(unseen: Sequence[float], rows: Sequence[Labelled]) -> Reliability:
    answerable = [row.answerable for row in rows]
    judged = zip(answerable, unseen, strict=True)
    counts = confusion((not kind, probability < THRESHOLD) for kind, probability in judged)
    bins = reliability_bins(np.asarray(unseen, float), np.asarray(answerable, bool))
    return Reliability(
        queries=len(rows),
        unanswerable=len(rows) - sum(answerable),
        left_out=sum(row.left_out for row in rows),
        folds=FOLDS,
        auc=_rounded(auc(unseen, answerable)),
        f1=_rounded(counts.f1),
        far=_rounded(counts.far),
        false_refusals=_rounded(counts.false_refusals),
        brier=_rounded(brier(unseen, answerable)),
        ece=_rounded(expected_calibration_error(bins) or 0.0),
    )


def _rounded(figure: float | None) -> float:
    if figure is None:
        raise ValueError("both kinds of queries are there, so every figure is defined")
    return round(figure, _FIGURE_DIGITS)
