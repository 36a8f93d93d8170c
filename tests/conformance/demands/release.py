"""Reports, snapshots and regressions: sections 6 and 7 of document 000."""

from datetime import datetime

from demands.model import Equal, Field, Option, Section, Written, row, shown
from gigamind.choices import Phase
from gigamind.records.schema import RUN_ID_FORMAT, Environment, RunReport
from gigamind.release.model import EvalSnapshot
from gigamind.release.policy import Policy, SpeedRule
from gigamind.tasks.links.schema import LinkSummaryReport
from gigamind.tasks.search.schema import SummaryReport
from gigamind.vault.notes import DEFAULT_EXCLUDES

_SEARCH, _LINKS, _SNAPSHOT = "out/summary.json", "links/summary.json", "links/snapshot.json"


_CONFIG = "conformance/test_snapshots.py::test_a_snapshot_names_the_task_and_the_score_in_effect"


def _drop(phase: Phase) -> float:
    return Policy.read(None).phases[phase].drop


def _policy() -> Policy:
    return Policy.read(None)


def _limit(name: str) -> SpeedRule:
    return getattr(_policy().speed, name)


_FILES = (
    row(
        479,
        "run.json              # 실행 메타데이터 (버전, 모델, 옵션)",
        Field(RunReport, "environment.app_version"),
        Field(RunReport, "judge.model"),
        Written("out/run.json", "options.seed"),
    ),
    row(480, "summary.json          # 전체 메트릭", Written(_SEARCH, "overall")),
    *shown("""
        481 | summary.md            # 사람이 읽기 좋은 요약 | e2e/test_golden.py::test_the_out_folder_holds_the_files_of_the_golden_one
        483 | errors.jsonl          # 실패 케이스 | tasks/search/test_score.py::test_a_query_that_fails_is_listed_and_stands_in_no_mean
        485 | compare.md            # 비교 리포트 (--compare) | cli/test_compare.py::test_a_damaged_vault_stops_the_release_and_names_the_queries
        489 | 주요 메트릭 테이블 | reports/test_search_view.py::test_metrics_have_their_intervals_in_the_order_of_rank
        490 | 실패 상위 사례 10개 | reports/test_search_view.py::test_the_worst_comes_first_and_equals_keep_the_order_of_the_dataset | reports/test_search_view.py::test_ten_failures_are_listed_of_all
        491 | 회귀/개선 요약 | reports/test_verdict.py::test_a_failed_verdict_names_the_worst_drop_its_limit_and_the_items
    """),
    row(
        482,
        "per_item.jsonl        # 각 쿼리/링크 결과",
        Written("out/per_item.jsonl", "query"),
        Written("links/per_item.jsonl", "expected.0.anchor"),
    ),
    row(
        484,
        "snapshot.json         # 회귀 비교용 스냅샷 (--save-snapshot)",
        Written(_SNAPSHOT, "items"),
    ),
)

_SUMMARY = (
    row(497, "search?: {", Written(_SEARCH, "overall.search")),
    *(
        row(line, f"{name}?: number;", Written(_SEARCH, f"overall.search.{name}"))
        for line, name in enumerate(
            (
                "hit_at_1",
                "mrr",
                "ndcg_at_10",
                "recall_at_10",
                "latency_p50_ms",
                "latency_p95_ms",
                "span_precision",
                "span_recall",
            ),
            start=498,
        )
    ),
    row(507, "unanswerable?: {", Written(_SEARCH, "overall.unanswerable")),
    *(
        row(line, f"{name}?: number;", Written(_SEARCH, f"overall.unanswerable.{name}"))
        for line, name in enumerate(("precision", "recall", "f1", "far"), start=508)
    ),
    row(513, "links?: {", Written(_LINKS, "overall.links")),
    *(
        row(line, f"{name}?: number;", Written(_LINKS, f"overall.links.{name}"))
        for line, name in enumerate(
            ("precision_at_5", "recall_at_5", "novelty_at_5", "acceptance_proxy"), start=514
        )
    ),
    row(522, "overall: SummarySlice;", Field(SummaryReport, "overall")),
    row(
        523,
        "by_language?: { [lang: string]: SummarySlice };",
        Written(_SEARCH, "by_language.ko.search.mrr"),
        Written(_LINKS, "by_language.ko.links.recall_at_5"),
    ),
    row(524, "cross_lingual?: SummarySlice;", Written(_SEARCH, "cross_lingual")),
    row(525, "performance?: {", Field(SummaryReport, "performance")),
    row(526, "cold_start_ms?: number;", Field(SummaryReport, "performance.cold_start_ms")),
    row(
        527,
        "eval_runtime_ms?: number;",
        Field(SummaryReport, "performance.eval_runtime_ms"),
        Field(LinkSummaryReport, "performance.eval_runtime_ms"),
    ),
    row(529, "counts?: {", Field(SummaryReport, "counts")),
    row(530, "queries_total: number;", Written(_SEARCH, "counts.queries_total")),
    row(531, "queries_answerable?: number;", Written(_SEARCH, "counts.queries_answerable")),
    row(532, "queries_unanswerable?: number;", Written(_SEARCH, "counts.queries_unanswerable")),
    row(533, "links_total?: number;", Written(_LINKS, "counts.links_total")),
    row(
        (539, 540),
        "블록은 생략될 수 있습니다 … snake_case를 권장하며, 필요 시 확장 가능합니다",
        "metrics/test_spec.py::test_every_metric_that_a_room_computes_stands_in_the_table_under_one_name",
    ),
)

