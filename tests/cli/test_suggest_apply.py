import re
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pytest
from korean import HANGUL
from terminal import Terminal
from vault_files import write_files

from gigamind.vault.notes import notes_hash

NOTES = {
    "gate.md": "---\naliases: [게이트]\n---\n# 게이트\n", "limit.md": "---\ntitle: 임계값\n---\n",
    "a.md": "\ufeff임계값은 게이트에서\r\n본다. 끝", "b.md": "# 임계값\n\n게이트를 본다.\n",
    "bold.md": "이 **게이트**를 본다.\n", "seen.md": "[[gate|게이트]] [[limit|임계값]]",
}  # fmt: skip
LINKED = {
    **NOTES,
    "a.md": "\ufeff[[limit|임계값]]은 [[gate|게이트]]에서\r\n본다. 끝",
    "b.md": "# 임계값\n\n[[gate|게이트]]를 본다.\n",
}
ASK = "suggest-links --no-semantic --notes vault --all --min-confidence 0 --in-place"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path / "vault", NOTES)
    return tmp_path


@pytest.fixture
def apply(folder, gigamind):
    """Runs the command on every note, whatever the confidence."""
    assert folder.is_dir()
    every = ("suggest-links", "--no-semantic", "--notes", "vault", "--all", "--min-confidence", "0")
    return lambda *options: gigamind(*every, *options)


def texts(vault: Path) -> dict[str, str]:
    return {path: (vault / path).read_bytes().decode() for path in NOTES}


def undo_file(shown: str) -> str:
    return re.search(r": gigamind suggest-links --undo (\S+)\n", shown)[1]


def test_a_copy_gets_the_links_and_the_vault_stays_as_it_is(apply, folder):
    before = notes_hash(folder / "vault")
    ended = apply("--apply", "copy", "--yes")
    assert re.findall(r"\d+", ended.stdout) == ["3", "2"]
    assert ended.stderr.startswith('bold.md:1: "게이트" ')
    assert ended.code == 0
    assert texts(folder / "copy") == LINKED
    assert notes_hash(folder / "vault") == before
    assert sorted(path.name for path in folder.iterdir()) == ["copy", "vault"]


def test_a_floor_of_the_confidence_keeps_links_out(apply, folder):
    ended = apply("--apply", "copy", "--yes", "--min-confidence", "1")
    assert (ended.code, ended.stdout.count("\n")) == (0, 1)
    assert not (folder / "copy").exists()


def test_in_place_links_are_written_and_undone(apply, folder, gigamind):
    before = notes_hash(folder / "vault")
    ended = apply("--in-place", "--yes")
    assert re.findall(r"\d+", ended.stdout.splitlines()[0]) == ["3", "2"]
    assert texts(folder / "vault") == LINKED
    again = apply("--in-place", "--yes")
    assert "--undo" not in again.stdout
    assert texts(folder / "vault") == LINKED
    undone = gigamind("suggest-links", "--undo", undo_file(ended.stdout))
    assert (undone.code, re.findall(r"\d+", undone.stdout)) == (0, ["2"])
    assert notes_hash(folder / "vault") == before


def test_a_whole_korean_run_is_korean(apply, gigamind):
    ended = apply("--in-place", "--yes", "--lang", "ko")
    undone = gigamind("suggest-links", "--undo", undo_file(ended.stdout), "--lang", "ko")
    copied = apply("--apply", "copy", "--yes", "--lang", "ko")
    assert (ended.code, undone.code, copied.code) == (0, 0, 0)
    for line in (*ended.stdout.splitlines(), ended.stderr, undone.stdout, copied.stdout):
        assert HANGUL.search(line.replace("게이트", ""))


