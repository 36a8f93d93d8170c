"""How an answer uses the notes it was given, all from one table: its claims by what stands behind them.

Names follow RAGChecker (Ru et al., NeurIPS 2024), which compares claims with a reference answer.  Where a figure needs
to know which claims are right and the data does not say, it is None: that a note does not say a thing makes it neither
right nor wrong.
"""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from gigamind.metrics.spec import MAIN, SHOWN, Rows, Use, measured

Standing = Literal["supported", "contradicted", "not_found", "unverified"]
INSEPARABLE = 0.9  # correlation above which two figures do not tell answers apart in different ways
_MIN_PAIRS = 3  # through two points there is always a line


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """One claim of an answer.

    Attributes:
        note: number of the note that proves its standing, from 1; None without proof.
        cited: numbers of the notes that the answer names for it.
        correct: whether it is right, by a person or a reference answer; None when nobody says.
    """

    standing: Standing
    note: int | None
    cited: tuple[int, ...] = ()
    correct: bool | None = None

    @property
    def is_supported(self) -> bool:
        return self.standing == "supported"


@dataclass(frozen=True, slots=True)
class FactRow:
    """One fact that an answer should give, by people's labels.

    Attributes:
        vital: an answer without it is useless.
    """

    given: bool
    vital: bool


@dataclass(frozen=True, slots=True)
class GroundingTable:
    """The claims of one answer and the notes it was given.

    Attributes:
        notes: how many there were; they are numbered from 1.
        relevant: numbers of those that bear on the question; None when nobody says.
        omissions: how many things are proven to be asked for and left out; None when nobody can say.
        answerable: whether anybody says that the notes answer the question.
        facts: that people say belong into the answer, and that a note backs; empty where nobody says.
    """

    claims: tuple[ClaimRow, ...]
    notes: int
    relevant: frozenset[int] | None = None
    omissions: int | None = 0
    answerable: bool = False
    facts: tuple[FactRow, ...] = ()


def faithfulness(table: GroundingTable) -> float | None:
    """Claims that a note proves, over all claims; None without claims.  RAGChecker's, and ours of correctness."""
    return _share(claim.is_supported for claim in table.claims)


def contradiction(table: GroundingTable) -> float | None:
    """Claims that a note disproves, over all claims; None without claims."""
    return _share(claim.standing == "contradicted" for claim in table.claims)


def source_coverage(table: GroundingTable) -> float | None:
    """Notes that a supported claim rests on, over all notes given; None without notes."""
    used = _used(table)
    return _share(number in used for number in range(1, table.notes + 1))


def context_utilisation(table: GroundingTable) -> float | None:
    """Relevant notes that a supported claim rests on, over the relevant notes; None when there are none, or unknown.

    RAGChecker's context utilization counts the claims of a reference answer instead of notes.
    """
    used = _used(table)
    return _share(number in used for number in sorted(table.relevant or ()))


def distraction(table: GroundingTable) -> float | None:
    """Claims that rest on a note without bearing on the question, over all; None without claims or relevance.

    They are grounded, and beside the point: what noise in the context can do to an answer without making it false.
    """
    relevant = table.relevant
    if relevant is None:
        return None
    return _share(claim.is_supported and claim.note not in relevant for claim in table.claims)


def noise_sensitivity(table: GroundingTable) -> float | None:
    """Wrong claims that a note backs, over all claims; None unless every claim is known to be right or wrong.

    RAGChecker's, over relevant and irrelevant notes together.
    """
    return _share_known(table, correct=False, supported=True)


def hallucination(table: GroundingTable) -> float | None:
    """Wrong claims that no note backs, over all claims; None as in `noise_sensitivity`.  RAGChecker's."""
    return _share_known(table, correct=False, supported=False)


def self_knowledge(table: GroundingTable) -> float | None:
    """Right claims that no note backs, over all claims; None as in `noise_sensitivity`.  RAGChecker's."""
    return _share_known(table, correct=True, supported=False)


def citation_precision(table: GroundingTable) -> float | None:
    """Claims that name the note that proves them, over the claims that name any; None when none does.

    After ALCE (Gao et al., EMNLP 2023), a claim at a time.
    """
    return _share(
        claim.is_supported and claim.note in claim.cited for claim in table.claims if claim.cited
    )


def citation_recall(table: GroundingTable) -> float | None:
    """Supported claims that name the note that proves them, over the supported ones; None when there are none."""
    return _share(claim.note in claim.cited for claim in table.claims if claim.is_supported)


