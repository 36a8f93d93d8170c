"""Datasets, their labels and what may come: sections 3, 8 and 9 of document 000."""

from typing import get_args

from demands.model import Equal, Field, Section, row, shown
from gigamind.datasets.schema import Difficulty, ExpectedSpan, LinkItem, QueryItem
from gigamind.spans import Utf16
from gigamind.vault.identity import key

_ROWS = (
    row(127, "`id` (string): 쿼리 고유 ID", Field(QueryItem, "id")),
    row(128, "`query` (string): 사용자 질문", Field(QueryItem, "query")),
    row(129, "`answerable` (boolean): 답 존재 여부", Field(QueryItem, "answerable")),
    row(
        130,
        "`expected_notes` (array[string]): 정답 노트 ID/경로",
        Field(QueryItem, "expected_notes"),
    ),
    row(
        133,
        "`expected_spans` (array[ExpectedSpan]): 정답 근거 위치",
        Field(QueryItem, "expected_spans"),
    ),
    row(134, "`language` (string): `ko|en|...`", Field(QueryItem, "language")),
    row(
        135,
        "`difficulty` (string): `easy|mid|hard`",
        Field(QueryItem, "difficulty"),
        Equal(lambda: get_args(Difficulty), ("easy", "mid", "hard")),
    ),
    row(136, "`tags` (array[string])", Field(QueryItem, "tags")),
    row(
        137,
        "`created_at` (string, ISO8601)",
        Field(QueryItem, "created_at"),
        "datasets/test_jsonl.py::test_iso_8601_times_are_kept_as_written",
    ),
    row(143, "note_path: string;", Field(ExpectedSpan, "note_path")),
    row(144, "start: number;", Field(ExpectedSpan, "start")),
    row(145, "end: number;", Field(ExpectedSpan, "end")),
    row(146, "text?: string;", Field(ExpectedSpan, "text")),
    *shown("""
        150-152 | `start`, `end`는 노트 파일 내 0-based **UTF-16 code unit** 인덱스 … 반개구간(half-open interval) … JavaScript `String.prototype.slice(start, end)` 동작과 일치 | datasets/test_check.py::test_a_span_cut_by_utf16_units_is_the_text_that_javascript_slices
        154 | `text`가 있으면 실행 시 실제 내용과 비교하여 불일치 시 경고 | datasets/test_check.py::test_a_text_that_differs_is_a_warning_with_both_texts
        158-159 | "id":"q-001","query":"우리 팀의 승인 프로세스는?" … "id":"q-002" | datasets/test_jsonl.py::test_the_rows_of_the_specification_are_read
        182 | 기본 식별자는 **notesDir 기준 상대 경로** | vault/test_identity.py::test_every_path_means_its_own_note_and_its_key_means_some_note
        187 | `expected_links`가 제목만 들어온 경우, 파일명/Frontmatter 제목 매핑으로 resolve | vault/test_identity.py::test_a_name_leads_to_its_note
        194-197 | 정확한 상대 경로 일치 … Frontmatter `title` 필드 일치 … 파일명 일치 … 정규화된 키 일치 (첫 번째 매칭 사용) | vault/test_identity.py::test_the_rules_come_in_order
        200 | 경고 로그 출력 후 첫 번째 매칭 사용 | tasks/search/test_prepare.py::test_by_default_a_met_collision_is_a_warning_and_the_first_note_is_meant
        201 | `--strict` 모드: 에러로 처리, exit code 1 반환 | cli/test_evaluate_problems.py::test_a_collision_under_strict_ends_with_code_1_in_the_format_of_the_specification
        205-207 | [WARN] Note identifier collision: … (selected) … (ignored) | vault/test_identity.py::test_a_collision_selects_the_first_path_and_reads_as_specified
        220-221 | 질문 형태로 변환 … "프로젝트 구조" → "프로젝트 구조가 어떻게 되어 있나요?" | datasets/test_generate_queries.py::test_a_title_becomes_a_question_in_the_language_of_the_note
        222 | `answerable: true`, `expected_notes: [해당 노트]`로 자동 설정 | datasets/test_generate_queries.py::test_the_examples_give_valid_rows_in_several_shapes_and_equal_bytes
        235-238 | (원본 보존) … `[[wikilink]]` 추출 … 비율만큼 랜덤하게 링크 제거 … 제거된 링크 정보를 `--dataset`에 저장 | datasets/test_generate_links.py::test_every_link_to_another_note_can_be_removed_and_nothing_else | datasets/test_generate_links.py::test_the_ratio_is_a_share_of_the_links_and_one_at_least | datasets/test_generate_links.py::test_rows_are_read_back_without_a_warning
        244 | "anchor_range":{"start":145,"end":152} | datasets/test_generate_links.py::test_a_range_counts_utf16_units_of_the_changed_note
        628 | answerable = true인 경우 최소 1개 이상의 정답 노트를 명시 | datasets/test_check.py::test_an_answerable_query_needs_a_note
        629 | 우선순위 1개 + 보조 1개까지 | examples/test_examples.py::test_an_answerable_query_has_one_or_two_expected_notes_that_exist
        639 | 사용자 피드백 기반 온라인 메트릭(accept rate) 자동 수집 | service/test_guard.py::test_feedback_becomes_rows_that_evaluations_read_and_no_labels
        640-641 | 서브셋 평가 … 다국어 별도 스코어링 | tasks/search/test_figures.py::test_slices_hold_their_own_queries
    """),
    row(
        153,
        '"안녕" → length 2, "👋" (이모지) → length 2',
        Equal(lambda: (Utf16("안녕").length, Utf16("👋").length), (2, 2)),
    ),
    row(165, "`id` (string)", Field(LinkItem, "id")),
    row(166, "`source_note` (string): 평가 대상 노트 경로", Field(LinkItem, "source_note")),
    row(167, "`anchor` (string): 링크 제안 위치 식별자(문장/문단)", Field(LinkItem, "anchor")),
    row(168, "`expected_links` (array[string]): 기대 링크 대상", Field(LinkItem, "expected_links")),
    row(
        171,
        "`anchor_range` (object): `{start, end}` 문자 인덱스",
        Field(LinkItem, "anchor_range.start"),
        Field(LinkItem, "anchor_range.end"),
    ),
    row(172, "`context` (string): 주변 문맥", Field(LinkItem, "context")),
    row(
        173,
        "`language`, `tags`, `created_at`",
        *(Field(LinkItem, name) for name in ("language", "tags", "created_at")),
    ),
    row(177, '"id":"l-101"', "datasets/test_jsonl.py::test_the_rows_of_the_specification_are_read"),
    row(
        (183, 184, 185, 186),
        "대소문자 무시 … `.md` 확장자 제거 … 공백/언더스코어/하이픈 동일 취급",
        Equal(lambda: {key(name) for name in ("My Note.md", "my-note", "MY_NOTE")}, {"my note"}),
    ),
    row(
        223,
        "수동 검토 후 라벨 수정 권장",
        Field(QueryItem, "source"),
        "cli/test_generate.py::test_a_report_over_generated_queries_says_that_they_are_easier",
    ),
    row((632, 633), "anchor는 문장 단위로 지정 … 하나로 묶어 기대 링크에 포함"),
    row(642, "링크 제안의 설명(reason) 평가"),
)

SECTIONS = (Section("000", "3, 8, 9", _ROWS),)
