"""Decides without a model whether the vault answers a query, from all that the search shows (see `Signals`).

A logistic regression whose coefficients stand in the judge file; `gigamind judge fit unanswerable` writes such files.
It tells whether a vault speaks of what is asked.  It cannot tell a note that answers from one on the same matter that
does not: that takes reading (`unanswerable_llm`).
"""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from gigamind.judges.spec import JudgeFile, fingerprint_of, read_judge_file
from gigamind.retrieval.signals import Signals

KeywordSignalName = Literal[
    "query_words",
    "bm25_top",
    "bm25_gap",
    "bm25_share",
    "bm25_z",
    "note_coverage",
    "word_coverage",
    "sentence_coverage",
]
SignalName = Literal[
    KeywordSignalName, "cosine_top", "cosine_gap", "cosine_lead", "agreement", "nearest_coverage"
]
_Finite = Annotated[float, Field(allow_inf_nan=False)]
_Scale = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Coefficient(_Table):
    """One signal adds weight * (value - mean) / scale to the log-odds of being answerable."""

    mean: _Finite
    scale: _Scale
    weight: _Finite


class Reliability(_Table):
    """How well a fit did on the folds that it had not seen; the positive class of F1 and FAR is unanswerable.

    Attributes:
        queries: judged, the left-out ones included.
        left_out: answerable queries that were asked once more with their notes left out, as unanswerable ones.
    """

    queries: Annotated[int, Field(ge=1)]
    unanswerable: Annotated[int, Field(ge=1)]
    left_out: Annotated[int, Field(ge=0)]
    folds: Annotated[int, Field(ge=2)]
    auc: _Share
    f1: _Share
    far: _Share
    brier: _Share
    ece: _Share


class KeywordCalibration(_Table):
    """Coefficients that need no vectors.

    Attributes:
        min_probability: a query whose probability of being answerable is below this is unanswerable.
    """

    intercept: _Finite
    min_probability: _Share
    signals: Annotated[dict[KeywordSignalName, Coefficient], Field(min_length=1)]
    reliability: Reliability


class CosineCalibration(_Table):
    """Coefficients for one embedder: cosines of another lie in another range.

    Attributes:
        embedder: its full name, with its version.
    """

    embedder: str
    intercept: _Finite
    min_probability: _Share
    signals: Annotated[dict[SignalName, Coefficient], Field(min_length=1)]
    reliability: Reliability


Calibration = KeywordCalibration | CosineCalibration


class Collection(_Table):
    """One dataset with its vault that a judge was fitted on; hashes are SHA-256."""

    dataset: str
    dataset_hash: str
    notes_hash: str
    answerable: Annotated[int, Field(ge=0)]
    unanswerable: Annotated[int, Field(ge=0)]
    languages: tuple[str, ...]


class CalibratedJudgeFile(JudgeFile):
    """A judge file of kind `calibrated`."""

    kind: Literal["calibrated"]
    keyword: KeywordCalibration
    cosine: CosineCalibration | None = None
    fitted_on: Annotated[tuple[Collection, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class CalibratedJudge:
    """A judge, ready for the runs of one embedder.

    Attributes:
        calibration: the coefficients that fit the run.
        fingerprint: SHA-256 of the file and of the choice of coefficients, in hexadecimal.
        warnings: why the vectors of the run are not used, if they are not.
    """

    file: CalibratedJudgeFile
    calibration: Calibration
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
        answerable_probability: in [0, 1]; 0.0 for a query that finds nothing.
    """

    unanswerable: bool
    answerable_probability: float


def load_calibrated_judge(path: Path, embedder: str | None) -> CalibratedJudge:
    """The judge of a file, for retrievers with this embedder.

    Args:
        embedder: its full name (`Embedder.name`); None in keyword mode.

    Raises:
        InputError: the file cannot be read, or says something unknown.
    """
    file = read_judge_file(path, CalibratedJudgeFile)
    if embedder is None:
        return _ready(file, file.keyword, ())
    if file.cosine is not None and file.cosine.embedder == embedder:
        return _ready(file, file.cosine, ())
    known = file.cosine.embedder if file.cosine else "keyword search alone"
    mend = "Fit it for this embedder: gigamind judge fit unanswerable."
    warning = f"{path} was fitted for {known}, not for {embedder}: its cosines are not used. {mend}"
    return _ready(file, file.keyword, (warning,))


def judge_by_calibration(signals: Signals, judge: CalibratedJudge) -> CalibratedVerdict:
    """Unanswerable iff nothing is found, or the probability of an answer is below that of the judge file.

    Raises:
        ValueError: the judge weighs cosines, and the signals come from keyword mode.
    """
    if not signals.found:
        return CalibratedVerdict(unanswerable=True, answerable_probability=0.0)
    probability = probability_of(signals, judge.calibration)
    return CalibratedVerdict(probability < judge.calibration.min_probability, probability)


def probability_of(signals: Signals, calibration: Calibration) -> float:
    """Probability of an answer by these coefficients, in [0, 1].

    Raises:
        ValueError: a signal that they weigh is missing.
    """
    values: dict[str, float | None] = asdict(signals)
    odds = calibration.intercept
    for name, coefficient in calibration.signals.items():
        value = values[name]
        if value is None:
            raise ValueError(f"{name}: not among the signals of keyword mode")
        odds += coefficient.weight * (value - coefficient.mean) / coefficient.scale
    return 1 / (1 + math.exp(-odds)) if odds > 0 else math.exp(odds) / (1 + math.exp(odds))


def _ready(
    file: CalibratedJudgeFile, calibration: Calibration, warnings: tuple[str, ...]
) -> CalibratedJudge:
    used = "keyword" if calibration is file.keyword else "cosine"
    return CalibratedJudge(file, calibration, fingerprint_of(file, used), warnings)
