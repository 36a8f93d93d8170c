import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vault_files import write_files

from gigamind.linking.candidates import CandidateFinder
from gigamind.linking.suggest import (
    _CONFIDENT_NAME,
    LEAST_CONFIDENCE,
    LinkSuggester,
    SuggestOptions,
    _reason,
)
from gigamind.vault.identity import Identities
from gigamind.vault.markdown import Document
from gigamind.vault.notes import Vault

EXAMPLES = Path(__file__).parents[2] / "examples" / "vault"
ALL = SuggestOptions(min_confidence=0.0, exclude_existing=False, unlikely=True)

FIVE = {
    "rain.md": "[[wind]] and wind.", "wind.md": "[[snow]] is not rain.",
    "snow.md": "No rain, `wind`. Then rain.", "hail.md": "👋 rain과 snow.", "sun.md": "Nothing.",
}  # fmt: skip


@pytest.fixture
def suggester_of(vault_of):
    def build(notes, embedder=None) -> LinkSuggester:
        vault = vault_of(notes)
        return LinkSuggester(vault, Identities(vault.notes), embedder)

    return build


def suggested(suggester: LinkSuggester, path: str = "t.md", options: SuggestOptions = ALL):
    return suggester.suggest(suggester.vault.note(path), options)


def found(suggester: LinkSuggester, path: str, options: SuggestOptions = ALL):
    return [(one.anchor, one.target, one.confidence) for one in suggested(suggester, path, options)]


def counted(suggester: LinkSuggester, path: str):
    """Anchor -> target, link probability and commonness."""
    return {
        one.anchor: (one.target, one.features.link_probability, one.features.commonness)
        for one in suggested(suggester, path)
    }


def test_five_notes_by_hand(suggester_of):
    suggester = suggester_of(FIVE)
    # said, linked or not: wind by rain; snow by wind, hail; rain by wind, snow, hail. Linked: wind 1, snow 1.
    prior = (2 + 1) / (6 + 2)
    assert suggester.finder.dictionary.priors["title"] == pytest.approx(prior)
    rain = ("rain.md", pytest.approx((0 + 2 * prior) / (2 + 2)), 1.0)
    snow = ("snow.md", pytest.approx((1 + 2 * prior) / (1 + 2)), 1.0)
    assert counted(suggester, "wind.md") == {"rain": rain}
    assert counted(suggester, "snow.md") == {"rain": rain}
    assert counted(suggester, "hail.md") == {"rain": rain, "snow": snow}
    assert found(suggester, "sun.md") == []


def test_a_note_that_is_called_so_itself_is_offered_no_other_of_that_name(suggester_of):
    notes = FIVE | {"snow.md": "# rain\n\nNo rain."}
    assert counted(suggester_of(notes), "snow.md") == {}
    # Elsewhere it is one of two.
    _, _, commonness = counted(suggester_of(notes), "wind.md")["rain"]
    assert commonness == 0.5


def test_a_name_that_may_mean_a_note_linked_already_is_offered_for_no_other(suggester_of):
    notes = {
        "a/duty.md": "---\ntitle: On-call\n---\n",
        "on-call.md": "x",
        "t.md": "[[on-call|rules]], the engineer on call.",
    }
    suggester = suggester_of(notes)
    assert found(suggester, "t.md", SuggestOptions(min_confidence=0.0)) == []
    assert [one.anchor for one in suggested(suggester)] == ["on call"]


def test_a_name_that_leads_elsewhere_more_often_than_to_a_linked_note_is_still_offered(
    suggester_of,
):
    notes = {
        "a.md": "---\ntitle: Duty\n---\n", "b.md": "---\ntitle: Rules\n---\n",
        "x.md": "[[a|the pager]]", "y.md": "[[a|the pager]]", "z.md": "[[b|the pager]]",
        "t.md": "[[b]] and the pager.",
    }  # fmt: skip
    suggester = suggester_of(notes)
    options = SuggestOptions(min_confidence=0.0)
    assert [(a, t) for a, t, _ in found(suggester, "t.md", options)] == [("the pager", "a.md")]


def test_a_place_written_as_the_title_is_taken_before_one_in_small_letters(suggester_of):
    notes = {"Snow.md": "x", "a.md": "[[Snow]]", "t.md": "No snow but Snow."}
    (one,) = suggested(suggester_of(notes))
    assert (one.anchor, one.features.spelled_as_name) == ("Snow", True)


