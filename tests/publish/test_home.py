"""Files that workers share: a reader never sees half of a run, and a cleanup keeps what is needed."""

import contextlib
import itertools
import json
import runpy
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from shared_homes import ROOT, Breaking, empty_home, names_in
from vault_files import write_files

from gigamind.choices import BASELINES
from gigamind.errors import EvaluationError, InputError
from gigamind.evaluation.retention import CleanupOptions
from gigamind.publish.home import Home
from gigamind.release.model import read_baseline
from gigamind.tasks import KINDS, evaluate
from gigamind.tasks.options import SearchEvalOptions
from gigamind.tasks.promotion import PromoteOptions

OUT = Path("eval", "out", "nightly")
NIGHT = OUT / "20260101-030000"
OPTIONS = SearchEvalOptions(dataset="queries.jsonl", notes="vault")


@pytest.fixture(params=["memory", "file"])
def url(request, tmp_path, monkeypatch):
    with empty_home(request.param, tmp_path) as url:
        enter(tmp_path / "A", monkeypatch)
        yield url


def enter(folder, monkeypatch):
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)


def finished(run, days=0.0, **more):
    created = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    about = {"run_id": run.name, "created_at": created}
    write_files(run, {"run.json": json.dumps(about), "per_item.jsonl": "{}\n", **more})


def test_a_reader_sees_a_whole_run_or_none_wherever_its_upload_breaks_off(tmp_path, monkeypatch):
    seen = []
    for changes in range(20):
        with empty_home("breaking", tmp_path) as url:
            enter(tmp_path / "A", monkeypatch)
            finished(NIGHT, **{"report.html": "<html>", "deep/er.json": "{}"})
            Breaking.left = changes
            try:
                with Home(url).reached():
                    Home(url).finish(OPTIONS, OUT, [NIGHT])
            except EvaluationError:
                pass
            enter(tmp_path / f"B{changes}", monkeypatch)
            Home(url).fetch(OUT)
            seen.append(sorted(file.name for file in NIGHT.rglob("*.*")))
    assert [names for names, after in itertools.pairwise(seen) if names != after] == [[]]
    assert seen[-1] == ["er.json", "per_item.jsonl", "report.html", "run.json"]


def test_a_reader_sees_the_old_baseline_or_the_new_one_wherever_a_promotion_breaks_off(
    tmp_path, monkeypatch
):
    promote = runpy.run_path(str(ROOT / "flows" / "promote.py"))["_promoted"]
    enter(tmp_path / "A", monkeypatch)
    write_files(Path("vault"), {"leave.md": "annual leave\n", "misc.md": "lunch menu\n"})
    row = {"id": "q", "query": "leave", "answerable": True, "expected_notes": ["leave.md"]}
    write_files(Path(), {"queries.jsonl": json.dumps(row) + "\n"})
    nights = [OUT / name for name in ("20260101-030000", "20260102-030000")]
    for night in nights:
        given = {"mode": "keyword", "speed_passes": 0, "out": night}
        evaluate(OPTIONS.model_copy(update=given))
        about = json.loads((night / "run.json").read_text("utf-8")) | {"run_id": night.name}
        write_files(night, {"run.json": json.dumps(about)})
    monkeypatch.setenv("GIGAMIND_HOME", "breaking://team/home")
    monkeypatch.setenv("PREFECT__RUNTIME__DEPLOYMENT__NAME", "promote")
    seen = []
    for changes in range(8):
        with empty_home("breaking", tmp_path):
            enter(tmp_path / "A", monkeypatch)
            promote(PromoteOptions(run=nights[0], folder=BASELINES))
            Breaking.left = changes
            with contextlib.suppress(EvaluationError):
                promote(PromoteOptions(run=nights[1], folder=BASELINES))
            enter(tmp_path / f"B{changes}", monkeypatch)
            Home("breaking://team/home").fetch(BASELINES)
            seen.append(read_baseline(BASELINES, KINDS).run_id)
    assert list(dict.fromkeys(seen)) == [night.name for night in nights]


