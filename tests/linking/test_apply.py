import json
import os
import resource
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from link_features import suggestions_of
from rights import ANYONE, as_anyone
from vault_files import write_files

from gigamind.checksum import with_checksum
from gigamind.errors import InputError, NotesError, UnwrittenError
from gigamind.linking.apply import InPlaceWriter, undo, write_copy
from gigamind.linking.insertion import LinkedNote, LinkWriter
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault, notes_hash

NOTES = {
    "gate.md": "---\naliases: [게이트]\n---\n",
    "a.md": "\ufeff---\r\ntitle: 가\r\n---\r\n👋 게이트를\r\n게이트와",  # no line break at the end
    "sub/b.md": f"{unicodedata.normalize('NFD', '임계값')} 게이트에서\n",
    "c.md": "`게이트`\n",
}


@pytest.fixture
def vault(vault_of) -> Vault:
    return vault_of(NOTES)


@pytest.fixture
def owned_vault() -> Iterator[Vault]:
    """A vault of somebody who is not root, where `as_anyone` gets to."""
    with tempfile.TemporaryDirectory() as folder:
        root = write_files(Path(folder, "vault"), NOTES)
        Path(folder).chmod(0o755)
        if os.geteuid() == 0:
            for path in (root, *root.rglob("*")):
                os.chown(path, ANYONE, -1)
        yield Vault.read(root)
        for path in (root, *root.rglob("*/")):
            path.chmod(0o755)


def linked_notes(vault: Vault) -> list[LinkedNote]:
    """Every note with all links that can be."""
    writer = LinkWriter(vault, Identities(vault.notes))
    every = (
        LinkedNote.of(note, suggestions_of(note, "게이트", "gate.md"), writer)
        for note in vault.notes
    )
    return [linked for linked in every if linked.insertions]


def write(vault: Vault, linked: list[LinkedNote] | None = None) -> Path:
    """Write into the notes; the undo file."""
    with InPlaceWriter(vault) as writer:
        for note in linked_notes(vault) if linked is None else linked:
            writer.write(note)
    assert writer.undo_file
    return writer.undo_file


def content(vault: Vault) -> dict[str, bytes]:
    return {path: (vault.root / path).read_bytes() for path in NOTES}


LINKED_A = NOTES["a.md"].replace("게이트", "[[gate|게이트]]").encode()


def test_a_copy_has_the_links_and_the_vault_none(vault, tmp_path):
    (vault.root / "pic.png").write_bytes(b"\x89PNG")
    before = notes_hash(vault.root)
    written, problems = write_copy(vault, tmp_path / "copy", linked_notes(vault))
    assert ([one.note.path for one in written], problems) == (["a.md", "sub/b.md"], [])
    assert notes_hash(vault.root) == before
    assert not (vault.root / ".gigamind").exists()
    assert (tmp_path / "copy" / "a.md").read_bytes() == LINKED_A
    for same in ("gate.md", "c.md", "pic.png"):
        assert (tmp_path / "copy" / same).read_bytes() == (vault.root / same).read_bytes()


def test_in_place_the_links_are_written_and_undone_byte_by_byte(vault):
    before, whole = content(vault), notes_hash(vault.root)
    file = write(vault)
    assert content(vault)["a.md"] == LINKED_A
    assert content(vault)["c.md"] == before["c.md"]
    result = undo(file)
    assert (result.restored, result.untouched, result.problems) == (("a.md", "sub/b.md"), (), ())
    assert content(vault) == before
    assert notes_hash(vault.root) == whole
    again = undo(file)
    assert (again.restored, again.untouched) == ((), ("a.md", "sub/b.md"))


def test_notes_as_they_were_and_an_undo_file_stand_where_no_note_is_read(vault):
    before = content(vault)
    file = write(vault)
    assert file.parents[2] == vault.root / ".gigamind"
    assert (file.parent / "notes" / "sub" / "b.md").read_bytes() == before["sub/b.md"]
    assert [note.path for note in Vault.read(vault.root).notes] == sorted(NOTES)
    (row, _) = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert (row["note"], row["before"]) == ("a.md", vault.note("a.md").content_hash)
    assert row["after"] == sha256(LINKED_A).hexdigest()


def test_each_writing_has_an_undo_file_of_its_own_and_the_last_goes_first(vault):
    before = content(vault)
    first = write(vault)
    with (vault.root / "a.md").open("a", encoding="utf-8") as note:
        note.write("\n게이트")
    second = write(Vault.read(vault.root))
    assert first.parent != second.parent
    assert [str(problem).split(":")[0] for problem in undo(first).problems] == ["a.md"]
    assert undo(second).restored == ("a.md",)
    (vault.root / "a.md").write_bytes(LINKED_A)
    assert undo(first).restored == ("a.md",)
    assert content(vault) == before


