import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigamind.vault.identity import Collision, Found, Identities, Names, key, leaves_vault
from gigamind.vault.markdown import Document, Link
from gigamind.vault.notes import Note


def titled(title: str, **fields: str) -> str:
    lines = [f"title: {title}", *(f"{name}: {value}" for name, value in fields.items())]
    return "\n".join(["---", *lines, "---", ""])


def selected(identities, name, source=None):
    found = identities.resolve(name, source)
    return None if found is None else found.note.path


@pytest.mark.each(
    "name, expected",
    [
        ("My Note.md", "my note"), ("my-note", "my note"), ("MY__note", "my note"), ("my - _ note.MD", "my note"),
        ("dir/My-Note.md", "dir/my note"), ("dir\\note.md", "dir/note"), ("_index_/-a-", "index/a"),
        ("Straße", "strasse"), ("프로젝트_구조", "프로젝트 구조"), (unicodedata.normalize("NFD", "구조"), "구조"),
        ("note.md.md", "note.md"), ("readme.mdx", "readme.mdx"), ("--", "--"), ("", ""),
    ],
)  # fmt: skip
def test_a_key_forgets_case_suffix_and_separators(name, expected):
    assert key(name) == expected


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("dir/a.md", False), ("dir\\a.md", False), ("/dir/a.md", False), ("./dir/a", False),
        ("Dir/A.md", True), ("dir%2Fa.md", True), ("dir/a%2Emd", True),
    ],
)  # fmt: skip
def test_a_name_is_found_with_and_without_a_vault(read, written, folded):
    identities = Identities(read({"dir/a.md": "", "b.md": ""}).notes)

    assert identities.find(written) == Found("dir/a.md", is_folded=folded)
    assert Names(["dir/a.md", "b.md"]).find(written) == Found("dir/a.md", is_folded=folded)


def test_labels_of_the_same_name_in_another_unicode_form_are_found():
    names = Names(["휴가.md", "C.md", "c.md"])

    assert names.find(unicodedata.normalize("NFD", "휴가")) == Found("휴가.md")
    assert names.find("c") == Found("c.md")
    assert names.find("d") is None


def test_names_of_nothing_but_separators_stay_apart():
    assert key("--") != key("__")


@pytest.mark.each(
    "path",
    ["../a.md", "a/../../b.md", "..", "/etc/passwd", "\\\\server\\a.md", "C:\\a.md", "c:/a.md"],
)
def test_a_path_that_leaves_the_vault_is_seen(path):
    assert leaves_vault(path)


@pytest.mark.each("path", ["a.md", "a/../b.md", "..a.md", "a/..b/c.md", "a: b.md", "./a.md", ""])
def test_a_path_that_stays_in_the_vault_is_fine(path):
    assert not leaves_vault(path)


def test_the_rules_come_in_order(identities):
    # Each note would be found under "b.md" or "b" by a weaker rule than the one before it.
    names = identities(
        {
            "b.md": "", "p/titled.md": titled("b"), "p/b.md": "", "p/B.md": "",
            "p/aliased.md": "---\naliases: [b, only alias, P/Titled]\n---\n",
        }
    )  # fmt: skip

    assert selected(names, "b.md") == "b.md"  # exact path
    assert selected(names, "b") == "p/titled.md"  # title before file name
    assert selected(names, "B") == "p/B.md"  # exact file name before key
    assert selected(names, "only alias") == "p/aliased.md"
    assert selected(names, "Only_Alias") == "p/aliased.md"
    assert selected(names, "P/Titled") == "p/titled.md"  # an alias never shadows a path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dir/note", "dir/note.md"), ("dir/note.md", "dir/note.md"), ("Dir/NOTE.md", "dir/note.md"),
        ("dir\\note", "dir/note.md"), ("./dir/note", "dir/note.md"),
        ("/dir/note.md", "dir/note.md"), ("note", "dir/note.md"), ("note.md", "dir/note.md"),
        (" note ", "dir/note.md"), ("sub/deep", "dir/sub/deep.md"), ("회의 록", "회의-록.md"),
        (unicodedata.normalize("NFD", "회의-록.md"), "회의-록.md"), ("A title", "dir/sub/deep.md"),
        ("a-TITLE", "dir/sub/deep.md"), ("TCP/IP", "net.md"), ("ote", None), ("other/note", None),
        ("img.png", None), ("", None), ("/", None),
    ],
)  # fmt: skip
def test_a_name_leads_to_its_note(identities, name, expected):
    names = identities(
        {
            "dir/note.md": "", "dir/sub/deep.md": titled("A Title"), "회의-록.md": "",
            "net.md": titled("TCP/IP"),
        }
    )  # fmt: skip

    assert selected(names, name) == expected


