from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from vault_files import write_files

from gigamind.vault.notes import Vault, read_vault


@pytest.fixture
def vault_of(tmp_path: Path) -> Callable[[Mapping[str, str]], Vault]:
    """Makes a vault of these notes, path -> text."""
    return lambda notes: read_vault(write_files(tmp_path / "vault", notes))
