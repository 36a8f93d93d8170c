"""Decides without a model whether the vault answers a query, from all that the search shows (see `Signals`).

    log-odds = intercept + sum of weight * (signal - mean) / scale - kappa * ln(size / 100)

The last term is the prior of Bayes' rule: among n notes each is the answer with a chance of 1 in n, and the best of n
strangers looks the better the larger n is.  Without it one threshold let .07 of the unanswerable queries pass among 110
notes and .45 among 796.  Words alone find only notes that share one, so these are the n there; a vector finds any.  The
coefficients stand in the judge file; `gigamind judge fit unanswerable` writes such files.

It tells whether a vault speaks of what is asked.  It cannot tell a note that answers from one on the same matter that
does not: that takes reading (`unanswerable_llm`).
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gigamind.errors import InputError
from gigamind.judges.spec import JudgeFile, fingerprint_of, read_judge_file
from gigamind.loading import read_toml
from gigamind.records.judged import Finite, Share
from gigamind.retrieval.hit import Signals
from gigamind.wording import warning

# Counts up when the same file would give other verdicts.  1 had no term for the size of the vault; 2 counted the notes
# that share a word for vectors, too, which favours a query of few and rare words: the vault does not speak of it.
RULES: Literal[3] = 3

KeywordSignalName = Literal[
    "bm25_top",
    "peak",
    "note_coverage",
    "word_coverage",
]
SignalName = Literal[
    KeywordSignalName, "cosine_top", "cosine_lead", "agreement", "nearest_coverage"
]
_Scale = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Coefficient(_Table):
    """One signal adds weight * (value - mean) / scale to the log-odds of being answerable."""

    mean: Finite
    scale: _Scale
    weight: Finite


class Reliability(_Table):
    """How well a fit did on the folds that it had not seen; the positive class of F1 and FAR is unanswerable.

    Attributes:
        queries: judged, the left-out ones included; one that was asked of several vaults counts in each.
        left_out: answerable queries that were asked once more with their notes left out, as unanswerable ones.
        false_refusals: answerable queries judged unanswerable, over the answerable ones.
    """

    queries: Annotated[int, Field(ge=1)]
    unanswerable: Annotated[int, Field(ge=1)]
    left_out: Annotated[int, Field(ge=0)]
    folds: Annotated[int, Field(ge=2)]
    auc: Share
    f1: Share
    far: Share
    false_refusals: Share
    brier: Share
    ece: Share


class _Calibration(_Table):
    """Coefficients of one kind of query.

    Attributes:
        kappa: what the log-odds lose with each factor e of the size.
    """

    intercept: Finite
    kappa: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    reliability: Reliability


class KeywordCalibration(_Calibration):
    """Coefficients that need no vectors."""

    signals: Annotated[dict[KeywordSignalName, Coefficient], Field(min_length=1)]


class VectorCalibration(_Calibration):
    """Coefficients for one embedder: cosines of another lie in another range."""

    signals: Annotated[dict[SignalName, Coefficient], Field(min_length=1)]


Calibration = KeywordCalibration | VectorCalibration


class Collection(_Table):
    """One dataset with its vault that a judge was fitted on; hashes are SHA-256."""

    dataset: str
    dataset_hash: str
    notes_hash: str
    notes: Annotated[int, Field(ge=1)]
    answerable: Annotated[int, Field(ge=0)]
    unanswerable: Annotated[int, Field(ge=0)]
    languages: tuple[str, ...]


class CalibratedJudgeFile(JudgeFile):
    """A judge file of kind `calibrated`.

    Attributes:
        rules: those that it was fitted by.
        min_probability: a query whose probability of being answerable is below this is unanswerable.
        embedder: full name, with its version, of the one that `cosine` and `cross` were fitted for.
        cross: for queries in another language than the note nearest to them; without it, `cosine` judges them too.
    """

    kind: Literal["calibrated"]
    rules: Literal[3] = RULES
    min_probability: Share
    embedder: str | None = None
    keyword: KeywordCalibration
    cosine: VectorCalibration | None = None
    cross: VectorCalibration | None = None
    fitted_on: Annotated[tuple[Collection, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _vectors_have_an_embedder(self) -> Self:
        if (self.embedder is None) is not (self.cosine is None):
            raise ValueError("embedder and [cosine] belong together: give both or neither")
        if self.cross and not self.cosine:
            raise ValueError("[cross] stands beside [cosine] and not without it")
        return self


@dataclass(frozen=True, slots=True)
class CalibratedJudge:
    """A judge, ready for the runs of one embedder.

    Attributes:
        with_vectors: the coefficients that weigh cosines fit the run.
        fingerprint: SHA-256 of the file and of the choice of coefficients, in hexadecimal.
        warnings: why the vectors of the run are not used, if they are not.
    """

    file: CalibratedJudgeFile
    with_vectors: bool
    fingerprint: str
    warnings: tuple[str, ...]

    @property
    def kind(self) -> Literal["calibrated"]:
        """As the judge file has it."""
        return self.file.kind


@dataclass(frozen=True, slots=True)
class CalibratedVerdict:
    """Whether a query is unanswerable over this vault.

    Attributes:
        answerable_probability: in [0, 1], where as many queries have an answer as have none; 0.0 for one that finds
            nothing.
        cross_lingual: the nearest note is in another language, where such a verdict is weak.
    """

    unanswerable: bool
    answerable_probability: float
    cross_lingual: bool = False


def load_calibrated_judge(path: Path, embedder: str | None) -> CalibratedJudge:
    """The judge of a file, for retrievers with this embedder.

    Args:
        embedder: its full name (`Embedder.name`); None in keyword mode.

    Raises:
        InputError: the file cannot be read, says something unknown, or was fitted by rules that are no more.
    """
    _refuse_old(path)
    file = read_judge_file(path, CalibratedJudgeFile)
    fits = embedder is not None and file.embedder == embedder
    known = file.embedder or "keyword search alone"
    caution = warning("other_embedder", path=path, known=known, embedder=embedder)
    return CalibratedJudge(
        file,
        with_vectors=fits,
        fingerprint=fingerprint_of(file, "cosine" if fits else "keyword", f"rules {RULES}"),
        warnings=() if fits or embedder is None else (caution,),
    )


def _refuse_old(path: Path) -> None:
    """Stop at a file of earlier rules, which would be read field by field to no use."""
    if "keyword" in (read := read_toml(path, "judge file")) and "rules" not in read:
        raise InputError(
            f"{path}: rules: is missing. An earlier gigamind fitted this file, and reckoned otherwise with the size of"
            " the vault. Fit it again: gigamind judge fit unanswerable --dataset QUERIES --notes VAULT --out FILE"
        )


def judge_by_calibration(signals: Signals, judge: CalibratedJudge) -> CalibratedVerdict:
    """Unanswerable iff nothing is found, or the probability of an answer is below that of the judge file.

    Raises:
        ValueError: the judge weighs cosines, and the signals come from keyword mode.
    """
    if not signals.matched:
        return CalibratedVerdict(
            unanswerable=True, answerable_probability=0.0, cross_lingual=signals.cross_lingual
        )
    probability = probability_of(signals, judge.file, with_vectors=judge.with_vectors)
    refused = probability < judge.file.min_probability
    return CalibratedVerdict(refused, probability, signals.cross_lingual)


def probability_of(signals: Signals, file: CalibratedJudgeFile, *, with_vectors: bool) -> float:
    """Probability of an answer by the coefficients that fit the query, in [0, 1].

    Raises:
        ValueError: a signal that they weigh is missing.
    """
    if not with_vectors or file.cosine is None:
        calibration, size = file.keyword, size_of(signals, vectors=False)
    else:
        calibration = (file.cross if signals.cross_lingual else None) or file.cosine
        size = size_of(signals, vectors=True)
    odds = calibration.intercept - calibration.kappa * size
    for name, coefficient in calibration.signals.items():
        value: float | None = getattr(signals, name)
        if value is None:
            raise ValueError(f"{name}: not among the signals of keyword mode")
        odds += coefficient.weight * (value - coefficient.mean) / coefficient.scale
    return 1 / (1 + math.exp(-odds)) if odds > 0 else math.exp(odds) / (1 + math.exp(odds))


def size_of(signals: Signals, *, vectors: bool) -> float:
    """ln(size / 100): all notes; without vectors those that share a word, as no other can be found."""
    return math.log((signals.notes if vectors else 1 + signals.candidates) / 100)
