"""Judges without a model whether the vault answers a query: free and deterministic.

Kind `threshold` compares the base_score of the top result by final_score with a limit (spec 4.1); links change
the order, not the base_score. `answer_score` does so with `Retriever.answer_score`. Kind `calibrated` estimates a
probability from search signals (see `Signals`):

    log-odds = intercept + sum of weight * (signal - mean) / scale - kappa * ln(size / 100)

The last term is the prior of Bayes' rule: the best of n irrelevant notes looks better the larger n is. In keyword mode,
n counts the notes that share a word with the query; with vectors, all notes. A near miss looks answerable.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self, TypeAlias, get_args

from pydantic import BaseModel, Field, model_validator

from gigamind.assets import asset
from gigamind.choices import PromptLanguage, UnanswerableMode
from gigamind.i18n import _
from gigamind.judges.spec import JudgeFile, kind_of, read_judge_file
from gigamind.records.judged import Finite, Report, Share
from gigamind.retrieval.hit import Signals

if TYPE_CHECKING:  # rule-based judges must not pay for importing the judges with models
    from gigamind.judges.unanswerable_llm import ModelJudge

# Incremented when the same file would give other verdicts. 1 had no term for the size of the vault. 2 counted only
# notes that share a word for vectors, too, which favoured queries of few and rare words that the vault does not cover.
_RULES: Literal[3] = 3

_KeywordSignalName = Literal["bm25_top", "peak", "note_coverage", "word_coverage"]
_SignalName = Literal[
    _KeywordSignalName, "cosine_top", "cosine_lead", "agreement", "nearest_coverage"
]
_Scale = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Scored(Protocol):
    """A result of any search."""

    @property
    def base_score(self) -> float | None:
        """The score; None if the search gives no scores."""


class ThresholdJudge(JudgeFile):
    """A judge file of kind `threshold` or `answer_score`; `min_score` in [0, 1] or on the system's own scale."""

    kind: Literal["threshold", "answer_score"]
    min_score: Finite

    @property
    def fingerprint(self) -> str:
        definition = json.dumps({"kind": self.kind, "min_score": self.min_score}, sort_keys=True)
        return hashlib.sha256(definition.encode()).hexdigest()[:16]

    def verdict(self, ranking: Sequence[Scored]) -> "FreeVerdict":
        """Judge a query unanswerable without a result, or with a base_score of the top result below `min_score`.

        Raises ValueError if the top result has no score.
        """
        if not ranking:
            return FreeVerdict(unanswerable=True, score=None)
        top = ranking[0].base_score
        if top is None:
            raise ValueError("the first hit has no score to judge by")
        return FreeVerdict(unanswerable=top < self.min_score, score=top)


class FreeVerdict(Report):
    """Verdict of a free judge on a query.

    Attributes:
        score: Score that is compared with the judge's threshold; null without a hit.
        across_languages: Whether the nearest note is in another language, so the verdict is weak; null for a judge
            that does not check.
    """

    unanswerable: bool
    score: Finite | None
    across_languages: bool | None = None


class _Coefficient(BaseModel, extra="forbid", frozen=True):
    """One signal; adds weight * (value - mean) / scale to the log-odds of being answerable."""

    mean: Finite
    scale: _Scale
    weight: Finite


class _Calibration(BaseModel, extra="forbid", frozen=True):
    """Coefficients for one kind of query; `kappa` per factor of e in size, subtracted from the log-odds.

    `reliability` documents the cross-validated quality of the fit (benchmarks/calibration.py).
    """

    intercept: Finite
    kappa: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    reliability: dict[str, float | int]


class _KeywordCalibration(_Calibration, frozen=True):
    """Coefficients without vectors."""

    signals: Annotated[dict[_KeywordSignalName, _Coefficient], Field(min_length=1)]


class _VectorCalibration(_Calibration, frozen=True):
    """Coefficients for one embedder; the cosines of other embedders have other ranges."""

    signals: Annotated[dict[_SignalName, _Coefficient], Field(min_length=1)]


