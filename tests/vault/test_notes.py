import hashlib
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from rights import as_anyone

from gigamind.errors import NotesError
from gigamind.vault.notes import Vault


def test_a_note_carries_its_frontmatter_and_its_text(read):
    text = "---\ntitle: 결재 절차\naliases: [승인, Approval]\ntags: ['#정책', hr]\nlang: ko\n---\n# 절차\n"

    [note] = read({"policies/approval.md": text}).notes

    assert (note.path, note.stem, note.title) == ("policies/approval.md", "approval", "결재 절차")
    assert (note.aliases, note.tags, note.language) == (("승인", "Approval"), ("정책", "hr"), "ko")
    assert note.text == text
    assert note.content_hash == hashlib.sha256(text.encode()).hexdigest()
    assert [heading.text for heading in note.document.headings] == ["절차"]


def test_without_frontmatter_the_file_name_is_the_title(read):
    [note] = read({"a/My note.v2.md": "text"}).notes

    assert (note.title, note.aliases, note.tags, note.language) == ("My note.v2", (), (), "")


@pytest.mark.parametrize("title", ["", "''", "~", "[a, b]", "'  '"])
def test_a_title_that_says_nothing_gives_way_to_the_file_name(read, title):
    [note] = read({"a.md": f"---\ntitle: {title}\n---\n"}).notes

    assert note.title == "a"


@pytest.mark.parametrize("tags", ["a, b", "a b", "'#a #b'", "[a, b, a]", "\n- a\n- b"])
def test_tags_are_a_list_or_one_text(read, tags):
    [note] = read({"a.md": f"---\ntags: {tags}\n---\n"}).notes

    assert note.tags == ("a", "b")


def test_only_markdown_files_outside_hidden_places_are_notes(read):
    empty = (
        "b.md", "A.MD", "notes.txt", "md", ".obsidian/x.md", ".trash/y.md", "node_modules/p/README.md",
        "eval/queries.jsonl", "eval/report.md",
    )  # fmt: skip
    vault = read({**dict.fromkeys(empty, ""), "i.png": b"\x89PNG", "._b.md": b"\x00\x05"})

    assert [note.path for note in vault.notes] == ["A.MD", "b.md", "eval/report.md"]
    assert vault.notes[0].title == "A"
    assert vault.warnings == ()


def test_more_can_be_left_out(write_vault):
    root = write_vault({"a.md": "", "drafts/b.md": ""})

    assert [note.path for note in Vault.read(root, ["drafts/"]).notes] == ["a.md"]


def test_byte_order_mark_and_carriage_returns_stay_in_the_text(read):
    content = b"\xef\xbb\xbf---\r\ntitle: T\r\n---\r\nline\r\n"

    [note] = read({"a.md": content}).notes

    assert note.text == "\ufeff---\r\ntitle: T\r\n---\r\nline\r\n"
    assert note.title == "T"
    assert note.document.blocks[0].span.slice(note.text) == "line"


def test_damaged_utf8_is_replaced_and_named(read):
    vault = read({"policies/a.md": "열두 바이트".encode() + b"\xff\xfe end"})

    assert vault.notes[0].text == "열두 바이트\ufffd\ufffd end"
    [warning] = vault.warnings
    assert warning.values["place"] == "policies/a.md"
    assert warning.values["reason"].values == {"byte": 16}


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-16", "---\ntitle: 휴가\n---\n연차는 15일입니다.\n"),
        ("cp949", "---\ntitle: 휴가\n---\n연차는 15일입니다.\n"),
        ("cp1252", "---\ntitle: Café\n---\nThe café opens at “nine” – every day.\n"),
    ],
)
def test_a_note_in_another_encoding_is_read_and_named(read, encoding, text):
    vault = read({"a.md": text.encode(encoding)})

    assert vault.notes[0].text == text
    assert vault.notes[0].title in {"휴가", "Café"}
    [warning] = vault.warnings
    assert "encoding" in warning.values["reason"].values


def test_broken_frontmatter_is_named_and_the_note_is_kept(read):
    vault = read({"a.md": "---\ntitle: [\n---\nbody", "b.md": "---\n- x\n---\n"})

    assert [note.title for note in vault.notes] == ["a", "b"]
    assert [warning.values["place"] for warning in vault.warnings] == ["a.md", "b.md"]


def test_a_decomposed_file_name_gives_a_composed_path(read):
    vault = read({unicodedata.normalize("NFD", "회의록/7월.md"): "x"})

    assert vault.notes[0].path == "회의록/7월.md"
    assert vault.notes[0].title == "7월"
    assert vault.note("회의록/7월.md") is vault.notes[0]


def test_of_two_names_equal_in_nfc_one_is_read_and_the_other_named(read):
    composed, decomposed = (unicodedata.normalize(form, "가.md") for form in ("NFC", "NFD"))

    vault = read({composed: "composed", decomposed: "decomposed"})

    # U+1100 (decomposed) sorts before U+AC00 (composed).
    assert [note.text for note in vault.notes] == ["decomposed"]
    assert [warning.values for warning in vault.warnings] == [{"file": "가.md"}]


def test_a_note_is_found_by_its_exact_path_only(read):
    vault = read({"a.md": "", "b/c.md": ""})

    assert vault.note("b/c.md") is vault.notes[1]
    for path in ("", "b/c", "B/c.md", "a.md ", "z.md"):
        assert vault.note(path) is None


@pytest.fixture
def public_vault() -> Iterator[Path]:
    """A folder that any user may enter, unlike pytest's own."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    (root / "a.md").write_text("")
    (root / "sub").mkdir()
    (root / "sub" / "b.md").write_text("")
    yield root
    (root / "sub").chmod(0o755)
    shutil.rmtree(root)


@pytest.mark.parametrize("locked", ["sub/b.md", "sub"])
def test_what_cannot_be_read_is_skipped_and_named(public_vault, locked):
    (public_vault / locked).chmod(0)

    with as_anyone():
        vault = Vault.read(public_vault)
    assert [note.path for note in vault.notes] == ["a.md"]
    [warning] = vault.warnings
    assert locked in warning


def test_a_vault_that_cannot_be_read_is_an_error(public_vault):
    public_vault.chmod(0)

    with as_anyone(), pytest.raises(NotesError, match=str(public_vault)):
        Vault.read(public_vault)
    public_vault.chmod(0o755)


@pytest.mark.parametrize("settings", ["[broken", "[]", '{"folder": 7}', '{"folder": null}'])
def test_templates_and_excluded_notes_are_not_read(write_vault, settings):
    root = write_vault(
        {
            "a.md": "", "Templates/daily.md": "{{title}}", "drafts/b.md": "", "sub/templates/c.md": "",
            "muster/d.md": "", ".obsidian/plugins/templater-obsidian/data.json": '{"templates_folder": "muster/"}',
            ".obsidian/templates.json": settings,
        }
    )  # fmt: skip
    vault = Vault.read(root, ["drafts/"])

    assert [note.path for note in vault.notes] == ["a.md", "sub/templates/c.md"]
    [warning] = vault.warnings
    assert warning.values["n"] == 2