HOME = {
    "home.md": "---\naliases: [재택근무]\n---\n팀장에게 신청하고 노트북을 쓰는 날."
    " 주 이틀까지 쓰고, 점검을 마친 장비를 빌린다.",
    "a.md": "[[home]]",
}


@pytest.mark.parametrize(
    "text",
    [
        "재택근무를 늘리자고 한다.\n\n노트북과 재택근무.",  # the second is a little surer
        "본다.\n\n재택근무를 늘리자고 한다.\n\n노트북과 재택근무.",
        "| 노트북을 받은 사람 | 재택근무 |\n|---|---|\n| 한다 | 그렇다 |\n\n재택근무를 늘리자고 한다.",
        # where a link would be none, or end the bold text
        "**재택근무**는 팀장에게 신청하고 노트북을 쓴다.\n\n재택근무를 늘리자고 한다.",
        "재택근무**를** 본다.\n\n재택근무를 늘리자고 한다.",
        "팀장에게!재택근무\n\n재택근무를 늘리자고 한다.",
        "## 재택근무\n\n`재택근무` 재택근무를 늘리자고 한다.",
    ],
)
def test_a_name_is_linked_where_it_first_stands_in_prose_so_that_a_link_can(suggester_of, text):
    (one,) = suggested(suggester_of(HOME | {"t.md": text}))
    assert one.span.start == text.index("재택근무를 늘리")
    places = {match.start() for match in re.finditer("재택근무", text)}
    assert {span.start for span in one.elsewhere} < places


def test_a_place_that_is_clearly_surer_is_linked_before_the_first(suggester_of):
    text = "재택근무를 늘리자고 한다.\n\n팀장에게 신청하고 노트북을 쓰는 재택근무."
    (one,) = suggested(suggester_of(HOME | {"t.md": text}))
    assert [one.span.start, *(span.start for span in one.elsewhere)] == [text.rindex("재택"), 0]


def test_a_name_in_tables_alone_is_linked_there(suggester_of):
    text = "| gate | a |\n|---|---|\n| gate | gate |\n"
    (one,) = suggested(suggester_of({"gate.md": "x", "a.md": "[[gate]]", "t.md": text}))
    assert [one.span.start, *(span.start for span in one.elsewhere)] == [2, 25, 32]


def many_words(called: str):
    """Each of 48 notes says 24 words and links one of them to a note with a file name made of it."""
    names = [a + b for a in "btkm" for b in ("ask", "end", "ind", "old", "ump", "ust")]
    notes = {f"{called.format(name)}.md": "x" for name in names}
    for number in range(48):
        links = [f"[[{called.format(name)}|{name} gate]]" for name in names]
        said = (link if number % 24 == n else f"{names[n]} gate" for n, link in enumerate(links))
        notes[f"n{number:02}.md"] = "\n\n".join(f"On {name} now." for name in said)
    return notes


def test_what_is_nearly_always_wrong_is_shown_only_where_it_is_asked_for(suggester_of):
    suggester = suggester_of(many_words("to {}"))
    every = found(suggester, "n00.md")
    unlikely = [one for one in every if one[2] < LEAST_CONFIDENCE]
    assert unlikely
    shown = found(suggester, "n00.md", replace(ALL, unlikely=False))
    assert shown == [one for one in every if one not in unlikely]


def test_what_a_note_calls_itself_is_shown_at_any_confidence_that_is_asked_for(suggester_of):
    suggester = suggester_of(many_words("{} gate"))
    every = found(suggester, "n00.md", replace(ALL, unlikely=False))
    assert every == found(suggester, "n00.md")
    assert len([one for one in every if one[2] < LEAST_CONFIDENCE]) > 1


@pytest.mark.parametrize(
    "said",
    [
        "the engineer on call", "the on-call engineer", "On call: Marek.", "is\ton\u00a0call",
        "on_call",
    ],
)  # fmt: skip
@pytest.mark.parametrize("own", ["aliases: [on call]", "aliases: ON-CALL", "title: On call"])
def test_a_name_that_a_note_gives_itself_is_suggested_however_seldom_it_is_linked(
    suggester_of, said, own
):
    # 400 notes say it plainly, and none links it.
    notes = {"rota.md": f"---\n{own}\n---\n", "home.md": "[[rota]]", "t.md": said}
    notes |= {f"n{number:03}.md": "Who is on call?" for number in range(400)}
    options = SuggestOptions(min_confidence=0.0)
    assert [one[1] for one in found(suggester_of(notes), "t.md", options)] == ["rota.md"]


