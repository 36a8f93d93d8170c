import json

import pytest
from snapshots import links, snapshot

from gigamind.errors import InputError
from gigamind.release.model import POINTER, read_baseline, read_snapshot
from gigamind.tasks import KINDS


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "snapshot.json"
    path.write_text(snapshot({"a": 1, "u": "right"}).model_dump_json(), "utf-8")
    return path


def test_a_snapshot_reads_back_as_it_was_written(tmp_path):
    for made in (snapshot({"a": 1, "u": "right"}), links({"a.md": (1, 2, 3)})):
        (tmp_path / "snapshot.json").write_text(made.model_dump_json(), "utf-8")
        assert read_snapshot(tmp_path / "snapshot.json", KINDS) == made


def with_fields(**fields):
    """The change of these fields of a snapshot; one that is None goes."""

    def change(text):
        content = json.loads(text) | fields
        return json.dumps({name: value for name, value in content.items() if value is not None})

    return change


def instead(text):
    return lambda _: text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_fields(version="2.0"), r"2\.0.*1\.0"),
        (with_fields(task="summaries"), r"'summaries'.*search, links"),
        (with_fields(items=None), r"snapshot\.json"), (with_fields(items=[]), r"snapshot\.json"),
        (with_fields(surprise=1), "surprise"),
        (lambda text: text[:200], r"snapshot\.json:1: .*JSON"),
        (lambda text: text.replace('"mrr":1.0', '"mrr":NaN'), "NaN"),
        (instead("[]"), "--save-snapshot"), (instead("{}"), "--save-snapshot"),
        (instead('"text"'), "--save-snapshot"), (instead('{"version": 1}'), "--save-snapshot"),
    ],
    ids=[
        *("newer version", "unknown task", "no items", "empty items", "unknown field"),
        *("cut short", "no number", "list", "empty object", "string", "another object"),
    ],
)  # fmt: skip
def test_what_is_no_snapshot_is_refused_with_its_reason(file, change, message):
    file.write_text(change(file.read_text("utf-8")), "utf-8")
    with pytest.raises(InputError, match=message):
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


def test_the_last_promoted_baseline_counts(tmp_path):
    folder = tmp_path / "baselines"
    snapshot({"a": 1}, run_id="20260101-000000").promote(folder)
    file = snapshot({"a": 2}, run_id="20260102-000000").promote(folder)
    assert read_baseline(folder, KINDS).run_id == "20260102-000000"
    assert file.name == "search-20260102-000000.json"
    assert sorted(path.name for path in folder.iterdir()) == [
        POINTER,
        "search-20260101-000000.json",
        "search-20260102-000000.json",
    ]


def test_a_pointer_out_of_the_folder_is_refused(tmp_path):
    snapshot({"a": 1}).promote(tmp_path)
    (tmp_path / POINTER).write_text("../secret.json\n")
    with pytest.raises(InputError, match=r"LATEST.*secret\.json"):
        read_baseline(tmp_path, KINDS)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="baselines"):
        snapshot({"a": 1}).promote(tmp_path / "file" / "baselines")


def test_each_task_has_a_baseline_of_its_own_in_a_folder(tmp_path):
    file = links({"a.md": (1, 2, 2)}).promote(tmp_path)
    assert file.name == "links-20260101-000000.json"
    assert read_baseline(tmp_path, KINDS).task == "links"
    with pytest.raises(InputError, match="search"):
        read_baseline(tmp_path, KINDS, "search")
    snapshot({"a": 1}).promote(tmp_path)
    assert read_baseline(tmp_path, KINDS, "search").task == "search"
    assert read_baseline(tmp_path, KINDS, "links").task == "links"
    with pytest.raises(InputError, match="search, links"):
        read_baseline(tmp_path, KINDS)
