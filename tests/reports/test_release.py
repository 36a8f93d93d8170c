"""The comparison in summary.md, and in brief where CI shows it."""

import re

import pytest
from gate_policy import shipped
from gigamind.reports.comparison import render_comparison
from gigamind.reports.decision import brief, failed_brief

from gigamind.errors import NotesError
from gigamind.i18n import _, translator
from gigamind.release.compare import compare
from gigamind.release.comparison import LostItem, Mismatch, SpeedChange
from gigamind.release.gates import judge_release, speed_rule
from gigamind.release.policy import GateResult, RuleResult, explain, read_policy
from gigamind.reports.release import (
    Release,
    bounds_decision,
    decision_text,
    reason_texts,
    release_section,
    verdict_text,
    with_bounds,
    with_section,
)
from gigamind.tasks.search.compare import SearchComparison

EN, KO = translator("en"), translator("ko")


@pytest.fixture
def release(make_record, make_item, tmp_path):
    """Of 40 queries the first 20 lost their note, whose names are long and mean something to HTML and Markdown."""

    def run(rank):
        items = [
            make_item(
                id=f"q{n}",
                query=f"<b>질의 {n}</b> | " + "길다 " * 60,
                metrics={"hit_at_1": float(n >= 20 or rank), "mrr": float(n >= 20 or rank)},
            )
            for n in range(40)
        ]
        return SearchComparison().take_snapshot(make_record(items=items))

    (tmp_path / "gates.toml").write_text(shipped(), "utf-8")
    comparison = compare(run(1), run(0))
    policy = read_policy(tmp_path / "gates.toml")
    return Release(comparison, judge_release(comparison, policy, "mvp"))


def test_the_section_has_the_verdict_what_moved_and_which_items(release):
    text = release_section(release, EN)
    assert text.startswith(
        "## Compared with the baseline\n\n**Release gate failed** (MVP). 20 of 40 "
    )
    assert "| MRR | 1.000 | 0.500 | −0.500 | significantly worse |" in text
    assert "### Worse (20)" in text
    assert "- 15 more: see compare.md" in text
    assert "<b>" not in text


def test_the_section_speaks_korean(release):
    text = release_section(release, KO)
    assert "(MVP). 질의 40건 중 20건이 나빠졌고 개선된 것은 없습니다." in text
    assert "- MRR(search.mrr): 1.0000 → 0.5000" in text
    assert "0.03" in text
    assert "0.0250" in text


@pytest.mark.parametrize(
    ("lang", "told"),
    [
        ("en", ["❌ worse", "❌ missing", "⚠️ at its worst value in both runs"]),
        ("ko", ["❌ 악화", "❌ 값 없음", "⚠️ 두 실행 모두 가장 나쁜 값"]),
    ],
)
def test_a_row_is_called_worse_only_where_it_got_worse(release, lang, told):
    ends = [("drop", "failed"), ("gone", "failed"), ("worst", "warned")]
    values = {"metric": "search.mrr", "before": "0.5", "after": "0.4", "drop": "0.1", "limit": "0"}
    rules = [
        RuleResult(
            metric="search.mrr", status=status, baseline=0.5, current=0.4, limit=None,
            explanation="", why=why, values=values,
        )
        for why, status in ends
    ]  # fmt: skip
    gate = release.gate.model_copy(update={"rules": tuple(rules), "reasons": ()})
    text = render_comparison(release.comparison, gate, lang)
    rows = [line for line in text.splitlines() if re.match("\\| (❌|⚠️) ", line)]
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == told


def test_the_tables_of_a_korean_comparison_call_metrics_by_their_labels(release):
    rows = [
        line for line in render_comparison(*release, "ko").splitlines() if line.startswith("| ")
    ]
    assert any(row.startswith("| MRR (search.mrr) | 1.000 |") for row in rows)
    assert any("| 평가한 항목 |" in row for row in rows)
    assert not [row for row in rows if "coverage" in row]


def test_a_reason_in_korean_calls_what_a_rule_holds_by_its_name_and_options_as_they_are_typed():
    values = {"metric": "search_p95", "before": "1", "after": "9", "limit": "2"}
    slower = KO(explain("slower", ["more_allowed"], values))
    assert slower.startswith("질의 응답 시간(p95): 1 ms → 9 ms.")
    assert "[speed.search_p95]" in slower
    own = KO(explain("unmeasured", [], {"metric": "old.figure"}))
    assert own.startswith("old.figure: ")
    assert "MRR (search.mrr)" in explain("unmeasured", [], {"metric": "search.mrr"})


