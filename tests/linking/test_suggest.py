from pathlib import Path

import pytest

from gigamind.linking.suggest import LinkSuggester, SuggestOptions
from gigamind.vault.identity import Identities
from gigamind.vault.notes import read_vault

EXAMPLES = Path(__file__).parents[2] / "examples" / "vault"
ALL = SuggestOptions(min_confidence=0.0, exclude_existing=False)

FIVE = {
    "rain.md": "[[wind]] and wind.",
    "wind.md": "[[snow]] is not rain.",
    "snow.md": "# rain\n\nNo rain, `wind`. Then rain.",
    "hail.md": "👋 rain과 snow.",
    "sun.md": "Nothing.",
}


@pytest.fixture
def suggester_of(vault_of):
    def build(notes) -> LinkSuggester:
        vault = vault_of(notes)
        return LinkSuggester(vault, Identities(vault.notes))

    return build


def found(suggester: LinkSuggester, path: str, options: SuggestOptions = ALL):
    note = suggester.vault.note(path)
    return [(one.anchor, one.target, one.confidence) for one in suggester.suggest(note, options)]


def counted(suggester: LinkSuggester, path: str):
    """Anchor, target, link probability and commonness, the surest first."""
    note = suggester.vault.note(path)
    return [
        (one.anchor, one.target, one.features.link_probability, one.features.commonness)
        for one in suggester.suggest(note, ALL)
    ]


def test_five_notes_by_hand(suggester_of):
    suggester = suggester_of(FIVE)
    # said, linked or not: wind by rain; snow by wind, hail; rain by wind, snow, hail. Linked: wind 1, snow 1.
    prior = (2 + 1) / (6 + 2)
    assert suggester.finder.dictionary.priors["title"] == pytest.approx(prior)
    rain = pytest.approx((0 + 2 * prior) / (2 + 2))
    snow = pytest.approx((1 + 2 * prior) / (1 + 2))
    # Two notes are called rain, one by its title and one by its heading: each has half of it.
    assert counted(suggester, "wind.md") == [("rain", "rain.md", rain, 0.5)]
    assert counted(suggester, "snow.md") == []  # "rain" is its own first heading
    first, second = counted(suggester, "hail.md")
    assert first == ("snow", "snow.md", snow, 1.0)
    assert (second[0], second[2:]) == ("rain", (rain, 0.5))
    assert found(suggester, "sun.md") == []


def test_a_name_that_may_mean_a_note_linked_already_is_offered_for_no_other(suggester_of):
    notes = {
        "a/duty.md": "---\ntitle: On-call\n---\n",
        "on-call.md": "x",
        "t.md": "[[on-call|rules]], the engineer on call.",
    }
    suggester = suggester_of(notes)
    note = suggester.vault.note("t.md")
    assert suggester.suggest(note, SuggestOptions(min_confidence=0.0)) == []
    assert [one.anchor for one in suggester.suggest(note, ALL)] == ["on call"]


def test_a_name_that_leads_elsewhere_more_often_than_to_a_linked_note_is_still_offered(
    suggester_of,
):
    notes = {
        "a.md": "---\ntitle: Duty\n---\n",
        "b.md": "---\ntitle: Rules\n---\n",
        "x.md": "[[a|the pager]]",
        "y.md": "[[a|the pager]]",
        "z.md": "[[b|the pager]]",
        "t.md": "[[b]] and the pager.",
    }
    suggester = suggester_of(notes)
    options = SuggestOptions(min_confidence=0.0)
    assert [(a, t) for a, t, _ in found(suggester, "t.md", options)] == [("the pager", "a.md")]


def test_places_with_the_same_words_count_as_the_first(suggester_of):
    suggester = suggester_of(FIVE | {"t.md": "snow, Snow and snow"})
    (one,) = suggester.suggest(suggester.vault.note("t.md"), ALL)
    assert one.span.start == 0


def test_a_place_written_as_the_title_is_taken_before_one_in_small_letters(suggester_of):
    suggester = suggester_of({"Snow.md": "x", "a.md": "[[Snow]]", "t.md": "No snow but Snow."})
    (one,) = suggester.suggest(suggester.vault.note("t.md"), ALL)
    assert (one.anchor, one.features.spelled_as_name) == ("Snow", True)


def test_targets_that_are_linked_already_are_left_out_unless_asked_for(suggester_of):
    suggester = suggester_of(FIVE)
    assert [target for _, target, _ in found(suggester, "rain.md")] == ["wind.md"]
    assert found(suggester, "rain.md", SuggestOptions(min_confidence=0.0)) == []


def test_the_confidence_is_a_floor_and_the_number_a_ceiling(suggester_of):
    suggester = suggester_of(FIVE)
    (first, second) = found(suggester, "hail.md")
    for least, expected in [
        (second[2], 2),
        (second[2] + 1e-9, 1),
        (first[2], 1),
        (first[2] + 1e-9, 0),
    ]:
        options = SuggestOptions(min_confidence=least)
        assert len(found(suggester, "hail.md", options)) == expected
    assert found(suggester, "hail.md", SuggestOptions(max_suggestions=1)) == [first]


