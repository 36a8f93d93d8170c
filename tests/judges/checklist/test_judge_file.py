import pytest
from checklist_case import FILE, check, entries, scripted

from gigamind.errors import InputError
from gigamind.judges.quality_gate import (
    _RULES,
    ChecklistReply,
    QualityGate,
    _ChecklistJudgeFile,
)
from gigamind.judges.spec import load_llm_judge

ITEM = '{ id = "a", ko = "가?", en = "A?" }'


def feature(items, more=""):
    return f"[features.f]\n{more}\nitems = [{items}]"


@pytest.mark.parametrize(("least", "expected"), [(10, True), (11, False)])
def test_a_quote_needs_as_many_letters_and_digits_as_the_judge_file_says(
    least, expected, judge_file
):
    features = feature(ITEM).replace("features.f", "features.search_qa")
    file = judge_file(min_quote_chars=least, features=features)
    verdict = check(scripted(entries(a="금요일 오후 3시에 시작")), file=file)  # ten of them
    assert verdict.items[0].yes is expected


@pytest.mark.parametrize("feature", ["search_qa", "insight", "writing", "summary"])
def test_every_feature_of_the_judge_file_has_four_items_and_the_ratio_of_the_seed(feature):
    checklist = QualityGate.load(FILE, feature, "ko").checklist
    assert (len(checklist.items), checklist.min_pass_ratio) == (4, 0.75)


def test_a_feature_that_the_judge_does_not_know_is_named():
    with pytest.raises(InputError, match=r"chat.*insight, search_qa, summary"):
        check(scripted(), feature="chat")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": '"llm"'}, "kind: .*checklist"),
        ({"features": "[features]"}, "features"),
        ({"features": "[features.f]\nitems = []"}, "features.f.items"),
        ({"features": '[features.f]\nitems = [{ id = "a", ko = "가?" }]'}, "items\\[0\\].en"),
        ({"features": feature(ITEM.replace("가?", " "))}, "items\\[0\\].ko"),
        ({"features": feature(f"{ITEM}, {ITEM}")}, "features.f"),
        ({"features": feature(ITEM.replace('"a"', '"pass_rate"'))}, "pass_rate"),
        ({"features": feature(ITEM, "min_pass_ratio = 0")}, "min_pass_ratio"),
        ({"features": feature(ITEM, "min_pass_ratio = 1.1")}, "min_pass_ratio"),
    ],
)  # fmt: skip
def test_a_judge_file_that_says_something_else_is_refused(judge_file, changes, message):
    with pytest.raises(InputError, match=message):
        QualityGate.load(judge_file(**changes), "f", "ko")


def test_a_changed_question_is_another_judge(judge_file):
    one = QualityGate.load(judge_file(), "f", "ko").fingerprint("m")
    other = judge_file(features=feature(ITEM.replace("A?", "Another?")))
    assert QualityGate.load(other, "f", "ko").fingerprint("m") != one


def test_the_rules_in_code_are_part_of_the_fingerprint(judge_file):
    path = judge_file()
    given = ("nonce", "notes", "request", "answer", "items")
    without = load_llm_judge(path, "ko", _ChecklistJudgeFile, ChecklistReply, given)
    judge = QualityGate.load(path, "f", "ko").judge_in("ko")
    parts = (without.fingerprint, f"rules {_RULES}")
    assert judge.fingerprint == judge.file.fingerprint_with(*parts) != without.fingerprint