def test_phrases_are_written_only_where_that_is_said(folder, gigamind, monkeypatch):
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(folder / "cache"))
    for path in NOTES:
        (folder / "vault" / path).unlink()
    rules = "# 연차 사용 규정\n\n연차는 입사 1년 뒤부터 쓴다. 쉬는 날은 팀장이 승인한다."
    (folder / "vault" / "연차 사용 규정.md").write_text(rules, encoding="utf-8")
    (folder / "vault" / "t.md").write_text("휴가 정책을 먼저 읽는다.", encoding="utf-8")
    command = ("suggest-links", "--notes", "vault", "--all", "--min-confidence", "0", "--yes")
    told = gigamind(*command, "--apply", "names").stdout.splitlines()
    assert len(told) == 2
    assert not (folder / "names").exists()
    assert "--phrases" in told[0]
    gigamind(*command, "--apply", "copy", "--phrases")
    written = (folder / "copy" / "t.md").read_text("utf-8")
    assert written == "휴가 [[연차 사용 규정|정책]]을 먼저 읽는다."


def test_what_was_changed_since_is_told_and_left(apply, folder, gigamind):
    file = undo_file(apply("--in-place", "--yes").stdout)
    (folder / "vault" / "a.md").write_text("mine", encoding="utf-8")
    undone = gigamind("suggest-links", "--undo", file)
    assert (undone.code, re.findall(r"\d+", undone.stdout)) == (2, ["1"])
    assert "Error: a.md" in undone.stderr
    assert texts(folder / "vault") == {**NOTES, "a.md": "mine"}
    again = gigamind("suggest-links", "--undo", file)
    assert re.findall(r"\d+", again.stdout) == ["0", "1"]


def test_a_note_that_may_not_be_written_is_told_and_the_others_are_written(apply, folder):
    (folder / "vault" / "a.md").chmod(0o444)
    ended = apply("--in-place", "--yes")
    assert ended.code == 2
    assert re.findall(r"\d+", ended.stdout.splitlines()[0]) == ["1", "1"]
    assert "Error: a.md" in ended.stderr
    assert texts(folder / "vault") == {**LINKED, "a.md": NOTES["a.md"]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--apply", "copy"), "--min-confidence"),
        (("--apply", "copy", "--lang", "ko"), "--min-confidence"),
        (("--in-place",), "--yes"),
        (("--apply", "copy", "--in-place", "--yes"), "--in-place"),
        (("--yes",), "--apply COPY"),
        (("--in-place", "--phrases"), "--phrases"),
        (("--apply", "vault/copy", "--yes"), "--apply vault/copy"),
        (("--apply", ".", "--yes"), "--apply ."),
        (("--apply", "full", "--yes"), "--apply full"),
        (("--in-place", "--yes", "--format", "json"), "--json"),
        (("--in-place", "--yes", "--out", "x.md"), "--out"),
        (("--undo", "x"), "--undo"),
    ],
)
def test_what_cannot_be_meant_is_invalid_input_and_writes_nothing(
    apply, folder, monkeypatch, options, message
):
    monkeypatch.setattr(sys, "stdin", StringIO())
    (folder / "full").mkdir()
    (folder / "full" / "kept").touch()
    ended = apply(*options)
    assert (ended.code, message in ended.stderr) == (1, True)
    assert texts(folder / "vault") == NOTES
    assert sorted(path.name for path in folder.iterdir()) == ["full", "vault"]
    assert [path.name for path in (folder / "vault").iterdir() if path.name[0] == "."] == []


def ask(folder: Path, *answers: str) -> tuple[Terminal, int, str]:
    """Answers the questions in their order."""
    terminal = Terminal(folder, ASK)
    for number, answer in enumerate(answers, start=1):
        terminal.read_until(rf"(?s)(?:\(q\)uit.*?){{{number}}}")
        terminal.type(answer)
    code, output = terminal.end()
    return terminal, code, output