def test_the_decision_is_the_first_line_and_the_section_stands_before_the_first(release):
    text = with_section("# Run\n\nAll is well.\n\n## Ranking\n\nrows\n", release, EN)
    assert text.startswith(
        "# Run\n\n**Do not release. 20 of 40 queries got worse, none better.**\n\nAll is well."
        "\n\n## Compared with the baseline\n"
    )
    assert text.endswith("\n\n## Ranking\n\nrows\n")


@pytest.mark.parametrize(
    ("say", "title", "lost", "better"),
    [
        (KO, "❌ 검색 평가 · 릴리스하지 마십시오", "악화", "개선"),
        (EN, "❌ Search evaluation · Do not release", "Worse", "Better"),
    ],
)
def test_in_brief_the_verdict_comes_first_and_what_got_better_is_folded(
    release, say, title, lost, better
):
    gained = [c.model_copy(update={"change": "improved"}) for c in release.comparison.changes[:7]]
    changes = (*release.comparison.changes, *gained)
    comparison = release.comparison.model_copy(update={"changes": changes})
    text = brief("search", Release(comparison, release.gate), say)
    assert text.startswith(f"### {title}\n")
    shown, folded = text.split("<details>")
    assert "| ❌ | MRR | 1.000 | 0.500 | −0.500 |" in shown
    assert f"### {lost} (20)\n\n- **\\<b\\>질의 0\\</b\\>" in shown
    assert f"### {better} (7)" in folded
    assert folded.endswith("\n\n</details>\n")
    assert "->" not in text
    assert "\n\n\n" not in text


def test_in_brief_long_texts_are_cut_and_what_is_left_out_is_counted(release):
    wordy = release.gate.model_copy(
        update={"reasons": tuple(f"{n} " + "x" * 900 for n in range(20))}
    )
    text = brief("search", Release(release.comparison, wordy), EN)
    assert len(text) < 10_000
    assert "- 12 more: see compare.md" in text.split("<details>")[1]
    assert "- 15 more: see compare.md" in text.split("<details>")[0]


def test_in_brief_a_figure_that_no_gate_holds_is_folded_unless_there_is_no_verdict(release):
    def shown(gate):
        return brief("search", Release(release.comparison, gate), EN).split("<details>")[0]

    assert "| hit@1 |" in shown(release.gate)
    rules = tuple(rule for rule in release.gate.rules if rule.metric != "search.hit_at_1")
    assert "| hit@1 |" not in shown(release.gate.model_copy(update={"rules": rules}))
    refused = {"rules": (), "verdict": "not-comparable", "reasons": ("Other notes.",)}
    text = shown(release.gate.model_copy(update=refused))
    assert text.startswith(
        "### ❓ Search evaluation · Not comparable\n\n**Release gate: runs not comparable** (MVP)"
    )
    assert "- Other notes.\n" in text
    assert "| hit@1 |" in text


def test_in_brief_nobody_is_called_by_a_text_that_names_them(release):
    reasons = ("@team/all: see a@b.example",)
    told = brief(
        "search",
        Release(release.comparison, release.gate.model_copy(update={"reasons": reasons})),
        EN,
    )
    assert "- @\u200bteam/all: see a@b.example" in told


def test_a_run_without_a_verdict_says_in_brief_why(make_record):
    part = make_record().summary.overall
    assert brief("search", None, EN, part=part).startswith(
        "### ☑️ Search evaluation · Measured without a baseline\n\n| metric |"
    )
    refused = brief("search", None, KO, part=part, refused="3건 부족")
    assert refused.startswith("### ❌ 검색 평가 · 결과 없음\n\n- 3건 부족\n")
    assert "중단됨" in brief("search", None, KO, part=part, status="interrupted")
    error = NotesError("a.toml: cannot be read (Permission denied)\nb")
    text = failed_brief(error, "links", KO)
    assert text.startswith("### ❌ 링크 평가 · 실행하지 못함")
    assert text.endswith("- a.toml: cannot be read (Permission denied)\n- b\n\n")


def test_what_differs_is_told_in_korean_with_how_to_compare_all_the_same(release):
    mismatch = Mismatch(
        what="retrieval settings",
        severity="no-verdict",
        meaning=_("retrieval settings"),
        relaxed_by="settings",
        detail="topk 10 -> 5",
    )
    comparison = release.comparison.model_copy(update={"mismatches": (mismatch,)})
    gate = judge_release(comparison, read_policy(None), "mvp")
    assert reason_texts(gate, comparison, KO) == ["검색 설정"]
    assert reason_texts(gate, comparison, EN) == ["retrieval settings"]


def ungated(release):
    """The same runs, of whose metrics the gates hold none that got worse, and so pass."""
    passed = tuple(rule for rule in release.gate.rules if rule.status == "passed")
    update = {"verdict": "passed", "rules": passed, "reasons": ()}
    return Release(release.comparison, release.gate.model_copy(update=update))


