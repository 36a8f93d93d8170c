import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from link_records import make_note

from gigamind.i18n import translator
from gigamind.records.schema import PassageReport
from gigamind.tasks.links.task import LinkTask, _pieces

EN = translator("en")


def listed(*items):
    return json.loads(LinkTask.view.list_data(SimpleNamespace(items=items), EN))["items"]


def test_each_link_of_a_note_is_marked_by_what_became_of_it():
    assert _pieces(make_note()) == [
        ("👋 See ", "", ""), ("Beta", "hit", "beta.md"), (", ", "", ""),
        ("Gamma", "novel", "gamma.md"), (" and ", "", ""), ("Delta", "linked", "delta.md"),
        ("; not ", "", ""), ("Omega", "miss", "omega.md"), (".", "", ""),
    ]  # fmt: skip


def test_a_rejected_link_is_not_missed():
    item = make_note()
    rejected = item.expected[1].model_copy(update={"label": "reject"})
    changed = item.model_copy(update={"expected": (item.expected[0], rejected)})
    assert ("Omega", "miss") not in [piece[:2] for piece in _pieces(changed)]


def test_of_two_links_in_one_place_the_right_one_is_seen_and_both_are_named():
    item = make_note()
    right, wrong, _ = item.suggestions
    over = wrong.model_copy(update={"anchor": right.anchor})
    found = _pieces(item.model_copy(update={"suggestions": (right, over)}))
    assert ("Beta", "hit", "gamma.md, beta.md") in found


@pytest.mark.parametrize(("length", "gap"), [(720, ""), (721, "241")])
def test_what_lies_far_from_every_link_is_left_out_and_counted(length, gap):
    text = "Beta" + "x" * length + "Omega"
    item = make_note(text=text, suggestions=())
    expected = []
    for row in item.expected:
        end = text.index(row.anchor) + len(row.anchor)
        place = {"utf16_start": end - len(row.anchor), "utf16_end": end}
        expected.append(row.model_copy(update={"passage": row.passage.model_copy(update=place)}))
    found = _pieces(item.model_copy(update={"expected": tuple(expected)}))
    assert [text for text, kind, _ in found if kind == "gap"] == ([gap] if gap else [])
    left = sum(int(text) if kind == "gap" else len(text) for text, kind, _ in found)
    assert left == len(text)


@given(data=st.data())
def test_pieces_put_together_are_the_text(data):
    text = data.draw(st.text(alphabet="ab👋휴\n", min_size=1, max_size=60))
    units = len(text.encode("utf-16-le")) // 2
    edges = [0]
    for char in text:
        edges.append(edges[-1] + len(char.encode("utf-16-le")) // 2)
    pairs = data.draw(
        st.lists(st.tuples(st.sampled_from(edges), st.sampled_from(edges)), max_size=4)
    )
    base = make_note(text=text, expected=())
    anchors = [
        PassageReport(note="a.md", utf16_start=min(pair), utf16_end=max(pair), text="x")
        for pair in pairs
        if pair[0] != pair[1]
    ]
    suggestions = tuple(
        base.suggestions[0].model_copy(update={"anchor": anchor}) for anchor in anchors
    )
    assert units == edges[-1]
    found = _pieces(base.model_copy(update={"suggestions": suggestions}))
    assert "".join(text for text, _, _ in found) == text


def test_the_data_of_a_note_hold_what_the_list_shows():
    (row,) = listed(make_note(note="dir/My Note.md"))
    assert row[:4] == ["dir/My Note.md", "My Note", "en", ""]
    assert row[5] == [["Omega", "omega.md", "no_candidate", None, None]]
    assert row[6][0] == ["Beta", "beta.md", 0.9, "hit", 0, "title Beta"]
    assert row[7:] == [2, 1, 1, None]  # two wanted, one found, one right, no baseline


def test_a_missed_link_has_its_cause_and_what_was_preferred():
    own = {"place": 7, "anchor": "omega", "target": "omega.md", "confidence": 0.25}
    own |= {"reason": "alias", "features": {"mention": 0.123456, "kind": "alias", "words": 1}}
    miss = {"id": "Omega", "cause": "ranked_too_low", "own": own, "instead": None}
    (row,) = listed(make_note(misses=(miss,)))
    [missed] = row[5]
    assert missed[:3] == ["Omega", "omega.md", "ranked_too_low"]
    shown = [7, "omega", "omega.md", 0.25, "alias", "mention 0.123 · kind alias · words 1"]
    assert missed[3:] == [shown, None]
