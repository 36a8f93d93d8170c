"""What a disk has damaged, by a flipped bit or cut short, is made again or refused, and never used as if whole."""

import json
import random
import shutil
import sys
from pathlib import Path

import forked
import pytest
from fault_work import SEARCH, fresh, index, run_of

from gigamind.errors import InputError
from gigamind.memory.events import read_events
from gigamind.release.model import read_baseline, read_snapshot
from gigamind.runs.store import ItemResult, RunStore, read_results
from gigamind.tasks import KINDS

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]

FLIPS = 12


def damages(seed, content):
    """The content with a bit flipped, or cut short, at seeded places; each with what was done."""
    chosen = random.Random(seed)
    for _ in range(FLIPS):
        at, bit = chosen.randrange(len(content)), chosen.randrange(8)
        damaged = bytearray(content)
        damaged[at] ^= 1 << bit
        yield f"bit {bit} of byte {at}", bytes(damaged)
    for _ in range(3):
        at = chosen.randrange(len(content))
        yield f"cut at {at}", content[:at]


def told_index():
    sys.stdout.write(json.dumps(index()))


def data(path):
    """The bytes of a file up to its last that is not zero: the engine makes its files large and empty."""
    return path.read_bytes().rstrip(b"\0") or b"\0"


@pytest.mark.parametrize("kept", ["shard", "vectors"])
def test_a_damaged_index_or_cache_of_vectors_is_made_again_or_refused(
    kept, faults, template, tmp_path
):
    folder = fresh(template, tmp_path / "case")
    expected = index(str(folder))
    cache = folder / "cache"
    whole = tmp_path / "whole"
    shutil.copytree(cache, whole)
    files = {
        "shard": [path for path in (whole / "indexes").rglob("*") if path.is_file()],
        "vectors": [whole / "embeddings.sqlite"],
    }[kept]
    chosen = random.Random(kept)
    for n in range(FLIPS):
        file = chosen.choice(files)
        content = data(file)
        what, damaged = chosen.choice(list(damages(n, content)))
        shutil.rmtree(cache)
        shutil.copytree(whole, cache)
        if kept == "vectors":
            shutil.rmtree(cache / "indexes")
        with (cache / file.relative_to(whole)).open("r+b") as changed:
            changed.write(damaged)
            if len(damaged) < len(content):
                changed.truncate(len(damaged))
        with faults.tried(f"{file.relative_to(whole)}: {what}"):
            ended = forked.Forked(folder, told_index).completed()
            if ended.returncode:
                assert "IndexingError" in ended.stderr, ended.stderr
            else:
                assert json.loads(ended.stdout) == expected


def test_a_damaged_keyword_index_is_made_again(faults, template, tmp_path):
    folder = fresh(template, tmp_path / "case")
    search = (*SEARCH, "--cache-dir", "cache", "--out")
    assert forked.command(folder, *search, "whole").completed().returncode == 0
    (kept,) = (folder / "cache" / "keywords").iterdir()
    whole = kept.read_bytes()
    for n, (what, damaged) in enumerate(list(damages("keyword", whole))[::3]):
        kept.write_bytes(damaged)
        with faults.tried(f"keyword index: {what}"):
            ended = forked.command(folder, *search, f"{n}").completed()
            assert ended.returncode == 0, ended.stderr
            assert run_of(folder / f"{n}") == run_of(folder / "whole")
            assert kept.read_bytes() == whole


def test_a_damaged_reply_is_asked_for_anew(faults, template, asked, tmp_path):
    folder = fresh(template, tmp_path / "case")
    judged = ("--unanswerable-mode", "llm", "--model", "openai/judge", "--api-base", asked.url)
    judged += ("--max-in-flight", "4", "--model-timeout-s", "60", "--store", "replies")
    search = (*SEARCH, *judged, "--cache-dir", "cache", "--out")
    assert forked.command(folder, *search, "whole").completed().returncode == 0
    files = sorted((folder / "replies").glob("??/*.json"))
    whole = [file.read_bytes() for file in files]
    paid = asked.seen.total
    assert paid == len(files)
    tried = list(zip(files, whole, damages("reply", whole[0]), strict=False))
    for n, (file, content, _) in enumerate(tried):
        what, damaged = list(damages(n, content))[n % (FLIPS + 3)]
        file.write_bytes(damaged)
        tried[n] = (file, content, (what, damaged))
    ended = forked.command(folder, *search, "again").completed()
    assert ended.returncode == 0, ended.stderr
    for file, content, (what, damaged) in tried:
        with faults.tried(f"reply: {what}"):
            read = file.read_bytes()
            # Only what says the same may stay: white space, or another name of the checksum.
            assert read == content or said(damaged) == said(content)
    assert asked.seen.total > paid
    assert run_of(folder / "again")[1][1] == run_of(folder / "whole")[1][1]


def said(content):
    row = json.loads(content)
    return [row[name] for name in ("model", "version", "reply") if name in row]


def test_a_damaged_snapshot_is_refused(faults, template, tmp_path):
    file = read_snapshot(template / "base", KINDS).promote(tmp_path)
    whole, expected = file.read_bytes(), read_baseline(tmp_path, KINDS)
    for what, damaged in damages("snapshot", whole):
        file.write_bytes(damaged)
        with faults.tried(f"snapshot: {what}"):
            refused_or(lambda: read_baseline(tmp_path, KINDS), expected)


def refused_or(read, expected):
    """White space may change, nothing else."""
    try:
        found = read()
    except InputError:
        return
    assert found == expected


def test_damaged_results_of_a_run_are_refused_or_their_end_is_done_again(faults, tmp_path):
    with RunStore(tmp_path / "run", {"dataset": "d"}) as store:
        for n in range(20):
            store.append(ItemResult(f"q{n}", "scored", value={"confidence": n / 20}))
    expected, file = read_results(tmp_path / "run"), tmp_path / "run" / "items.jsonl"
    whole = file.read_bytes()
    for what, damaged in damages("items", whole):
        file.write_bytes(damaged)
        with faults.tried(f"items.jsonl: {what}"):
            try:
                found = read_results(tmp_path / "run")
            except InputError:
                continue
            # A line without its end is one that a killed writer had begun.
            assert found == dict(list(expected.items())[: len(found)])


def test_a_damaged_event_log_is_refused(faults, template, tmp_path):
    folder = fresh(template, tmp_path / "case")
    graduate = ("memory", "graduate", "--session", "session.jsonl", "--extracted", "extracted.json")
    made = forked.command(folder, *graduate, "--log", "memory.db").completed()
    assert made.returncode == 0, made.stderr

    def events(path: Path):
        return [(one.event_id, one.event_type, one.content) for one in read_events(path)]

    expected, whole = events(folder / "memory.db"), (folder / "memory.db").read_bytes()
    for n, (what, damaged) in enumerate(damages("events", whole)):
        path = tmp_path / f"{n}.db"
        path.write_bytes(damaged)
        with faults.tried(f"event log: {what}"):
            refused_or(lambda path=path: events(path), expected)
