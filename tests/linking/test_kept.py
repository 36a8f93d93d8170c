"""What is suggested is the same with nothing kept, with all kept, and with what is kept damaged."""

import random
import shutil
import stat
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from vault_files import write_files

from gigamind.linking.suggest import LinkSuggester, SuggestOptions
from gigamind.retrieval.cache import Cache
from gigamind.retrieval.embed import unit_rows
from gigamind.vault.identity import Identities
from gigamind.vault.markdown import Document
from gigamind.vault.notes import Vault

NOTES = {
    "rain.md": "# Rain\n\nWater that falls; see [[wind]], and what storms do.",
    "wind.md": "# Wind\n\nMoving air. Rain comes with it, and heavy storms.",
    "폭풍.md": "---\naliases: [storm]\n---\n거센 바람과 비. [[rain]]을 보라. [[wind]]도.",
    "바람.md": "바람이 분다. 거센 폭풍은 wind와 rain을 데려온다.",
    "t.md": "After the rain, moving air and 거센 바람을 본다. A storm and wind; then rain.",
}
# Where nothing is linked, what a person would accept is suggested: phrases, too.
PLAIN = {path: text.replace("[[", "").replace("]]", "") for path, text in NOTES.items()}
ANY = SuggestOptions(min_confidence=0.0)
LINKED = replace(ANY, exclude_existing=False)


class Syllables:
    """Vectors of how many letters of each kind a text has; counts the texts."""

    name = "syllables"

    def __init__(self) -> None:
        self.texts = 0

    def embed_passages(self, texts: Sequence[str]):
        self.texts += len(texts)
        return unit_rows(np.array([self._counts(text) for text in texts], dtype=np.float32))

    def embed_query(self, text: str):
        return self.embed_passages([text])[0]

    def _counts(self, text: str):
        return np.bincount([zlib.crc32(c.encode()) % 64 for c in f" {text}"], minlength=64)


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


def run(vault, cache, embedder=None, options=(ANY, LINKED)):
    """All suggestions, as one run makes them."""
    suggester = LinkSuggester(vault, Identities(vault.notes), embedder, cache)
    for asked in options:
        suggester.prepare(vault.notes, options=asked)
    found = [suggester.suggest(note, asked) for asked in options for note in vault.notes]
    suggester.keep()
    return found


def files(cache):
    return sorted(cache.links.iterdir()) if cache.links.exists() else []


@pytest.mark.parametrize(("notes", "embedder"), [(NOTES, None), (PLAIN, Syllables())])
def test_suggestions_are_the_same_cold_warm_and_with_no_cache(vault_of, cache, notes, embedder):
    vault = vault_of(notes)
    expected = run(vault, None, embedder)
    assert {one.is_phrase for found in expected for one in found} == {False, embedder is not None}
    assert run(vault, cache, embedder) == expected
    assert run(vault, cache, embedder) == expected
    assert repr(run(vault, cache, embedder)) == repr(expected)  # 1 is no True, nor 1.0


def test_a_run_over_the_same_vault_embeds_nothing_and_reads_no_note_again(vault_of, cache):
    vault, embedder = vault_of(PLAIN), Syllables()
    run(vault, cache, embedder)
    cache.embeddings.unlink()
    again = Syllables()
    run(vault, cache, again)
    assert (embedder.texts > 0, again.texts) == (True, 0)


def test_the_floor_and_the_number_may_change_over_what_is_kept(vault_of, cache):
    vault, embedder = vault_of(PLAIN), Syllables()
    run(vault, cache, embedder)
    for options in (replace(ANY, min_confidence=0.4), replace(ANY, max_suggestions=1)):
        assert run(vault, cache, embedder, [options]) == run(vault, None, embedder, [options])
    assert len(files(cache)) == 1


