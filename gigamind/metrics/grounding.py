"""How an answer uses its notes, computed from a table of its claims and their evidence.

Names follow RAGChecker (Ru et al., NeurIPS 2024). A figure that needs to know which claims are right is None if the
data does not state it: a claim that is absent from a note may be right.
"""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from gigamind.i18n import _
from gigamind.metrics.spec import MAIN, SHOWN, Rows, Use, measured

_Standing = Literal["supported", "contradicted", "not_found", "unverified"]
INSEPARABLE = 0.9  # correlation above which two figures measure nearly the same
_MIN_PAIRS = 3  # two points always have a line


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """One claim of an answer."""

    standing: _Standing
    note: int | None  # number of the note that proves its standing, from 1; None without proof
    cited: tuple[int, ...] = ()  # numbers of the notes that the answer names for it
    correct: bool | None = None  # whether it is right, by a person or a reference; None if unknown

    @property
    def is_supported(self) -> bool:
        return self.standing == "supported"


@dataclass(frozen=True, slots=True)
class FactRow:
    """One fact that an answer should give, by human labels; an answer without a vital one is useless."""

    given: bool
    vital: bool


@dataclass(frozen=True, slots=True)
class GroundingTable:
    """The claims of one answer and the `notes` it was given, numbered from 1."""

    claims: tuple[ClaimRow, ...]
    notes: int
    relevant: frozenset[int] | None = None  # numbers of the relevant notes; None if unknown
    # number of facts that were asked for, are in the notes and are missing; None if unknown
    omissions: int | None = 0
    answerable: bool = False  # whether the notes are labelled as answering the question
    facts: tuple[FactRow, ...] = ()  # labelled ones that a note supports; empty without labels

    def measured(self) -> dict[str, float | None]:
        """Return every metric that takes "claims" of one answer; correctness and utility come from the judge."""
        return measured(METRICS, "claims", self)


def _faithfulness(table: GroundingTable) -> float | None:
    """Return the claims that a note proves, over all claims; None without claims.  As in RAGChecker."""
    return _share(claim.is_supported for claim in table.claims)


def _contradiction(table: GroundingTable) -> float | None:
    """Return the claims that a note disproves, over all claims; None without claims."""
    return _share(claim.standing == "contradicted" for claim in table.claims)


def _source_coverage(table: GroundingTable) -> float | None:
    """Return the notes that support a claim, over all notes given; None without notes."""
    used = _used(table)
    return _share(number in used for number in range(1, table.notes + 1))


def _context_utilisation(table: GroundingTable) -> float | None:
    """Return the relevant notes that support a claim, over all relevant notes; None if there are none, or unknown."""
    used = _used(table)
    return _share(number in used for number in sorted(table.relevant or ()))


def _distraction(table: GroundingTable) -> float | None:
    """Return the claims supported by an irrelevant note, over all claims; None without claims or relevance labels."""
    relevant = table.relevant
    if relevant is None:
        return None
    return _share(claim.is_supported and claim.note not in relevant for claim in table.claims)


def _noise_sensitivity(table: GroundingTable) -> float | None:
    """Return the wrong claims that a note supports, over all; None unless each claim is known as right or wrong."""
    return _share_known(table, correct=False, supported=True)


def _hallucination(table: GroundingTable) -> float | None:
    """Return the wrong claims that no note supports, over all; None as in `_noise_sensitivity`.  As in RAGChecker."""
    return _share_known(table, correct=False, supported=False)


def _self_knowledge(table: GroundingTable) -> float | None:
    """Return the right claims that no note supports, over all; None as in `_noise_sensitivity`.  As in RAGChecker."""
    return _share_known(table, correct=True, supported=False)


def _citation_precision(table: GroundingTable) -> float | None:
    """Return the claims naming the note that proves them, over those naming any (ALCE, Gao et al., EMNLP 2023)."""
    return _share(c.is_supported and c.note in c.cited for c in table.claims if c.cited)


