from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from row_files import read_rows
from vault_files import write_files

from gigamind.datasets.generate_links import _GeneratedLinks, generate_links, unlinked
from gigamind.datasets.jsonl import read_links
from gigamind.errors import InputError
from gigamind.vault.markdown import Document
from gigamind.vault.notes import notes_hash

# Nine links of notes to other notes; the comment says why each of the rest is none.
NOTES = {
    "a": (
        "---\ntitle: Alpha\nup: '[[b]]'\n---\n"
        "# See [[b]]\n\n"  # in a heading
        "👋 [[b]] and [[c|씨 노트]], [the *third*](c.md), `[[b]]`.\n\n"
        "[[a]] [[#here]] ![[b]] [[missing]] [[pic.png]] [x](https://example.org)\n"
    ),
    "b": "[[c#part]] then [[a]]\n\n| t |\n|---|\n| [[c\\|cell]] |\n",
    "c": "[**bold**](a.md)\n\n[![p](pic.png)](a.md)\n",  # around an image
    "sub/d": "[[a|]] [[b|two\u2028parts]]\n",
}


def vault_of(folder: Path, **notes: str) -> Path:
    """A vault of these notes, by their paths without `.md`."""
    return write_files(folder / "vault", {f"{name}.md": text for name, text in notes.items()})


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = vault_of(tmp_path, **NOTES)
    (root / "pic.png").write_bytes(b"\x89PNG")
    return root


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., _GeneratedLinks]:
    """What becomes of a vault of these notes in the folder `out`."""

    def make(ratio: float = 0.3, **notes: str) -> _GeneratedLinks:
        out, dataset = tmp_path / "out", tmp_path / "links.jsonl"
        return generate_links(vault_of(tmp_path, **notes), out, dataset, remove_ratio=ratio)

    return make


