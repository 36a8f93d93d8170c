from dataclasses import replace

import pytest
from link_features import MEANT, PLAIN

from gigamind.linking.suggest import _reason

NEW = replace(PLAIN, linked_notes=0, saying_notes=0)


def parts(features, language="en"):
    return _reason(features, language).split("; ")


def test_each_kind_of_name_has_a_reason_of_its_own():
    kinds = [parts(replace(NEW, kind=kind)) for kind in ("title", "alias", "heading", "text")]
    assert [len(own) for own in kinds] == [1, 1, 1, 1]
    assert len({own[0] for own in kinds}) == 4


@pytest.mark.each(
    "changed, count, shown",
    [
        ({"linked_notes": 2, "saying_notes": 5}, 2, ("2", "5")),
        ({"commonness": 0.5, "folders_between": 1}, 2, ("50%",)),
        ({"commonness": 0.25}, 3, ("25%",)),  # and the same folder
        ({"words_shared": 0.2}, 2, ("0.20",)),
        ({"neighbours": 1.0}, 2, ()),
        ({"linked_back": True}, 2, ()),
    ],
)
def test_what_else_speaks_for_a_link_is_told_behind_it(changed, count, shown):
    named = replace(NEW, **changed)
    for language in ("en", "ko"):
        first, *others = parts(named, language)
        assert [first] == parts(NEW, language)
        assert 1 + len(others) == count
        assert all(figure in others[0] for figure in shown)


@pytest.mark.each(
    "changed", [{"words_shared": 0.19}, {"neighbours": 0.99}]
)  # fmt: skip
def test_what_hardly_speaks_for_a_link_is_not_told(changed):
    assert parts(replace(NEW, **changed)) == parts(NEW)


@pytest.mark.parametrize("passage", ["휴게실", "게이트", "응답 시간", "RAG 2", "leave"])
def test_a_phrase_says_the_passage_that_it_is_near_to(passage):
    meant = replace(MEANT, name_cosine=0.5, beginning_cosine=0.614, passage=passage)
    for language in ("en", "ko"):
        [only] = parts(meant, language)
        assert passage in only
        assert "0.61" in only


@pytest.mark.parametrize(("chars", "shown"), [(60, "개" * 60), (61, "개" * 60 + "…")])
def test_a_long_passage_is_cut(chars, shown):
    said = _reason(replace(MEANT, passage="개" * chars), "ko")
    assert shown in said
    assert said.count("개") == 60