def share_given(supported: int, omitted: int, *, answerable: bool) -> float | None:
    """Supported claims over those and what is left out, in [0, 1].

    With neither, 0.0 where the notes answer the question, so of each abstention there; else None, for nothing was to
    be given.
    """
    if supported + omitted:
        return supported / (supported + omitted)
    return 0.0 if answerable else None


def completeness(table: GroundingTable) -> float | None:
    """Labelled facts that the answer gives, over all; where there are none, `share_given` of what is left out."""
    if table.facts:
        return _share(fact.given for fact in table.facts)
    if table.omissions is None:
        return None
    supported = sum(claim.is_supported for claim in table.claims)
    return share_given(supported, table.omissions, answerable=table.answerable)


def completeness_vital(table: GroundingTable) -> float | None:
    """Vital facts that the answer gives, over all vital ones; None without any.  After nugget recall of TREC."""
    return _share(fact.given for fact in table.facts if fact.vital)


_metric = Rows("answers", "claims")
METRICS = (
    _metric(None, "correctness", "correctness", "정확성", SHOWN).told(
        "claims proven by a quote from a note", "주장 가운데 노트의 인용으로 확인된 비율"
    ),
    _metric(None, "answered", "answered", "답한 비율", Use(gate=True)),
    _metric(None, "utility", "utility", "유용성", SHOWN).told(
        "how much the answer helps who asked", "질문한 사람에게 쓸모 있는 정도"
    ),
    _metric.named(completeness, "완전성", SHOWN).told(
        "what is asked for and stands in the notes, given and not left out",
        "질문이 묻고 노트에 있는 내용 가운데 답변이 빠뜨리지 않은 비율",
    ),
    _metric(
        completeness_vital,
        "completeness_vital",
        "completeness (vital)",
        "완전성(필수)",
        Use(gate=True),
    ),
    _metric.named(faithfulness, "충실성"),
    _metric.named(
        contradiction, "모순", Use(gate=True, lower=True, main=1, page=1, summary=2)
    ).told(
        "claims that a note speaks against, lower is better",
        "노트와 다른 주장의 비율, 낮을수록 좋음",
    ),
    _metric.named(source_coverage, "소스 활용", SHOWN).told(
        "notes given that the answer rests on", "주어진 노트 가운데 답변의 근거가 된 비율"
    ),
    _metric.named(context_utilisation, "관련 노트 활용", MAIN).told(
        "notes bearing on the question that the answer rests on",
        "질문과 관련된 노트 가운데 답변의 근거가 된 비율",
    ),
    _metric.named(distraction, "무관한 노트 의존", Use(lower=True)),
    _metric.named(noise_sensitivity, "잡음 민감도", Use(lower=True)),
    _metric.named(hallucination, "환각", Use(lower=True)),
    _metric(
        self_knowledge, "self_knowledge", "self-knowledge", "자체 지식", plain="self knowledge"
    ),
    _metric.named(citation_precision, "출처 정확도", MAIN).told(
        "claims naming a source that rest on that note",
        "출처를 밝힌 주장 가운데 그 노트에 근거가 있는 비율",
    ),
    _metric.named(citation_recall, "출처 재현율", Use(gate=True)),
)


def measure_claims(table: GroundingTable) -> dict[str, float | None]:
    """Every metric that takes "claims" of one answer; its correctness and its utility are the judge's."""
    return {metric.name: of(table) for metric, of in measured(METRICS, "claims")}


def correlation(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Pearson's r, in [-1, 1]; None with fewer than 3 pairs, or when one side never changes.

    Raises:
        ValueError: a value is not finite.
    """
    values = list(pairs)
    if not all(isfinite(left) and isfinite(right) for left, right in values):
        raise ValueError("not a finite number among the pairs")
    if len(values) < _MIN_PAIRS:
        return None
    lefts, rights = zip(*values, strict=True)
    if len(set(lefts)) == 1 or len(set(rights)) == 1:  # whatever rounding does to their mean
        return None
    return max(-1.0, min(1.0, statistics.correlation(lefts, rights)))


def _used(table: GroundingTable) -> set[int | None]:
    return {claim.note for claim in table.claims if claim.is_supported}


def _share(flags: Iterable[bool]) -> float | None:
    outcomes = list(flags)
    return sum(outcomes) / len(outcomes) if outcomes else None


def _share_known(table: GroundingTable, *, correct: bool, supported: bool) -> float | None:
    if any(claim.correct is None for claim in table.claims):
        return None
    return _share(
        claim.correct is correct and claim.is_supported is supported for claim in table.claims
    )