_SNAPSHOTS = (
    row(549, 'version: "1.0";', Written(_SNAPSHOT, "version"), Field(EvalSnapshot, "version")),
    row(550, "created_at: string;", Field(EvalSnapshot, "created_at")),
    row(
        551,
        "run_id: string;",
        Field(EvalSnapshot, "run_id"),
        Equal(lambda: datetime(2026, 1, 2, 3, 4, 5).strftime(RUN_ID_FORMAT), "20260102-030405"),  # noqa: DTZ001
    ),
    row(
        554,
        "dataset_hash: string;",
        Field(EvalSnapshot, "dataset_hash"),
        "datasets/test_jsonl.py::test_the_hash_is_that_of_the_bytes",
    ),
    row(555, "notes_hash: string;", Field(EvalSnapshot, "notes_hash")),
    row(556, 'notes_hash_mode: "content" | "mtime";', Field(EvalSnapshot, "notes_hash_mode")),
    row(559, "environment: {", Field(EvalSnapshot, "environment")),
    row(560, "app_version: string;", Field(Environment, "app_version")),
    row(561, "git_commit?: string;", Field(EvalSnapshot, "environment.git_commit")),
    row(562, "embedding_model: string;", Field(EvalSnapshot, "environment.embedding_model")),
    row(563, "rag_schema_version: string;", Field(EvalSnapshot, "environment.rag_schema_version")),
    row(567, "config: {", Field(EvalSnapshot, "config")),
    row(568, 'task: "search" | "links";', Written(_SNAPSHOT, "config.task"), _CONFIG),
    row(569, "mode?: string;", _CONFIG),
    row(570, "topk: number;", Written(_SNAPSHOT, "config.topk"), _CONFIG),
    row(571, "min_score: number;", _CONFIG),
    row(572, "unanswerable_mode?: string;", _CONFIG),
    row(
        577,
        "metrics: SummaryReport;",
        Field(EvalSnapshot, "metrics"),
        Written(_SNAPSHOT, "metrics.overall.links"),
    ),
    row(
        (582, 583, 584, 585, 586, 587),
        "`.git/` … `.gigamind/` … `eval/` … `node_modules/` … `.DS_Store` … `*.tmp`, `*.swp`",
        Equal(
            lambda: set(DEFAULT_EXCLUDES),
            {".git/", ".gigamind/", "node_modules/", ".DS_Store", "*.tmp", "*.swp"},
        ),
        "vault/test_walk.py::test_the_default_patterns_are_those_of_the_specification_but_notes_in_eval_are_notes",
    ),
    row(
        589,
        "`--notes-hash-exclude` 옵션으로 지정 가능합니다",
        Option("eval search", "--notes-hash-exclude"),
        "vault/test_fingerprint.py::test_patterns_of_the_user_come_on_top_of_the_default_ones",
    ),
    *shown("""
        592 | `dataset_hash` 불일치 시 경고 | cli/test_compare.py::test_another_dataset_is_an_error_that_junit_tells_too
        593 | `notes_hash` 불일치 시 경고 | release/test_gates.py::test_runs_of_other_notes_hardware_or_settings_get_a_verdict_only_where_the_policy_says_so
        594 | `rag_schema_version` 불일치 시 경고 | release/test_compare.py::test_each_difference_of_the_runs_is_named
        595 | `embedding_model` 불일치 시 에러: 비교 불가 | release/test_compare.py::test_different_embedding_models_are_compared_and_refused_by_gates
    """),
)

_REGRESSIONS = (
    *shown("""
        601 | `eval-benchmark-plan.md`를 source of truth로 | release/test_gates.py::test_the_policy_that_comes_with_gigamind_has_the_seeds_figures
        621 | `--fail-on-regression` 사용 시 exit code 4 반환 | cli/test_eval_links.py::test_in_beta_worse_links_stop_the_release
    """),
    row(
        (604, 605),
        "`dataset_hash`, `notes_hash`, `hardware`가 모두 동일해야 비교 가능 … 새 baseline 필요",
        Field(EvalSnapshot, "hardware.hash"),
    ),
    row(608, "MVP: > 0.02", Equal(lambda: _drop("mvp"), 0.02)),
    row(609, "Beta: > 0.015", Equal(lambda: _drop("beta"), 0.015)),
    row(
        610,
        "GA: > 0.01",
        Equal(lambda: _drop("ga"), 0.01),
        "release/test_gates.py::test_each_phase_from_both_sides_of_its_drop",
    ),
    row(
        611,
        "N < 200인 경우 모든 phase에서 최대 0.03 허용",
        Equal(lambda: (_policy().small_sample.below, _policy().small_sample.drop), (200, 0.03)),
        "release/test_gates.py::test_below_200_items_a_drop_of_003_is_allowed_in_every_phase",
    ),
    row(
        614,
        "Search p95: +15% 또는 +0.2s 초과 시 실패",
        Equal(lambda: (_limit("search_p95").ratio, _limit("search_p95").rise_ms), (1.15, 200)),
        "release/test_gates.py::test_p95_and_cold_start_from_both_sides_of_their_limits",
    ),
    row(
        615,
        "Cold start: +20% 또는 +2m 초과 시 실패",
        Equal(lambda: (_limit("cold_start").ratio, _limit("cold_start").rise_ms), (1.2, 120_000)),
        "release/test_gates.py::test_p95_and_cold_start_from_both_sides_of_their_limits",
    ),
    row(
        (618, 619),
        "MVP: soft warning … Beta/GA: hard gate",
        Equal(
            lambda: {name: rules.soft for name, rules in _policy().phases.items()},
            {"mvp": ("links",), "beta": (), "ga": ()},
        ),
        "release/test_gates.py::test_links_are_soft_in_mvp_and_hard_afterwards",
    ),
)

SECTIONS = (
    Section("000", "6", _FILES),
    Section("000", "6.1", _SUMMARY),
    Section("000", "6.2", _SNAPSHOTS),
    Section("000", "7", _REGRESSIONS),
)
