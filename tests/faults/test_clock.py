"""A clock that is set back while a run lasts: it ends, and no duration is negative."""

import json

import forked
import pytest
from fault_work import SEARCH, fresh

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]


def with_a_clock_that_runs_backwards(*arguments: str) -> None:
    """A command each of whose looks at the clock finds it a minute earlier."""
    import time

    now = [time.time()]

    def earlier() -> float:
        now[0] -= 60
        return now[0]

    time.time = earlier
    from gigamind.cli.main import main

    main(arguments)


def durations(value):
    if isinstance(value, dict):
        for name, inner in value.items():
            if name.endswith(("_ms", "_s")) and isinstance(inner, int | float):
                yield name, inner
            yield from durations(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from durations(inner)


def test_no_duration_is_negative_when_the_clock_is_set_back(faults, template, asked, tmp_path):
    folder = fresh(template, tmp_path / "case")
    judged = ("--unanswerable-mode", "llm", "--model", "openai/judge", "--api-base", asked.url)
    search = (*SEARCH, *judged, "--max-minutes", "5", "--cache-dir", "cache", "--out", "out")
    with faults.tried("a clock that runs backwards"):
        ended = forked.Forked(folder, with_a_clock_that_runs_backwards, *search).completed()
        assert ended.returncode == 0, ended.stderr
        files = [folder / "out" / name for name in ("run.json", "summary.json")]
        rows = [json.loads(file.read_text("utf-8")) for file in files]
        for name in ("per_item.jsonl", "attempts.jsonl"):
            rows += map(json.loads, (folder / "out" / name).read_text("utf-8").splitlines())
        found = list(durations(rows))
        assert len(found) > 100
        assert [one for one in found if one[1] < 0] == []
