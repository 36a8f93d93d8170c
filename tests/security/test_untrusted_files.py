"""A dataset, a vault or a collection of somebody else's: nothing outside is read or written, and nothing explodes."""

import json
import time
import tracemalloc

import pytest

from gigamind.errors import DatasetError, InputError
from gigamind.interop.collection import note_path
from gigamind.interop.squad import read_squad
from gigamind.library import evaluate_search, suggest_links
from gigamind.records.folder import write_texts
from gigamind.vault.identity import leaves_vault
from gigamind.vault.markdown import parse
from gigamind.vault.notes import read_vault

SECRET = "nobody outside this folder may see this"
OUT_OF_THE_VAULT = (
    "../outside.md",
    "a/../../outside.md",
    "..\\outside.md",
    "/etc/passwd",
    "C:\\Windows\\win.ini",
    "//server/share/outside.md",
)


@pytest.fixture
def case(tmp_path, monkeypatch):
    """A vault beside a file that is none of it, with links to it."""
    vault = tmp_path / "vault"
    vault.mkdir()
    (tmp_path / "outside.md").write_text(SECRET, "utf-8")
    (vault / "leave.md").write_text(
        "Leave is [here](../outside.md) and ![[../outside]].\n", "utf-8"
    )
    (vault / "link.md").symlink_to(tmp_path / "outside.md")
    (vault / "folder").symlink_to(tmp_path, target_is_directory=True)
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def dataset(case, *expected):
    path = case / "queries.jsonl"
    rows = [
        {"id": f"q{n}", "query": "leave", "answerable": True, "expected_notes": [name]}
        for n, name in enumerate(expected)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_a_dataset_that_points_out_of_the_vault_reads_nothing_there(case):
    with pytest.raises(DatasetError):
        evaluate_search(dataset(case, *OUT_OF_THE_VAULT), case / "vault", mode="keyword")


def test_links_out_of_the_vault_bring_nothing_into_a_run(case):
    rows = dataset(case, "leave.md")
    evaluate_search(rows, case / "vault", out=case / "out", mode="keyword", speed_passes=0)
    for path in (*(case / "out").rglob("*"), *(case / "cache").rglob("*")):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


def test_no_links_are_suggested_for_a_note_that_is_none_of_the_vault(case):
    for name in (*OUT_OF_THE_VAULT, "link.md", "folder/outside.md"):
        with pytest.raises(InputError, match="no such note"):
            suggest_links(case / "vault", name, embedder=None)


@pytest.mark.parametrize("title", ["../../outside", "/etc/cron.d/x", "..", "a/../../b", "C:\\x"])
def test_a_collection_writes_no_note_out_of_its_folder(case, title):
    paragraph = {
        "context": "It says seven.",
        "qas": [{"id": "1", "question": "What?", "answers": []}],
    }
    source = case / "squad.json"
    source.write_text(json.dumps({"data": [{"title": title, "paragraphs": [paragraph]}]}), "utf-8")
    before = {path for path in case.rglob("*") if not path.is_relative_to(case / "made")}
    write_texts(case / "made", read_squad(source).files())
    assert len(list((case / "made" / "notes").iterdir())) == 1
    assert {path for path in case.rglob("*") if not path.is_relative_to(case / "made")} == before
    assert not leaves_vault(note_path(title))


LEVELS = 30
MERGED = "".join(f"m{n}: &m{n} {{<<: [*m{n - 1}, *m{n - 1}]}}\n" for n in range(1, LEVELS))
LAUGHS = "a0: &a0 [x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, LEVELS)
)
BOMBS = {
    "aliases of aliases": LAUGHS,
    "an alias of itself": "a: &a [*a]\n",
    "merge keys": "m0: &m0 {k: v}\n" + MERGED,
    "brackets": "a: " + "[" * 100_000 + "\n",
    "indents": "".join(" " * n + "a:\n" for n in range(2_000)),
    "keys": "".join(f"key{n}: value\n" for n in range(50_000)),
    "one long value": "a: " + "x" * 5_000_000 + "\n",
    "one long list": "aliases: [" + "a, " * 100_000 + "b]\n",
    "a block that does not end": "a: |\n" + "  x\n" * 200_000,
    "a tag of Python": "a: !!python/object/apply:os.system [exit]\n",
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_frontmatter_takes_seconds_and_little_memory(tmp_path, name):
    (tmp_path / "note.md").write_text(f"---\n{BOMBS[name]}---\n# Text\n\nBody.\n", "utf-8")
    began = time.process_time()
    (note,) = read_vault(tmp_path).notes
    assert time.process_time() - began < 10
    assert note.text.endswith("Body.\n")
    assert [heading.text for heading in note.document.headings] == ["Text"]


def test_aliases_of_aliases_are_never_spelled_out():
    tracemalloc.start()
    try:
        parse(f"---\n{LAUGHS}---\n")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


@pytest.mark.parametrize("kind", ["> ", "- ", "[", "![[a|", "[a](", "*_", "<b>", "`", "$$", "|a"])
def test_nested_and_unended_markdown_takes_seconds(kind):
    began = time.process_time()
    parse(kind * (60_000 // len(kind)) + "\nend")
    assert time.process_time() - began < 10
