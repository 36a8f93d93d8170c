"""Command line: section 2 of document 000."""

import tomllib

from demands.model import REQUIRED, Equal, Option, Section, row, shown
from gigamind.assets import asset
from gigamind.errors import EvaluationError, IndexingError, InputError, NotesError

_THRESHOLD = "unanswerable_threshold.toml"


def _min_score() -> object:
    return tomllib.loads((asset("judges") / _THRESHOLD).read_text("utf-8"))["min_score"]


_COMMON = (
    row(37, "gigamind eval <task> [options]", Option("eval search", "--dataset")),
    row(
        41,
        "`--dataset <path>`: JSONL 데이터셋 경로 (필수)",
        Option("eval search", "--dataset", REQUIRED),
        Option("eval links", "--dataset", REQUIRED),
    ),
    row(
        42,
        "`--notes <dir>`: 평가용 vault 경로 (필수)",
        Option("eval links", "--notes", REQUIRED),
        Option("eval search", "--notes"),
    ),
    row(
        43,
        "`--out <dir>`: 결과 저장 경로 (기본: `eval/out/YYYYMMDD-HHMMSS`)",
        Option("eval search", "--out", None),
        "cli/test_evaluate.py::test_without_out_the_results_stand_under_eval_out",
        "tasks/search/test_evaluate.py::test_without_a_name_the_out_folder_is_named_by_the_time",
    ),
    row(
        44,
        "`--format <json|md|both>`: 리포트 형식 (기본: `both`)",
        Option("eval search", "--format", "both", ("json", "md", "both")),
        Option("eval links", "--format", "both", ("json", "md", "both")),
    ),
    row(
        45,
        "`--seed <int>`: 난수 시드 (기본: 42)",
        Option("eval search", "--seed", 42),
        Option("eval links", "--seed", 42),
    ),
    row(
        46,
        "`--sample <n|ratio>`: 샘플링 비율/개수 (기본: 전체)",
        Option("eval search", "--sample", None),
        "datasets/test_sample.py::test_whole_numbers_are_counts_and_the_rest_ratios",
    ),
    row(
        (47, 48, 49),
        "`--warmup <n>`: 워밍업 샘플 수 (기본: 10) … `--timeout-ms <int>`: 쿼리 타임아웃 (기본: 15000)"
        " … `--max-concurrency <int>`: 병렬 실행 제한 (기본: 4)",
        Option("eval search", "--warmup", 10),
        Option("eval search", "--timeout-ms", 15_000),
        Option("eval search", "--max-concurrency", None),
    ),
    row(
        50,
        "`--strict`: 스키마 오류 시 즉시 실패",
        Option("eval search", "--strict", default=False),
        "cli/test_evaluate_problems.py::test_a_broken_row_under_strict_ends_with_code_1",
    ),
    row(
        51,
        "`--dry-run`: 데이터셋/노트 검증만 수행",
        Option("eval search", "--dry-run", default=False),
        "cli/test_evaluate_problems.py::test_a_dry_run_counts_and_writes_nothing",
    ),
    row(
        52,
        "`--save-snapshot`: 결과 스냅샷 저장",
        Option("eval search", "--save-snapshot", default=False),
        "e2e/test_golden.py::test_the_out_folder_of_a_link_run_holds_the_files_of_the_golden_one",
    ),
    row(
        53,
        "`--compare <snapshot.json>`: 기준 스냅샷과 비교 리포트 생성",
        Option("eval search", "--compare", None),
    ),
    row(
        54,
        "`--fail-on-regression`: 회귀 기준 충족 시 non-zero exit code",
        Option("eval search", "--fail-on-regression", default=False),
        "cli/test_compare.py::test_a_damaged_vault_stops_the_release_and_names_the_queries",
    ),
    row(
        55,
        "`--notes-hash-mode <content|mtime>`: vault 해시 계산 방식 (기본: `content`)",
        Option("eval search", "--notes-hash-mode", "content", ("content", "mtime")),
        "vault/test_fingerprint.py::test_the_content_hash_is_the_documented_one",
        "vault/test_fingerprint.py::test_modification_times_stand_for_content_in_mtime_mode",
    ),
    *shown("""
        58 | `0`: 성공 | cli/test_evaluate.py::test_a_run_prints_its_figures_and_where_the_report_is
        62 | `4`: 회귀 감지 (fail-on-regression 활성화) | cli/test_compare.py::test_a_damaged_vault_stops_the_release_and_names_the_queries
    """),
    row(59, "`1`: 입력 검증 실패", Equal(lambda: InputError.exit_code, 1)),
    row(
        60,
        "`2`: 노트 접근/인덱싱 실패",
        Equal(lambda: (NotesError.exit_code, IndexingError.exit_code), (2, 2)),
    ),
    row(61, "`3`: 평가 실행 실패", Equal(lambda: EvaluationError.exit_code, 3)),
)