def test_each_target_comes_once_with_its_surest_anchor(suggester_of):
    notes = {
        "a.md": "---\ntitle: 결재 규정\naliases: [결재]\n---\n",
        "t.md": "결재는 결재 규정을 따른다. 결재 규정.",
        "x.md": "[[결재 규정]]",
        "y.md": "결재 없이",
    }
    (only,) = suggested(suggester_of(notes))
    assert (only.anchor, only.span.start) == ("결재 규정", 4)


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("The Agents SDK runs.", []), ("The Agents-SDK runs.", []), ("The Agents SDK and Agents.", ["Agents"]),
        ("The Agents run.", ["Agents"]), ("The agents SDK", ["agents"]), ("All Agents. Some run.", ["Agents"]),
        ("Agents 도구", ["Agents"]),
    ],
)  # fmt: skip
def test_the_beginning_of_a_longer_name_is_no_place(suggester_of, text, anchors):
    suggester = suggester_of({"agents.md": "x", "a.md": "[[agents]]", "t.md": text})
    assert [anchor for anchor, _, _ in found(suggester, "t.md")] == anchors


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("No approval is needed.", []), ("Works without approval.", []), ("The casino approval.", ["approval"]),
        ("No. Approval is needed.", ["Approval"]), ("결재 없이 쓴다.", []), ("결재가 없는 날", []),
        ("결재 없이, 그러나 결재로", ["결재"]), ("결재를 올린다.", ["결재"]),
    ],
)  # fmt: skip
def test_what_is_said_not_to_be_there_is_no_place(suggester_of, text, anchors):
    notes = {"approval.md": "x", "결재.md": "x", "a.md": "[[approval]] [[결재]]", "t.md": text}
    assert [anchor for anchor, _, _ in found(suggester_of(notes), "t.md")] == anchors


def test_words_of_a_link_that_are_almost_never_linked_are_dropped(vault_of):
    notes = {"a.md": "x", "link.md": "[[a|rate]]", "t.md": "rate"}

    def places(count: int):
        vault = vault_of(notes | {f"n{n:03}.md": "rate" for n in range(count)})
        return CandidateFinder(vault, Identities(vault.notes), None).places(vault.note("t.md"), 400)

    # With n notes that say it plainly beside t: prior (0 + 1) / (n + 1 + 2), (1 + 2 * prior) / (n + 1 + 2) of all.
    assert (1 + 2 / 323) / 323 > 0.003
    assert len(places(320)) == 1
    assert (1 + 2 / 343) / 343 < 0.003
    assert places(340) == []


def test_a_suggestion_says_where_why_and_around_what(suggester_of):
    suggester = suggester_of(FIVE | {"한.md": "---\nlang: ko\n---\n이제 snow를 본다."})
    (one,) = suggested(suggester, "한.md", replace(ALL, context_chars=4))
    assert one.span.slice(suggester.vault.note("한.md").text) == one.anchor == "snow"
    assert one.context == "제 snow를"
    assert (one.target, one.target_title) == ("snow.md", "snow")
    assert one.reason == _reason(one.features, "ko")
    assert one.scores == suggester.habits.models.scores(one.features)
    assert (one.features.linked_notes, one.features.saying_notes) == (1, 2)
    first = suggested(suggester, "hail.md")[0]
    assert first.reason == _reason(first.features, "en")


def test_a_link_back_is_known(suggester_of):
    (one,) = suggested(suggester_of({"sea.md": "[[bay]]", "bay.md": "The sea."}), "bay.md")
    assert one.features.linked_back


def test_cyclic_embeds_and_links_to_missing_notes_do_no_harm(suggester_of):
    notes = {"a.md": "![[b]] [[nowhere]] nowhere", "b.md": "![[a]]"}
    assert found(suggester_of(notes), "a.md") == []


def test_the_names_in_the_examples_give_exactly_these_suggestions():
    vault = Vault.read(EXAMPLES)
    suggester = LinkSuggester(vault, Identities(vault.notes))
    made = {note.path: suggester.suggest(note) for note in vault.notes}
    assert {
        path: [(one.anchor, one.target) for one in suggestions]
        for path, suggestions in made.items()
        if suggestions
    } == {
        "meetings/2025-05-27 가격 회의.md": [("패스", "projects/구독-패스.md")],
        "policies/고객-환불.md": [("구독 패스", "projects/구독-패스.md")],
        "projects/전주-출시.md": [("배터리 교체", "howto/배터리-교체.md")],
    }


