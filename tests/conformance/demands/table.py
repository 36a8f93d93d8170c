"""All rows: the card, 000 by its sections, then the other seeds; the earlier text of 000 is the last."""

from demands import (
    card,
    commands,
    datasets,
    earlier,
    links,
    memory,
    metrics,
    release,
    scores,
    service,
    tree,
)

SECTIONS = (
    *card.SECTIONS,
    *tree.SECTIONS,
    *commands.SECTIONS,
    *datasets.SECTIONS,
    *metrics.SECTIONS,
    *release.SECTIONS,
    *links.SECTIONS,
    *scores.SECTIONS,
    *memory.SECTIONS,
    *service.SECTIONS,
    *earlier.SECTIONS,
)
