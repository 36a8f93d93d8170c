"""What a comparison must know of answers: their values, what changed in one, and its checklist (seed 004, "2-1").

Checks are compared only where the same checklist, asked of the same model, gave both; else no figure of theirs is,
and the rest of the comparison goes on.
"""

from collections.abc import Mapping

from pydantic import Field

from gigamind.metrics.table import is_lower_better
from gigamind.records.judged import Finite
from gigamind.release.model import (
    Change,
    ComparedTask,
    EvalSnapshot,
    Pairs,
    Shown,
    SnapshotCheck,
    SnapshotItem,
    Values,
    check_change,
    check_values,
    paired_values,
)
from gigamind.tasks.answers.quality import QualityReport
from gigamind.tasks.answers.schema import AnswerItemReport, AnswerSummaryReport


def check_of(quality: QualityReport | None) -> SnapshotCheck | None:
    """What a snapshot keeps of a check."""
    if quality is None:
        return None
    return SnapshotCheck(passed=quality.passed, yes={item.id: item.yes for item in quality.items})


CORRECTNESS = "correctness"
_LEADING = (CORRECTNESS, "completeness", "utility")
_REFUSED = "makes no claim any more"
_ANSWERED = "makes claims, and made none"


class AnswerItem(SnapshotItem):
    """One answer.

    Attributes:
        evaluated: whether it has an evaluation.
        metrics: as in per_item.jsonl.
        unsupported: texts of the claims that are not supported.
        left_out: what is shown to be left out.
        check: by the checklist; null without one.
        unanswerable: the dataset says that no note answers the question, so to refuse is right.
    """

    question: str
    evaluated: bool
    metrics: dict[str, Finite | None]
    unsupported: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    check: SnapshotCheck | None = None
    unanswerable: bool = Field(default=False, exclude_if=lambda is_so: not is_so)

    @property
    def answered(self) -> float | None:
        """Whether it makes a claim, 1 or 0, for one that refuses has no correctness and so is in no mean of it.

        None without an evaluation, and of a team's own judge, which may know no claims.
        """
        if not self.evaluated or CORRECTNESS not in self.metrics:
            return None
        return float(self.metrics[CORRECTNESS] is not None)


AnswerSnapshot = EvalSnapshot[AnswerSummaryReport, AnswerItem]


class AnswerComparison(ComparedTask[AnswerSummaryReport, AnswerItemReport, AnswerItem]):
    """See the module."""

    settings = (
        "answer_model",
        "answer_max_tokens",
        "context_notes",
        "context_chars",
        "mode",
        "fusion",
    )

    def item(self, line: AnswerItemReport) -> AnswerItem:
        claims = line.evaluation.claims if line.evaluation else ()
        return AnswerItem.like(
            line,
            evaluated=line.is_judged,
            unsupported=tuple(claim.text for claim in claims if claim.verdict != "supported"),
            check=check_of(line.quality),
        )

    def shown(self, item: AnswerItem) -> Shown:
        return Shown(item.question, (), None)

    def has_verdict(self, item: AnswerItem) -> bool:
        return item.evaluated

    def is_recorded(self, snapshot: EvalSnapshot[AnswerSummaryReport, AnswerItem]) -> bool:
        return snapshot.environment.system is None and not snapshot.config.get("answer_model")

    def checklist(self, snapshot: EvalSnapshot[AnswerSummaryReport, AnswerItem]) -> str:
        quality = snapshot.metrics.quality
        return quality.judge.fingerprint if quality else ""

    def is_checked(self, item: AnswerItem) -> bool:
        return item.check is not None

    def without_checks(self, item: AnswerItem) -> AnswerItem:
        return item.model_copy(update={"check": None})

    def values(self, pairs: Pairs[AnswerItem]) -> Values:
        """Every figure over the answers that both runs could measure it on, those of the checklist last."""
        names = dict.fromkeys(name for pair in pairs for item in pair for name in item.metrics)
        values = paired_values("answers", names, [(a.metrics, b.metrics) for a, b in pairs])
        asked = [pair for pair in pairs if not pair[1].unanswerable]
        answered = [({"answered": a.answered}, {"answered": b.answered}) for a, b in asked]
        values |= paired_values("answers", ("answered",), answered)
        return values | check_values([(a.check, b.check) for a, b in pairs])

    def models(self, summary: AnswerSummaryReport) -> Mapping[str, tuple[str, ...]]:
        return summary.llm.models if summary.llm else {}

    def change(self, before: AnswerItem, after: AnswerItem) -> Change | None:
        """Correctness decides, then completeness, utility, a refusal where no utility tells its worth, the checklist.

        What either run lacks decides nothing.  Of a team's own judge its figures decide, in its order.
        """
        refusal = _of_refusal(before, after)
        parts = [_REFUSED if after.answered == 0 else _ANSWERED] if refusal else []
        gain = 0.0
        leading = _LEADING if CORRECTNESS in before.metrics else tuple(before.metrics)
        for name in leading:
            old, new = before.metrics.get(name), after.metrics.get(name)
            if old is not None and new is not None and old != new:
                gain = gain or (old - new if is_lower_better(f"answers.{name}") else new - old)
                parts.append(f"{name} {old:.2f} -> {new:.2f}")
        gain = gain or refusal
        fresh = [text for text in after.unsupported if text not in before.unsupported]
        parts += [f"no longer supported: {fresh[0]}"] if gain < 0 and fresh else []
        missing = [text for text in after.left_out if text not in before.left_out]
        parts += [f"left out: {missing[0]}"] if gain < 0 and missing else []
        checked, difference = check_change(before.check, after.check)
        parts += [difference] if difference else []
        gain = gain or checked
        return Change(gain, "; ".join(parts)) if gain else None


def _of_refusal(before: AnswerItem, after: AnswerItem) -> float:
    """What an answer gains that refuses no longer, or loses that refuses now: its correctness.

    One whose claims were all unsupported loses nothing by refusing.
    """
    if before.answered is None or after.answered is None or before.answered == after.answered:
        return 0.0
    if after.unanswerable:
        return before.answered - after.answered
    return (after.metrics[CORRECTNESS] or 0.0) - (before.metrics[CORRECTNESS] or 0.0)
