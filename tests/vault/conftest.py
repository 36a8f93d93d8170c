from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from vault_files import write_files

from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault

WriteVault = Callable[[Mapping[str, str | bytes]], Path]


@pytest.fixture
def write_vault(tmp_path: Path) -> WriteVault:
    """Writes files (relative path -> content) under a fresh folder and gives its path."""
    return lambda files: write_files(tmp_path / "vault", files)


@pytest.fixture
def read(write_vault: WriteVault) -> Callable[[Mapping[str, str | bytes]], Vault]:
    """Writes files and reads them as a vault."""
    return lambda files: Vault.read(write_vault(files))


@pytest.fixture
def identities(
    read: Callable[[Mapping[str, str | bytes]], Vault],
) -> Callable[[Mapping[str, str | bytes]], Identities]:
    """Writes files and gives the identities of their notes."""
    return lambda files: Identities(read(files).notes)
