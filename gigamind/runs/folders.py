"""Folders of caches and stores, which hold texts of notes and replies: for the user alone who runs gigamind."""

from pathlib import Path

_OWN = 0o700


def private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, that nobody else can open; one that is there stays as it is.

    Raises:
        OSError: it cannot be made, or is a file.
    """
    try:
        folder.mkdir(mode=_OWN)
    except FileNotFoundError:
        private_folder(folder.parent)
        folder.mkdir(mode=_OWN, exist_ok=True)
    except FileExistsError:
        if not folder.is_dir():
            raise
