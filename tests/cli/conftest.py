from collections.abc import Callable
from pathlib import Path

import pytest
from called import Ended, call
from command_line import SEARCH
from row_files import write_rows
from vault_files import write_files

NOTES = {
    "deploy.md": "The deploy runs every Friday.\n",
    "휴가.md": "휴가는 팀장에게 신청한다.\n",
    "garden.md": "The garden has roses.\n",
}
ROWS: list[dict[str, object]] = [
    {"id": "a", "query": "deploy", "answerable": True, "expected_notes": ["deploy.md"]},
    {"id": "b", "query": "휴가 신청", "answerable": True, "expected_notes": ["휴가.md"]},
    {"id": "c", "query": "zebra", "answerable": False, "expected_notes": []},
]

SEARCH_ONCE = (*SEARCH, "--speed-passes", "0", "--out", "out")


@pytest.fixture(scope="session")
def gigamind() -> Callable[..., Ended]:
    """Runs a command in this process."""
    return call


@pytest.fixture(scope="session")
def enter_case() -> Callable[[Path, pytest.MonkeyPatch], None]:
    """Makes a folder the working directory that `case` is, also for fixtures of a whole module."""

    def enter(folder: Path, environment: pytest.MonkeyPatch) -> None:
        environment.chdir(folder)
        environment.setenv("GIGAMIND_CACHE_DIR", str(folder / "cache"))
        write_files(folder / "vault", NOTES)
        write_rows(folder / "queries.jsonl", ROWS)

    return enter


@pytest.fixture
def case(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    enter_case: Callable[[Path, pytest.MonkeyPatch], None],
) -> Path:
    """A working directory with `vault/` and `queries.jsonl`, and a cache of its own."""
    enter_case(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def search(case: Path, gigamind: Callable[..., Ended]) -> Callable[..., Ended]:
    """Runs `gigamind eval search` in the working directory of `case`, in keyword mode; later options win."""
    assert Path.cwd() == case
    return lambda *options: gigamind(*SEARCH_ONCE, *options)
