import json

import pytest

from gigamind.errors import InputError
from gigamind.release.model import EvalSnapshot
from gigamind.release.snapshot import POINTER, promote, read_baseline, read_snapshot
from gigamind.tasks import KINDS


@pytest.fixture
def file(snapshot, tmp_path):
    path = tmp_path / "snapshot.json"
    path.write_text(snapshot({"a": 1, "u": "right"}).model_dump_json(), "utf-8")
    return path


def change(path, **fields):
    content = json.loads(path.read_text("utf-8"))
    content.update(fields)
    path.write_text(json.dumps(content), "utf-8")


def test_a_snapshot_reads_back_as_it_was_written(snapshot, file):
    assert read_snapshot(file, KINDS) == snapshot({"a": 1, "u": "right"})


def test_a_newer_version_is_refused_and_named(file):
    change(file, version="2.0")
    with pytest.raises(InputError, match=r"2\.0.*1\.0"):
        read_snapshot(file, KINDS)


def test_a_task_that_is_not_known_is_refused(file):
    change(file, task="summaries")
    with pytest.raises(InputError, match=r"'summaries'.*search, links"):
        read_snapshot(file, KINDS)


def test_a_baseline_without_values_by_item_is_refused(file):
    content = json.loads(file.read_text("utf-8"))
    del content["items"]
    file.write_text(json.dumps(content), "utf-8")
    with pytest.raises(InputError, match=r"snapshot\.json"):
        read_snapshot(file, KINDS)
    change(file, items=[])
    with pytest.raises(InputError, match=r"snapshot\.json"):
        read_snapshot(file, KINDS)


def test_a_file_cut_short_is_named_with_its_line(file):
    file.write_text(file.read_text("utf-8")[:200], "utf-8")
    with pytest.raises(InputError, match=r"snapshot\.json:1: .*JSON"):
        read_snapshot(file, KINDS)


@pytest.mark.parametrize("content", ["[]", "{}", '"text"', '{"version": 1}'])
def test_a_foreign_file_is_refused(file, content):
    file.write_text(content, "utf-8")
    with pytest.raises(InputError, match="--save-snapshot"):
        read_snapshot(file, KINDS)


def test_a_figure_that_is_no_number_is_refused(file):
    text = file.read_text("utf-8").replace('"mrr":1.0', '"mrr":NaN')
    file.write_text(text, "utf-8")
    with pytest.raises(InputError, match="NaN"):
        read_snapshot(file, KINDS)


def test_an_unknown_field_is_refused_by_name(file):
    change(file, surprise=1)
    with pytest.raises(InputError, match="surprise"):
        read_snapshot(file, KINDS)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="nothing"):
        read_snapshot(tmp_path / "nothing", KINDS)
    with pytest.raises(InputError, match=r"run\.json"):
        read_snapshot(tmp_path, KINDS)


def test_without_a_baseline_the_command_that_creates_one_is_shown(tmp_path):
    command = f"gigamind baseline promote RUN --folder {tmp_path / 'nothing'}"
    with pytest.raises(InputError, match=command):
        read_baseline(tmp_path / "nothing", KINDS, "search")


def test_the_last_promoted_baseline_counts(snapshot, tmp_path):
    folder = tmp_path / "baselines"
    promote(snapshot({"a": 1}, run_id="20260101-000000"), folder)
    file = promote(snapshot({"a": 2}, run_id="20260102-000000"), folder)
    assert read_baseline(folder, KINDS).run_id == "20260102-000000"
    assert file.name == "search-20260102-000000.json"
    assert sorted(path.name for path in folder.iterdir()) == [
        POINTER,
        "search-20260101-000000.json",
        "search-20260102-000000.json",
    ]


def test_a_pointer_out_of_the_folder_is_refused(snapshot, tmp_path):
    promote(snapshot({"a": 1}), tmp_path)
    (tmp_path / POINTER).write_text("../secret.json\n")
    with pytest.raises(InputError, match=r"LATEST.*secret\.json"):
        read_baseline(tmp_path, KINDS)


def test_a_folder_that_cannot_be_written_is_named(snapshot, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="baselines"):
        promote(snapshot({"a": 1}), tmp_path / "file" / "baselines")


def test_the_schema_has_the_seeds_fields():
    assert {
        "version",
        "created_at",
        "run_id",
        "dataset_hash",
        "notes_hash",
        "notes_hash_mode",
        "environment",
        "config",
        "metrics",
    } <= set(EvalSnapshot.model_fields)


def test_each_task_has_a_baseline_of_its_own_in_a_folder(snapshot, links, tmp_path):
    promote(snapshot({"a": 1}), tmp_path)
    file = promote(links({"a.md": (1, 2, 2)}), tmp_path)
    assert file.name == "links-20260101-000000.json"
    assert read_baseline(tmp_path, KINDS, "search").task == "search"
    assert read_baseline(tmp_path, KINDS, "links").task == "links"
    with pytest.raises(InputError, match="search, links"):
        read_baseline(tmp_path, KINDS)


def test_a_folder_without_a_baseline_of_the_task_says_so(links, tmp_path):
    promote(links({"a.md": (1, 2, 2)}), tmp_path)
    assert read_baseline(tmp_path, KINDS).task == "links"
    with pytest.raises(InputError, match="search"):
        read_baseline(tmp_path, KINDS, "search")


def test_a_links_snapshot_reads_back_as_it_was_written(links, tmp_path):
    made = links({"a.md": (1, 2, 3)})
    (tmp_path / "snapshot.json").write_text(made.model_dump_json(), "utf-8")
    assert read_snapshot(tmp_path / "snapshot.json", KINDS) == made
