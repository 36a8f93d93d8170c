"""A dataset, a vault or a collection of somebody else's: nothing outside is read or written, and nothing explodes."""

import json
import math
import tracemalloc

import pytest
from row_files import write_rows
from time_limit import check_linear

from gigamind.errors import DatasetError, InputError
from gigamind.interop.collection import note_path
from gigamind.interop.squad import read_squad
from gigamind.library import evaluate_search, suggest_links
from gigamind.records.folder import write_texts
from gigamind.vault.identity import leaves_vault
from gigamind.vault.markdown import Document
from gigamind.vault.notes import Vault

SECRET = "nobody outside this folder may see this"
OUT_OF_THE_VAULT = (
    "../outside.md", "a/../../outside.md", "..\\outside.md", "/etc/passwd", "C:\\Windows\\win.ini",
    "//server/share/outside.md",
)  # fmt: skip


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
    rows = [
        {"id": f"q{n}", "query": "leave", "answerable": True, "expected_notes": [name]}
        for n, name in enumerate(expected)
    ]
    return write_rows(case / "queries.jsonl", rows)


def test_a_dataset_that_points_out_of_the_vault_reads_nothing_there(case):
    with pytest.raises(DatasetError):
        evaluate_search(
            dataset(case, *OUT_OF_THE_VAULT), case / "vault", mode="keyword", speed_passes=0
        )


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


def aliases(levels):
    """Return YAML whose last value has 9 to the power of `levels` parts once its aliases are resolved."""
    return "a0: &a0 [x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, levels)
    )


def merge_keys(levels):
    return "m0: &m0 {k: v}\n" + "".join(
        f"m{n}: &m{n} {{<<: [*m{n - 1}, *m{n - 1}]}}\n" for n in range(1, levels)
    )


BOMBS = {
    "aliases of aliases": (aliases, 30),
    "an alias of itself": (lambda _: "a: &a [*a]\n", 1),
    "merge keys": (merge_keys, 30),
    "brackets": (lambda size: "a: " + "[" * size + "\n", 40_000),
    "indents": (
        lambda size: "".join(" " * n + "a:\n" for n in range(math.isqrt(2 * size))),
        1_000_000,
    ),
    "keys": (lambda size: "".join(f"key{n}: value\n" for n in range(size)), 20_000),
    "one long value": (lambda size: "a: " + "x" * size + "\n", 2_000_000),
    "one long list": (lambda size: "aliases: [" + "a, " * size + "b]\n", 40_000),
    "a block that does not end": (lambda size: "a: |\n" + "  x\n" * size, 80_000),
    "a tag of Python": (lambda _: "a: !!python/object/apply:os.system [exit]\n", 1),
}


@pytest.mark.parametrize("name", BOMBS)
def test_frontmatter_is_read_in_linear_time(tmp_path, name):
    frontmatter, size = BOMBS[name]

    def read(size):
        text = f"---\n{frontmatter(size)}---\n# Text\n\nBody.\n"
        (tmp_path / "note.md").write_text(text, "utf-8")
        (note,) = Vault.read(tmp_path).notes
        return note

    note = check_linear(read, size)
    assert note.text.endswith("Body.\n")
    assert [heading.text for heading in note.document.headings] == ["Text"]


def test_aliases_of_aliases_are_never_resolved():
    tracemalloc.start()
    try:
        Document.parse(f"---\n{aliases(30)}---\n")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


@pytest.mark.parametrize("kind", ["> ", "- ", "[", "![[a|", "[a](", "*_", "<b>", "`", "$$", "|a"])
def test_nested_and_unended_markdown_takes_linear_time(kind):
    check_linear(lambda size: Document.parse(kind * (size // len(kind)) + "\nend"), 48_000)