def test_a_collision_selects_the_first_path_and_reads_as_specified(identities):
    names = identities({"notes/my-note.md": "", "notes/My Note.md": ""})

    found = names.resolve("my note")

    assert found.note.path == "notes/My Note.md"
    assert found.collision.message == (
        '[WARN] Note identifier collision: "my note" matches multiple files:\n'
        "  - notes/My Note.md (selected)\n"
        "  - notes/my-note.md (ignored)"
    )
    assert names.collisions() == (found.collision,)


def test_a_stronger_rule_that_finds_one_note_meets_no_collision(identities):
    names = identities({"notes/my-note.md": "", "notes/My Note.md": ""})

    for name in ("notes/my-note.md", "my-note", "My Note"):
        assert names.resolve(name).collision is None


def test_equal_titles_and_equal_file_names_collide(identities):
    names = identities({"a/x.md": titled("T"), "b/y.md": titled("T"), "c/z.md": "", "d/z.md": ""})

    assert names.resolve("T").collision == Collision("t", "a/x.md", ("b/y.md",))
    assert names.resolve("z").collision == Collision("z", "c/z.md", ("d/z.md",))
    assert [collision.identifier for collision in names.collisions()] == ["t", "z"]


def test_a_vault_reports_an_identifier_once_with_all_its_notes(identities):
    names = identities(
        {"a/n.md": "", "b/N.md": "", "c/x.md": titled("n"), "a/b/m.md": "", "b/M.md": ""}
    )

    # The title wins over file names; of the key "m", the first path does.
    assert names.collisions() == (
        Collision("m", "a/b/m.md", ("b/M.md",)),
        Collision("n", "c/x.md", ("a/n.md", "b/N.md")),
    )


def test_a_file_name_that_repeats_its_own_title_is_no_collision(identities):
    names = identities({"a/note.md": titled("Note"), "b.md": ""})

    assert names.collisions() == ()
    assert names.resolve("note").collision is None


def test_aliases_alone_do_not_make_a_vault_collide(identities):
    names = identities({"a.md": "---\naliases: [x, b]\n---\n", "b.md": "---\naliases: [x]\n---\n"})

    assert names.collisions() == ()
    assert names.resolve("x").collision == Collision("x", "a.md", ("b.md",))
    assert names.resolve("b").collision is None


def test_a_source_note_is_searched_around_first(identities):
    names = identities({"n.md": "", "p/n.md": "", "p/q/src.md": "", "p/q/m m.md": ""})

    assert selected(names, "n.md") == "n.md"
    assert selected(names, "../n.md", "p/q/src.md") == "p/n.md"
    assert selected(names, "../../n.md", "p/q/src.md") == "n.md"
    assert selected(names, "m m.md", "p/q/src.md") == "p/q/m m.md"
    assert selected(names, "M_M", "p/q/src.md") == "p/q/m m.md"
    assert selected(names, "p/n.md", "p/q/src.md") == "p/n.md"
    assert selected(names, "../../../n.md", "p/q/src.md") is None


def test_links_resolve_from_their_note(read, identities):
    files = {
        "a/src.md": "[x](n.md) [[n]] [[./n]] [[#h]] ![[i.png]] [[missing]]",
        "a/n.md": "",
        "n.md": "",
    }
    names = identities(files)
    source = read(files).note("a/src.md")

    found = [names.resolve_link(link, "a/src.md") for link in source.document.links]

    assert [None if one is None else one.note.path for one in found] == [
        "a/n.md",
        "a/n.md",  # both are called "n": the first path is selected
        "a/n.md",
        "a/src.md",
        None,
        None,
    ]
    assert found[1].collision == Collision("n", "a/n.md", ("n.md",))
    assert found[0].collision is None


def test_a_link_into_a_note_that_is_not_there_leads_nowhere(identities, read):
    [link] = read({"a.md": "[[#h]]"}).note("a.md").document.links

    assert isinstance(link, Link)
    assert identities({"b.md": ""}).resolve_link(link, "gone.md") is None


NAME = st.text(st.sampled_from("aA가é-_ ."), min_size=1, max_size=4).filter(
    lambda name: name.strip(". ")
)
PATHS = st.sets(
    st.lists(NAME, min_size=1, max_size=3).map(lambda parts: "/".join(parts) + ".md"), max_size=8
)


@settings(deadline=None)  # a busy machine is no failure
@given(PATHS)
def test_every_path_means_its_own_note_and_its_key_means_some_note(paths):
    paths = {unicodedata.normalize("NFC", path) for path in paths}
    nothing = Document({}, 0, (), (), ())
    names = Identities([Note(path, "", "", (), (), "", nothing, "") for path in paths])

    for path in paths:
        assert selected(names, path) == path
        assert names.resolve(path).collision is None
        # A bare name may also mean a note of a folder.
        assert key("x/" + selected(names, key(path))).endswith("/" + key(path))
    for collision in names.collisions():
        assert len({collision.selected, *collision.ignored}) == 1 + len(collision.ignored) >= 2
