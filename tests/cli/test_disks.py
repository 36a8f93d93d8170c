"""Disks that are full or may not be written, with real limits of the system: what was paid for is kept, and told."""

import json

import pytest
from command_line import reached
from forked import command
from row_files import query_row, write_rows

pytestmark = pytest.mark.timeout(180)  # processes that load the client of a model server

QUERIES = 12


@pytest.fixture
def search(case, server):
    """Runs a search that a model judges, where no file may grow beyond so many bytes, as on a full disk."""
    rows = (query_row(f"q{n}", f"deploy {n}", "deploy.md") for n in range(QUERIES))
    write_rows(case / "queries.jsonl", rows)
    asked = ("--unanswerable-mode", "llm", "--model", "openai/judge", *reached(server))
    given = ("--dataset", "queries.jsonl", "--notes", "vault", "--mode", "keyword", *asked)

    def run(*options, room=None):
        return command(case, "eval", "search", *given, *options, room=room).completed()

    return run


@pytest.mark.faults
def test_a_disk_that_fills_in_the_middle_keeps_what_was_paid_and_the_run_goes_on_later(
    search, server, case
):
    one = ("--max-in-flight", 1, "--format", "json")
    full = search("--out", "out", "--store-mode", "off", *one, room=3000)

    assert full.returncode == 3, full.stderr
    (line,) = [line for line in full.stderr.splitlines() if line.startswith("Error: ")]
    assert "out.unfinished/" in line
    assert "the file is too large" in line
    assert "--resume out" in line
    assert "Traceback" not in full.stderr
    asked = server.seen.total
    assert 0 < asked < QUERIES

    resumed = search("--resume", "out", "--store-mode", "off", *one)
    assert resumed.returncode == 0, resumed.stderr
    assert server.seen.total <= QUERIES + 1  # but the one whose verdict found no room
    summary = json.loads((case / "out" / "summary.json").read_text("utf-8"))
    assert summary["llm"]["outcomes"] == {"scored": QUERIES}


def test_replies_that_cannot_be_kept_count_all_the_same_with_one_warning(search, case, server):
    (case / "file").write_text("", encoding="utf-8")
    ended = search("--out", "out", "--store", "file/replies")
    assert ended.returncode == 0, ended.stderr
    summary = json.loads((case / "out" / "summary.json").read_text("utf-8"))
    assert summary["llm"]["outcomes"] == {"scored": QUERIES}
    assert ended.stderr.count("file/replies: ") == 1
    assert server.seen.total == QUERIES


@pytest.mark.faults
def test_results_that_find_no_room_leave_what_models_said(search, case, server):
    ended = search("--out", "out", "--sample", 5, room=20_000)
    assert ended.returncode == 3
    assert "the file is too large" in ended.stderr
    assert "--resume out" in ended.stderr
    assert not (case / "out").exists()
    asked = server.seen.total
    assert search("--resume", "out", "--sample", 5).returncode == 0
    assert server.seen.total == asked == 5


def test_a_foreign_key_is_one_line_and_a_store_that_is_off_writes_nothing(search, case, server):
    (case / "replies").mkdir()
    (case / "replies" / "fence.key").write_bytes(b"")
    ended = search("--out", "out", "--store", "replies")
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert "fence.key: " in ended.stderr
    assert server.seen.total == 0

    off = search("--out", "off", "--store", "nothing", "--store-mode", "off", "--sample", 3)
    assert off.returncode == 0, off.stderr
    assert not (case / "nothing").exists()