_OF_TASKS = (
    row(
        72,
        "`--mode <semantic|hybrid|keyword>`: 검색 모드 (기본: `hybrid`)",
        Option("eval search", "--mode", "hybrid", ("semantic", "hybrid", "keyword")),
    ),
    row(73, "`--topk <int>`: 결과 수 (기본: 10)", Option("eval search", "--topk", 10)),
    row(
        74,
        "`--min-score <float>`: 최소 관련도 임계값 (기본: 0.3)",
        Option("eval search", "--min-score", None),
        Equal(_min_score, 0.3),
    ),
    row(
        75,
        "`--graph-rerank`: 그래프 리랭킹 활성화 (기본: OFF)",
        Option("eval search", "--graph-rerank", default=False),
    ),
    row(
        76,
        "`--cold-start`: 캐시 무시/초기 상태에서 평가",
        Option("eval search", "--cold-start", default=False),
        "retrieval/test_prepare.py::test_a_cold_start_trusts_no_vector_and_no_index_of_an_earlier_run",
    ),
    row(
        77,
        "`--unanswerable-mode <threshold|llm>`: Unanswerable 판정 방식 (기본: `threshold`)",
        Option("eval search", "--unanswerable-mode", "threshold", ("threshold", "llm")),
    ),
    *shown("""
        86 | `generate-links --out-notes`로 생성된 수정된 vault를 사용해야 합니다 | cli/test_eval_links.py::test_the_original_vault_draws_a_warning
        118, 240 | 원본 vault는 수정되지 않습니다 … 읽기 전용입니다 | datasets/test_generate_links.py::test_the_original_keeps_its_hash_and_attachments_arrive
    """),
    row(89, "`--topk <int>`: 제안 링크 수 (기본: 5)", Option("eval links", "--topk", 5)),
    row(
        90,
        "`--min-confidence <float>`: 제안 신뢰도 임계값 (기본: 0.0)",
        Option("eval links", "--min-confidence", 0.0),
    ),
    row(
        91,
        "`--context-chars <int>`: 주변 문맥 길이 (기본: 400)",
        Option("eval links", "--context-chars", 400),
    ),
    row(
        101,
        "`--notes <dir>`: 소스 vault 경로 (필수)",
        Option("eval generate-queries", "--notes", REQUIRED),
    ),
    row(
        102,
        "`--out <path>`: 출력 JSONL 경로 (필수)",
        Option("eval generate-queries", "--out", REQUIRED),
    ),
    row(
        103,
        "`--max-per-note <int>`: 노트당 최대 쿼리 수 (기본: 3)",
        Option("eval generate-queries", "--max-per-note", 3),
    ),
    row(
        104,
        "`--include-headers`: H1~H3 헤더에서도 쿼리 생성 (기본: 제목만)",
        Option("eval generate-queries", "--include-headers", default=False),
        "datasets/test_generate_queries.py::test_headings_are_asked_about_only_when_included_and_never_without_the_title",
    ),
    row(
        108,
        "gigamind eval generate-links --notes <dir> --out-notes <dir> --dataset <path>",
        Option("eval generate-links", "--out-notes", REQUIRED),
    ),
    row(
        112,
        "`--notes <dir>`: 소스 vault 경로 (필수, 읽기 전용)",
        Option("eval generate-links", "--notes", REQUIRED),
        "datasets/test_generate_links.py::test_the_original_keeps_its_hash_and_attachments_arrive",
    ),
    row(
        113,
        "`--out-notes <dir>`: 수정된 vault 복사본 경로 (필수)",
        Option("eval generate-links", "--out-notes", REQUIRED),
    ),
    row(
        114,
        "`--dataset <path>`: 출력 JSONL 경로 (필수)",
        Option("eval generate-links", "--dataset", REQUIRED),
    ),
    row(
        115,
        "`--remove-ratio <float>`: 제거할 링크 비율 (기본: 0.3)",
        Option("eval generate-links", "--remove-ratio", 0.3),
    ),
    row(
        116,
        "`--seed <int>`: 랜덤 시드 (기본: 42)",
        Option("eval generate-links", "--seed", 42),
        "datasets/test_generate_links.py::test_equal_seeds_give_equal_bytes_and_another_seed_other_links",
    ),
)

SECTIONS = (
    Section("000", "2.1", _COMMON),
    Section("000", "2.2-2.4", _OF_TASKS),
)
