"""A disk that fills at any write, may not be written, or renames nothing: told in a line, and nothing is lost."""

import errno
import os
import subprocess
from pathlib import Path

import forked
import pytest
from fault_work import SEARCH, fresh, index, run_of, works

from gigamind.errors import reason_of

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]

SMALL_KIB = (0, 16, 64, 160, 400)  # room beside what is read; all that is written takes more
# Our word for it, and those of the system and of SQLite.
NO_ROOM = (
    str(reason_of(OSError(errno.ENOSPC, ""))),
    "No space left",
    "disk is full",
    "disk I/O error",
    "disk space",
)
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a tmpfs, which needs root")


@pytest.fixture
def disk(tmp_path):
    """A disk of its own, of some size that `resize` changes."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.decode().strip()}")

    def resize(kib: int) -> None:
        size = f"remount,size={kib}k"
        subprocess.run(["mount", "-o", size, place], check=True)

    yield place, resize
    subprocess.run(["umount", "-l", place], check=True)


def used_kib(place: Path) -> int:
    found = os.statvfs(place)
    return (found.f_blocks - found.f_bfree) * found.f_frsize // 1024


@AS_ROOT
@pytest.mark.parametrize("kind", ["searching", "judging", "reporting", "graduating", "importing"])
def test_a_full_disk_is_told_and_with_room_the_work_ends_as_an_unbroken_run(
    kind, faults, template, asked, disk, tmp_path
):
    work = works(asked.url)[kind]
    whole = fresh(template, tmp_path / "whole")
    assert work.start(whole).completed().returncode == 0
    expected = work.result(whole)
    place, resize = disk
    for kib in SMALL_KIB:
        resize(64 * 1024)
        folder = fresh(template, place / str(kib))
        resize(used_kib(place) + kib)
        with faults.tried(f"{kind} with {kib} KiB left"):
            full = work.start(folder).completed()
            assert "Traceback" not in full.stderr, full.stderr
            assert full.returncode in {0, 1, 2, 3}, full.stderr
            if work.out and (folder / work.out).exists():
                assert work.result(folder) == expected
            resize(64 * 1024)
            if full.returncode:
                assert any(why in full.stderr for why in NO_ROOM), full.stderr
                again = work.start(folder).completed()
                assert again.returncode == 0, again.stderr
            assert work.result(folder) == expected


def test_a_cache_that_may_not_grow_is_told_and_is_whole_with_room(faults, template, tmp_path):
    expected = index(str(fresh(template, tmp_path / "whole")))
    for room in (8_000, 40_000, 400_000, 4_000_000):
        folder = fresh(template, tmp_path / str(room))
        with faults.tried(f"indexing, no file above {room} bytes"):
            full = forked.Forked(folder, index, room=room).completed()
            assert full.returncode == 1
            assert "IndexingError" in full.stderr.splitlines()[-1], full.stderr
            assert index(str(folder)) == expected


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_may_only_be_read_serves_a_second_run(faults, template, tmp_path):
    check_read_only(faults, fresh(template, tmp_path / "case"), lambda cache: cache.chmod(0o500))


@AS_ROOT
def test_a_cache_on_a_read_only_disk_serves_a_second_run(faults, template, disk, tmp_path):
    place, _ = disk
    folder = fresh(template, tmp_path / "case")
    (folder / "cache").symlink_to(place, target_is_directory=True)
    remount = ["mount", "-o", "remount,ro", place]
    check_read_only(faults, folder, lambda _: subprocess.run(remount, check=True))


def check_read_only(faults, folder, close):
    search = (*SEARCH, "--cache-dir", "cache", "--out")
    assert forked.command(folder, *search, "first").completed().returncode == 0
    index(str(folder))
    close(folder / "cache")
    with faults.tried("a keyword index that may only be read"):
        second = forked.command(folder, *search, "second").completed()
        assert second.returncode == 0, second.stderr
        assert run_of(folder / "second") == run_of(folder / "first")
    with faults.tried("a vector index that may only be read"):
        again = forked.Forked(folder, index).completed()
        assert again.returncode == 0 or "--cache-dir" in again.stderr, again.stderr
    with faults.tried("an index that cannot be kept"):
        (folder / "vault" / "new.md").write_text("New.", encoding="utf-8")
        third = forked.command(folder, *search, "third").completed()
        assert third.returncode == 2, third.stderr
        assert "--cache-dir" in third.stderr
        assert "Traceback" not in third.stderr


def test_two_runs_on_one_cache_at_once_both_end_as_one_alone(faults, template, tmp_path):
    folder = fresh(template, tmp_path / "case")
    search = (*SEARCH, "--cache-dir", "cache", "--out")
    for n in range(3):
        with faults.tried(f"two runs at once, {n}"):
            started = [forked.command(folder, *search, f"{n}-{k}") for k in range(2)]
            started += [forked.Forked(folder, index) for _ in range(2)]
            ended = [process.completed() for process in started]
            assert [one.returncode for one in ended] == [0] * 4, [one.stderr for one in ended]
            assert run_of(folder / f"{n}-0") == run_of(folder / f"{n}-1") == run_of(folder / "base")
        for path in (folder / "cache" / "keywords").iterdir():
            path.unlink()


def without_renames(*arguments: str) -> None:
    """A command on a disk whose renames fail, as those of network disks may."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    os.rename = os.replace = refuse
    from gigamind.cli.main import main

    main(arguments)


@pytest.mark.parametrize("kind", ["searching", "importing", "promoting"])
def test_a_rename_that_fails_is_told_and_leaves_nothing_half_made(kind, faults, template, tmp_path):
    folder = fresh(template, tmp_path / "case")
    arguments = {
        "searching": (*SEARCH, "--out", "out", "--cache-dir", "cache"),
        "importing": ("import", "squad", "squad.json", "--out", "out"),
        "promoting": ("baseline", "promote", "base", "--folder", "out"),
    }[kind]
    with faults.tried(f"{kind} without renames"):
        failed = forked.Forked(folder, without_renames, *arguments).completed()
        assert failed.returncode in {1, 2, 3}, failed.stderr
        assert str(reason_of(OSError(errno.EIO, ""))) in failed.stderr
        assert "Traceback" not in failed.stderr
        assert [path for path in folder.rglob("*") if path.name.startswith(".")] == []
        again = forked.command(folder, *arguments).completed()
        assert again.returncode == 0, again.stderr
