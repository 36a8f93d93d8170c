"""Facts that a dataset labels, and what the files of a run say of what is left out."""

import json
import re

import pytest
from answer_reply import answer_reply, aside, supported
from out_files import items_of

from gigamind.tasks import evaluate
from gigamind.tasks.answers.schema import AnswerComparison, AnswerItem

NOTE = "연차는 입사 첫해에 15일을 준다. 남은 연차는 5일까지 이월한다. 이월분은 3월 31일에 소멸한다."
FIRST = "연차는 입사 첫해에 15일을 준다."
FACTS = [
    {"text": "입사 첫해에 15일을 준다", "vital": True},
    {"text": "남은 연차는 5일까지 이월한다.", "vital": True},
    {"text": "이월분은 3월 31일에 소멸한다.", "vital": False},
    {"text": "연차는 돈으로 바꿀 수 있다고 어디에도 없다."},
]


def row(answer, facts=FACTS):
    return {
        "id": "a",
        "question": "연차는 며칠이고 얼마나 이월되며 언제 소멸하나요?",
        "answer": answer,
        "language": "ko",
        "context_notes": [{"title": "휴가", "text": NOTE}],
        "labels": {"facts": facts},
    }


@pytest.fixture
def judged(options, server, tmp_path):
    """The line, the summary and the out folder of one answer, judged by these replies."""
    judge = tmp_path / "judge.toml"
    judge.write_text('kind = "search_qa"\nprompt = "search_qa/v2"\nsecond_look = "never"\n')

    def run(item, *claims, **changes):
        server.script.append(answer_reply(claims, FIRST, **changes))
        out = evaluate(options([item], judge=judge)).out
        return items_of(out)["a"], json.loads((out / "summary.json").read_text("utf-8")), out

    return run


def test_a_fact_is_given_by_a_supported_claim_that_rests_on_its_place_and_says_it(judged):
    line, summary, _ = judged(row("연차는 첫해에 15일입니다."), supported(FIRST))
    assert [(one["note"], one["claim"]) for one in line["labels"]["facts"]] == [
        (1, 1), (1, None), (1, None), (None, None),
    ]  # fmt: skip
    assert line["metrics"]["completeness"] == 1 / 3
    assert line["metrics"]["completeness_vital"] == 1 / 2
    assert line["metrics"]["correctness"] == 1.0
    assert summary["facts_unbacked"] == 1
    assert set(summary["overall"]["intervals"]) >= {
        "answers.completeness",
        "answers.completeness_vital",
    }


def test_a_claim_that_quotes_three_facts_and_says_one_gives_one(judged):
    line, *_ = judged(row("연차는 첫해에 15일입니다."), supported(NOTE))
    assert [one["claim"] for one in line["labels"]["facts"]] == [1, None, None, None]
    whole = "연차는 첫해에 15일이고, 남은 연차는 5일까지 이월하며, 이월분은 3월 31일에 소멸합니다."
    line, *_ = judged(row(whole), supported(NOTE))
    assert line["metrics"]["completeness"] == 1.0


@pytest.mark.parametrize(
    ("answer", "given"),
    [
        ("재택근무는 팀장이 승인합니다.", [1, None]),
        ("재택근무는 팀장이 승인하고, 신청은 화요일까지 게시판에 합니다.", [1, 1]),
        ("The team lead approves it.", [1, 1]),  # in another language only numbers can be compared
    ],
)
def test_without_numbers_half_of_the_words_of_a_fact_tell_whether_it_is_given(
    judged, answer, given
):
    note = "재택근무는 팀장이 승인한다. 신청은 화요일까지 게시판에 한다."
    facts = [{"text": "재택근무는 팀장이 승인한다."}, {"text": "신청은 화요일까지 게시판에 한다."}]
    item = row(answer, facts) | {"context_notes": [{"title": "재택", "text": note}]}
    line, *_ = judged(item, supported(note))
    assert [one["claim"] for one in line["labels"]["facts"]] == given


def test_a_fact_of_no_note_is_told_and_counts_nowhere(judged):
    told = {"quote": "남은 연차는 5일까지 이월한다.", "what": "이월", "note": 1}
    line, summary, out = judged(
        row("연차는 첫해에 15일입니다.", FACTS[3:]), supported(FIRST), omissions=[told]
    )
    assert line["metrics"]["completeness"] == 1 / 2  # by what the model shows instead
    assert line["metrics"]["completeness_vital"] is None
    assert summary["omissions"] == {"proven": 1}
    warnings = json.loads((out / "run.json").read_text("utf-8"))["warnings"]
    assert sum('"labels.facts"' in warning for warning in warnings) == 1


def test_the_files_of_a_run_say_what_is_left_out_and_what_is_no_claim(judged):
    told = {"quote": "남은 연차는 5일까지 이월한다.", "what": "이월 한도", "note": 1}
    line, summary, out = judged(
        row("안녕하세요! 연차는 첫해에 15일입니다.", []),
        aside("courtesy"),
        supported(FIRST, 2),
        omissions=[told],
    )
    assert [(one["id"], one["role"]) for one in line["evaluation"]["asides"]] == [(1, "courtesy")]
    (left,) = line["evaluation"]["omissions"]
    assert left["what"] == "이월 한도"
    assert left["doubt"] is None
    assert left["evidence"]["status"] == "aligned"
    assert (summary["roles"], summary["vetoes"]) == ({"claim": 1, "courtesy": 1}, {})
    text = (out / "summary.md").read_text("utf-8")
    assert "| completeness | 0.50" in text
    assert "이월 한도" in text
    page = (out / "report.html").read_text("utf-8")
    assert all(word in page for word in ("completeness", "이월 한도", "courtesy"))


def test_a_comparison_tells_what_an_answer_has_come_to_leave_out():
    before = AnswerItem(
        id="a", question="q", evaluated=True, metrics={"correctness": 1.0, "completeness": 1.0}, unsupported=(),
        left_out=("pay",),
    )  # fmt: skip
    after = before.model_copy(
        update={"metrics": {"correctness": 1.0, "completeness": 0.5}, "left_out": ("pay", "days")}
    )
    change = AnswerComparison().change(before, after)
    assert change.gain == -0.5
    assert change.what.startswith("completeness 1.00 → 0.50")
    assert re.findall(r"days|pay", change.what) == ["days"]
