"""Any work is killed at random moments: every file is whole or absent, and a re-run equals an unbroken one."""

import json
import random
import signal
import time

import pytest
from fault_work import fresh, works

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]

KINDS = ("indexing", "searching", "judging", "reporting", "graduating", "importing")
MOMENTS = 5  # of each kind: thirty


def damaged(folder):
    """Files that are neither whole nor absent; a folder that is made aside, or a journal, is no result yet."""
    for path in folder.rglob("*.json*"):
        aside = any(part.startswith(".") or part.endswith(".unfinished") for part in path.parts)
        if aside or path.suffix not in {".json", ".jsonl"}:
            continue
        text = path.read_text("utf-8")
        try:
            [
                json.loads(line)
                for line in (text.splitlines() if path.suffix == ".jsonl" else [text])
            ]
        except ValueError:
            yield path


@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_any_moment_it_leaves_whole_files_and_a_rerun_equals_an_unbroken_run(
    kind, faults, template, asked, tmp_path
):
    work = works(asked.url)[kind]
    whole = fresh(template, tmp_path / "whole")
    start = time.monotonic()
    assert work.start(whole).completed().returncode == 0
    seconds, expected = time.monotonic() - start, work.result(whole)
    moments = random.Random(kind)
    for n in range(MOMENTS):
        moment = moments.uniform(0, seconds)
        folder = fresh(template, tmp_path / str(n))
        process = work.start(folder)
        time.sleep(moment)
        process.kill()
        with faults.tried(f"{kind}, killed after {moment:.3f} of {seconds:.3f} s"):
            assert process.completed().returncode in {0, -signal.SIGKILL}
            assert list(damaged(folder)) == []
            if work.out and (folder / work.out).exists():
                assert work.result(folder) == expected
                continue
            again = work.start(folder).completed()
            assert again.returncode == 0, again.stderr
            assert work.result(folder) == expected
