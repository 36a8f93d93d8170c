import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_records import make_hit, make_item

from gigamind.i18n import translator
from gigamind.records.schema import PassageReport
from gigamind.reports.html import items_script
from gigamind.tasks.search.task import SearchTask

EN = translator("en")

ANSWERABLE, REFUSED, CROSS_LINGUAL, FAILURE = 1, 2, 4, 8
NOTE = "a🌴b cd"  # the palm tree takes two code units: "cd" is [5, 7)


def _passage(start, end, text, note="n.md"):
    return PassageReport(note=note, utf16_start=start, utf16_end=end, text=text)


def _data(*items):
    return json.loads(SearchTask.view.list_data(SimpleNamespace(items=items), EN))


def hit_with(chunk, evidence):
    return make_hit("n.md").model_copy(update={"chunk": chunk, "evidence": evidence})


def test_a_text_stands_once_however_many_queries_found_it():
    hit = hit_with(_passage(100, 107, NOTE), _passage(105, 107, "cd"))
    data = _data(make_item(1, ranking=(hit,)), make_item(2, ranking=(hit,)))
    assert data["texts"] == [NOTE]
    # Note, both scores, both legs, text, start of the text, evidence, no match, and no word of the query.
    assert data["items"][0][7] == [[1, 0.5, 0.5, 0.5, None, 0, 100, 105, 107, 0, []]]


def test_titles_stand_beside_the_paths_and_highlights_are_counted_from_the_evidence():
    hit = hit_with(_passage(100, 107, NOTE), _passage(103, 107, "b cd")).model_copy(
        update={"title": "제목", "highlights": ((103, 104), (105, 107))}
    )
    data = _data(make_item(1, ranking=(hit,)))
    assert dict(zip(data["notes"], data["titles"], strict=True)) == {"right.md": "", "n.md": "제목"}
    assert data["items"][0][7][0][10] == [0, 1, 2, 4]


def test_evidence_around_an_expected_passage_holds_it_without_matching():
    hit = hit_with(_passage(100, 104, "abcd"), _passage(100, 104, "abcd"))
    data = _data(make_item(1, ranking=(hit,), expected_spans=(_passage(101, 103, "bc"),)))
    assert data["items"][0][7][0][9] == 2  # [101, 103) is half of the union: held, and no match


@pytest.mark.parametrize(
    ("chunk", "evidence"),
    [
        (_passage(100, 106, NOTE), _passage(104, 106, "cd")),  # the range is not the text's length
        (_passage(100, 107, NOTE), _passage(106, 109, " de")),  # the evidence runs out of the chunk
        (_passage(100, 107, NOTE), _passage(98, 101, "xya")),  # or begins before it
    ],
)
def test_evidence_that_cannot_be_cut_from_its_chunk_stands_by_itself(chunk, evidence):
    data = _data(make_item(1, ranking=(hit_with(chunk, evidence),)))
    assert data["texts"] == [evidence.text]
    assert data["items"][0][7][0][5:9] == [
        0, evidence.utf16_start, evidence.utf16_start, evidence.utf16_end,
    ]  # fmt: skip


@pytest.mark.parametrize(("end", "matches"), [(103, 1), (102, 0)])
def test_evidence_matches_an_expected_passage_above_half_of_their_union(end, matches):
    # Expected [100, 104): [100, 103) is 3/4 of the union, [100, 102) exactly half.
    text = "abcd"
    hit = hit_with(_passage(100, 104, text), _passage(100, end, text[: end - 100]))
    item = make_item(1, ranking=(hit,), expected_spans=(_passage(100, 104, text),))
    assert _data(item)["items"][0][7][0][9] == matches


@pytest.mark.parametrize(
    ("changes", "flags"),
    [
        ({}, ANSWERABLE),
        ({"cross_lingual": True}, ANSWERABLE | CROSS_LINGUAL),
        ({"metrics": {"mrr": 0.5}}, ANSWERABLE | FAILURE),
        ({"judged_unanswerable": True}, ANSWERABLE | REFUSED | FAILURE),
        ({"answerable": False, "metrics": {}, "judged_unanswerable": True}, REFUSED),
        ({"answerable": False, "metrics": {}, "top_base_score": 0.5}, FAILURE),
    ],
)
def test_flags_say_what_a_query_is(changes, flags):
    assert _data(make_item(1, **changes))["items"][0][4] == flags


@pytest.mark.parametrize(("reciprocal", "rank"), [(1.0, 1), (1 / 3, 3), (0.0, None), (None, None)])
def test_the_rank_is_that_of_the_first_expected_note(reciprocal, rank):
    assert _data(make_item(1, metrics={"mrr": reciprocal}))["items"][0][8] == rank


@given(st.text())
def test_no_text_ends_the_script_element_and_every_text_comes_back(text):
    written = items_script(EN, [text])
    assert not set("<>&") & set(written)
    assert json.loads(written)["items"] == [text]
