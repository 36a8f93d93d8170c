"""How far the seats of a panel agree, over the items that two or more of them voted on, as reports have it."""

from collections.abc import Collection, Sequence

from gigamind.judges.panel import PanelVerdict, Seat
from gigamind.judges.panel_agreement import panel_alpha
from gigamind.reports.judged import PanelReport
from gigamind.stats.estimate import Estimate
from gigamind.stats.krippendorff import Level
from gigamind.stats.proportion import wilson


def panel_figures(
    paired: Sequence[PanelVerdict[bool]] | Sequence[PanelVerdict[float]],
    level: Level,
    *,
    seats: Collection[Seat],
    split: int,
    incomplete: int,
    tied: int,
    alone: int,
    seed: int,
) -> PanelReport:
    """The figures; `split` of the `paired` items have votes that differ, and `alone` items have a single vote."""
    count = len(paired)
    interval = wilson(split, count) if count else None
    alpha = Estimate(None, None, 0, 0) if alone else panel_alpha(paired, level, seed=seed)
    return PanelReport(
        seats=len(seats),
        items=count,
        split=split,
        rate=split / count if count else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        alpha=alpha.value,
        alpha_low=alpha.interval.low if alpha.interval else None,
        alpha_high=alpha.interval.high if alpha.interval else None,
        incomplete=incomplete,
        tied=tied,
        alone=alone,
    )
