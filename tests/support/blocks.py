"""Blocks of documents, for assertions."""

from gigamind.reports.document import Section


def section(document, name):
    """The section with that id."""
    return next(b for b in document.blocks if isinstance(b, Section) and b.id == name)


def find(blocks, kind):
    """The first block of a type, also in sections; None if there is none."""
    for block in blocks:
        inner = find(block.blocks, kind) if isinstance(block, Section) else None
        if isinstance(block, kind) or inner:
            return inner or block
    return None