def test_a_word_that_linked_a_note_once_is_less_sure_than_its_title(suggester_of):
    notes = {
        "휴가.md": "x", "a.md": "[[휴가|Korean]] only.", "b.md": "Written in Korean.",
        "c.md": "Korean food.", "t.md": "The Korean team.", "u.md": "The 휴가 team.",
    }  # fmt: skip
    suggester = suggester_of(notes)
    (word,), (title,) = found(suggester, "t.md"), found(suggester, "u.md")
    assert (word[:2], title[:2]) == (("Korean", "휴가.md"), ("휴가", "휴가.md"))
    assert word[2] < title[2]


class Known:
    """An embedder whose vectors are given: folded text -> components; the rest of the length is the text's own."""

    name = "known"

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self._vectors = vectors

    def embed_passages(self, texts: Sequence[str]):
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str):
        given = self._vectors.get(text.lower(), ())
        vector = np.zeros(5, dtype=np.float32)
        vector[: len(given)] = given
        vector[4] = max(0.0, 1 - float(vector @ vector)) ** 0.5
        return vector


def test_a_phrase_means_another_note_where_its_likeliest_has_a_surer_place(suggester_of):
    # Both phrases are nearest to a; "storms" is nearer.  What is near to a is nearly as near to b.
    known = Known(
        {"a": (1,), "b": (0, 1), "c": (0, 0, 1), "storms": (1,), "breeze": (0.64, 0.55, 0.46)}
    )
    notes = {f"{name}.md": f"---\ntitle: {name}\n---\n" for name in "abc"}
    suggester = suggester_of(notes | {"t.md": "storms, breeze", "u.md": "breeze"}, known)
    both = {one[:2] for one in found(suggester, "t.md")}
    assert both == {("storms", "a.md"), ("breeze", "b.md")}
    assert found(suggester, "u.md")[0][:2] == ("breeze", "a.md")


def test_of_a_phrase_and_its_end_that_mean_one_note_the_surer_is_linked(suggester_of):
    known = Known({"a": (1, 0), "spring storms": (0.9, 0), "storms": (0.6, 0)})
    notes = {"a.md": "---\ntitle: a\n---\n", "t.md": "spring storms"}
    assert [one[:2] for one in found(suggester_of(notes, known), "t.md")] == [
        ("spring storms", "a.md")
    ]


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("the on-call rota", ["rota"]), ("the rota-keeper", []), ("a call-rota", ["call-rota"]),
        ("so - call rota - so", ["call rota"]),
    ],
)  # fmt: skip
def test_no_phrase_begins_or_ends_within_a_word_of_several_parts(suggester_of, text, anchors):
    known = Known({"a": (1,), "call rota": (0.9,), "call-rota": (0.9,), "rota": (0.8,)})
    notes = {"a.md": "---\ntitle: a\n---\n", "t.md": text}
    assert [one[0] for one in found(suggester_of(notes, known), "t.md")] == anchors


def test_names_alone_and_names_with_phrases_give_the_same_names(suggester_of):
    notes = {"a.md": "x", "b.md": "[[a b]]", "a b.md": "x", "t.md": "A b and storms."}
    (name,) = suggested(suggester_of(notes))
    assert name in suggested(suggester_of(notes, Known({"storms": (1,), "a.md": (1,)})))


WORDS = (
    "rain", "wind", "rain gauge", "gauge station", "the", ",", ".", "\n\n", "바람을", "비", "[[wind]]",
    "storms",
)  # fmt: skip


@pytest.fixture(scope="module")
def stormy(tmp_path_factory):
    """A suggester of names that overlap, and of phrases."""
    names = ("rain", "wind", "rain gauge", "gauge station", "wind station", "바람", "t")
    notes = {f"{name}.md": f"About {name}. See [[rain gauge]] and wind." for name in names}
    vectors = {"rain": (1,), "storms": (0.9, 0.1), "wind": (0, 1), "gauge": (0.5, 0.5)}
    vectors["바람"] = (0, 0.9)
    vault = Vault.read(write_files(tmp_path_factory.mktemp("vault"), notes))
    return LinkSuggester(vault, Identities(vault.notes), Known(vectors))


