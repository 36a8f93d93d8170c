import json
import os
import unicodedata

import pytest
from memory_rows import entry, extracted

from gigamind.errors import InputError
from gigamind.memory import sessions
from gigamind.memory.events import EventLog, read_events
from gigamind.memory.sessions import FolderOptions

MESSAGE = {"role": "user", "content": "DuckDB의 JSONB를 JSON으로 변경하자."}


def reply(*quotes, entry_id="e"):
    return extracted(entry(entry_id, "JSONB를 JSON으로 변경한다.", *quotes))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.fixture
def write(folder):
    def write(name, extracted=None, messages=(MESSAGE,)):
        lines = "".join(f"{json.dumps(message)}\n" for message in messages)
        (folder / f"{name}.jsonl").write_text(lines)
        content = reply("JSONB를 JSON으로") if extracted is None else extracted
        (folder / f"{name}.extracted.json").write_text(json.dumps(content))

    return write


@pytest.fixture
def options(folder, tmp_path):
    return FolderOptions(folder=folder, log=tmp_path / "memory.db")


def graduate(options):
    return options.graduate_batch(options.session_names())


def test_a_session_is_named_by_either_of_its_files(folder, options, write):
    write("b")
    write("a.b")
    (folder / "alone.jsonl").touch()
    (folder / "lonely.extracted.json").touch()
    (folder / "notes.md").touch()
    (folder / "._b.jsonl").touch()
    assert options.session_names() == ["a.b", "alone", "b", "lonely"]


@pytest.mark.parametrize("name", ["in", "none", "file"])
def test_a_folder_without_sessions_is_refused(folder, options, name):
    (folder.parent / "file").touch()
    with pytest.raises(InputError) as error:
        options.model_copy(update={"folder": folder.parent / name}).session_names()
    assert error.value.message.values["folder"] == folder.parent / name


def test_a_batch_holds_a_hundred_sessions_until_there_would_be_more_than_64(folder, options):
    made = 0
    for count, sizes in [
        (1, [1]),
        (100, [100]),
        (101, [100, 1]),
        (6400, [100] * 64),
        (6401, [101] * 63 + [38]),
    ]:
        for number in range(made, count):
            (folder / f"{number:04}.jsonl").touch()
        made = count
        batches = options.session_batches()
        assert [len(batch) for batch in batches] == sizes
        assert [name for batch in batches for name in batch] == options.session_names()


def test_a_report_counts_entries_and_quotes_and_says_why_entries_are_blocked(options, write):
    entries = [
        *reply("JSONB를 JSON으로", entry_id="good")["entries"],
        *reply("DuckDB의", "벡터 검색", entry_id="bad")["entries"],
        *reply(entry_id="empty")["entries"],
    ]
    write("s", {"entries": entries})
    assert graduate(options) == [
        {
            "session": "s",
            "status": "graduated",
            "entries": 3,
            "verified": 1,
            "blocked": 2,
            "quotes_aligned": 2,
            "quotes_failed": 1,
            "failed_quotes": ["벡터 검색"],
            "reasons": [
                "bad: Evidence alignment failed: 1 of 2 quotes not found (quote_too_short_for_fuzzy).",
                "empty: Evidence alignment failed: the entry has no evidence.",
            ],
        }
    ]


def test_a_quote_that_aligns_but_proves_too_little_did_not_fail(options, write):
    said = {
        "role": "user",
        "content": "삭제한 노트는 휴지통에 30일 동안 보관한 다음 완전히 지웁니다.",
    }
    write("s", reply(said["content"].replace("30", "90")), [said])
    (report,) = graduate(options)
    assert (report["quotes_aligned"], report["quotes_failed"], report["blocked"]) == (1, 0, 1)
    assert report["failed_quotes"] == []


def test_a_report_keeps_twenty_failed_quotes_of_200_characters(options, write):
    write("s", reply(*("나" * 201 for _ in range(21))))
    (report,) = graduate(options)
    assert report["quotes_failed"] == 21
    assert report["failed_quotes"] == ["나" * 200] * 20


def test_a_session_that_cannot_be_graduated_is_reported_and_the_others_go_on(
    folder, options, write
):
    for name in ("a", "b", "c", "d", "e"):
        write(name)
    (folder / "a.jsonl").write_bytes(bytes(range(256)))
    (folder / "b.extracted.json").write_text("")
    (folder / "c.extracted.json").unlink()
    (folder / "d.jsonl").unlink()
    reports = graduate(options)
    assert [report["status"] for report in reports] == ["failed"] * 4 + ["graduated"]
    reasons = [report["reasons"][0] for report in reports[:4]]
    files = ("a.jsonl", "b.extracted.json", "c.extracted.json", "d.jsonl")
    for reason, file in zip(reasons, files, strict=True):
        assert str(folder / file) in reason
    values = sessions.problem(reports).values
    assert (values["failed"], values["n"], values["reason"]) == (4, 5, reasons[0])
    assert sessions.problem(reports[4:]) == ""


def test_a_file_name_that_is_no_utf8_fails_alone_and_its_report_can_be_written(
    folder, options, write
):
    write("good")
    write("bad")
    for file in list(folder.glob("bad*")):
        file.rename(folder / os.fsdecode(b"\xff" + file.name[3:].encode()))
    reports = graduate(options)
    found = [(report["session"], report["status"]) for report in reports]
    assert found == [("good", "graduated"), (r"\udcff", "failed")]
    json.dumps(reports, ensure_ascii=False).encode()


def test_the_same_session_is_known_again_when_its_name_comes_decomposed(folder, options, write):
    write("회의")
    graduate(options)
    for file in list(folder.iterdir()):
        file.rename(folder / unicodedata.normalize("NFD", file.name))
    before = list(read_events(options.log))
    (report,) = graduate(options)
    assert report["session"] == "회의"
    assert list(read_events(options.log)) == before


def test_each_session_is_reported_as_it_ends(options, write):
    write("a")
    write("b")
    with EventLog(options.log) as log:
        reports = options.graduate_each(["a", "b"], log)
        assert next(reports)["session"] == "a"
        assert len(list(read_events(options.log))) == 4


def test_the_table_has_scalars_only_and_the_worst_first(folder, options, write):
    write("a")
    write("b", reply())
    write("c")
    (folder / "c.jsonl").unlink()
    rows = sessions.table(graduate(options))
    assert [row["session"] for row in rows] == ["c", "b", "a"]
    assert rows[1] == {
        "session": "b",
        "status": "graduated",
        "entries": 1,
        "verified": 0,
        "blocked": 1,
        "quotes aligned": 0,
        "quotes failed": 0,
        "reasons": "e: Evidence alignment failed: the entry has no evidence.",
    }


def test_the_table_stays_small(options, write):
    write("s", {"entries": [reply(entry_id=f"e{n}")["entries"][0] for n in range(20)]})
    rows = sessions.table(graduate(options) * 1001)
    assert len(rows) == 1000
    assert {len(row["reasons"]) for row in rows} == {500}


def test_an_event_names_its_session_and_carries_counts_and_failed_quotes(options, write):
    write("회의", reply("JSONB를 JSON으로", "벡터 검색"))
    (report,) = graduate(options)
    assert sessions.aligned_event(report) == {
        "event": "gigamind.evidence.aligned",
        "resource": {
            "prefect.resource.id": "gigamind.session.회의",
            "prefect.resource.name": "회의",
        },
        "payload": {
            "aligned_count": 1,
            "failed_count": 1,
            "verified_count": 0,
            "blocked_count": 1,
            "failed_quotes": ["벡터 검색"],
        },
    }
