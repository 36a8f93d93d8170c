from dataclasses import replace

import pytest
from link_features import MEANT, PLAIN

from gigamind.linking.reasons import reason

NEW = replace(PLAIN, linked_notes=0, saying_notes=0)


@pytest.mark.each(
    "kind, english, korean",
    [
        ("title", "title or file name of the note", "노트의 제목이나 파일 이름과 같음"),
        ("alias", "alias of the note", "노트의 별칭과 같음"),
        ("heading", "first heading of the note", "노트의 첫 제목과 같음"),
        ("text", "other notes link it with these words", "다른 노트에서 이 말로 링크함"),
    ],
)  # fmt: skip
def test_a_name_says_what_it_is_of_the_target(kind, english, korean):
    named = replace(NEW, kind=kind)
    assert (reason(named, "en"), reason(named, "ko")) == (english, korean)


@pytest.mark.each(
    "changed, english, korean",
    [
        (
            {"linked_notes": 2, "saying_notes": 5},
            "linked in 2 of 5 other notes that say it",
            "이 말을 쓴 다른 노트 5개 중 2개가 링크함",
        ),
        (
            {"commonness": 0.5, "folders_between": 1},
            "50% of such links lead there",
            "링크의 50%가 그 노트로 감",
        ),
        (
            {"commonness": 0.25},
            "25% of such links lead there; same folder",
            "링크의 25%가 그 노트로 감; 같은 폴더",
        ),
        (
            {"cue_beside": 1.0},
            "such words often stand beside links in this vault",
            "이 보관함에서 링크가 놓이는 문맥",
        ),
        (
            {"words_shared": 0.2},
            "paragraph and note share telling words (tf-idf cosine 0.20)",
            "문단과 노트가 같은 낱말을 씀(tf-idf 코사인 0.20)",
        ),
        (
            {"neighbours": 1.0},
            "both notes are linked with the same notes",
            "두 노트가 같은 노트들과 링크됨",
        ),
        ({"linked_back": True}, "that note links here", "그 노트가 이 노트를 링크함"),
    ],
)
def test_what_else_speaks_for_a_link_is_told_behind_it(changed, english, korean):
    named = replace(NEW, **changed)
    assert reason(named, "en") == f"title or file name of the note; {english}"
    assert reason(named, "ko") == f"노트의 제목이나 파일 이름과 같음; {korean}"


@pytest.mark.each(
    "changed", [{"cue_beside": 0.99}, {"words_shared": 0.19}, {"neighbours": 0.99}, {"cue_near": 5.0}]
)  # fmt: skip
def test_what_hardly_speaks_for_a_link_is_not_told(changed):
    assert reason(replace(NEW, **changed), "en") == "title or file name of the note"


# No particle that changes with the last sound may follow a passage: 휴게실과, but 게이트와.
@pytest.mark.parametrize("passage", ["휴게실", "게이트", "응답 시간", "RAG 2", "leave"])
def test_a_phrase_says_the_passage_that_it_is_near_to(passage):
    meant = replace(MEANT, name_cosine=0.5, beginning_cosine=0.614, passage=passage)
    assert reason(meant, "en") == f'close in meaning to "{passage}" of the note (cosine 0.61)'
    assert reason(meant, "ko") == f"그 노트의 “{passage}”에 뜻이 가까움(코사인 0.61)"
    assert reason(replace(meant, linked_back=True), "ko").endswith("; 그 노트가 이 노트를 링크함")


@pytest.mark.parametrize(("chars", "shown"), [(60, "개" * 60), (61, "개" * 60 + "…")])
def test_a_long_passage_is_cut(chars, shown):
    assert f"“{shown}”" in reason(replace(MEANT, passage="개" * chars), "ko")
