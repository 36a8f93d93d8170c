"""Comparison of answer evaluations: their values, changes of single answers, and the checklist (spec 004, "2-1").

Checklist results are compared only if both runs used the same checklist and model.
"""

from collections.abc import Sequence

from pydantic import Field

from gigamind.i18n import Text, _, joined
from gigamind.metrics.table import label_text, use_of
from gigamind.records.judged import Finite, Share
from gigamind.release import model
from gigamind.stats.intervals import averaged, sliced
from gigamind.tasks.answers.schema import AnswerItemReport, AnswerRunRecord, AnswerSummaryReport

_CORRECTNESS = "correctness"
_LEADING = (_CORRECTNESS, "completeness", "utility")


class AnswerItem(model.SnapshotItem):
    """One answer.

    Attributes:
        metrics: As in per_item.jsonl; of several answers to a question, the means.
        check: Checklist result; null without one.
        answered_share: Share of several answers that make a claim; absent with one answer.
        unanswerable: Whether the dataset labels the question as unanswerable, so that a refusal is correct.
    """

    question: str
    evaluated: bool
    metrics: dict[str, Finite | None]
    unsupported: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    check: model.SnapshotCheck | None = None
    unanswerable: bool = Field(default=False, exclude_if=lambda is_so: not is_so)
    answered_share: Share | None = Field(default=None, exclude_if=lambda share: share is None)

    @property
    def answered(self) -> float | None:
        """1 if it makes a claim, 0 if it refuses; None without an evaluation or claims of a custom judge."""
        if self.answered_share is not None:
            return self.answered_share
        if not self.evaluated or _CORRECTNESS not in self.metrics:
            return None
        return float(self.metrics[_CORRECTNESS] is not None)


AnswerSnapshot = model.EvalSnapshot[AnswerSummaryReport, AnswerItem]


class AnswerComparison(model.ComparedTask[AnswerSummaryReport, AnswerItemReport, AnswerItem]):
    """Compares the answer evaluations of two runs."""

    settings = (
        *("answer_model", "answer_max_tokens", "context_notes", "context_chars"),
        *("mode", "fusion"),
    )

    def item(self, line: AnswerItemReport) -> AnswerItem:
        claims = line.evaluation.claims if line.evaluation else ()
        yes: dict[str, bool | float] = {
            check.id: check.yes for check in (line.quality.items if line.quality else ())
        }
        return AnswerItem.like(
            line,
            id=line.question_id,
            evaluated=line.is_judged,
            unsupported=tuple(claim.text for claim in claims if claim.verdict != "supported"),
            check=line.quality and model.SnapshotCheck(passed=line.quality.passed, yes=yes),
        )

    def take_snapshot(self, record: AnswerRunRecord) -> AnswerSnapshot:
        snapshot = super().take_snapshot(record)
        answers = sliced(snapshot.items, lambda item: [item.id])
        names = dict.fromkeys(item.id for item in snapshot.items)
        return snapshot.model_copy(update={"items": tuple(_joint(answers[x]) for x in names)})

    def shown(self, item: AnswerItem) -> model.Shown:
        return model.Shown(item.question, (), None)

    def has_verdict(self, item: AnswerItem) -> bool:
        return item.evaluated

    def is_recorded(self, snapshot: AnswerSnapshot) -> bool:
        return snapshot.environment.system is None and not snapshot.config.get("answer_model")

    def checklist(self, snapshot: AnswerSnapshot) -> str:
        quality = snapshot.metrics.quality
        return quality.judge.fingerprint if quality else ""

    def is_checked(self, item: AnswerItem) -> bool:
        return item.check is not None

    def without_checks(self, item: AnswerItem) -> AnswerItem:
        return item.model_copy(update={"check": None})

    def values(self, pairs: model.Pairs[AnswerItem]) -> model.Values:
        """Return the paired values of every metric that both runs measured; the checklist comes last."""
        names = dict.fromkeys(name for pair in pairs for item in pair for name in item.metrics)
        values = model.paired_values("answers", names, [(a.metrics, b.metrics) for a, b in pairs])
        answerable = [pair for pair in pairs if not pair[1].unanswerable]
        answered = [({"answered": a.answered}, {"answered": b.answered}) for a, b in answerable]
        values |= model.paired_values("answers", ("answered",), answered)
        return values | model.check_values([(a.check, b.check) for a, b in pairs])

    def change(self, before: AnswerItem, after: AnswerItem) -> model.Change | None:
        """Compare by correctness, then completeness, utility, the effect of a refusal, and the checklist.

        A metric that either run lacks is skipped. A custom judge's metrics are compared in their order.
        """
        refusal, gain = _refusal_gain(before, after), 0.0
        parts: list[Text] = []
        if refusal and before.answered is not None and after.answered is not None:
            ways = _("claims in the answer: some -> none"), _("claims in the answer: none -> some")
            whole = {before.answered, after.answered} == {0.0, 1.0}
            moved = _moved("answered", before.answered, after.answered)
            parts.append(ways[after.answered > 0] if whole else moved)
        leading = _LEADING if _CORRECTNESS in before.metrics else tuple(before.metrics)
        for name in leading:
            old, new = before.metrics.get(name), after.metrics.get(name)
            if old is not None and new is not None and old != new:
                gain = gain or (old - new if use_of(f"answers.{name}").lower else new - old)
                parts.append(_moved(name, old, new))
        gain = gain or refusal
        if gain < 0:
            lost = [text for text in after.unsupported if text not in before.unsupported]
            parts += [_("unsupported claim: {claim}", claim=text) for text in lost[:1]]
            missing = [text for text in after.left_out if text not in before.left_out]
            parts += [_("missing from the answer: {what}", what=text) for text in missing[:1]]
        checked, difference = model.check_change(before.check, after.check)
        parts += [difference] if difference else []
        gain = gain or checked
        return model.Change(gain, joined(parts)) if gain else None


def _moved(name: str, before: float, after: float) -> Text:
    metric = label_text(f"answers.{name}")
    return _("{metric} {before:.2f} -> {after:.2f}", metric=metric, before=before, after=after)


def _joint(answers: Sequence[AnswerItem]) -> AnswerItem:
    """Return one item for all answers to a question, with their means."""
    if len(answers) == 1:
        return answers[0]
    check = None
    if checks := [answer.check for answer in answers if answer.check]:
        passed = averaged([{"all": own.passed} for own in checks])["all"]
        means = {"passed": passed, "yes": averaged([own.yes for own in checks])}
        check = model.SnapshotCheck.model_validate(means)
    rates = averaged([{"answered": answer.answered} for answer in answers])
    return answers[0].model_copy(
        update={
            "evaluated": any(answer.evaluated for answer in answers),
            "metrics": averaged([answer.metrics for answer in answers]),
            "unsupported": tuple(dict.fromkeys(x for one in answers for x in one.unsupported)),
            "left_out": tuple(dict.fromkeys(x for one in answers for x in one.left_out)),
            "answered_share": rates["answered"],
            "check": check,
        }
    )


def _refusal_gain(before: AnswerItem, after: AnswerItem) -> float:
    """Return the correctness gained by no longer refusing; without supported claims, refusing loses none."""
    if before.answered is None or after.answered is None or before.answered == after.answered:
        return 0.0
    if after.unanswerable:
        return before.answered - after.answered
    return (after.metrics[_CORRECTNESS] or 0.0) - (before.metrics[_CORRECTNESS] or 0.0)
