import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.errors import InputError
from gigamind.runs.store import Journal, read_journal

ROWS = [{"id": "a", "note": "한 줄\n두 줄"}, {"id": "b", "value": None}]


def write(path, rows):
    with Journal(path) as journal:
        for row in rows:
            journal.append(row)


def test_rows_come_back_in_order(tmp_path):
    path = tmp_path / "new" / "rows.jsonl"
    write(path, ROWS)
    assert list(read_journal(path)) == ROWS
    assert path.read_text(encoding="utf-8").count("\n") == 2


def test_a_second_writer_after_the_first_continues_the_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    write(path, ROWS[:1])
    write(path, ROWS[1:])
    assert list(read_journal(path)) == ROWS


@given(cut=st.integers(min_value=0, max_value=40))
def test_a_half_written_line_is_left_out_and_cut_off_by_the_next_writer(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("cut") / "rows.jsonl"
    write(path, ROWS)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - cut])
    expected = ROWS[: whole[: len(whole) - cut].count(b"\n")]

    assert list(read_journal(path)) == expected
    write(path, [{"id": "c"}])
    assert list(read_journal(path)) == [*expected, {"id": "c"}]


def test_an_absent_file_has_no_rows(tmp_path):
    assert list(read_journal(tmp_path / "none.jsonl")) == []


@pytest.mark.parametrize("line", ["nonsense", "[1]", "3", ""])
def test_a_line_that_is_no_row_is_refused_with_its_place(tmp_path, line):
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"id": "a"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"rows.jsonl:2"):
        list(read_journal(path))


def test_a_value_that_json_lacks_is_refused_and_not_written(tmp_path):
    path = tmp_path / "rows.jsonl"
    with Journal(path) as journal, pytest.raises(ValueError, match="not JSON compliant"):
        journal.append({"value": float("nan")})
    assert path.read_bytes() == b""


def test_two_writers_at_the_same_time_are_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    with Journal(path), pytest.raises(InputError, match=r"rows\.jsonl"):
        Journal(path)
    write(path, ROWS)


def test_a_writer_in_another_process_is_refused_too(tmp_path):
    path = tmp_path / "rows.jsonl"
    code = f"from pathlib import Path; from gigamind.runs.store import Journal; Journal(Path({str(path)!r}))"
    with Journal(path, sync=True) as journal:
        journal.append(ROWS[0])
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert b"InputError" in ended.stderr
    assert list(read_journal(path)) == ROWS[:1]
