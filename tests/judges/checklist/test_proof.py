import pytest
from checklist_case import GOOD, QUESTIONS, answers, check, entries, scripted


@pytest.mark.parametrize(
    ("item", "quote"),
    [
        ("direct", ""), ("direct", "배포는 하지 않습니다"), ("direct", "롤백에는 5분이 걸린다."),
        ("direct", "배포는 매주 금요일 오후 4시에 시작합니다"),
        ("grounded", "담당자는 노트에 없습니다."),
    ],
    ids=["none", "invented", "of a note, not the response", "another number", "not of a note"],
)  # fmt: skip
def test_a_yes_without_proof_counts_as_the_judge_file_says(item, quote, judge_file):
    verdict = check(scripted(entries(**GOOD | {item: quote or "·"})))
    found = next(one for one in verdict.items if one.id == item)
    assert (found.reported_yes, found.trusted, found.yes) == (True, False, False)
    lenient = judge_file(
        unverified='"as_told"', features='[features.search_qa]\nitems = [{ id = "direct", ko = "가?", en = "A?" }]'
    )  # fmt: skip
    believed = check(scripted(entries(direct="배포는 하지 않습니다")), file=lenient)
    assert (believed.items[0].yes, believed.items[0].trusted, believed.passed) == (True, False, True)  # fmt: skip


@pytest.mark.parametrize("quote", [".", "다", "말", "출처", "[", "3시"])
def test_a_few_letters_prove_nothing(quote):
    verdict = check(scripted(entries(**dict.fromkeys(QUESTIONS, quote))))
    assert (verdict.passed, verdict.ratio) == (False, 0.0)
    assert {item.reported_yes for item in verdict.items} == {True}


@pytest.mark.parametrize("quote", ["[배포 규칙]", "[노트 1]", "노트 1"])
def test_a_citation_is_proof_enough_that_a_response_names_its_sources(quote):
    answer = "금요일입니다 [배포 규칙] [노트 1]."
    verdict = check(scripted(entries(**GOOD | {"sources": quote})), answer=answer)
    assert answers(verdict)["sources"] is True


def test_without_notes_nothing_can_rest_on_them():
    verdict = check(scripted(entries(**GOOD)), notes=())
    grounded = verdict.items[1]
    assert (grounded.reported_yes, grounded.yes, grounded.quote) == (True, False, "")