class CalibratedJudgeFile(JudgeFile):
    """A judge file of kind `calibrated`; `cosine` and `cross` were fitted for the embedder with this name and version.

    `fitted_on` documents the collections.
    Without `cross`, `cosine` applies to queries in another language than their nearest note, too.
    """

    kind: Literal["calibrated"]
    rules: Literal[3]
    min_probability: Share
    embedder: str | None = None
    keyword: _KeywordCalibration
    cosine: _VectorCalibration | None = None
    cross: _VectorCalibration | None = None
    fitted_on: tuple[dict[str, Any], ...] = ()

    @model_validator(mode="after")
    def _vectors_have_an_embedder(self) -> Self:
        if (self.embedder is None) is not (self.cosine is None):
            raise ValueError(
                _(
                    "`embedder` and the table [cosine] belong together: write both in the judge file or omit both"
                )
            )
        if self.cross and not self.cosine:
            raise ValueError(
                _("the table [cross] requires the table [cosine] in the same judge file")
            )
        return self


@dataclass(frozen=True, slots=True)
class CalibratedJudge:
    """A judge for runs with one embedder; `warnings` say why the vectors of the run are not used.

    `with_vectors`: whether the coefficients for cosines fit the run.
    """

    file: CalibratedJudgeFile
    with_vectors: bool
    fingerprint: str
    warnings: tuple[str, ...]

    @property
    def kind(self) -> Literal["calibrated"]:
        return self.file.kind

    @classmethod
    def load(cls, path: Path, embedder: str | None) -> Self:
        """Return the judge of a file for an embedder (its name), None in keyword mode; raises as `read_judge_file`."""
        file = read_judge_file(path, CalibratedJudgeFile)
        fits = embedder is not None and file.embedder == embedder
        caution = _(
            "{file} was fitted for {fitted_for}, not for {embedder}, so the judge ignores cosine similarities. To fit"
            " its threshold to your labels, run: gigamind judge tune.",
            file=path,
            fitted_for=file.embedder or _("keyword search"),
            embedder=embedder,
        )
        return cls(
            file,
            with_vectors=fits,
            fingerprint=file.fingerprint_with("cosine" if fits else "keyword", f"rules {_RULES}"),
            warnings=() if fits or embedder is None else (caution,),
        )

    def verdict(self, signals: Signals) -> FreeVerdict:
        """Judge a query unanswerable if nothing is found, or if its probability is below `min_probability`.

        The score is the probability of an answer in [0, 1], assuming that half of the queries are answerable; 0.0 if
        nothing is found. Raises ValueError if the judge weighs cosines, but the signals come from keyword mode.
        """
        score = self._probability_of(signals) if signals.matched else 0.0
        refused = not signals.matched or score < self.file.min_probability
        return FreeVerdict(
            unanswerable=refused, score=score, across_languages=signals.cross_lingual
        )

    def _probability_of(self, signals: Signals) -> float:
        """Return the probability of an answer in [0, 1]; raise ValueError if a signal is missing."""
        file = self.file
        vectors = (file.cross if signals.cross_lingual else None) or file.cosine
        calibration = (vectors if self.with_vectors else None) or file.keyword
        size = _size_of(signals, vectors=calibration is vectors)
        odds = calibration.intercept - calibration.kappa * size
        for name, coefficient in calibration.signals.items():
            value: float | None = getattr(signals, name)
            if value is None:
                raise ValueError(f"{name}: not among the signals of keyword mode")
            odds += coefficient.weight * (value - coefficient.mean) / coefficient.scale
        return 1 / (1 + math.exp(-odds)) if odds > 0 else math.exp(odds) / (1 + math.exp(odds))


def _size_of(signals: Signals, *, vectors: bool) -> float:
    """Return ln(size / 100) of all notes; without vectors, of those that share a word with the query."""
    return math.log((signals.notes if vectors else 1 + signals.candidates) / 100)


RuleJudge = ThresholdJudge | CalibratedJudge
UnanswerableJudge: TypeAlias = "RuleJudge | ModelJudge"


def judge_path(mode: UnanswerableMode) -> Path:
    """Return the included judge file of a mode."""
    return asset("judges") / f"unanswerable_{mode}.toml"


def load_question_judge(
    path: Path, language: PromptLanguage = "auto", embedder: str | None = None
) -> UnanswerableJudge:
    """Return the judge of a file; raise InputError if it or a prompt cannot be read, or has unknown fields.

    `embedder` is the full name of the run's; None in keyword mode or while unknown.
    """
    kind = kind_of(path, get_args(UnanswerableMode))
    if kind in get_args(ThresholdJudge.model_fields["kind"].annotation):
        return read_judge_file(path, ThresholdJudge)
    if kind == "calibrated":
        return CalibratedJudge.load(path, embedder)
    from gigamind.judges.unanswerable_llm import ModelJudge

    return ModelJudge.load(path, language)
