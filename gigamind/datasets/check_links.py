"""Holds the links of a dataset against a vault: their notes, targets and anchors."""

from dataclasses import dataclass

from gigamind.datasets.check import CheckedRows, RowChecker
from gigamind.datasets.jsonl import Dataset
from gigamind.datasets.row_errors import shortened, shortened_path
from gigamind.datasets.schema import LinkItem
from gigamind.spans import Span
from gigamind.vault.identity import Identities
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
class CheckedLinks(CheckedRows[LinkItem]):
    """A link dataset held against a vault.

    Attributes:
        misfits: usable rows whose range does not cut out the anchor.
    """

    links: tuple[CheckedLink, ...]
    misfits: int


def check_links(dataset: Dataset[LinkItem], vault: Vault, identities: Identities) -> CheckedLinks:
    """Find every source note, target and anchor in the vault."""
    checker = _LinkChecker(dataset, vault, identities)
    checked = [checker.check(item) for item in dataset.items]
    links = tuple(link for link in checked if link is not None)
    misfits = sum(link.span is None and link.item.anchor_range is not None for link in links)
    odd = [_misfit_warning(dataset, vault, misfits, len(links))] if misfits else []
    return CheckedLinks(*checker.outcome(*odd), links, misfits)


def _misfit_warning(dataset: Dataset[LinkItem], vault: Vault, misfits: int, rows: int) -> str:
    return (
        f"{dataset.path}: the ranges of {misfits} of {rows} rows do not cut out their anchors in {vault.root}."
        " Give the copy that generate-links made (--out-notes), not the original vault, and unchanged."
    )


class _LinkChecker(RowChecker[LinkItem]):
    def check(self, item: LinkItem) -> CheckedLink | None:
        before = len(self.errors)
        note = self.note(item, "source_note", item.source_note)
        if not item.expected_links:
            self.reject(item, "expected_links", "empty", "Name the note that it leads to")
        paths = self._targets(item)
        if note is None or len(self.errors) > before:
            return None
        if note.path in paths:
            self.warn(
                item, "expected_links", f"{shortened_path(note.path)} is the source note itself"
            )
        return CheckedLink(item, self.dataset.lines[item.id], note, paths, self._span(item, note))

    def _targets(self, item: LinkItem) -> frozenset[str]:
        """Paths of the targets; one that is gone is no error while another is left, for any of them is right."""
        before = len(self.errors)
        targets = [
            self.note(item, f"expected_links[{index}]", name)
            for index, name in enumerate(item.expected_links)
        ]
        paths = frozenset(target.path for target in targets if target is not None)
        if paths:
            for error in (error for error in self.errors[before:] if error.absent):
                self.errors.remove(error)
                kept = ", ".join(map(shortened, sorted(paths)))
                self.warn(item, error.field, f"{error.message}; the row keeps {kept}. {error.mend}")
        return paths

    def _span(self, item: LinkItem, note: Note) -> Span | None:
        place = item.anchor_range
        if place is None:
            return None
        try:
            span = self.units(note).span_to_code_points(place.start, place.end)
        except ValueError:
            return None
        return span if span.slice(note.text) == item.anchor else None
