import pytest

from gigamind.linking.anchors import AnchorDictionary
from gigamind.vault.identity import Identities

# "rate" is said by five notes: b and c link it to r, d links it to s, e and f do not link it.
NOTES = {
    "r.md": "---\ntitle: Interest rate\n---\n", "s.md": "---\ntitle: Speed\n---\n",
    "b.md": "The [[r|rate]] rose. The rate fell. The [[r|rate]] stood.", "c.md": "A [[r|Rate]].",
    "d.md": "A [[s|rate]].", "e.md": "No rate, no rate.", "f.md": "Rates are no rate.",
}  # fmt: skip


@pytest.fixture
def dictionary_of(vault_of):
    def build(notes, **settings):
        vault = vault_of(notes)
        return AnchorDictionary.of(vault, Identities(vault.notes), **settings)

    return build


def names(dictionary, path):
    return [mention.anchor.text for mention in dictionary.mentions[path]]


def test_notes_that_link_and_notes_that_say_a_name_are_counted_once_each(dictionary_of):
    anchor = dictionary_of(NOTES).anchors["rate"]
    assert anchor.linked == {"r.md": {"b.md", "c.md"}, "s.md": {"d.md"}}
    assert anchor.saying == {"b.md", "c.md", "d.md", "e.md", "f.md"}
    assert anchor.kind == "text"


def test_link_probability_is_what_the_other_notes_do(dictionary_of):
    dictionary = dictionary_of(NOTES)
    anchor = dictionary.anchors["rate"]
    # Of kind "text": "rate" alone, linked in 3 of the 5 notes that say it.
    prior = (3 + 1) / (5 + 2)
    assert dictionary.priors["text"] == pytest.approx(prior)
    assert dictionary.link_probability(anchor, "e.md") == pytest.approx((3 + 2 * prior) / (4 + 2))
    assert dictionary.link_probability(anchor, "b.md") == pytest.approx((2 + 2 * prior) / (4 + 2))


def test_a_note_that_says_its_own_name_is_none_of_those_that_could_link_it(dictionary_of):
    notes = {
        "office.md": "---\naliases: [HQ]\n---\nThe office, also called HQ or the site.",
        "a.md": "[[office]] and [[office|the site]]",
        "b.md": "The office, the HQ and the site.",
        "c.md": "At the office.",
    }
    dictionary = dictionary_of(notes)
    counts = {
        name: dictionary.others(dictionary.anchors[name], "c.md")
        for name in ("office", "hq", "the site")
    }
    assert counts == {"office": (1, 2), "hq": (0, 1), "the site": (1, 2)}
    # Of titles: the office alone, said by a, b and c, linked by a.
    prior = (1 + 1) / (3 + 2)
    assert dictionary.priors["title"] == pytest.approx(prior)
    probability = dictionary.link_probability(dictionary.anchors["office"], "c.md")
    assert probability == pytest.approx((1 + 2 * prior) / (2 + 2))


def test_a_note_that_links_a_name_it_shares_with_another_is_counted(dictionary_of):
    notes = {"a/plan.md": "See the [[b/plan|plan]].", "b/plan.md": "This plan.", "c.md": "A plan."}
    dictionary = dictionary_of(notes)
    assert dictionary.anchors["plan"].saying == {"a/plan.md", "c.md"}
    assert dictionary.others(dictionary.anchors["plan"], "c.md") == (1, 1)


def test_commonness_is_the_share_of_the_other_notes_links(dictionary_of):
    dictionary = dictionary_of(NOTES)
    anchor = dictionary.anchors["rate"]
    assert dictionary.commonness(anchor, "r.md", "e.md") == pytest.approx(2 / 3)
    assert dictionary.commonness(anchor, "r.md", "b.md") == pytest.approx(1 / 2)
    assert dictionary.commonness(anchor, "s.md", "d.md") == 0.0


def test_a_title_counts_as_one_link_to_its_note(dictionary_of):
    notes = NOTES | {"rate.md": "x"}
    dictionary = dictionary_of(notes)
    anchor = dictionary.anchors["rate"]
    assert dictionary.commonness(anchor, "rate.md", "e.md") == pytest.approx(1 / 4)
    assert anchor.kinds["rate.md"] == "title"