@pytest.mark.parametrize("copied", [True, False])
def test_a_note_that_was_changed_since_it_was_read_is_not_written_and_the_others_are(
    vault, tmp_path, copied
):
    linked = linked_notes(vault)
    (vault.root / "a.md").write_text("other 게이트", encoding="utf-8")
    if copied:
        written, problems = write_copy(vault, tmp_path / "copy", linked)
        assert [one.note.path for one in written] == ["sub/b.md"]
        assert problems[0].message.values == {"note": "a.md"}
        assert (tmp_path / "copy" / "a.md").read_text("utf-8") == "other 게이트"
        return
    with InPlaceWriter(vault) as writer:
        with pytest.raises(NotesError, match=r"a\.md: "):
            writer.write(linked[0])
        assert writer.undo_file is None
        writer.write(linked[1])
    assert (vault.root / "a.md").read_text("utf-8") == "other 게이트"
    assert "[[gate|게이트]]에서" in (vault.root / "sub" / "b.md").read_text("utf-8")


def test_a_note_that_is_gone_is_not_written(vault):
    linked = linked_notes(vault)
    (vault.root / "a.md").unlink()
    with InPlaceWriter(vault) as writer, pytest.raises(NotesError, match=r"a\.md: "):
        writer.write(linked[0])


def test_a_note_of_broken_utf_8_is_not_written(vault):
    broken = b"\xff " + "게이트".encode()
    (vault.root / "a.md").write_bytes(broken)
    vault = Vault.read(vault.root)
    with InPlaceWriter(vault) as writer, pytest.raises(NotesError, match="UTF-8"):
        writer.write(linked_notes(vault)[0])
    assert (vault.root / "a.md").read_bytes() == broken


def test_a_read_only_note_is_not_written(vault):
    (vault.root / "a.md").chmod(0o444)
    with InPlaceWriter(vault) as writer, pytest.raises(NotesError, match=r"a\.md: "):
        writer.write(linked_notes(vault)[0])
    assert content(vault)["a.md"] == NOTES["a.md"].encode()


def test_a_note_that_became_read_only_keeps_its_links(vault):
    file = write(vault)
    (vault.root / "a.md").chmod(0o444)
    result = undo(file)
    assert result.restored == ("sub/b.md",)
    assert result.problems[0].message.values == {"note": "a.md"}
    assert content(vault)["a.md"] == LINKED_A


@pytest.mark.skipif(os.geteuid() != 0, reason="only root writes the notes of others")
def test_the_note_of_another_person_stays_theirs(owned_vault):
    undo(write(owned_vault))
    assert (owned_vault.root / "a.md").stat().st_uid == ANYONE


def test_a_symbolic_link_stays_one(vault):
    (vault.root / "d.md").symlink_to("a.md")
    vault = Vault.read(vault.root)
    linked = next(one for one in linked_notes(vault) if one.note.path == "d.md")
    with InPlaceWriter(vault) as writer, pytest.raises(NotesError, match=r"d\.md.* link to a\.md"):
        writer.write(linked)
    assert (vault.root / "d.md").is_symlink()
    assert content(vault)["a.md"] == NOTES["a.md"].encode()


def test_permissions_stay_and_the_time_of_change_is_new(vault):
    note = vault.root / "a.md"
    note.chmod(0o640)
    os.utime(note, (1_000, 1_000))
    file = write(vault)
    assert note.stat().st_mode & 0o777 == 0o640
    written = note.stat().st_mtime
    assert written > 1_000
    undo(file)
    assert note.stat().st_mode & 0o777 == 0o640
    assert note.stat().st_mtime >= written


def test_a_name_in_another_unicode_form_is_found_and_kept(vault_of, tmp_path):
    vault_of(NOTES)
    name = unicodedata.normalize("NFD", "한글.md")
    (tmp_path / "vault" / name).write_text("게이트", encoding="utf-8")
    vault = Vault.read(tmp_path / "vault")
    file = write(vault)
    assert (vault.root / name).read_text("utf-8") == "[[gate|게이트]]"
    assert not (vault.root / "한글.md").exists()
    assert "한글.md" in undo(file).restored
    assert (vault.root / name).read_text("utf-8") == "게이트"


def test_a_name_as_long_as_names_may_be_is_written(vault_of):
    name = "가" * 84 + ".md"  # 255 bytes
    vault = vault_of({**NOTES, name: "게이트"})
    assert name in undo(write(vault)).restored


def test_where_nothing_may_be_written_nothing_is(owned_vault):
    before = content(owned_vault)
    owned_vault.root.chmod(0o555)
    with as_anyone(), InPlaceWriter(owned_vault) as writer:
        for note in linked_notes(owned_vault):
            with pytest.raises(NotesError, match=r"\.md: "):
                writer.write(note)
    assert content(owned_vault) == before


