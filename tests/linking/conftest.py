from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gigamind.vault.notes import Vault, read_vault


@pytest.fixture
def vault_of(tmp_path: Path) -> Callable[[Mapping[str, str]], Vault]:
    """Makes a vault of these notes, path -> text."""

    def write(notes: Mapping[str, str]) -> Vault:
        root = tmp_path / "vault"
        for path, text in notes.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8", newline="")
        return read_vault(root)

    return write
