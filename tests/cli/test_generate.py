import re

from called import ran
from vault_files import write_files

from gigamind.vault.notes import notes_hash


def test_generate_links_says_what_it_removed(gigamind, tmp_path):
    vault = write_files(tmp_path / "vault", {"a.md": "[[b]] and [[b|again]]", "b.md": "[[a]]"})
    before = notes_hash(vault)
    made = ("--out-notes", tmp_path / "copy", "--dataset", tmp_path / "l.jsonl")
    options = ("--notes", vault, *made)
    ended = ran("eval", "generate-links", *options, "--remove-ratio", 1)
    assert re.findall(r"\d+", ended.stdout.splitlines()[0]) == ["3", "3", "2"]
    assert (tmp_path / "copy" / "a.md").read_text() == "b and again"
    assert notes_hash(vault) == before

    again = gigamind("eval", "generate-links", *options)
    assert again.code == 1


def test_generate_queries_counts_them_and_names_empty_notes(tmp_path):
    notes = {"a.md": "# Rain\n\nIt rains.\n\n## Causes\n\nClouds.\n", "b.md": "# Empty\n"}
    vault, out = write_files(tmp_path / "vault", notes), tmp_path / "q.jsonl"
    ended = ran("eval", "generate-queries", "--notes", vault, "--out", out, "--include-headers")
    total, *forms = ended.stdout.splitlines()[:3]
    assert total.startswith("2 ")
    assert total.endswith(f": {out}")
    assert [re.findall(r"\w+", line)[:2] for line in forms] == [["title", "1"], ["heading", "1"]]
    assert "b.md" in ended.stderr
    assert len(out.read_text().splitlines()) == 2


def test_a_report_over_generated_queries_says_that_they_are_easier(gigamind, tmp_path):
    note = "# Rain 2024\n\nIt rains.\n\n## Drizzle\n\nRain of very small drops.\n"
    vault, out = write_files(tmp_path / "vault", {"a.md": note}), tmp_path / "q.jsonl"
    asked = ("--notes", vault, "--out", out, "--forms", "all", "--limit", 3, "--seed", 1)
    assert gigamind("eval", "generate-queries", *asked).code == 0
    with out.open("a") as file:
        file.write('{"id": "p", "query": "Wet?", "answerable": true, "expected_notes": ["a.md"]}\n')
    read = ("--dataset", out, "--notes", vault)
    how = ("--mode", "keyword", "--lang", "ko", "--speed-passes", 0)
    ended = gigamind("eval", "search", *read, *how, "--out", tmp_path / "run")
    (told,) = (line for line in ended.stdout.splitlines() if "4건" in line and "3건" in line)
    warning = told.removeprefix("  ! ")
    for name in ("summary.md", "report.html"):
        assert warning in (tmp_path / "run" / name).read_text("utf-8")


def test_a_form_that_is_none_and_forms_for_a_model_are_refused(gigamind, tmp_path):
    places = ("--notes", tmp_path, "--out", tmp_path.parent / "q.jsonl")
    ended = gigamind("eval", "generate-queries", *places, "--forms", "title,poem")
    assert (ended.code, "poem" in ended.stderr) == (1, True)
    ended = gigamind("eval", "generate-queries", *places, "--limit", 3, "--model", "openai/m")
    assert (ended.code, "--limit" in ended.stderr) == (1, True)
