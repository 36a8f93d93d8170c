import os
import time
from pathlib import Path

import pytest

from gigamind.retrieval.cache import Cache, touch
from gigamind.retrieval.settings import _FOLDER_VARIABLE, default_cache_folder


def fill(cache: Cache, count: int) -> None:
    """Indexes and keyword files named by age in hours, "0" the youngest."""
    for hours in range(count):
        index = cache.indexes / str(hours)
        index.mkdir(parents=True)
        (index / "segment").write_text("x")
        keywords = cache.keywords / str(hours)
        keywords.parent.mkdir(exist_ok=True)
        keywords.write_text("x")
        for entry in (index, keywords):
            os.utime(entry, (0, 1_700_000_000 - 3600 * hours))


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("count", [8, 9, 12])
def test_the_eight_indexes_used_last_are_kept(count, tmp_path):
    cache = Cache(tmp_path)
    fill(cache, count)
    cache.embeddings.write_text("vectors")

    cache.prune()

    assert names(cache.indexes) == names(cache.keywords) == list("01234567")
    assert cache.embeddings.read_text() == "vectors"


def test_an_index_that_is_used_again_is_kept(tmp_path):
    cache = Cache(tmp_path)
    fill(cache, 9)
    touch(cache.indexes / "8")

    cache.prune()

    assert names(cache.indexes) == list("01234568")


@pytest.mark.parametrize(("age_hours", "kept"), [(0, True), (23, True), (25, False)])
def test_what_another_run_is_building_is_left_alone_for_a_day(age_hours, kept, tmp_path):
    cache = Cache(tmp_path)
    fill(cache, 9)
    begun = time.time() - 3600 * age_hours
    (cache.indexes / ".building-x").mkdir()
    (cache.keywords / ".x.bm25.7").touch()
    os.utime(cache.indexes / ".building-x", (begun, begun))
    os.utime(cache.keywords / ".x.bm25.7", (begun, begun))

    cache.prune()

    assert (".building-x" in names(cache.indexes)) is kept
    assert (".x.bm25.7" in names(cache.keywords)) is kept
    assert names(cache.indexes)[-8:] == list("01234567")


def test_an_index_that_another_run_has_just_pruned_can_be_touched(tmp_path):
    touch(tmp_path / "gone")

    assert not (tmp_path / "gone").exists()


def test_a_cache_that_is_not_there_yet_has_nothing_to_prune(tmp_path):
    Cache(tmp_path / "new").prune()

    assert not (tmp_path / "new").exists()


def test_the_variable_names_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv(_FOLDER_VARIABLE, str(tmp_path / "mine"))
    assert default_cache_folder() == tmp_path / "mine"


def test_without_the_variable_the_cache_stands_in_the_users_cache_folder(monkeypatch, tmp_path):
    monkeypatch.delenv(_FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))

    assert "gigamind" in str(default_cache_folder())
    assert default_cache_folder().is_relative_to(tmp_path)