def test_each_link_is_asked_about_as_it_would_stand(folder):
    terminal, code, output = ask(folder, "n\n", "maybe\n", "ㅛ\n", "y\n")
    shown = terminal.shown.replace("\r", "")
    assert re.search(r"\na\.md:1 \(.*1 \D+ 4\)\n  \[\[limit\|임계값\]\]은 게이트에서\n", shown)
    assert re.search(r'\n  "임계값" → limit.md, .* 0\.\d\d: ', shown)
    assert re.search(r"\na\.md:1 \(.*2 \D+ 4\)\n  임계값은 \[\[gate\|게이트\]\]에서\n", shown)
    assert shown.count("Error: ") == 1
    assert re.search(r"\nb\.md:3 \(.*3 \D+ 4\)\n", shown)
    assert shown.count("(q)uit") == 4
    assert code == 0
    assert re.findall(r"\d+", output.splitlines()[0]) == ["2", "2"]
    expected = {**LINKED, "a.md": LINKED["a.md"].replace("[[limit|임계값]]", "임계값")}
    assert texts(folder / "vault") == expected


def test_what_is_no_answer_is_told_in_korean_too(folder):
    terminal = Terminal(folder, ASK, LC_ALL="ko_KR.UTF-8")
    terminal.type("maybe\nq\n")
    terminal.end()
    assert "오류: y, n, a, q" in terminal.shown
    assert "Error" not in terminal.shown


def test_a_bar_begins_where_its_first_pieces_have_ended(folder):
    terminal, _, _ = ask(folder, "q\n")
    assert re.search(r" 1/6 ", terminal.shown)
    assert not re.search(r" -\d", terminal.shown)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["a\n"], LINKED),
        (["y\n", "q\n"], {**NOTES, "a.md": LINKED["a.md"].replace("[[gate|게이트]]", "게이트")}),
    ],
)
def test_an_answer_may_be_for_all_that_follow(folder, answers, expected):
    _, code, output = ask(folder, *answers)
    assert texts(folder / "vault") == expected
    assert code == 0
    assert Path(folder, undo_file(output)).is_file()


@pytest.mark.faults
def test_ctrl_c_leaves_the_notes_that_were_decided_on_and_tells_how_to_undo_them(folder):
    terminal = Terminal(folder, ASK)
    terminal.type("y\ny\n")
    terminal.read_until(r"\(3 of 4\)(?s:.*)\(q\)uit")
    for _ in range(5):  # Python misses a signal just before it waits for input, until there is some
        terminal.process.send_signal(signal.SIGINT)
        terminal.read_until("Interrupted", seconds=5)
        if "Interrupted" in terminal.shown:
            break
    code, output = terminal.end()
    assert code == 130
    assert texts(folder / "vault") == {**NOTES, "a.md": LINKED["a.md"]}
    assert Path(folder, undo_file(output)).is_file()


@pytest.mark.faults
def test_a_process_that_is_killed_leaves_whole_notes_that_can_be_undone(folder, gigamind):
    vault = folder / "vault"
    before_and_after: dict[Path, tuple[str, str]] = {}
    for number in range(1_000):
        note, linked = vault / f"n{number:03}.md", f"{number} [[gate|게이트]]를 본다\n"
        text = linked if number % 2 else f"{number} 게이트를 본다\n"
        note.write_text(text, encoding="utf-8")
        before_and_after[note] = (text, linked)
    before = notes_hash(vault)
    command = [sys.executable, "-m", "gigamind", *ASK.split(), "--yes"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and _rows(vault) < 20:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    texts = {note: note.read_text("utf-8") for note in before_and_after}
    assert all(text in before_and_after[note] for note, text in texts.items())
    assert 0 < sum(text != before_and_after[note][0] for note, text in texts.items()) < 500
    undone = gigamind("suggest-links", "--undo", *vault.glob(".gigamind/links/*/undo.jsonl"))
    assert (undone.code, undone.stdout.startswith("Restored ")) == (0, True)
    assert notes_hash(vault) == before
    assert {note: note.read_text("utf-8") for note in texts} == {
        note: text for note, (text, _) in before_and_after.items()
    }


def _rows(vault: Path) -> int:
    return sum(
        file.read_bytes().count(b"\n") for file in vault.glob(".gigamind/links/*/undo.jsonl")
    )