def test_a_passed_gate_names_what_got_worse_that_no_gate_holds(release):
    found = ungated(release)
    verdict = verdict_text(found, KO)
    assert verdict.startswith("릴리스 게이트 통과 – ")
    assert verdict.endswith(": hit@1, MRR")
    assert verdict_text(release, KO) == "릴리스 게이트 실패"
    assert "경고" in decision_text(found, KO)
    assert "2 ungated metrics got worse: hit@1, MRR" in release_section(found, EN)
    assert f"**{verdict}** (MVP)" in render_comparison(found.comparison, found.gate, "ko")


@pytest.mark.parametrize(
    ("worse_in", "told"),
    [
        (None, "질의 40건 중 20건이 나빠졌고"),
        (("language", "ko"), "질의 40건 중 20건(모두 언어: ko)이"),
        (("tag", "결제"), "질의 40건 중 20건(모두 태그: 결제)이"),
    ],
)
def test_the_decision_names_the_slice_that_holds_all_that_got_worse(release, worse_in, told):
    comparison = release.comparison.model_copy(update={"worse_in": worse_in})
    said = decision_text(Release(comparison, release.gate), KO)
    assert said.startswith(f"릴리스하지 마십시오. {told} ")


def test_the_decision_names_first_what_is_lost_where_nothing_else_got_worse(release):
    comparison = release.comparison
    items = [LostItem.like(change) for change in comparison.changes[:11]]
    better = [change.model_copy(update={"change": "improved"}) for change in comparison.changes]
    update = {"lost": tuple(items), "changes": tuple(better)}
    lost = Release(comparison.model_copy(update=update), release.gate)
    assert decision_text(lost, EN) == (
        "Do not release. 11 queries of the baseline could not be evaluated."
        " 20 of 40 queries got better, none worse."
    )
    assert decision_text(lost, KO).startswith("릴리스하지 마십시오. 기준 실행의 질의 11건")


@pytest.mark.parametrize(
    ("statuses", "verdict", "en", "ko"),
    [
        (
            ("failed", "passed"),
            "failed",
            "Do not release. 1 of 2 floors and ceilings are not met.",
            "릴리스하지 마십시오. 절대 기준 2개 중 1개를 충족하지 못했습니다.",
        ),
        (
            ("passed", "passed"),
            "passed",
            "All 2 floors and ceilings are met.",
            "절대 기준 2개를 모두 충족했습니다.",
        ),
    ],
)
def test_a_run_that_is_compared_with_nothing_says_how_many_bounds_it_misses(
    statuses, verdict, en, ko
):
    values = {"metric": "search.mrr", "after": "0.7", "limit": "0.9"}
    rules = tuple(
        RuleResult(
            metric="search.mrr", status=status, baseline=None, current=0.7, limit=0.9,
            explanation=explain("floor", (), values), why="floor", values=values,
        )
        for status in statuses
    )  # fmt: skip
    bounds = GateResult(phase="mvp", verdict=verdict, rules=rules, reasons=())
    assert bounds_decision(bounds, EN) == en
    text = with_bounds("# 검색 평가\n\n모두\n", bounds, KO)
    assert text.startswith(f"# 검색 평가\n\n**{ko}**\n")
    assert text.endswith("\n\n모두\n")
    assert ("- MRR(search.mrr): 0.7. 기준 실행과" in text) is (verdict == "failed")


def test_runs_that_cannot_be_compared_have_no_decision_but_that(release):
    refused = GateResult(phase="mvp", verdict="not-comparable", rules=(), reasons=("x",))
    told = decision_text(Release(release.comparison, refused), EN)
    assert told == "Not comparable."


def test_what_no_gate_could_hold_is_named_and_a_skipped_row_says_why(release):
    text = render_comparison(*release, "ko")
    assert ": nDCG@10, 재현율@10, 답 없음: F1" in text
    assert "| – 두 실행 모두 측정하지 않음 | nDCG@10 (search.ndcg_at_10) | – | – | – |" in text


def test_the_row_of_speed_shows_what_is_held_which_is_not_the_p95(release):
    change = SpeedChange(
        name="search_p95", baseline_ms=40, current_ms=90, ratio=1.02, low=0.99, high=1.05,
        passes=8, baseline_passes=8, query_ms=10,
    )  # fmt: skip
    rule = speed_rule(change, read_policy(None).speed.search_p95)
    gate = release.gate.model_copy(update={"rules": (rule,)})
    text = render_comparison(release.comparison, gate)
    assert "| 1.00 | 1.02 | ≤ 1.15 |" in text
