"""What a cleanup takes, and above all what it leaves."""

import json
import os
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rights import ANYONE, as_anyone

from gigamind.errors import EvaluationError
from gigamind.evaluation.retention import CleanupOptions, clean_up, report_lines
from gigamind.runs.store import Journal

DAY_S = 86_400


@pytest.fixture
def write_run(tmp_path):
    """Writes the out folder of a run that is so many days old; `against`: the run it was compared with."""

    def write(name, days, deployment="search-nightly", against=None):
        folder = tmp_path / "out" / deployment / name
        folder.mkdir(parents=True)
        created = datetime.fromtimestamp(time.time() - days * DAY_S, UTC).isoformat("T", "seconds")
        (folder / "run.json").write_text(json.dumps({"run_id": name, "created_at": created}))
        if against:
            content = {"comparison": {"baseline": {"run_id": against}}, "gate": {}}
            (folder / "compare.json").write_text(json.dumps(content))
        return folder

    return write


@pytest.fixture
def left_by_a_stopped_run(tmp_path):
    """Writes NAME.unfinished or .abandoned, last touched so many days ago."""

    def write(name, days, deployment="answers-nightly"):
        folder = tmp_path / "out" / deployment / name
        folder.mkdir(parents=True)
        (folder / "items.jsonl").write_text("{}\n")
        for path in (folder / "items.jsonl", folder):
            os.utime(path, (time.time() - days * DAY_S,) * 2)
        return folder

    return write


@pytest.fixture
def options(tmp_path):
    def chosen(**changes):
        places = {name: tmp_path / name for name in ("out", "baselines", "replies")}
        return CleanupOptions(**{**places, "keep_runs": 2, "keep_days": 10, **changes})

    return chosen


def names(tmp_path, deployment="search-nightly"):
    return sorted(folder.name for folder in (tmp_path / "out" / deployment).iterdir())


def test_the_last_runs_of_a_deployment_and_all_young_ones_stay(options, write_run, tmp_path):
    for name, days in (("a", 40), ("b", 30), ("c", 20), ("d", 10.1)):
        write_run(name, days)
    for name, days in (("e", 9.9), ("f", 3), ("g", 2), ("h", 11)):
        write_run(name, days, deployment="links-nightly")

    report = clean_up(options())

    assert names(tmp_path) == ["c", "d"]
    assert names(tmp_path, "links-nightly") == ["e", "f", "g"]
    assert report["kept"] == 5
    found = [removal["what"].rsplit("/", 2)[1:] for removal in report["removed"]]
    assert found == [["links-nightly", "h"], ["search-nightly", "b"], ["search-nightly", "a"]]


def test_the_run_of_a_baseline_and_what_a_kept_run_was_compared_with_stay(
    options, write_run, tmp_path
):
    for name, days in (("a", 60), ("b", 50), ("c", 40)):
        write_run(name, days)
    write_run("d", 30, against="c")
    write_run("e", 20, against="a")  # goes, and with it the only word for a
    write_run("f", 2, against="d")
    write_run("g", 1)
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines" / "search-b.json").write_text('{"run_id": "b", "task": "search"}')

    clean_up(options())

    # d stays for the sake of f; c does not for the sake of d.
    assert names(tmp_path) == ["b", "d", "f", "g"]


def test_what_stopped_runs_left_goes_when_it_is_old_and_what_is_abandoned_at_once(
    options, left_by_a_stopped_run, tmp_path
):
    half_written = (f".20261129-01481{n}.b1a92947" for n in (1, 2))
    left = ("a.unfinished", 11), ("b.unfinished", 9), ("c.abandoned", 0), (".cache", 11)
    for name, days in (*left, *zip(half_written, (11, 9), strict=True)):
        left_by_a_stopped_run(name, days)

    clean_up(options())

    kept = [".20261129-014812.b1a92947", ".cache", "b.unfinished"]
    assert names(tmp_path, "answers-nightly") == kept


