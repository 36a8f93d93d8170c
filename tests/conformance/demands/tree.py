"""What no single line asks for: where things stand."""

from demands.model import Repeats, Section, row, shown

SECTIONS = (
    Section(
        "000",
        "0-1",
        (
            *shown("""
        14 | 검색 평가 (search) | RAG 시스템 (임베딩 + 벡터 검색) | retrieval/test_fuse.py::test_the_ranking_over_the_real_engine_is_that_of_scoring_every_chunk
        15 | 링크 평가 (links) | 자동 링크 제안 기능 | cli/test_eval_links.py::test_the_examples_run_from_vault_to_report_in_one_go
        23 | “구현 완료”를 “성공 기준 달성”으로 | release/test_gates.py::test_floors_and_ceilings_hold_whatever_the_baseline_was
        24 | 동일 입력에서 동일 결과를 내는 deterministic 옵션 제공 | evaluation/test_options.py::test_a_deterministic_run_draws_nothing_and_asks_nothing_twice | tasks/search/test_evaluate.py::test_two_runs_differ_in_times_only_whatever_the_concurrency
        25 | 실제 사용자가 묻는 질문/링크 패턴을 반영 | cli/test_generate.py::test_a_report_over_generated_queries_says_that_they_are_easier | service/test_guard.py::test_feedback_becomes_rows_that_evaluations_read_and_no_labels
        26 | 평가 데이터셋/노트는 로컬 파일로 관리 | retrieval/test_prepare.py::test_the_default_search_needs_no_network_and_only_its_own_libraries
    """),
            row(28, "`eval-benchmark-plan.md`에 정의합니다", Repeats("000", 601)),
        ),
    ),
)
