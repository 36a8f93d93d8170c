"""What caches and stores hold is the user's alone, whatever the umask; keys are in files of mode 0600."""

import os
import stat
from collections.abc import Iterator

import pytest

from gigamind.judges.unanswerable_llm import UnanswerableReply
from gigamind.library import evaluate_search
from gigamind.runs.folders import private_folder
from gigamind.service.app import Feedback

ROWS = (
    '{"id": "a", "query": "leave", "answerable": true, "expected_notes": ["leave.md"]}\n'
    '{"id": "b", "query": "zebra", "answerable": false, "expected_notes": []}\n'
)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022], ids=["umask 000", "umask 022"])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.fixture
def case(tmp_path, monkeypatch):
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "leave.md").write_text("Leave is 15 days a year.\n", "utf-8")
    (tmp_path / "queries.jsonl").write_text(ROWS, "utf-8")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("JUDGE_KEY", "planted-key")
    return tmp_path


def test_folders_of_caches_and_stores_are_open_to_their_owner_alone(case, umask, server):
    said = UnanswerableReply(answered=False, answer="", sources=(), confidence=0.8)
    server.respond = lambda _: said.model_dump(mode="json")
    cache, store = case / "made" / "cache", case / "kept" / "replies"
    evaluate_search(
        case / "queries.jsonl",
        case / "vault",
        out=case / "out",
        cache_dir=cache,
        store=store,
        unanswerable_mode="llm",
        model="openai/judge",
        api_base=server.url,
        key_variable="JUDGE_KEY",
        speed_passes=0,
    )
    (key,) = case.rglob("*.key")
    assert mode(key) == 0o600
    assert list(store.glob("*/*.json"))
    ours = [case / "made", cache, *cache.iterdir(), case / "kept", store, *store.iterdir()]
    folders = [path for path in ours if path.is_dir()]
    assert len(folders) > 5
    assert {str(path): oct(mode(path)) for path in folders if mode(path) != 0o700} == {}
    assert list((case / "tmp").iterdir()) == []
    assert (
        mode(case / "out") == 0o777 & ~umask
    )  # results are to be shown: as everything the user makes


def test_the_folder_of_what_askers_say_is_its_owners_alone(tmp_path, umask):
    assert umask in {0o000, 0o022}
    Feedback(tmp_path / "a" / "said")
    assert (mode(tmp_path / "a"), mode(tmp_path / "a" / "said")) == (0o700, 0o700)


def test_a_folder_that_is_there_keeps_its_mode_and_a_file_is_none(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o750)
    private_folder(shared)
    assert mode(shared) == 0o750
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(FileExistsError):
        private_folder(tmp_path / "file")
