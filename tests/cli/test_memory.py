import json
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner
from memory_rows import entry, extracted

from gigamind.cli.memory import memory
from gigamind.errors import InputError

SESSION = '{"role": "user", "content": "DuckDB의 JSONB를 JSON으로 변경하자."}\n'
EXTRACTED = extracted(
    entry("good", "JSONB를 JSON으로 변경한다.", "JSONB를 JSON으로"),
    entry("bad", "벡터를 쓴다.", "벡터 검색"),
)


@pytest.fixture
def graduate(tmp_path):
    (tmp_path / "standup.jsonl").write_text(SESSION, encoding="utf-8")
    (tmp_path / "e.json").write_text(json.dumps(EXTRACTED), encoding="utf-8")

    def invoke(*options, session=tmp_path / "standup.jsonl"):
        arguments = ["graduate", "--session", str(session), "--extracted", str(tmp_path / "e.json")]
        arguments += ["--log", str(tmp_path / "m.db"), *options]
        return CliRunner().invoke(memory, arguments)

    return invoke


def events(tmp_path, *options):
    result = CliRunner().invoke(memory, ["events", "--log", str(tmp_path / "m.db"), *options])
    assert result.exit_code == 0, result.exception
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_graduate_says_what_is_verified_and_why_the_rest_is_not(graduate):
    result = graduate()
    assert result.exit_code == 0
    good, bad, quote = result.stdout.splitlines()
    assert good == "verified   good"
    assert bad.startswith("candidate  bad  ")
    assert "(quote_too_short_for_fuzzy)" in bad
    assert quote.startswith("           ")
    assert quote.endswith(": 벡터 검색")


@pytest.mark.parametrize(
    ("option", "aligned"),
    [
        ((), 1),
        (("--fuzzy-threshold", "1"), 0),
        (("--no-enable-fuzzy",), 0),
        (("--max-quote-length", "20"), 0),
    ],
)
def test_what_counts_as_found_is_an_option(tmp_path, option, aligned):
    said = "삭제한 노트는 휴지통에 삼십 일 동안 보관한 다음 완전히 지웁니다."
    quote = "삭제한 노트를 휴지통에 삼십 일 동안 보관한 다음 완전히 지웁니다."
    session, file = tmp_path / "s.jsonl", tmp_path / "s.extracted.json"
    session.write_text(json.dumps({"role": "user", "content": said}), encoding="utf-8")
    file.write_text(json.dumps(extracted(entry("a", "t", quote))), encoding="utf-8")
    one = ["graduate", "--session", str(session), "--extracted", str(file)]
    for command in (one, ["graduate-all", "--folder", str(tmp_path)]):
        log = ["--log", str(tmp_path / f"{command[0]}.db")]
        result = CliRunner().invoke(memory, [*command, *log, *option, "--json"])
        [told] = json.loads(result.stdout)
        assert (len(told["evidence"]) if "evidence" in told else told["quotes_aligned"]) == aligned


def test_events_are_printed_a_line_each_and_only_once_for_the_same_session(graduate, tmp_path):
    graduate()
    graduate()
    printed = events(tmp_path)
    assert [event["seq"] for event in printed] == [1, 2, 3, 4, 5]
    assert printed[0]["event_type"] == "session_ingested"
    assert events(tmp_path, "--after", "4") == printed[4:]


def test_follow_prints_events_as_they_come_until_ctrl_c_ends_it_with_130(graduate, tmp_path):
    graduate()
    arguments = [sys.executable, "-m", "gigamind", "memory", "events", "--follow"]
    with subprocess.Popen(
        [*arguments, "--log", str(tmp_path / "m.db")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as follower:
        seen = [json.loads(follower.stdout.readline())["seq"] for _ in range(5)]
        graduate("--session-id", "another")
        seen += [json.loads(follower.stdout.readline())["seq"] for _ in range(5)]
        follower.send_signal(signal.SIGINT)
        _, told = follower.communicate(timeout=30)
    assert seen == list(range(1, 11))
    assert follower.returncode == 130
    assert "Interrupted." in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("content", "told"), [("{}", "standup.jsonl:1: role"), ("\n", "standup.jsonl")]
)
def test_a_bad_session_is_refused_and_nothing_is_logged(graduate, tmp_path, content, told):
    (tmp_path / "standup.jsonl").write_text(content)
    result = graduate()
    assert isinstance(result.exception, InputError)
    assert told in str(result.exception)
    assert not (tmp_path / "m.db").exists()


def test_events_of_a_missing_log_are_refused(tmp_path):
    result = CliRunner().invoke(memory, ["events", "--log", str(tmp_path / "none.db")])
    assert isinstance(result.exception, InputError)


@pytest.fixture
def graduate_all(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "standup.jsonl").write_text(SESSION, encoding="utf-8")
    (tmp_path / "in" / "standup.extracted.json").write_text(json.dumps(EXTRACTED))

    def invoke(*options):
        arguments = ["graduate-all", "--folder", str(tmp_path / "in")]
        return CliRunner().invoke(memory, [*arguments, "--log", str(tmp_path / "m.db"), *options])

    return invoke


def test_graduate_all_reports_every_session_and_ends_in_an_error_when_one_fails(
    graduate_all, tmp_path
):
    whole = graduate_all()
    assert whole.exit_code == 0
    assert whole.stdout.splitlines() == [
        "standup: 1 of 2 entries verified; quotes: 1 found, 1 not found",
        "  bad: Evidence alignment failed: 1 of 1 quotes not found (quote_too_short_for_fuzzy).",
    ]
    (tmp_path / "in" / "lonely.jsonl").touch()
    result = graduate_all()
    assert result.stdout.startswith("lonely: failed: ")
    assert result.stdout.endswith(whole.stdout)
    assert isinstance(result.exception, InputError)
    assert "1 of 2 sessions" in str(result.exception)
    assert len(events(tmp_path)) == 5


def test_a_session_and_a_folder_of_it_make_the_same_events(graduate, graduate_all, tmp_path):
    graduate()
    before = events(tmp_path)
    assert graduate_all().exit_code == 0
    assert events(tmp_path) == before
