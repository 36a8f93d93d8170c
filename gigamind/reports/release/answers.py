"""What a comparison must know of an evaluation of answers: its items are answers, its figures means over them."""

from collections.abc import Sequence

from gigamind.reports.answer_schema import AnswerItemReport, AnswerSummaryReport
from gigamind.reports.release.checks import SnapshotCheck, check_change, check_of, check_values
from gigamind.reports.release.model import EvalSnapshot, Finite, SnapshotItem
from gigamind.reports.release.task import Change, ComparedTask, Shown, Values
from gigamind.reports.schema import RunReport

_LEADING = ("correctness", "utility")


class AnswerItem(SnapshotItem):
    """One answer.

    Attributes:
        evaluated: whether it has an evaluation.
        metrics: as in per_item.jsonl.
        unsupported: texts of the claims that are not supported.
        check: by the checklist; null without one, and in snapshots of versions that did not keep it.
    """

    question: str
    evaluated: bool
    metrics: dict[str, Finite | None]
    unsupported: tuple[str, ...]
    check: SnapshotCheck | None = None


AnswerSnapshot = EvalSnapshot[AnswerSummaryReport, AnswerItem]
Pair = tuple[AnswerItem, AnswerItem]


class AnswerTask(ComparedTask[AnswerSummaryReport, AnswerItemReport, AnswerItem]):
    """See the module."""

    name = "answers"
    unit = "answer"
    units = "answers"
    subject = "answers"
    maker = "the answers"
    blocks = ("answers",)
    settings = ("answer_model", "context_notes", "context_chars", "mode")
    setting = "answering"
    summary = AnswerSummaryReport
    line = AnswerItemReport
    snapshot = AnswerSnapshot

    def judge_fingerprint(self, run: RunReport) -> str:
        return run.judge.fingerprint if run.judge else ""

    def item(self, line: AnswerItemReport) -> AnswerItem:
        claims = line.evaluation.claims if line.evaluation else ()
        return AnswerItem(
            id=line.id,
            question=line.question,
            evaluated=line.evaluation is not None,
            metrics=line.metrics,
            unsupported=tuple(claim.text for claim in claims if claim.verdict != "supported"),
            check=check_of(line.quality),
        )

    def shown(self, item: AnswerItem) -> Shown:
        return Shown(item.question, (), None)

    def has_verdict(self, item: AnswerItem) -> bool:
        return item.evaluated

    def checklist(self, snapshot: AnswerSnapshot) -> str:
        """Also "" where the items lack the checks that the summary counts: an older version took the snapshot."""
        quality = snapshot.metrics.quality
        if quality is None:
            return ""
        kept = any(item.check for item in snapshot.items)
        return quality.judge.fingerprint if kept or not quality.overall.checked else ""

    def is_checked(self, item: AnswerItem) -> bool:
        return item.check is not None

    def without_checks(self, item: AnswerItem) -> AnswerItem:
        return item.model_copy(update={"check": None})

    def values(self, pairs: Sequence[Pair]) -> Values:
        """Every figure over the answers that both runs could measure it on, those of the checklist last."""
        names = dict.fromkeys(name for pair in pairs for item in pair for name in item.metrics)
        found: Values = {}
        for name in names:
            both = ((a.metrics.get(name), b.metrics.get(name)) for a, b in pairs)
            found[f"answers.{name}"] = [(a, b) for a, b in both if a is not None and b is not None]
        return found | check_values([(a.check, b.check) for a, b in pairs])

    def change(self, before: AnswerItem, after: AnswerItem) -> Change | None:
        """Correctness decides, then utility, then the checklist; what either run lacks decides nothing."""
        parts: list[str] = []
        gain = 0.0
        for name in _LEADING:
            old, new = before.metrics.get(name), after.metrics.get(name)
            if old is not None and new is not None and old != new:
                gain = gain or new - old
                parts.append(f"{name} {old:.2f} -> {new:.2f}")
        fresh = [text for text in after.unsupported if text not in before.unsupported]
        parts += [f"no longer supported: {fresh[0]}"] if gain < 0 and fresh else []
        checked, told = check_change(before.check, after.check)
        parts += [told] if told else []
        gain = gain or checked
        return Change(gain, "; ".join(parts)) if gain else None
