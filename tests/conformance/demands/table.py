"""All rows: the card, 000 by its sections, then the other documents; the earlier text of 000 is the last."""

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
from demands.model import Test

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


def tests_named() -> set[str]:
    """The tests that rows name, such as "cli/test_main.py::test_help"."""
    rows = [row for section in SECTIONS for row in section.rows]
    return {proof.id for row in rows for proof in row.proofs if isinstance(proof, Test)}
