import json
import re

import pytest
from command_line import reached
from row_files import write_rows

from gigamind.llm.ledger import read_ledger

KEPT = "삭제한 노트는 휴지통에 30일 동안 보관한 다음 완전히 지웁니다."
MESSAGES = ["{{ secret }} DuckDB의 JSONB를 JSON으로 변경하자.", f"좋습니다. {KEPT}"]
SECRET = "sk-own-key-98765"


def entry(text, index, quote):
    return {"text": text, "evidence": [{"messageIndex": index, "quote": quote}]}


ANSWER = {
    "entries": [
        entry("30일 보관한다.", 1, KEPT),
        entry("90일 보관한다.", 1, KEPT.replace("30일", "90일")),
        entry("메시지가 없다.", 7, KEPT),
        entry("근거가 없다.", 0, ""),
    ]
}


@pytest.fixture
def graduate(case, gigamind, fake, monkeypatch):
    """Runs the command on one session, in a working directory of its own."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    said = ({"role": "user", "content": text} for text in MESSAGES)
    write_rows(case / "standup.jsonl", said)

    def run(*options, model="openai/m"):
        arguments = ["memory", "graduate", "--session", "standup.jsonl", *reached(fake)]
        return gigamind(*arguments, "--model", model, *options)

    return run


def test_what_a_model_extracts_is_verified_where_its_quote_stands_and_else_refused_with_a_reason(
    graduate, fake
):
    fake.script.append(ANSWER)

    ended = graduate()

    assert ended.code == 0
    entries = [line for line in ended.stdout.splitlines() if line[0] != " "]
    stages = [line.split()[:2] for line in entries]
    assert stages == [["verified", "e1"], *(["candidate", f"e{n}"] for n in (2, 3, 4))]
    assert "source_index_out_of_range" in entries[2]
    assert "empty_quote" in entries[3]
    assert re.findall(r": (\d+),", ended.stderr) == ["1", "0"]
    assert MESSAGES[0] in fake.seen.bodies[0]["messages"][1]["content"]


def test_the_same_session_again_asks_nothing_and_adds_nothing(graduate, gigamind, fake, case):
    fake.script.append(ANSWER)
    first = graduate()
    logged = gigamind("memory", "events").stdout

    second = graduate()

    assert second.stdout == first.stdout
    assert re.findall(r": (\d+),", second.stderr) == ["0", "1"]
    assert gigamind("memory", "events").stdout == logged
    assert len(fake.seen.bodies) == 1
    rows = read_ledger(case / ".gigamind" / "attempts.jsonl")
    assert [row.source for row in rows] == ["http", "store"]


def test_store_ledger_and_log_stand_where_they_are_asked_to(graduate, fake, case):
    fake.script.append(ANSWER)
    assert graduate("--log", "l/m.db", "--store", "s", "--ledger", "a.jsonl").code == 0
    assert (case / "s" / "fence.key").stat().st_mode & 0o077 == 0
    assert len(list((case / "s").glob("*/*.json"))) == 1
    assert (case / "a.jsonl").is_file()
    assert not (case / ".gigamind").exists()


@pytest.mark.parametrize(
    ("language", "first"), [("ko", "대화를"), ("en", "You"), ("auto", "대화를")]
)
def test_the_language_of_the_prompt_can_be_chosen(graduate, fake, language, first):
    fake.script.append(ANSWER)
    graduate("--prompt-lang", language, "--max-tokens", "99")
    (body,) = fake.seen.bodies
    assert body["messages"][0]["content"].split()[0] == first
    assert body["max_tokens"] == 99


@pytest.mark.parametrize("fault", ["refusal", "refusal_text", "401"])
def test_a_model_that_gives_no_entries_ends_in_3_and_nothing_is_logged(
    graduate, case, monkeypatch, fault
):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    ended = graduate(model=f"openai/m;fault={fault}")
    assert (ended.code, ended.stdout) == (3, "")
    assert ended.stderr.splitlines()[-1].startswith("Error: ")
    assert "Traceback" not in ended.stderr
    assert not (case / ".gigamind" / "memory.db").exists()


def test_the_key_is_in_no_message_no_file_and_no_output(graduate, fake, case, monkeypatch):
    monkeypatch.setenv("MY_KEY", SECRET)
    fake.script.append(ANSWER)
    ended = graduate("--key-variable", "MY_KEY", "--json")

    assert list(fake.seen.authorizations) == [f"Bearer {SECRET}"]
    written = b"".join(path.read_bytes() for path in case.rglob("*") if path.is_file())
    assert SECRET not in json.dumps(list(fake.seen.bodies)) + ended.stdout + ended.stderr
    assert SECRET.encode() not in written


def test_no_call_is_made_where_none_is_allowed(graduate, fake):
    assert graduate("--max-calls", "0").code == 3
    assert graduate("--store-mode", "replay").code == 3
    assert not fake.seen.bodies


@pytest.mark.parametrize("options", [[], ["--extracted", "e.json", "--model", "openai/m"]])
def test_entries_come_from_a_file_or_a_model_and_not_from_both_or_none(case, gigamind, options):
    ended = gigamind("memory", "graduate", "--session", "-", *options)
    assert ended.code == 1
    assert "--extracted or --model" in ended.stderr
    assert not (case / ".gigamind").exists()
