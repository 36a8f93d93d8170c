"""Holds a link dataset against a vault: which notes its rows mean, and where their anchors stand."""

from dataclasses import dataclass

from gigamind.datasets.jsonl import Dataset
from gigamind.datasets.row_checker import RowChecker
from gigamind.datasets.row_errors import RowError, shortened
from gigamind.datasets.schema import LinkItem
from gigamind.spans import Span
from gigamind.vault.identity import Collision, Identities
from gigamind.vault.notes import Note, Vault


@dataclass(frozen=True, slots=True)
class CheckedLink:
    """One place that ought to be a link, found in the vault.

    Attributes:
        line: 1-based, in the dataset's file.
        targets: paths of the notes it may lead to.
        span: where the anchor stands, in code points; None where the range does not cut it out.
    """

    item: LinkItem
    line: int
    note: Note
    targets: frozenset[str]
    span: Span | None


@dataclass(frozen=True, slots=True)
class CheckedLinks:
    """A link dataset held against a vault.

    Attributes:
        links: usable ones in file order.
        errors: all problems of all other rows, in file order.
        warnings: what is odd but usable, collisions included.
        misfits: usable rows whose range does not cut out the anchor.
    """

    dataset: Dataset[LinkItem]
    links: tuple[CheckedLink, ...]
    errors: tuple[RowError, ...]
    warnings: tuple[str, ...]
    collisions: tuple[Collision, ...]
    misfits: int


def check_links(dataset: Dataset[LinkItem], vault: Vault, identities: Identities) -> CheckedLinks:
    """Find every source note, target and anchor in the vault."""
    checker = _Checker(dataset, vault, identities)
    found = [checker.check(item) for item in dataset.items]
    links = tuple(link for link in found if link is not None)
    collisions = tuple(checker.collisions.values())
    misfits = sum(link.span is None and link.item.anchor_range is not None for link in links)
    odd = [_misfit_warning(dataset, vault, misfits, len(links))] if misfits else []
    return CheckedLinks(
        dataset=dataset,
        links=links,
        errors=tuple(sorted([*dataset.errors, *checker.errors], key=lambda error: error.line)),
        warnings=(*dataset.warnings, *odd, *checker.warnings, *map(str, collisions)),
        collisions=collisions,
        misfits=misfits,
    )


def _misfit_warning(dataset: Dataset[LinkItem], vault: Vault, misfits: int, rows: int) -> str:
    return (
        f"{dataset.path}: the ranges of {misfits} of {rows} rows do not cut out their anchors in {vault.root}."
        " Give the copy that generate-links made (--out-notes), not the original vault, and unchanged."
    )


class _Checker(RowChecker[LinkItem]):
    def check(self, item: LinkItem) -> CheckedLink | None:
        before = len(self.errors)
        note = self.note(item, "source_note", item.source_note)
        if not item.expected_links:
            self.reject(item, "expected_links", "empty", "Name the note that it leads to")
        targets = [
            self.note(item, f"expected_links[{index}]", name)
            for index, name in enumerate(item.expected_links)
        ]
        if note is None or len(self.errors) > before:
            return None
        paths = frozenset(target.path for target in targets if target is not None)
        if note.path in paths:
            self.warn(item, "expected_links", f"{shortened(note.path)} is the source note itself")
        return CheckedLink(item, self.dataset.lines[item.id], note, paths, self._span(item, note))

    def _span(self, item: LinkItem, note: Note) -> Span | None:
        place = item.anchor_range
        if place is None:
            return None
        try:
            span = self.units(note).span_to_code_points(place.start, place.end)
        except ValueError:
            return None
        return span if span.slice(note.text) == item.anchor else None
