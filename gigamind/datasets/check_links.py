"""Check the links of a dataset against a vault: their notes, targets and anchors."""

from dataclasses import dataclass

from gigamind.datasets.check import CheckedRows, RowChecker
from gigamind.datasets.jsonl import Dataset
from gigamind.datasets.row_errors import shortened, shortened_path
from gigamind.datasets.schema import LinkItem
from gigamind.i18n import _
from gigamind.spans import Span
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Note, Vault


@dataclass(frozen=True, slots=True)
class CheckedLink:
    """A place that should be a link, found in the vault."""

    item: LinkItem
    line: int  # 1-based, in the dataset's file
    note: Note
    targets: frozenset[str]  # paths of the accepted target notes
    span: Span | None  # of the anchor; None if the row's range does not match it


@dataclass(frozen=True, slots=True)
class CheckedLinks(CheckedRows[LinkItem]):
    """A link dataset checked against a vault."""

    links: tuple[CheckedLink, ...]
    misfits: int  # usable rows whose range does not match the anchor


def check_links(dataset: Dataset[LinkItem], vault: Vault, identities: Identities) -> CheckedLinks:
    """Find every source note, target and anchor in the vault."""
    checker = _LinkChecker(dataset, vault, identities)
    checked = [checker.check(item) for item in dataset.items]
    links = tuple(link for link in checked if link is not None)
    misfits = sum(link.span is None and link.item.anchor_range is not None for link in links)
    misfit = _(
        "{file}: in {count:,} of {rows:,} rows, the anchor range does not match the anchor text in {vault}. Give"
        " the unchanged copy that generate-links wrote (--out-notes), not the original vault.",
        file=dataset.path,
        count=misfits,
        rows=len(links),
        vault=vault.root,
    )
    return checker.outcome(CheckedLinks, links, misfits, odd=[misfit] if misfits else [])


class _LinkChecker(RowChecker[LinkItem]):
    def check(self, item: LinkItem) -> CheckedLink | None:
        before = len(self.errors)
        note = self.note(item, "source_note", item.source_note)
        if not item.expected_links:
            fix = _("Name the note that the link leads to")
            self.reject(item, "expected_links", _("the list is empty"), fix)
        paths = self._targets(item)
        if note is None or len(self.errors) > before:
            return None
        if note.path in paths:
            problem = _(
                "the expected link target {note} is the source note itself",
                note=shortened_path(note.path),
            )
            self.warn(item, "expected_links", problem)
        return CheckedLink(item, self.dataset.lines[item.id], note, paths, self._span(item, note))

    def _targets(self, item: LinkItem) -> frozenset[str]:
        before = len(self.errors)
        targets = [
            self.note(item, f"expected_links[{index}]", name)
            for index, name in enumerate(item.expected_links)
        ]
        paths = frozenset(target.path for target in targets if target is not None)
        if paths:
            for error in (error for error in self.errors[before:] if error.absent):
                self.errors.remove(error)
                warning = _(
                    "{problem}; the row is used with its other link targets: {targets}. {fix}",
                    problem=error.message,
                    targets=[shortened(path) for path in sorted(paths)],
                    fix=error.mend,
                )
                self.warn(item, error.field, warning)
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