def test_what_another_process_is_writing_stays(options, left_by_a_stopped_run):
    folder = left_by_a_stopped_run("a.unfinished", 11)

    with Journal(folder / "items.jsonl"):
        os.utime(folder / "items.jsonl", (time.time() - 11 * DAY_S,) * 2)
        assert clean_up(options())["removed"] == []

    assert folder.is_dir()


def test_a_run_that_ends_during_the_clean_up_stays(options, left_by_a_stopped_run):
    old, ending = (left_by_a_stopped_run(f"{name}.unfinished", 11) for name in "ab")
    (ending / "a").symlink_to("gone")  # no file has this name any more when it is looked at

    clean_up(options())

    assert (old.exists(), ending.exists()) == (False, True)


def test_what_is_none_of_ours_stays(options, write_run, tmp_path):
    run = write_run("by-hand", 100, deployment=".")  # of no deployment: eval/out/<time>
    (tmp_path / "out" / "search-nightly" / "notes").mkdir(parents=True)
    broken = tmp_path / "out" / "search-nightly" / "broken"
    broken.mkdir()
    (broken / "run.json").write_text("{cut")
    outside = write_run("outside", 100, deployment="../elsewhere")
    (tmp_path / "out" / "search-nightly" / "link").symlink_to(outside)

    report = clean_up(options(keep_runs=1))

    assert report["removed"] == []
    assert names(tmp_path) == ["broken", "link", "notes"]
    assert run.is_dir()
    assert outside.is_dir()


def write_reply(folder, key, days):
    file = folder / key[:2] / f"{key}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}")
    os.utime(file, (time.time() - days * DAY_S,) * 2)
    return file


def test_replies_that_nobody_asked_for_go_and_other_files_stay(options, tmp_path):
    folder = tmp_path / "replies"
    old, young = write_reply(folder, "ab" * 32, 91), write_reply(folder, "cd" * 32, 89)
    foreign = write_reply(folder, "notes", 200)
    other = folder / "ab" / "README.json"
    foreign.rename(other)

    report = clean_up(options())

    assert (old.exists(), young.exists(), other.exists()) == (False, True, True)
    (removal,) = report["removed"]
    assert removal["what"].startswith("1 ")
    assert removal["what"].endswith(f" {folder}")


def test_a_dry_run_tells_the_same_and_takes_nothing(options, write_run, tmp_path):
    for name, days in (("a", 40), ("b", 30), ("c", 20)):
        write_run(name, days)
    write_reply(tmp_path / "replies", "ab" * 32, 91)

    would = clean_up(options(dry_run=True))

    assert names(tmp_path) == ["a", "b", "c"]
    assert (tmp_path / "replies" / "ab").is_dir()
    lines = list(report_lines(would))
    assert lines[0].values["what"] == str(tmp_path / "out" / "search-nightly" / "a")
    assert lines[-1].values["count"] == 2
    done = clean_up(options())
    assert done["removed"] == would["removed"]
    assert list(report_lines(done))[-1].values["count"] == 2


def test_nothing_there_is_nothing_to_do(options):
    assert clean_up(options()) == {"dry_run": False, "removed": [], "kept": 0}


def test_what_cannot_be_removed_is_said_and_the_rest_goes(options, write_run, tmp_path):
    for name, days in (("a", 40), ("b", 30), ("c", 20)):
        write_run(name, days)
        write_run(name, days, deployment="locked")
    with tempfile.TemporaryDirectory() as folder:  # which any user may enter, unlike pytest's own
        out = Path(folder, "out")
        (tmp_path / "out").rename(out)
        Path(folder).chmod(0o755)
        if os.geteuid() == 0:
            for path in (out, *out.rglob("*")):
                os.chown(path, ANYONE, -1)
        (out / "locked").chmod(0o500)

        with as_anyone(), pytest.raises(EvaluationError, match="locked/a"):
            clean_up(options(out=out, replies=out / "none", baselines=out / "none"))

        (out / "locked").chmod(0o700)
        assert sorted(run.name for run in (out / "locked").iterdir()) == ["a", "b", "c"]
        assert sorted(run.name for run in (out / "search-nightly").iterdir()) == ["b", "c"]
