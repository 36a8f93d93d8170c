"""Comparison of link evaluations. Items are notes; figures are ratios of sums over notes."""

from gigamind.i18n import _, joined
from gigamind.metrics.links import CEILING
from gigamind.records.judged import Finite, Report
from gigamind.records.schema import RunReport
from gigamind.release import model
from gigamind.tasks.links.schema import LinkItemReport, LinkSummaryReport


class SnapshotSuggestion(Report):
    """One suggested link; `hit` is true if its target was expected."""

    anchor: str
    target: str
    confidence: Finite | None
    hit: bool


class LinkItem(model.SnapshotItem):
    """One note; its id is its path.

    Attributes:
        terms: Numerator and denominator of each figure, as in per_item.jsonl.
    """

    expected: tuple[str, ...]
    suggestions: tuple[SnapshotSuggestion, ...]
    terms: dict[str, tuple[int, int]]


LinkSnapshot = model.EvalSnapshot[LinkSummaryReport, LinkItem]


class LinkComparison(model.ComparedTask[LinkSummaryReport, LinkItemReport, LinkItem]):
    """Compares the link evaluations of two runs."""

    settings = ("topk", "min_confidence", "exclude_linked", "context_chars", "semantic")

    def judge_fingerprint(self, run: RunReport) -> str:
        """Return a constant: only removed links are the ground truth, and no judge is involved."""
        del run
        return "removed-links"

    def item(self, line: LinkItemReport) -> LinkItem:
        expected = (target for row in line.expected if row.wanted for target in row.targets)
        return LinkItem(
            id=line.note,
            language=line.language,
            expected=tuple(dict.fromkeys(expected)),
            suggestions=tuple(
                SnapshotSuggestion.like(s, anchor=s.anchor.text if s.anchor else "")
                for s in line.suggestions
            ),
            terms=line.terms,
        )

    def shown(self, item: LinkItem) -> model.Shown:
        ranking = tuple(
            model.SnapshotHit(note=s.target, base_score=s.confidence, final_score=s.confidence)
            for s in item.suggestions
        )
        return model.Shown(item.id, item.expected, ranking)

    def terms(self, pairs: model.Pairs[LinkItem]) -> model.Terms:
        """Return the paired terms of all figures except the ceilings, which depend only on the dataset."""
        names = [name for name in pairs[0][1].terms if not name.endswith(CEILING)] if pairs else []
        return {
            f"links.{name}": [
                (a.terms[name], b.terms[name])
                for a, b in pairs
                if name in a.terms and name in b.terms
            ]
            for name in names
        }

    def change(self, before: LinkItem, after: LinkItem) -> model.Change | None:
        """Compare by the number of expected links found, then by the number of wrong suggestions."""
        (old, old_wrong), (new, new_wrong) = _targets(before), _targets(after)
        gained, lost, wrong = new - old, old - new, (old_wrong, new_wrong)
        gain = len(gained) - len(lost) or (wrong[0] - wrong[1]) / 1_000
        parts = [_("links lost: {notes}", notes=sorted(lost))] if lost else []
        parts += [_("links found: {notes}", notes=sorted(gained))] if gained else []
        if wrong[0] != wrong[1]:
            parts.append(
                _("{before} -> {after} wrong suggestions", before=wrong[0], after=wrong[1])
            )
        return model.Change(gain, joined(parts)) if gain else None


def _targets(item: LinkItem) -> tuple[set[str], int]:
    """Return the expected targets that were suggested, and the number of wrong suggestions."""
    right = [suggestion.target for suggestion in item.suggestions if suggestion.hit]
    return set(right), len(item.suggestions) - len(right)