def test_each_target_comes_once_with_its_surest_anchor(suggester_of):
    notes = {
        "a.md": "---\ntitle: 결재 규정\naliases: [결재]\n---\n",
        "t.md": "결재는 결재 규정을 따른다. 결재 규정.",
    }
    notes |= {"x.md": "[[결재 규정]]", "y.md": "결재 없이"}
    (only,) = suggester_of(notes).suggest(read_note(notes, "t.md", suggester_of), ALL)
    assert (only.anchor, only.span.start) == ("결재 규정", 4)


def read_note(notes, path, suggester_of):
    return suggester_of(notes).vault.note(path)


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("The Agents SDK runs.", []),
        ("The Agents-SDK runs.", []),
        ("The Agents SDK and Agents.", ["Agents"]),
        ("The Agents run.", ["Agents"]),
        ("The agents SDK", ["agents"]),
        ("All Agents. Some run.", ["Agents"]),
        ("Agents 도구", ["Agents"]),
    ],
)
def test_the_beginning_of_a_longer_name_is_no_place(suggester_of, text, anchors):
    suggester = suggester_of({"agents.md": "x", "a.md": "[[agents]]", "t.md": text})
    assert [anchor for anchor, _, _ in found(suggester, "t.md")] == anchors


def test_an_anchor_that_is_almost_never_linked_is_dropped(suggester_of):
    notes = {"rate.md": "x", "link.md": "[[rate]]", "t.md": "rate"}

    def with_plain(count: int):
        return suggester_of(notes | {f"n{n:02}.md": "rate" for n in range(count)})

    # With n notes that say it plainly beside t: prior (1 + 1) / (n + 2 + 2), (1 + 2 * prior) / (n + 1 + 2) of all.
    assert (1 + 2 * 2 / 17) / 16 > 0.065
    assert found(with_plain(13), "t.md") != []
    assert (1 + 2 * 2 / 22) / 21 < 0.065
    assert found(with_plain(18), "t.md") == []


def test_a_suggestion_says_where_why_and_around_what(suggester_of):
    suggester = suggester_of(FIVE | {"한.md": "---\nlang: ko\n---\n이제 snow를 본다."})
    (one,) = suggester.suggest(suggester.vault.note("한.md"), SuggestOptions(context_chars=2))
    assert one.span.slice(suggester.vault.note("한.md").text) == one.anchor == "snow"
    assert one.context == "제 snow를"
    assert one.reason == "노트 제목과 같음; 이 말을 쓴 다른 노트 2개 중 1개가 연결함"
    assert (one.features.linked_notes, one.features.saying_notes) == (1, 2)
    (english, _) = suggester.suggest(suggester.vault.note("hail.md"), ALL)
    assert english.reason == "title of the note; linked in 1 of 2 other notes that say it"


def test_a_reason_names_a_link_back(suggester_of):
    suggester = suggester_of({"sea.md": "[[bay]]", "bay.md": "The sea."})
    (one,) = suggester.suggest(suggester.vault.note("bay.md"), ALL)
    assert one.reason == "title of the note; that note links here"
    assert one.features.linked_back


def test_a_reason_names_a_shared_name(suggester_of):
    suggester = suggester_of(FIVE)
    rain = suggester.suggest(suggester.vault.note("hail.md"), ALL)[1]
    assert rain.reason == "title of the note; 50% of such links lead there"


def test_cyclic_embeds_and_links_to_missing_notes_do_no_harm(suggester_of):
    suggester = suggester_of({"a.md": "![[b]] [[nowhere]] nowhere", "b.md": "![[a]]"})
    assert found(suggester, "a.md") == []


def test_the_examples_give_exactly_these_suggestions():
    vault = read_vault(EXAMPLES)
    suggester = LinkSuggester(vault, Identities(vault.notes))
    made = {note.path: suggester.suggest(note) for note in vault.notes}
    assert {
        path: [(one.anchor, one.target) for one in suggestions]
        for path, suggestions in made.items()
        if suggestions
    } == {
        "meetings/2025-03-05 주간.md": [("수요 예측", "research/demand-forecast.md")],
        "meetings/2025-05-27 가격 회의.md": [("패스", "projects/구독-패스.md")],
        "policies/on-call.md": [("approval", "policies/approval.md")],
        "policies/고객-환불.md": [("구독 패스", "projects/구독-패스.md")],
        "projects/전주-출시.md": [("배터리 교체", "howto/배터리-교체.md")],
    }


def test_a_word_that_linked_a_note_once_is_too_unsure_to_show(suggester_of):
    notes = {
        "휴가.md": "x",
        "a.md": "[[휴가|Korean]] only.",
        "b.md": "Written in Korean.",
        "c.md": "Korean food.",
        "t.md": "The Korean team.",
    }
    (one,) = found(suggester_of(notes), "t.md")
    assert one[:2] == ("Korean", "휴가.md")
    assert one[2] < SuggestOptions().min_confidence
