"""The comparison in summary.md and in the summary of a CI job."""

import pytest
from gate_policy import shipped

from gigamind.records.schema import IntervalReport
from gigamind.release.compare import compare
from gigamind.release.gates import judge_release
from gigamind.release.mismatch import Mismatch
from gigamind.release.policy import read_policy
from gigamind.reports.release import (
    MOST_BYTES,
    Release,
    mismatch_told,
    reasons_told,
    release_section,
    step_summary,
    with_section,
)
from gigamind.tasks.search.compare import SearchComparison
from gigamind.wording import words

EN, KO = words("en"), words("ko")


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
    policy = read_policy(tmp_path / "gates.toml", "mvp")
    return Release(comparison, judge_release(comparison, policy, "mvp"))


def test_the_section_has_the_verdict_what_moved_and_which_items(release):
    text = release_section(release, EN)
    assert text.startswith(
        "## Against the baseline\n\n**Release gate failed** (MVP). Of 40 queries"
    )
    assert "20 got worse and 0 better" in text
    assert "| MRR | 1.000 | 0.500 | −0.500 | surely worse |" in text
    assert "### Worse (20)" in text
    assert "- 15 more: see compare.md" in text
    assert "<b>" not in text


def test_the_section_speaks_korean(release):
    text = release_section(release, KO)
    assert "**출시 게이트 실패** (MVP). 두 실행이 모두 평가한 질의 40건 중 20건이 나빠지고" in text
    assert "0.5000만큼 나빠졌습니다. 허용치는 0.03입니다 (N = 40, 작은 표본)." in text


def test_the_section_stands_before_the_first_of_the_summary(release):
    text = with_section("# Run\n\nAll is well.\n\n## Ranking\n\nrows\n", release, EN)
    assert text.startswith("# Run\n\nAll is well.\n\n## Against the baseline\n")
    assert text.endswith("\n\n## Ranking\n\nrows\n")


def test_the_summary_of_a_job_is_folded_and_bounded(release, make_record):
    part = make_record().summary.overall
    text = step_summary("search", part, release, KO)
    assert text.startswith("<details><summary>검색 평가 · 출시 게이트 실패 · ")
    assert text.endswith("</details>\n\n")
    assert len(text.encode()) <= MOST_BYTES
    assert "출시 게이트" not in step_summary("search", part, None, KO)


def test_a_summary_that_is_too_long_is_cut_at_a_line_and_still_closed(release, make_record):
    part = make_record().summary.overall
    many = {f"search.hit_at_{k}": IntervalReport(low=0, high=1, n=9) for k in range(1, 9)}
    wordy = release.gate.model_copy(update={"reasons": ("x" * 7_000,)})
    part = part.model_copy(update={"intervals": part.intervals | many})
    text = step_summary("search", part, Release(release.comparison, wordy), EN)
    assert len(text.encode()) <= MOST_BYTES
    assert text.endswith("\n\n</details>\n")
    assert "xxx" not in text


def test_what_differs_is_told_in_korean_with_how_to_compare_all_the_same(release):
    mismatch = Mismatch(
        what="retrieval settings",
        severity="no-verdict",
        meaning="Retrieval was set differently.",
        relaxed_by="settings",
        detail="topk 10 -> 5",
    )
    told = mismatch_told(mismatch, "search", KO)
    assert told.startswith(
        "두 실행의 검색 설정이 달라 같은 시스템으로 볼 수 없습니다. 새 기준 실행이 필요합니다. (topk 10 -> 5)"
    )
    assert 'relax = ["settings"]' in told
    comparison = release.comparison.model_copy(update={"mismatches": (mismatch,)})
    gate = judge_release(comparison, read_policy(None, "mvp"), "mvp")
    assert reasons_told(gate, comparison, KO) == [told]
    assert reasons_told(gate, comparison, EN) == ["Retrieval was set differently."]
