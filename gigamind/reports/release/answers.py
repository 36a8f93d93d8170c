"""What a comparison must know of an evaluation of answers: its items are answers, its figures means over them."""

from collections.abc import Sequence

from gigamind.reports.answer_schema import AnswerItemReport, AnswerSummaryReport
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
    """

    question: str
    evaluated: bool
    metrics: dict[str, Finite | None]
    unsupported: tuple[str, ...]


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
        )

    def shown(self, item: AnswerItem) -> Shown:
        return Shown(item.question, (), None)

    def has_verdict(self, item: AnswerItem) -> bool:
        return item.evaluated

    def values(self, pairs: Sequence[Pair]) -> Values:
        """Every figure over the answers that both runs could measure it on."""
        names = dict.fromkeys(name for pair in pairs for item in pair for name in item.metrics)
        found: Values = {}
        for name in names:
            both = ((a.metrics.get(name), b.metrics.get(name)) for a, b in pairs)
            found[f"answers.{name}"] = [(a, b) for a, b in both if a is not None and b is not None]
        return found

    def change(self, before: AnswerItem, after: AnswerItem) -> Change | None:
        """Correctness decides, then utility; where either run has none, the other does."""
        parts: list[str] = []
        gain = 0.0
        for name in _LEADING:
            old, new = before.metrics.get(name), after.metrics.get(name)
            if old is not None and new is not None and old != new:
                gain = gain or new - old
                parts.append(f"{name} {old:.2f} -> {new:.2f}")
        fresh = [text for text in after.unsupported if text not in before.unsupported]
        parts += [f"no longer supported: {fresh[0]}"] if gain < 0 and fresh else []
        return Change(gain, "; ".join(parts)) if gain else None