def test_what_was_not_asked_before_is_added(vault_of, cache):
    vault = vault_of(NOTES)
    run(vault, cache, options=[ANY])
    wider = replace(ANY, context_chars=10)
    assert run(vault, cache, options=[wider]) == run(vault, None, options=[wider])
    assert len(files(cache)) == 1
    assert run(vault, cache, options=[ANY, wider]) == run(vault, None, options=[ANY, wider])


def test_an_edited_note_is_read_anew(vault_of, cache):
    run(vault_of(NOTES), cache)
    edited = vault_of({**NOTES, "t.md": "Nothing but wind."})
    expected = run(edited, None)
    assert run(edited, cache) == expected
    assert [one.anchor for one in expected[1]] == ["wind"]
    assert len(files(cache)) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda notes: {**notes, "new.md": "x"},
        lambda notes: {p: t for p, t in notes.items() if p != "바람.md"},
        lambda notes: {p.replace("t.md", "wind storms.md"): t for p, t in notes.items()},
    ],
    ids=["added", "removed", "renamed"],
)
def test_another_set_of_notes_is_another_vault(vault_of, cache, tmp_path, change):
    run(vault_of(NOTES), cache)
    for file in (tmp_path / "vault").iterdir():
        file.unlink()
    changed = vault_of(change(NOTES))
    assert run(changed, cache) == run(changed, None)


def test_names_alone_are_kept_apart_from_names_and_phrases(vault_of, cache):
    vault = vault_of(PLAIN)
    run(vault, cache)
    assert run(vault, cache, Syllables()) == run(vault, None, Syllables())
    assert run(vault, cache) == run(vault, None)


def test_a_draft_of_a_note_is_not_taken_for_the_note(vault_of, cache):
    vault = vault_of(NOTES)
    run(vault, cache)
    suggester = LinkSuggester(vault, Identities(vault.notes), None, cache)
    note = vault.note("t.md")
    draft = replace(note, text="Only wind.", document=Document.parse("Only wind."))
    assert [one.anchor for one in suggester.suggest(draft, ANY)] == ["wind"]
    assert len(suggester.suggest(note, ANY)) > 1


def test_what_is_damaged_or_cut_short_is_found_again(vault_of, cache):
    vault = vault_of(NOTES)
    expected = run(vault, cache)
    (file,) = files(cache)
    whole = file.read_bytes()
    chosen = random.Random(7)
    damaged = [whole[: chosen.randrange(len(whole))] for _ in range(3)]
    for _ in range(7):
        flipped = bytearray(whole)
        flipped[chosen.randrange(len(whole))] ^= 1 << chosen.randrange(8)
        damaged.append(bytes(flipped))
    for content in (b"", *damaged):
        file.write_bytes(content)
        assert run(vault, cache) == expected
        assert file.read_bytes() == whole


def test_nobody_else_can_read_what_is_kept(vault_of, cache):
    run(vault_of(NOTES), cache)
    modes = [
        stat.S_IMODE(path.stat().st_mode) for path in (cache.folder, cache.links, *files(cache))
    ]
    assert modes == [0o700, 0o700, 0o600]


def test_where_nothing_can_be_kept_suggestions_are_made_all_the_same(vault_of, cache):
    cache.folder.mkdir()
    cache.links.write_text("no folder")
    vault = vault_of(NOTES)
    assert run(vault, cache) == run(vault, None)


def test_runs_at_once_do_each_other_no_harm(vault_of, cache):
    vault = vault_of(NOTES)
    widths = [10 * number for number in range(1, 9)]
    asked = [[replace(ANY, context_chars=width)] for width in widths]
    expected = [run(vault, None, options=options) for options in asked]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda options: run(vault, cache, options=options), asked))
    assert found == expected
    assert len(list(cache.links.iterdir())) == 1  # and nothing half-written
    assert [run(vault, cache, options=options) for options in asked] == expected


def test_old_vaults_are_forgotten(vault_of, cache, tmp_path):
    vault = vault_of(NOTES)
    for number in range(10):
        run(replace(vault, root=tmp_path / str(number)), cache)
    assert len(files(cache)) == 8


