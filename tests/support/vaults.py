"""Folders of notes."""

from collections.abc import Mapping
from pathlib import Path


def write_vault(root: Path, notes: Mapping[str, str]) -> Path:
    """Write notes, path -> text; the folder."""
    for path, text in notes.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")
    return root