def _citation_recall(table: GroundingTable) -> float | None:
    """Return the supported claims that name the note that proves them, over all supported ones; None without any."""
    return _share(claim.note in claim.cited for claim in table.claims if claim.is_supported)


def share_given(supported: int, omitted: int, *, answerable: bool) -> float | None:
    """Return the supported claims over these and omissions, in [0, 1]; without either, 0.0 if answerable, else None."""
    if supported + omitted:
        return supported / (supported + omitted)
    return 0.0 if answerable else None


def _completeness(table: GroundingTable) -> float | None:
    """Return the labelled facts that the answer gives, over all; without labels, `share_given` of the omissions."""
    if table.facts:
        return _share(fact.given for fact in table.facts)
    if table.omissions is None:
        return None
    supported = sum(claim.is_supported for claim in table.claims)
    return share_given(supported, table.omissions, answerable=table.answerable)


def _completeness_vital(table: GroundingTable) -> float | None:
    """Return the vital facts that the answer gives, over all vital ones; None without any.  As TREC's nugget recall."""
    return _share(fact.given for fact in table.facts if fact.vital)


_metric = Rows("answers", "claims")
METRICS = (
    _metric(None, "correctness", _("correctness"), SHOWN).described(
        _("share of the answer's claims that a quote from a note proves")
    ),
    _metric(None, "answered", _("answered"), Use(gate=True)).described(
        _("share of the answerable questions to which the answer makes a claim")
    ),
    _metric(None, "utility", _("utility"), SHOWN).described(
        _("how useful the answer is to the person with the question")
    ),
    _metric.named(_completeness, _("completeness"), SHOWN).described(
        _(
            "of the content that the question requests and the notes contain, the share that the answer gives"
        )
    ),
    _metric(
        _completeness_vital, "completeness_vital", _("completeness (vital)"), Use(gate=True)
    ).described(_("share of the facts labelled as vital that the answer gives")),
    _metric.named(_faithfulness, _("faithfulness")).described(
        _("share of the answer's claims that the notes support")
    ),
    _metric.named(
        _contradiction, _("contradiction"), Use(gate=True, lower=True, main=1, page=1, summary=2)
    ).described(_("share of the claims that a note contradicts; lower is better")),
    _metric.named(_source_coverage, _("source coverage"), SHOWN).described(
        _("share of the context notes that support a claim of the answer")
    ),
    _metric.named(_context_utilisation, _("context utilisation"), MAIN).described(
        _(
            "of the context notes relevant to the question, the share that supports a claim of the answer"
        )
    ),
    _metric.named(_distraction, _("distraction"), Use(lower=True)).described(
        _("share of the claims that an irrelevant note supports; lower is better")
    ),
    _metric.named(_noise_sensitivity, _("noise sensitivity"), Use(lower=True)).described(
        _(
            "share of the claims that are wrong by human labels and that a note supports; lower is better"
        )
    ),
    _metric.named(_hallucination, _("hallucination"), Use(lower=True)).described(
        _(
            "share of the claims that are wrong by human labels and that no note supports; lower is better"
        )
    ),
    _metric(_self_knowledge, "self_knowledge", _("self-knowledge")).described(
        _("share of the claims that are right by human labels and that no note supports")
    ),
    _metric.named(_citation_precision, _("citation precision"), MAIN).described(
        _("of the claims that cite a note, the share that the cited note supports")
    ),
    _metric.named(_citation_recall, _("citation recall"), Use(gate=True)).described(
        _("of the supported claims, the share that cites the note that supports it")
    ),
)


def correlation(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Return Pearson's r, in [-1, 1]; None with fewer than 3 pairs, or if one side is constant.

    Raises:
        ValueError: a value is not finite.
    """
    values = list(pairs)
    if not all(isfinite(left) and isfinite(right) for left, right in values):
        raise ValueError("not a finite number among the pairs")
    if len(values) < _MIN_PAIRS:
        return None
    lefts, rights = zip(*values, strict=True)
    if len(set(lefts)) == 1 or len(set(rights)) == 1:  # despite rounding of the mean
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
    return _share(c.correct is correct and c.is_supported is supported for c in table.claims)