@pytest.mark.parametrize("protocol", ["nowhere", "s3"])
def test_a_home_that_cannot_be_opened_is_refused_without_its_password(protocol):
    if protocol == "s3":
        try:
            import s3fs  # noqa: F401
        except ImportError:
            pass
        else:
            pytest.skip("s3fs is installed")
    with pytest.raises(InputError) as refused:
        Home(f"{protocol}://user:pass-word@bucket/home?token=to-ken")
    assert f"{protocol}://***@bucket/home" in str(refused.value)
    assert not {word for word in ("pass-word", "to-ken") if word in str(refused.value)}


def test_a_folder_outside_of_the_working_directory_is_refused(url):
    home = Home(url)
    with pytest.raises(EvaluationError), home.reached():
        home.fetch(Path("/elsewhere/out"))


def test_an_unfinished_run_is_replaced_by_one_that_went_on_and_kept_if_it_went_on_here(
    url, tmp_path, monkeypatch
):
    unfinished = NIGHT.with_name(f"{NIGHT.name}.unfinished")
    write_files(unfinished, {"items.jsonl": "1\n2\n", "shard-1.1/items.jsonl": "1\n"})
    Home(url).upload(OPTIONS, [unfinished])
    for name, here, there in (("B", "1\n", "1\n2\n"), ("C", "1\n2\n3\n4\n", "1\n2\n3\n4\n")):
        enter(tmp_path / name, monkeypatch)
        write_files(unfinished, {"items.jsonl": here})
        Home(url).fetch_for(OPTIONS, OUT)
        assert (unfinished / "items.jsonl").read_text() == there
        assert (unfinished / "shard-1.1" / "items.jsonl").exists() is (name == "B")


def test_a_run_that_another_worker_has_finished_is_no_longer_unfinished_here(
    url, tmp_path, monkeypatch
):
    unfinished = NIGHT.with_name(f"{NIGHT.name}.unfinished")
    finished(NIGHT, **{"report.html": "whole"})
    Home(url).finish(OPTIONS, OUT, [NIGHT])
    enter(tmp_path / "B", monkeypatch)
    finished(NIGHT, **{"report.html": "stopped"})
    write_files(unfinished, {"items.jsonl": "1\n"})
    Home(url).fetch_for(OPTIONS, OUT)
    assert not unfinished.exists()
    assert (NIGHT / "report.html").read_text() == "whole"


def test_a_cleanup_removes_old_runs_and_keeps_baselines_and_replies_of_runs(
    url, tmp_path, monkeypatch
):
    used, unused = "a" * 64, "b" * 64
    row = {"call": "q", "number": 1, "source": "http", "status": "ok", "model": "m", "key": used}
    names = [f"2026010{n}-030000" for n in (1, 2, 3)]
    for days, name in zip((300, 200, 100), names, strict=True):
        finished(OUT / name, days=days, **{"attempts.jsonl": json.dumps(row) + "\n"})
    home = Home(url)
    home.finish(OPTIONS, OUT, [OUT / name for name in names])
    for key in (used, unused):
        home.put(Path("replies", key[:2], f"{key}.json"), b"{}")
    home.put(Path("eval", "baselines", "search-1.json"), json.dumps({"run_id": names[0]}).encode())
    enter(tmp_path / "B", monkeypatch)
    before = names_in(url)
    clean_up = runpy.run_path(str(ROOT / "flows" / "cleanup.py"))["_clean_up"]
    options = CleanupOptions(keep_runs=1, keep_days=30, replies_days=1)

    assert len(clean_up(options.model_copy(update={"dry_run": True}), Home(url))["removed"]) == 1
    assert names_in(url) == before
    assert clean_up(options, Home(url))["kept"] == 2
    assert {Path(name).parent.name for name in set(before) - set(names_in(url))} == {names[1]}
    assert list(Path().iterdir()) == []