@pytest.fixture
def generate(vault: Path, tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    def run(ratio: float, seed: int = 42, name: str = "one") -> list[dict[str, Any]]:
        out, dataset = tmp_path / name / "notes", tmp_path / name / "links.jsonl"
        generate_links(vault, out, dataset, remove_ratio=ratio, seed=seed)
        return read_rows(dataset)

    return run


def test_every_link_to_another_note_can_be_removed_and_nothing_else(generate, tmp_path):
    rows = generate(1.0)
    found = [(row["source_note"], row["anchor"], row["expected_links"]) for row in rows]
    assert found == [
        ("a.md", "b", ["b.md"]), ("a.md", "씨 노트", ["c.md"]), ("a.md", "the *third*", ["c.md"]),
        ("b.md", "c > part", ["c.md"]), ("b.md", "a", ["a.md"]), ("b.md", "cell", ["c.md"]),
        ("c.md", "bold", ["a.md"]), ("sub/d.md", "a", ["a.md"]),
        ("sub/d.md", "two\u2028parts", ["b.md"]),
    ]  # fmt: skip
    out = tmp_path / "one" / "notes"
    assert (out / "a.md").read_text("utf-8") == (
        "---\ntitle: Alpha\nup: '[[b]]'\n---\n"
        "# See [[b]]\n\n"
        "👋 b and 씨 노트, the *third*, `[[b]]`.\n\n"
        "[[a]] [[#here]] ![[b]] [[missing]] [[pic.png]] [x](https://example.org)\n"
    )
    assert (out / "b.md").read_text("utf-8") == "c > part then a\n\n| t |\n|---|\n| cell |\n"
    assert (out / "c.md").read_text("utf-8") == "**bold**\n\n[![p](pic.png)](a.md)\n"


def test_a_range_counts_utf16_units_of_the_changed_note(generate, tmp_path):
    rows = generate(1.0)
    # The frontmatter is 33 units long, the heading 13; then come an emoji of two units and a space.
    assert rows[0]["anchor_range"] == {"start": 33 + 13 + 3, "end": 33 + 13 + 4}
    for row in rows:
        text = (tmp_path / "one" / "notes" / row["source_note"]).read_bytes().decode()
        place = row["anchor_range"]
        units = text.encode("utf-16-le")[2 * place["start"] : 2 * place["end"]]
        assert units.decode("utf-16-le") == row["anchor"]
        assert row["anchor"] in row["context"]
        assert "title:" not in row["context"]


def test_the_original_keeps_its_hash_and_attachments_arrive(generate, vault, tmp_path):
    before = notes_hash(vault), notes_hash(vault, "mtime")
    generate(0.5)
    assert (notes_hash(vault), notes_hash(vault, "mtime")) == before
    out = tmp_path / "one" / "notes"
    assert (out / "pic.png").read_bytes() == b"\x89PNG"
    assert not (out / "c.md").samefile(vault / "c.md")


@pytest.mark.parametrize(("ratio", "removed"), [(0.01, 1), (0.3, 3), (0.5, 4), (1.0, 9)])
def test_the_ratio_is_a_share_of_the_links_and_one_at_least(generate, ratio, removed):
    assert len(generate(ratio)) == removed


def test_equal_seeds_give_equal_bytes_and_another_seed_other_links(generate, tmp_path):
    first, again, other = generate(0.3), generate(0.3, name="two"), generate(0.3, 7, "three")
    assert first == again
    assert first != other
    assert notes_hash(tmp_path / "one" / "notes") == notes_hash(tmp_path / "two" / "notes")


def test_rows_are_read_back_without_a_warning(generate, tmp_path):
    generate(1.0)
    dataset = read_links(tmp_path / "one" / "links.jsonl")
    assert len(dataset.items) == 9
    assert dataset.errors == ()
    assert dataset.warnings == ()
    assert {item.language for item in dataset.items if item.source_note == "a.md"} == {"en"}


@pytest.mark.parametrize("ratio", [0.0, -0.1, 1.01, float("nan")])
def test_a_ratio_outside_is_refused(generate, ratio):
    with pytest.raises(InputError, match="--remove-ratio"):
        generate(ratio)


@pytest.mark.parametrize(
    ("out", "dataset", "option"),
    [
        ("vault/copy", "links.jsonl", "--out-notes"), ("vault", "links.jsonl", "--out-notes"),
        (".", "links.jsonl", "--out-notes"), ("full", "links.jsonl", "--out-notes"),
        ("full/file", "links.jsonl", "--out-notes"), ("out", "vault/links.jsonl", "--dataset"),
        ("out", "out/links.jsonl", "--dataset"), ("out", "full/file", "--dataset"),
    ],
)  # fmt: skip
def test_places_that_hold_something_are_refused(vault, tmp_path, out, dataset, option):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("kept")
    before = notes_hash(tmp_path)
    with pytest.raises(InputError, match=option):
        generate_links(vault, tmp_path / out, tmp_path / dataset)
    assert notes_hash(tmp_path) == before


@pytest.mark.parametrize(
    "note",
    [
        "[[a]] [[nowhere]] [x](https://example.org)",
        "# h\n\n[[#h]] [[#h|up]] [[a#h]] [up](#h) [[#^x]]",  # into the same note
    ],
)
def test_a_vault_without_links_to_other_notes_says_so(made, tmp_path, note):
    with pytest.raises(InputError, match=r"\[\[links\]\]"):
        made(a=note)
    assert not (tmp_path / "out").exists()


def test_notes_that_are_not_utf8_are_copied_byte_by_byte(vault, tmp_path):
    (vault / "broken.md").write_bytes(b"\xff [[a]]")
    out = tmp_path / "out"
    generate_links(vault, out, tmp_path / "links.jsonl", remove_ratio=1.0)
    assert (out / "broken.md").read_bytes() == b"\xff [[a]]"


@pytest.mark.each(
    "link, shown",
    [
        ("[[b#h]]", "b > h"), ("[[sub/b#h1#h2]]", "sub/b > h1 > h2"), ("[[b# h ]]", "b > h"),
        ("[[b#^block-1]]", "b > ^block-1"), ("[[b#]]", "b#"), ("[[b#h|the part]]", "the part"),
        ("[the part](b.md#h)", "the part"),
    ],
)  # fmt: skip
def test_a_removed_link_leaves_what_obsidian_shows_of_it(link, shown):
    text = f"See {link}."
    plain, (anchor,) = unlinked(text, Document.parse(text).links)
    assert plain == f"See {shown}."
    assert anchor.slice(plain) == shown


def test_a_link_around_code_stays_since_none_is_ever_suggested_there(made):
    found = made(a="[`run`](b.md) [see `run`](b.md) [run](b.md)", b="x")
    assert [(found.links, row.anchor) for row in found.rows] == [(1, "run")]


WORDS = st.text(alphabet="ab가나👋 \n*", max_size=6)


@given(st.lists(st.tuples(WORDS, st.sampled_from(["x", "노트|보임", "n|👋 é"])), max_size=6), WORDS)
def test_what_stood_between_links_stays_and_every_anchor_is_found(pairs, tail):
    text = "".join(f"{before}[[{link}]]" for before, link in pairs) + tail
    links = Document.parse(text).links
    plain, anchors = unlinked(text, links)
    assert [anchor.slice(plain) for anchor in anchors] == [link.text for link in links]
    gone = sum(len(link.span) - len(link.text_span) for link in links)
    assert len(plain) == len(text) - gone
