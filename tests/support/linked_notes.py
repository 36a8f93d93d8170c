"""Five notes, three links that were taken from two of them, and what is to be found again."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from row_files import write_rows
from vault_files import write_files

# From a the link to "Beta" was taken, from c those to "감마" and "Beta"; the one to "nothing like it" cannot be found.
NOTES = {
    "a.md": "👋 See Beta and [[감마]] and 감마.", "b.md": "---\ntitle: Beta\n---\nText.",
    "c.md": "감마는 Beta보다 크다. Some words here.", "감마.md": "Delta is linked: [[d|Delta]].",
    "d.md": "---\ntitle: Delta\n---\n",
}  # fmt: skip


def row(
    item_id: str, source: str, anchor: str, target: str, start: int, language: str
) -> dict[str, object]:
    place = {"start": start, "end": start + len(anchor)}
    fields = {"id": item_id, "source_note": source, "anchor": anchor, "anchor_range": place}
    return fields | {"expected_links": [target], "language": language}


ROWS = [
    row("1", "a.md", "Beta", "b.md", 7, "en") | {"label": "accept"},
    row("2", "c.md", "감마", "감마.md", 0, "ko"),
    row("3", "c.md", "Some words", "d.md", 15, "ko"),
]


def write_linked_notes(
    vault: Path, dataset: Path, rows: Sequence[Mapping[str, object]] = ROWS
) -> None:
    """Write the notes into a folder, and rows into a file."""
    write_files(vault, NOTES)
    write_rows(dataset, rows)