def test_a_name_known_from_one_link_alone_proves_nothing_about_its_kind(dictionary_of):
    dictionary = dictionary_of({"a.md": "[[b|once]]", "b.md": "x", "c.md": "not once"})
    assert dictionary.priors["text"] == pytest.approx((0 + 1) / (1 + 2))


def test_a_note_is_called_by_title_file_name_path_aliases_and_first_heading(dictionary_of):
    text = "---\ntitle: 경비 규정 (서울)\naliases: [비용]\n---\n# 경비는 이렇게\n## 다음\n글"
    dictionary = dictionary_of({"policies/seoul_costs.md": text})
    kinds = {
        name: anchor.kinds["policies/seoul_costs.md"] for name, anchor in dictionary.anchors.items()
    }
    assert kinds == {
        "경비 규정 (서울)": "title", "seoul costs": "title", "policies/seoul costs.md": "title",
        "policies/seoul costs": "title", "비용": "alias", "경비 규정": "alias",
        "경비규정(서울)": "alias", "경비는 이렇게": "heading",
    }  # fmt: skip


def test_the_longest_name_wins_and_none_overlap(dictionary_of):
    notes = {"deploy.md": "x", "deploy guide.md": "x", "guide rail.md": "x"}
    notes["t.md"] = "The deploy guide rail, a Deploy-Guide, deploy."
    assert names(dictionary_of(notes), "t.md") == ["deploy guide", "deploy guide", "deploy"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("lock", True), ("Lock.", True), ("(lock)", True), ("lock을 건다", True), ("lock과 열쇠", True),
        ("unlock", False), ("locks", False), ("lock2", False), ("lock.txt", False),
        ("lock적인", False), ("자물쇠lock", False),
        # No part of an option, a path or a menu.
        ("use --lock here", False), ("use --lock=all here", False), ("use --unlock-lock here", False),
        ("File > Lock > Bolt", False), ("열기 > Lock", False), ("**File** > **Lock**", False),
        ("Settings → Lock → Bolt", False), ("src/lock/main.py", False), ("./lock", False),
        ("~/lock", False), ("lock/", False), ("C:\\lock\\a", False), ("lock_filter", False),
        ("app.lock", False), ("lock/key", True), ("lock → bolt", True), ("a - lock", True),
        ("lock > Bolt", True),  # as Obsidian shows [[lock#Bolt]]
        ("so, lock. Then", True),
    ],
)  # fmt: skip
def test_a_name_stands_between_word_boundaries_or_before_a_particle(dictionary_of, text, found):
    dictionary = dictionary_of({"lock.md": "## Bolt", "t.md": f"{text} b"})
    assert names(dictionary, "t.md") == (["lock"] if found else [])


def test_a_name_that_is_all_of_such_a_text_is_one(dictionary_of):
    notes = {"Next.js.md": "x", "tag_filter.md": "x", "t.md": "Next.js and tag_filter."}
    assert names(dictionary_of(notes), "t.md") == ["next.js", "tag filter"]


@pytest.mark.parametrize(("most", "found"), [(3, ["one two three"]), (2, [])])
def test_longer_words_of_links_than_the_setting_are_left_out(dictionary_of, most, found):
    notes = {"a.md": "x", "b.md": "[[a|one two three]]", "t.md": "say one two three."}
    assert names(dictionary_of(notes, max_words=most), "t.md") == found


def test_a_title_may_be_a_sentence(dictionary_of):
    title = "inserting a chart of one document into the text of another"
    notes = {f"{title}.md": "x", "t.md": f"See {title}."}
    assert names(dictionary_of(notes), "t.md") == [title]


def test_one_letter_and_signs_alone_are_no_names(dictionary_of):
    assert dictionary_of({"a.md": "---\naliases: ['!!', b]\n---\n"}).anchors.keys() == {"a.md"}


def test_a_link_to_a_part_of_a_note_counts_for_the_name_of_the_note(vault_of):
    vault = vault_of({"wind.md": "x", "a.md": "[[wind#north]]", "b.md": "[[wind#north|gale]]"})
    anchors = AnchorDictionary.of(vault, Identities(vault.notes)).anchors
    assert anchors["wind"].linking == {"a.md"}
    assert anchors["gale"].linking == {"b.md"}
    assert "wind#north" not in anchors