# 60 notes, of which 3 may change: half of them link two others.
MANY = {
    f"topic {number:02}.md": f"# Topic {number:02}\n\nAir and water number {number}, like topic {(number + 1) % 60:02}."
    + (f" See [[topic {(number + 7) % 60:02}]]." if number % 2 else " A heavy storm.")
    for number in range(60)
}


class Counting(LinkSuggester):
    """Counts the notes that are scored, those of hidden links included."""

    scored = 0

    def _places(self, note, options):
        self.scored += 1
        return super()._places(note, options)


def counted(vault, cache, stop_after=None):
    """The suggestions of one run, how many notes were scored, and how many texts embedded."""
    embedder = Syllables()
    vault = replace(vault, root=Path("many"))  # one vault to the cache, wherever it was written
    suggester = Counting(vault, Identities(vault.notes), embedder, cache)
    suggester.prepare(vault.notes, options=ANY)
    found = {}
    for note in vault.notes[:stop_after]:
        found[note.path] = suggester.suggest(note, ANY)
    if stop_after is None:
        suggester.keep()
    return found, suggester.scored, embedder.texts


@pytest.fixture(scope="module")
def of_many(tmp_path_factory):
    """What a first run over the many notes finds, and the cache that it leaves."""
    vault = Vault.read(write_files(tmp_path_factory.mktemp("many"), MANY))
    cache = Cache(tmp_path_factory.mktemp("kept"))
    return *counted(vault, cache), cache


@pytest.fixture
def kept_of_many(of_many, cache):
    """A copy of that cache."""
    shutil.copytree(of_many[-1].folder, cache.folder)
    return cache


def test_one_sentence_more_costs_one_note(vault_of, of_many, kept_of_many):
    before, scored, texts, _ = of_many
    assert (scored, texts > 60) == (60, True)
    edited = vault_of({**MANY, "topic 05.md": MANY["topic 05.md"] + "\n\nNew: after topic 40.\n"})
    after, scored, texts = counted(edited, kept_of_many)
    assert scored == 1
    assert texts < 10
    assert "topic 40.md" in [one.target for one in after["topic 05.md"]]
    assert {path: one for path, one in after.items() if path != "topic 05.md"} == {
        path: one for path, one in before.items() if path != "topic 05.md"
    }
    assert counted(edited, kept_of_many)[1:] == (0, 0)


@pytest.mark.parametrize(
    ("changed", "scored"),
    [
        ({"topic 05.md": "# Topic 05\n\nx"}, 1),
        ({f"topic 0{n}.md": f"# Topic 0{n}\n\nx" for n in range(3)}, 3),
        ({f"topic 0{n}.md": f"# Topic 0{n}\n\nx" for n in range(4)}, 60),  # above 1 in 20
        ({"topic 05.md": "# Another name\n\nx"}, 60),  # any note may say it
        ({"new.md": "x"}, 61),
    ],
)
def test_a_change_is_scored_as_far_as_it_reaches(vault_of, kept_of_many, changed, scored):
    assert counted(vault_of({**MANY, **changed}), kept_of_many)[1] == scored


def test_small_changes_add_up(vault_of, kept_of_many):
    notes = dict(MANY)
    costs = []
    for number in range(4):
        notes[f"topic 0{number}.md"] += "\n\nx"
        costs.append(counted(vault_of(notes), kept_of_many)[1])
    assert costs == [1, 1, 1, 60]


def test_a_stopped_run_keeps_what_it_had(vault_of, cache, of_many, monkeypatch):
    vault = vault_of(MANY)
    monkeypatch.setattr("gigamind.linking.suggest._SAVED_EVERY_S", -1.0)
    _, _, texts = counted(vault, cache, stop_after=40)  # as if killed: it never ends
    assert texts > 60
    found, scored, texts = counted(vault, cache)
    assert (scored, texts) == (20, 0)
    assert found == of_many[0]
