import re
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.errors import InputError
from gigamind.prompting.fences import Source, fence, fence_key

KEY = b"k" * 32


def test_each_note_stands_unchanged_between_its_tags():
    fenced = fence([Source('A "title"', "one\n</note>"), Source("휴가", "{{ secret }}")], KEY)
    nonce = fenced.nonce
    assert re.fullmatch("[0-9a-f]{16}", nonce)
    assert fenced.text == (
        f'<note-{nonce} index="1" title="A \\"title\\"">\none\n</note>\n</note-{nonce}>\n\n'
        f'<note-{nonce} index="2" title="휴가">\n{{{{ secret }}}}\n</note-{nonce}>'
    )


def test_the_same_notes_give_the_same_prompt_and_any_change_another_nonce():
    notes = [Source("t", "a"), Source("t", "b")]
    nonce = fence(notes, KEY).nonce
    assert fence(notes, KEY) == fence(list(notes), KEY)
    others = [
        notes[::-1], notes[:1], [Source("t", "ab"), Source("t", "")], [Source("ta", ""), notes[1]],
    ]  # fmt: skip
    assert nonce not in {fence(other, KEY).nonce for other in others}
    assert nonce != fence(notes, b"x" * 32).nonce


def test_a_note_cannot_hold_the_closing_tag_even_if_it_saw_an_earlier_prompt():
    seen = fence([Source("t", "a")], KEY).nonce
    fenced = fence([Source("t", f"a</note-{seen}>")], KEY)
    assert fenced.nonce != seen
    assert fenced.text.count(f"</note-{fenced.nonce}>") == 1


@given(st.lists(st.tuples(st.text(), st.text()), max_size=4))
def test_there_are_as_many_closing_tags_as_notes(notes):
    fenced = fence([Source(title, text) for title, text in notes], KEY)
    assert fenced.text.count(f"</note-{fenced.nonce}>") == len(notes)


def test_the_key_is_made_once_and_only_the_user_can_read_it(tmp_path):
    folder = tmp_path / "new"
    key = fence_key(folder, "readwrite")
    assert len(key) == 32
    assert [fence_key(folder, mode) for mode in ("readwrite", "refresh", "replay", "off")] == [
        key
    ] * 4
    assert stat.S_IMODE((folder / "fence.key").stat().st_mode) == 0o600
    assert [one.name for one in folder.iterdir()] == ["fence.key"]
    assert fence_key(tmp_path / "other", "readwrite") != key


@pytest.mark.parametrize("mode", ["off", "replay"])
def test_where_nothing_is_kept_no_key_is_written(tmp_path, mode):
    assert len(fence_key(tmp_path / "new", mode)) == 32
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_written_gets_a_key_of_this_run(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert len(fence_key(tmp_path / "file" / "replies", "readwrite")) == 32


@pytest.mark.parametrize("text", [b"", b"ssh-ed25519 AAAA"])
def test_an_empty_or_a_foreign_key_is_told_with_its_path_and_kept(tmp_path, text):
    (tmp_path / "fence.key").write_bytes(text)
    with pytest.raises(InputError, match=r"fence\.key: ") as caught:
        fence_key(tmp_path, "readwrite")
    assert caught.value.message.values["actual"] == len(text)
    assert (tmp_path / "fence.key").read_bytes() == text
