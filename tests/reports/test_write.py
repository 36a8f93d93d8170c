import json
import os
import resource
import stat
from pathlib import Path

import pytest
from search_records import make_item, make_record

from gigamind.errors import EvaluationError, InputError
from gigamind.i18n import translator
from gigamind.records.folder import check_out_folder, write_run
from gigamind.records.schema import ErrorReport, RunReport
from gigamind.reports.markdown import render_markdown
from gigamind.reports.run import Outcome, run_document
from gigamind.tasks.search.view import SearchView

FILES = {"run.json", "summary.json", "summary.md", "per_item.jsonl", "errors.jsonl"}


def write(out, record, output="both"):
    """As an evaluation does, but for its page."""
    say = translator("en")
    summary = render_markdown(run_document(SearchView(), record, Outcome(), say), say)
    write_run(out, record, output, {"summary.md": summary})


def names(folder):
    return {file.name for file in folder.iterdir()}


def test_every_file_is_written_and_nothing_is_left_beside(tmp_path):
    out = tmp_path / "a" / "b" / "out"
    write(out, make_record())
    assert names(out) == FILES
    assert names(out.parent) == {"out"}


@pytest.mark.parametrize(("output", "absent"), [("json", set()), ("md", {"summary.json"})])
def test_the_format_chooses_whether_the_summary_is_json(tmp_path, output, absent):
    write(tmp_path / "out", make_record(), output)
    assert names(tmp_path / "out") == FILES - absent


def test_korean_is_written_as_korean_and_lines_end_alike_everywhere(tmp_path):
    write(tmp_path / "out", make_record((make_item(query="휴가 🌴\u2028신청"),)))
    content = (tmp_path / "out" / "per_item.jsonl").read_bytes()
    assert "휴가 🌴\u2028신청".encode() in content
    assert b"\r" not in content
    assert content.count(b"\n") == 1


def test_half_a_surrogate_pair_is_spelled_out_and_reads_back(tmp_path):
    broken = ErrorReport(kind="row", id="\ud800", error="DatasetError", message="a\udcff")
    write(tmp_path / "out", make_record((), (broken,), run={"dataset": "q\udcff.jsonl"}))
    (line,) = (tmp_path / "out" / "errors.jsonl").read_text("utf-8").splitlines()
    assert ErrorReport.model_validate_json(line).id == "\\ud800"
    assert json.loads(line)["message"] == "a\\udcff"
    run = (tmp_path / "out" / "run.json").read_bytes()
    assert RunReport.model_validate_json(run).dataset == "q\\udcff.jsonl"
    assert "q\\udcff.jsonl" in (tmp_path / "out" / "summary.md").read_text("utf-8").replace(
        "\\\\", "\\"
    )


def test_a_backslash_stays_one(tmp_path):
    write(tmp_path / "out", make_record((make_item(query=r"\ud800 C:\new"),)), "json")
    (line,) = (tmp_path / "out" / "per_item.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["query"] == r"\ud800 C:\new"


def test_what_is_no_json_number_is_never_written(tmp_path):
    with pytest.raises(ValueError, match="Out of range float values"):
        write(
            tmp_path / "out",
            make_record((make_item(metrics={"mrr": 1.0, "own": float("nan")}),)),
            "json",
        )
    assert names(tmp_path) == set()


def test_a_full_disk_leaves_nothing_behind(tmp_path):
    items = tuple(make_item(n) for n in range(1000))  # some 300 KB
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(EvaluationError, match="out"):
            write(tmp_path / "out", make_record(items))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert names(tmp_path) == set()


def test_an_empty_folder_is_replaced(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    check_out_folder(out)
    write(out, make_record())
    assert names(out) == FILES


def test_a_link_to_an_empty_folder_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    check_out_folder(tmp_path / "out")
    write(tmp_path / "out", make_record())
    assert (tmp_path / "out").is_symlink()
    assert names(tmp_path / "real") == FILES


def test_the_folder_one_stands_in_can_be_named(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    check_out_folder(Path())
    write(Path(), make_record())
    assert names(tmp_path / "here") == FILES


def test_a_folder_that_filled_in_the_meantime_is_not_lost(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(EvaluationError, match="cannot be written"):
        write(out, make_record())
    assert names(tmp_path) == {"out"}
    assert names(out) == {"mine.txt"}


def test_others_may_read_what_the_umask_lets_them(tmp_path):
    before = os.umask(0o022)
    try:
        write(tmp_path / "out", make_record())
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o755


@pytest.mark.parametrize("place", ["file", "file/out", "file/a/b", "full", "x" * 300])
def test_a_place_that_cannot_be_written_is_refused_beforehand(tmp_path, place):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x", encoding="utf-8")
    out = tmp_path / place
    with pytest.raises(InputError) as refusal:
        check_out_folder(out)
    assert str(refusal.value).startswith(f"--out {out}")
    assert names(tmp_path) == {"file", "full"}


def test_a_mount_point_is_refused_for_it_cannot_be_replaced():
    with pytest.raises(InputError, match="is a mount point"):
        check_out_folder(Path("/"))


@pytest.mark.parametrize("place", ["new", "new/deep/er", "empty"])
def test_a_place_that_can_be_written_is_left_as_it_was(tmp_path, place):
    (tmp_path / "empty").mkdir()
    check_out_folder(tmp_path / place)
    assert names(tmp_path) == {"empty"}
    assert names(tmp_path / "empty") == set()
