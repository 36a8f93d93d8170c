"""Which metrics and which slices a report shows, in which order."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gigamind.reports.schema import IntervalReport, SliceReport, SummaryReport

Kind = Literal["overall", "language", "cross_lingual", "difficulty", "tag"]
_CUTOFF = 10  # the cut-off that reports show, or the largest below it
_METRICS = (
    "hit",
    "mrr",
    "ndcg",
    "precision",
    "recall",
    "f1",
    "far",
    "span_precision",
    "span_recall",
)
_DIFFICULTIES = ("easy", "mid", "hard")


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric of a slice: its value in [0, 1] and interval, None where not measured.

    Attributes:
        block: "search" or "unanswerable".
    """

    block: str
    name: str
    value: float | None
    interval: IntervalReport

    @property
    def key(self) -> str:
        """As in `SliceReport.intervals`: "search.mrr"."""
        return f"{self.block}.{self.name}"


@dataclass(frozen=True, slots=True)
class Slice:
    """Some queries and their figures; `key` is "" where the kind says all."""

    kind: Kind
    key: str
    part: SliceReport


def figure_of(part: SliceReport, key: str) -> Figure | None:
    """The metric "search.mrr" of a slice; None when the slice does not have it."""
    block, _, name = key.partition(".")
    interval = part.intervals.get(key)
    values = part.search if block == "search" else part.unanswerable
    return Figure(block, name, values.get(name), interval) if interval else None


def main_metrics(part: SliceReport) -> list[Figure]:
    """The metrics that tell the whole story, of those that were measured; ranking first."""
    cutoffs = [int(name[8:]) for name in part.search if name.startswith("ndcg_at_")]
    k = max((c for c in cutoffs if c <= _CUTOFF), default=min(cutoffs, default=_CUTOFF))
    keys = ["hit_at_1", "mrr", f"ndcg_at_{k}", f"recall_at_{k}", "span_precision", "span_recall"]
    found = (
        figure_of(part, key)
        for key in [f"search.{key}" for key in keys]
        + [f"unanswerable.{key}" for key in ("precision", "recall", "f1", "far")]
    )
    return [figure for figure in found if figure and figure.value is not None]


def all_metrics(part: SliceReport) -> list[Figure]:
    """Every metric that has an interval, ranking first; cut-offs by number, not by letter."""
    found = [figure_of(part, key) for key in sorted(part.intervals, key=_metric_order)]
    return [figure for figure in found if figure]


def slices(summary: SummaryReport, tags: int) -> Iterator[Slice]:
    """All queries, then languages, cross-lingual, difficulties, and the `tags` largest tags."""
    yield Slice("overall", "", summary.overall)
    for key, part in summary.by_language.items():
        yield Slice("language", key, part)
    if summary.cross_lingual:
        yield Slice("cross_lingual", "", summary.cross_lingual)
    for key in sorted(summary.by_difficulty, key=_difficulty):
        yield Slice("difficulty", key, summary.by_difficulty[key])
    # The tag that makes an item cross-lingual would say the same again.
    others = (pair for pair in summary.by_tag.items() if pair[1] != summary.cross_lingual)
    largest = sorted(others, key=lambda pair: -pair[1].counts.queries)
    for key, part in largest[:tags]:
        yield Slice("tag", key, part)


def same_slice(summary: SummaryReport, kind: Kind, key: str) -> SliceReport | None:
    """The slice of another run with the same name."""
    groups: dict[Kind, dict[str, SliceReport]] = {
        "overall": {"": summary.overall},
        "language": summary.by_language,
        "cross_lingual": {"": summary.cross_lingual} if summary.cross_lingual else {},
        "difficulty": summary.by_difficulty,
        "tag": summary.by_tag,
    }
    return groups[kind].get(key)


def _metric_order(key: str) -> tuple[bool, int, int]:
    block, _, name = key.partition(".")
    base, _, k = name.partition("_at_")
    known = _METRICS.index(base) if base in _METRICS else len(_METRICS)
    return block == "unanswerable", known, int(k or 0)


def _difficulty(key: str) -> tuple[int, str]:
    """From easy to hard, as the seed orders them; unknown ones last."""
    return (_DIFFICULTIES.index(key) if key in _DIFFICULTIES else len(_DIFFICULTIES), key)
