from pathlib import Path

import pytest
from row_files import write_rows
from vault_files import write_files

EXAMPLES = Path(__file__).parents[2] / "examples"
GOOD = {"id": "a", "query": "q", "answerable": True, "expected_notes": ["n.md"]}


@pytest.fixture
def rows(tmp_path):
    return lambda *values: write_rows(tmp_path / "d.jsonl", values)


def test_check_passes_the_examples(gigamind):
    dataset, notes = EXAMPLES / "queries.jsonl", EXAMPLES / "vault"
    ended = gigamind("dataset", "check", "--dataset", dataset, "--notes", notes)
    assert (ended.code, ended.stdout) == (0, "202 of 202 rows are usable\n")


def test_check_names_each_bad_row_with_its_line(gigamind, rows, tmp_path):
    write_files(tmp_path / "v", {"n.md": "text"})
    path = rows(GOOD, "broken", GOOD | {"id": "b", "expected_notes": ["zzz"]})
    without = gigamind("dataset", "check", "--dataset", path)
    assert without.code == 1
    assert without.stdout.startswith(f"{path}:2: ")
    assert without.stdout.endswith("2 of 3 rows are usable\n")
    within = gigamind("dataset", "check", "--dataset", path, "--notes", tmp_path / "v")
    assert f'{path}:3: field "expected_notes[0]": no note "zzz"' in within.stdout
    assert within.stdout.endswith("1 of 3 rows are usable\n")


def test_check_takes_several_files_and_fails_where_one_is_bad(gigamind, rows):
    good, bad = EXAMPLES / "answers.jsonl", rows(GOOD, "broken")
    ended = gigamind("dataset", "check", good, bad)
    assert ended.code == 1
    told = ended.stdout.splitlines()
    assert told[0] == f"{good}: 40 of 40 rows are usable"
    assert told[1].startswith(f"{bad}:2: ")
    assert told[2] == f"{bad}: 1 of 2 rows are usable"
    assert gigamind("dataset", "check", good, EXAMPLES / "queries.jsonl").code == 0
    assert "--json" in gigamind("dataset", "check", good, bad, "--json").stderr
    assert "gigamind dataset check queries.jsonl" in gigamind("dataset", "check").stderr


def test_check_holds_queries_against_themselves_where_there_is_no_vault(gigamind, rows):
    ended = gigamind("dataset", "check", rows(GOOD | {"expected_notes": []}))
    assert ended.code == 1
    assert ':1: field "expected_notes": ' in ended.stdout


def test_check_reads_answers_as_an_evaluation_does(gigamind, rows, tmp_path):
    answered = {"id": "a", "question": "q", "answer": "x", "context_notes": [{"path": "n.md"}]}
    assert gigamind("dataset", "check", rows({"id": "a", "question": "q"})).code == 0
    assert gigamind("dataset", "check", rows(answered)).code == 0
    unanswered = gigamind("dataset", "check", rows(answered, {"id": "b", "question": "q"}))
    assert unanswered.code == 1
    assert ':2: field "answer": missing' in unanswered.stdout
    write_files(tmp_path / "v", {"other.md": "text"})
    nowhere = gigamind("dataset", "check", rows(answered), "--notes", tmp_path / "v")
    assert nowhere.code == 1
    assert 'no note "n.md"' in nowhere.stdout


def test_a_collision_fails_only_a_strict_check(gigamind, rows, tmp_path):
    write_files(tmp_path / "v", {"x/n.md": "text", "y/n.md": "text"})
    given = ("dataset", "check", "--dataset", rows(GOOD), "--notes", tmp_path / "v")
    assert gigamind(*given).code == 0
    strict = gigamind(*given, "--strict")
    assert strict.code == 1
    assert "identifier collision" in strict.stderr


def test_check_looks_up_links_too(gigamind, rows, tmp_path):
    write_files(tmp_path / "v", {"n.md": "text"})
    row = {"id": "1", "source_note": "n", "anchor": "text", "expected_links": ["zzz"]}
    ended = gigamind("dataset", "check", "--dataset", rows(row), "--notes", tmp_path / "v")
    assert ended.code == 1
    assert '"zzz"' in ended.stdout


def test_check_says_when_an_evaluation_would_stop_in_the_same_words(gigamind, rows, tmp_path):
    write_files(tmp_path / "v", {"other.md": "text"})
    path = rows(*({**GOOD, "id": str(n), "expected_notes": ["zzz"]} for n in range(3)))
    checked = gigamind("dataset", "check", "--dataset", path, "--notes", tmp_path / "v")
    run = gigamind("eval", "search", "--dataset", path, "--notes", tmp_path / "v", "--dry-run")
    assert (checked.code, run.code) == (1, 1)
    reason = run.stderr.removeprefix("Error: ").splitlines()[0].partition("usable. ")[2]
    assert reason
    assert reason in checked.stdout
