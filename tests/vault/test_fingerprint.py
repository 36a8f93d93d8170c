import hashlib
import os
import unicodedata

import pytest
from vault_files import write_files

from gigamind.vault.notes import notes_hash

FILES = {"a.md": "one", "b/c.md": "two", "i.png": b"\x89PNG"}


@pytest.fixture
def vault_of(tmp_path):
    """Writes files in the order given under a named folder and gives its path."""
    return lambda name, files: write_files(tmp_path / name, files)


def test_the_content_hash_is_the_documented_one(vault_of):
    root = vault_of("v", {"b.md": "two", "a.md": "one"})

    expected = hashlib.sha256(
        b"content"
        + (4).to_bytes(8, "big")
        + b"a.md"
        + hashlib.sha256(b"one").digest()
        + (4).to_bytes(8, "big")
        + b"b.md"
        + hashlib.sha256(b"two").digest()
    )
    assert notes_hash(root) == expected.hexdigest()


def test_place_and_order_of_creation_do_not_matter(vault_of):
    assert notes_hash(vault_of("v", FILES)) == notes_hash(
        vault_of("w", dict(reversed(FILES.items())))
    )


@pytest.mark.parametrize(
    "changed",
    [
        {**FILES, "a.md": "one "}, {**FILES, "new.md": ""}, {**FILES, "i.png": b"\x89PNH"},
        {"a.md": "one", "b/c.md": "two"}, {"A.md": "one", "b/c.md": "two", "i.png": b"\x89PNG"},
        {"a.md": "one", "b-c.md": "two", "i.png": b"\x89PNG"},
        {"a.md": "two", "b/c.md": "one", "i.png": b"\x89PNG"},
    ],
)  # fmt: skip
def test_any_change_of_a_file_or_name_changes_it(vault_of, changed):
    assert notes_hash(vault_of("v", FILES)) != notes_hash(vault_of("w", changed))


def test_a_byte_cannot_move_between_path_and_content(vault_of):
    assert notes_hash(vault_of("v", {"a": "bc"})) != notes_hash(vault_of("w", {"ab": "c"}))


def test_the_unicode_form_of_a_name_does_not_matter(vault_of):
    forms = [{unicodedata.normalize(form, "회의록.md"): "x"} for form in ("NFC", "NFD")]

    assert notes_hash(vault_of("v", forms[0])) == notes_hash(vault_of("w", forms[1]))


def test_patterns_of_the_user_come_on_top_of_the_default_ones(vault_of):
    more = vault_of("v", {**FILES, ".obsidian/workspace.json": "x", ".git/HEAD": "x"})

    assert notes_hash(more) != notes_hash(vault_of("w", FILES))
    assert notes_hash(more, exclude=[".obsidian/"]) == notes_hash(vault_of("w", FILES))


def test_modification_times_stand_for_content_in_mtime_mode(vault_of):
    root, other = vault_of("v", {"a.md": "one"}), vault_of("w", {"a.md": "two"})
    for vault in (root, other):
        os.utime(vault / "a.md", ns=(0, 1_700_000_000_000_000_001))

    before = notes_hash(root, "mtime")
    assert before == notes_hash(other, "mtime")
    assert before != notes_hash(root, "content")
    os.utime(root / "a.md", ns=(0, 1_700_000_000_000_000_002))
    assert notes_hash(root, "mtime") != before


def test_a_time_before_1970_has_a_hash(vault_of):
    root = vault_of("v", {"a.md": "one"})
    os.utime(root / "a.md", ns=(0, -1))

    assert len(notes_hash(root, "mtime")) == 64
