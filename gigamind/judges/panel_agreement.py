"""How far the seats of a panel agree, beyond chance."""

from collections.abc import Sequence

import numpy as np

from gigamind.judges.panel import PanelVerdict
from gigamind.stats.estimate import Estimate
from gigamind.stats.krippendorff import Level, krippendorff_alpha


def panel_alpha(
    verdicts: Sequence[PanelVerdict[bool]] | Sequence[PanelVerdict[float]],
    level: Level,
    *,
    seed: int,
) -> Estimate:
    """Krippendorff's alpha of the seats over items.

    Of an adaptive panel it speaks for the items on which more seats were asked, which are the hard ones.
    """
    columns = sorted({seat for verdict in verdicts for seat in verdict.votes})
    ratings = np.array(
        [
            [float(v.votes[seat].value) if seat in v.votes else np.nan for seat in columns]
            for v in verdicts
        ],
        dtype=np.float64,
    ).reshape(len(verdicts), len(columns))
    return krippendorff_alpha(ratings, level, seed=seed, label="panel")
