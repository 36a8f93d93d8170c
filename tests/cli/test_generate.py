from gigamind.vault.walk import notes_hash


def test_generate_links_says_what_it_removed(gigamind, tmp_path):
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").write_text("[[b]] and [[b|again]]")
    (vault / "b.md").write_text("[[a]]")
    before = notes_hash(vault)
    options = (
        "--notes",
        vault,
        "--out-notes",
        tmp_path / "copy",
        "--dataset",
        tmp_path / "l.jsonl",
    )
    ended = gigamind("eval", "generate-links", *options, "--remove-ratio", 1)
    assert ended.code == 0
    assert ended.stdout.startswith("Removed 3 of 3 links, from 2 notes.\n")
    assert (tmp_path / "copy" / "a.md").read_text() == "b and again"
    assert notes_hash(vault) == before

    again = gigamind("eval", "generate-links", *options)
    assert again.code == 1
    assert "exists already" in again.stderr


def test_a_ratio_of_zero_is_invalid_input(gigamind, tmp_path):
    places = ("--notes", tmp_path, "--out-notes", tmp_path / "x", "--dataset", tmp_path / "y")
    ended = gigamind("eval", "generate-links", *places, "--remove-ratio", 0)
    assert (ended.code, ended.stderr) == (
        1,
        "Error: --remove-ratio 0: must be above 0, and 1 or less\n",
    )


def test_generate_queries_counts_them_and_names_empty_notes(gigamind, tmp_path):
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").write_text("# Rain\n\nIt rains.\n\n## Causes\n\nClouds.\n")
    (vault / "b.md").write_text("# Empty\n")
    out = tmp_path / "q.jsonl"
    ended = gigamind(
        "eval", "generate-queries", "--notes", vault, "--out", out, "--include-headers"
    )
    assert (ended.code, ended.stdout) == (0, f"2 questions, for review: {out}\n")
    assert "b.md: has no text" in ended.stderr
    assert len(out.read_text().splitlines()) == 2
