"""The flow `graduate-memory` against a real server: its end states, its table, its events."""

import json
from pathlib import Path
from typing import Any

import pytest
from flow_artifacts import artifacts_of, events_of
from flow_files import load_flow
from memory_rows import entry, extracted

from gigamind.errors import InputError
from gigamind.memory.events import read_events
from gigamind.memory.sessions import FolderOptions

pytestmark = [pytest.mark.prefect, pytest.mark.whole, pytest.mark.usefixtures("prefect_server")]

ALIGNED = "gigamind.evidence.aligned"
GOOD, BAD = "ship the release on Friday", "벡터 검색을 도입하자"


@pytest.fixture
def flow() -> Any:
    return load_flow("graduate_memory")


@pytest.fixture
def options(tmp_path: Path) -> FolderOptions:
    """A Korean and an English session: one entry verified, one blocked."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    message = {"role": "user", "content": "Let's ship the release on Friday."}
    for name, quote in (("회의", BAD), ("standup", GOOD)):
        found = extracted(entry("e", "We ship the release on Friday.", quote))
        (folder / f"{name}.jsonl").write_text(json.dumps(message))
        (folder / f"{name}.extracted.json").write_text(json.dumps(found))
    return FolderOptions(folder=folder, log=tmp_path / "memory.db")


def table_of(state: Any) -> list[dict[str, Any]]:
    """Rows of the one artifact of the flow run that ended in `state`."""
    (artifact,) = artifacts_of(state).values()
    assert (artifact.key, artifact.type) == ("memory-sessions", "table")
    return json.loads(artifact.data)


def test_every_session_is_graduated_and_stands_in_the_table_and_in_an_event(
    flow: Any, options: FolderOptions
):
    state = flow(options, return_state=True)
    assert state.is_completed()
    rows = table_of(state)
    assert state.result() == rows
    told = [(row["session"], row["verified"], row["blocked"]) for row in rows]
    assert told == [("회의", 0, 1), ("standup", 1, 0)]
    assert rows[0]["reasons"].startswith("e: ")
    assert len(list(read_events(options.log))) == 8
    found = {
        event["resource"]["prefect.resource.name"]: event for event in events_of(state, ALIGNED, 2)
    }
    assert set(found) == {"회의", "standup"}
    assert found["회의"]["resource"]["prefect.resource.id"] == "gigamind.session.회의"
    assert found["회의"]["payload"] == {
        "aligned_count": 0,
        "failed_count": 1,
        "verified_count": 0,
        "blocked_count": 1,
        "failed_quotes": ["벡터 검색을 도입하자"],
    }


def test_a_session_that_cannot_be_read_fails_the_run_and_not_the_other_sessions(
    flow: Any, options: FolderOptions
):
    (options.folder / "회의.jsonl").write_bytes(b"\xff")
    state = flow(options, return_state=True)
    assert (state.type.value, state.name) == ("FAILED", "InvalidInput")
    assert "1 of 2 sessions" in state.message
    with pytest.raises(InputError, match=r"회의\.jsonl"):
        state.result()
    rows = table_of(state)
    found = [(row["session"], row["status"], row["verified"]) for row in rows]
    assert found == [("회의", "failed", 0), ("standup", "graduated", 1)]
    (event,) = events_of(state, ALIGNED, 1)
    assert event["resource"]["prefect.resource.name"] == "standup"


def test_events_that_cannot_be_sent_cost_a_warning_and_no_run(
    flow: Any, options: FolderOptions, caplog: pytest.LogCaptureFixture
):
    from prefect.settings import PREFECT_SERVER_EVENTS_MAXIMUM_SIZE_BYTES, temporary_settings

    # Ours of 20 quotes of 200 Korean characters, 3 bytes each, is larger; Prefect's own are smaller.
    found = extracted(entry("e", "t", *["나" * 300] * 20))
    (options.folder / "회의.extracted.json").write_text(json.dumps(found))
    with temporary_settings({PREFECT_SERVER_EVENTS_MAXIMUM_SIZE_BYTES: 10_000}):
        state = flow(options, return_state=True)
    assert state.is_completed()
    (warning,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert "EventTooLarge: " in warning.getMessage()
    (event,) = events_of(state, ALIGNED, 1)
    assert event["resource"]["prefect.resource.name"] == "standup"
