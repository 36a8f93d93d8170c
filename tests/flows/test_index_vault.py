"""The flow `index-vault`: what it leaves on a Qdrant server, and how it ends without one."""

from pathlib import Path
from typing import Any

import pytest
from flow_files import load_flow
from qdrant_server import qdrant
from vault_files import write_files

from gigamind.retrieval.indexing import IndexOptions

pytestmark = [pytest.mark.prefect, pytest.mark.whole, pytest.mark.usefixtures("prefect_server")]


def index(notes: Path, url: str) -> Any:
    options = IndexOptions(notes=notes, vault="bikes", qdrant_url=url)
    return load_flow("index_vault")(options, return_state=True)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    notes = {f"{n}.md": f"# Note {n}\n\nBike {n} is red." for n in range(3)}
    return write_files(tmp_path / "vault", notes)


def test_the_collection_stands_under_the_alias_of_the_vault(vault: Path):
    with qdrant() as standing:
        state = index(vault, standing.url)
        assert state.is_completed(), state.message
        made = state.result()
        assert made["alias"] == "gigamind-bikes"
        assert standing.aliases["gigamind-bikes"] == made["collection"]
        assert standing.engine.count(made["collection"]).count == made["chunks"] == 3


def test_a_server_that_stays_away_ends_the_run_failed_with_a_sentence(
    vault: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("gigamind.retrieval.server._PATIENCE_S", 0.5)
    state = index(vault, "http://127.0.0.1:9")
    assert (state.type.value, state.name) == ("FAILED", "NotesInaccessible")
    assert state.message.startswith("http://127.0.0.1:9: ")
    assert state.message.endswith("(exit code 2)")