def test_a_note_is_in_the_undo_file_before_it_is_written(owned_vault):
    """So that it is there, too, when the process is killed in between."""
    before = content(owned_vault)
    first, second = linked_notes(owned_vault)
    (owned_vault.root / "sub").chmod(0o555)
    with as_anyone(), InPlaceWriter(owned_vault) as writer:
        writer.write(first)
        with pytest.raises(NotesError, match=r"sub/b\.md: "):
            writer.write(second)
    result = undo(writer.undo_file)
    assert (result.restored, result.untouched) == (("a.md",), ("sub/b.md",))
    assert content(owned_vault) == before


def test_without_its_line_in_the_undo_file_no_note_is_written(vault):
    before = content(vault)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))  # bytes: enough for a note, and no line
    try:
        with InPlaceWriter(vault) as writer, pytest.raises(UnwrittenError, match="undo"):
            writer.write(linked_notes(vault)[0])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert content(vault) == before
    assert undo(writer.undo_file).problems == ()


def test_a_note_that_was_changed_after_the_links_keeps_its_change(vault):
    file = write(vault)
    changed = content(vault)["a.md"] + b"more"
    (vault.root / "a.md").write_bytes(changed)
    result = undo(file)
    (problem,) = result.problems
    assert result.restored == ("sub/b.md",)
    backup = file.parent / "notes" / "a.md"
    assert problem.message.values == {"note": "a.md", "file": backup}
    assert (vault.root / "a.md").read_bytes() == changed


def test_a_vault_that_was_moved_can_be_undone_there(vault, tmp_path):
    file = write(vault).relative_to(vault.root)
    moved = tmp_path / "moved"
    vault.root.rename(moved)
    assert undo(moved / file).restored == ("a.md", "sub/b.md")


def test_an_undo_file_elsewhere_is_invalid_input(vault, tmp_path):
    file = write(vault)
    shutil.copy(file, tmp_path / "undo.jsonl")
    with pytest.raises(InputError, match="VAULT/"):
        undo(tmp_path / "undo.jsonl")
    with pytest.raises(InputError, match="--undo"):
        undo(file.with_name("other.jsonl"))


def change(file, old, new):
    """By somebody who knows of the checksums."""
    lines = file.read_text("utf-8").replace(old, new).splitlines()
    sealed = [
        json.dumps(with_checksum(json.loads(line)), ensure_ascii=False)
        if line.startswith("{")
        else line
        for line in lines
    ]
    file.write_text("".join(f"{line}\n" for line in sealed), encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"note":"a.md"', '"note":"../a.md"', r"undo\.jsonl:1: \.\./a\.md"),
        ('"note":"a.md"', '"path":"a.md"', r"undo\.jsonl:1"),
        ('{"note"', '"note"', r"undo\.jsonl:1"),
    ],
)
def test_an_undo_file_that_was_broken_by_hand_changes_no_note(vault, old, new, message):
    file = write(vault)
    written = content(vault)
    change(file, old, new)
    with pytest.raises(InputError, match=message):
        undo(file)
    assert content(vault) == written


@pytest.mark.parametrize("damaged", [b"edited", None])
def test_a_backup_that_is_not_the_original_restores_nothing(vault, damaged):
    file = write(vault)
    written = content(vault)
    backup = file.parent / "notes" / "a.md"
    backup.unlink()
    if damaged is not None:
        backup.write_bytes(damaged)
    result = undo(file)
    assert result.restored == ("sub/b.md",)
    assert len(result.problems) == 1
    assert content(vault)["a.md"] == written["a.md"]


def test_a_line_that_a_killed_process_left_half_is_of_a_note_that_was_not_written(vault):
    linked = linked_notes(vault)
    before = content(vault)
    file = write(vault, linked[:1])
    with file.open("a", encoding="utf-8") as half:
        half.write('{"note":"sub/b.md","bef')
    assert undo(file).restored == ("a.md",)
    assert content(vault) == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(
        st.one_of(st.just("게이트"), st.sampled_from("\r\n\n *[`|👋é\ufeff"), st.text(max_size=5))
    )
)
def test_whatever_a_note_holds_links_are_undone_to_the_byte(vault_of, pieces):
    vault = vault_of({"gate.md": NOTES["gate.md"], "n.md": "게이트 " + "".join(pieces)})
    before = (vault.root / "n.md").read_bytes()
    linked = linked_notes(vault)
    if linked:
        file = write(vault, linked)
        assert (vault.root / "n.md").read_bytes() == linked[0].text.encode() != before
        assert undo(file).problems == ()
    assert (vault.root / "n.md").read_bytes() == before
