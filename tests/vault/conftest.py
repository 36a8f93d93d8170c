from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault, read_vault

WriteVault = Callable[[Mapping[str, str | bytes]], Path]


@pytest.fixture
def write_vault(tmp_path: Path) -> WriteVault:
    """Writes files (relative path -> content) under a fresh folder and gives its path."""

    def write(files: Mapping[str, str | bytes]) -> Path:
        root = tmp_path / "vault"
        root.mkdir(exist_ok=True)
        for path, content in files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return write


@pytest.fixture
def read(write_vault: WriteVault) -> Callable[[Mapping[str, str | bytes]], Vault]:
    """Writes files and reads them as a vault."""
    return lambda files: read_vault(write_vault(files))


@pytest.fixture
def identities(
    read: Callable[[Mapping[str, str | bytes]], Vault],
) -> Callable[[Mapping[str, str | bytes]], Identities]:
    """Writes files and gives the identities of their notes."""
    return lambda files: Identities(read(files).notes)