@pytest.fixture(scope="module")
def names_alone(stormy):
    """The same without phrases."""
    return LinkSuggester(stormy.vault, Identities(stormy.vault.notes))


def draft(suggester, words):
    """A note of these words."""
    text = " ".join(words)
    return replace(suggester.vault.note("t.md"), text=text, document=Document.parse(text))


@given(st.lists(st.sampled_from(WORDS), max_size=30), st.booleans())
def test_whatever_a_draft_says_suggestions_are_apart_one_a_target_and_in_order(
    stormy, words, exclude_existing
):
    note = draft(stormy, words)
    options = replace(ALL, exclude_existing=exclude_existing, max_suggestions=100)
    shown = stormy.suggest(note, options)
    spans = sorted(one.span for one in shown)
    assert all(left.end <= right.start for left, right in pairwise(spans))
    assert all(one.span.slice(note.text) == one.anchor for one in shown)
    targets = [one.target for one in shown]
    assert len(set(targets)) == len(targets)
    assert "t.md" not in targets
    assert not (exclude_existing and "[[wind]]" in words and "wind.md" in targets)
    of_names = [one.confidence for one in shown if not one.is_phrase]
    assert of_names == sorted(of_names, reverse=True)
    assert all(0 < one.confidence < 1 for one in shown)
    assert stormy.suggest(note, replace(options, max_suggestions=2)) == shown[:2]
    assert stormy.suggest(note, options) == shown


@given(st.lists(st.sampled_from(WORDS), max_size=30), st.sampled_from((0.0, 0.1, 0.13, 0.2, 0.4)))
def test_what_is_shown_is_what_of_everything_is_sure_enough(stormy, words, least):
    note = draft(stormy, words)
    every = stormy.suggest(note, replace(ALL, max_suggestions=100))
    # All names here are titles.
    sure = [one for one in every if one.confidence >= max(least, LEAST_CONFIDENCE * one.is_phrase)]
    shown = replace(ALL, min_confidence=least, max_suggestions=2, unlikely=False)
    assert stormy.suggest(note, shown) == sure[:2]


@given(st.lists(st.sampled_from(WORDS), max_size=30))
def test_what_is_said_of_sure_names_does_not_hang_on_whether_meaning_is_compared(
    stormy, names_alone, words
):
    note = draft(stormy, words)
    options = replace(ALL, unlikely=False, max_suggestions=100, min_confidence=LEAST_CONFIDENCE)

    def sure_names(suggester):
        return [
            one
            for one in suggester.suggest(note, options)
            if not one.is_phrase and one.confidence >= _CONFIDENT_NAME
        ]

    assert sure_names(stormy) == sure_names(names_alone)


def test_suggestions_do_not_hang_on_the_order_of_sets():
    code = f"""
from pathlib import Path
from gigamind.linking.suggest import LinkSuggester, SuggestOptions
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault
vault = Vault.read(Path({str(EXAMPLES / "policies")!r}))
suggester = LinkSuggester(vault, Identities(vault.notes))
print([suggester.suggest(note, SuggestOptions(min_confidence=0.0)) for note in vault.notes])
"""
    command = [sys.executable, "-c", code]
    told = {
        subprocess.run(
            command, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1
    assert "LinkSuggestion(" in told.pop().decode()


def test_notes_prepared_together_get_what_they_get_one_by_one(suggester_of):
    vectors = {"storms": (1,), "a": (0.9,), "breeze": (0.5, 0.5), "b": (0, 1)}
    notes = {"a.md": "storms", "b.md": "breeze and storms", "t.md": "breeze, storms"}
    alone, together = suggester_of(notes, Known(vectors)), suggester_of(notes, Known(vectors))
    together.prepare(together.vault.notes)
    for note in alone.vault.notes:
        assert alone.suggest(note, ALL) == together.suggest(note, ALL)


@pytest.mark.parametrize(
    ("confidence", "told"), [(0.3049, "0.30"), (0.994, "0.99"), (0.99999, "0.99"), (1.0, "0.99")]
)
def test_no_confidence_is_told_as_certain(suggester_of, confidence, told):
    first = suggested(suggester_of(FIVE), "hail.md")[0]
    assert replace(first, confidence=confidence).confidence_text == told
