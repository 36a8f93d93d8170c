"""Answers: document 004."""

import json
import tomllib
from pathlib import Path

import gigamind
from demands.model import Equal, Field, Option, Section, row, shown
from gigamind.assets import asset
from gigamind.judges.search_qa.judgement import _confidence
from gigamind.records.judged import SearchQAEvaluation
from gigamind.service.answering import AskOptions

PACKAGE = Path(gigamind.__file__).parent
_ASKING = "service/test_asking.py::"
_PAGE = "e2e/browser/test_service_page.py::"
_ORDER = f"{_ASKING}test_a_search_answer_streams_in_the_order_of_the_seed_and_is_evaluated"
_NAMES = "judges/search_qa/test_judge.py::test_the_evaluation_has_the_fields_of_the_seed_under_their_names"
_PROVEN = "judges/search_qa/test_judge.py::test_correctness_is_the_share_of_claims_whose_quotes_stand_in_their_notes"


def _prompt(name: str) -> str:
    return (asset("prompts") / name / "ko.jinja").read_text("utf-8")


def _judge(name: str) -> dict[str, object]:
    return tomllib.loads((asset("judges") / name).read_text("utf-8"))


def _checklist() -> dict[str, object]:
    found = tomllib.loads((asset("judges") / "quality_gate.toml").read_text("utf-8"))["features"]
    return {
        "items": [item["ko"] for item in found["search_qa"]["items"]],
        "ratio": found["search_qa"]["min_pass_ratio"],
    }


def _phrase(name: str) -> object:
    return json.loads((PACKAGE / "locales" / "ko.json").read_text("utf-8"))["ai"][name]


def _static(name: str) -> str:
    return (PACKAGE / "service" / "static" / name).read_text("utf-8")


_PROMPTS = (
    row(
        6,
        "FastAPI (Python 3.12+) + React 19 + Vite + TailwindCSS + shadcn/ui + PostgreSQL 16 + pgvector",
    ),
    row(
        (26, 27, 28, 29),
        "반드시 제공된 노트 내용을 근거로 답변 … 출처 명시 ([노트 1], [노트 2]) … 관련 정보 없으면 솔직히 표시 … 추측 구분 표시",
        Equal(
            lambda: [
                said in _prompt("search_chat/v1")
                for said in ("반드시 노트에 적힌 내용만", "[노트 1]", "솔직히", "추측임을")
            ],
            [True] * 4,
        ),
        f"{_ASKING}test_a_question_that_nothing_matches_is_told_so_without_a_model",
        "tasks/answers/test_answering.py::test_a_model_answers_queries_from_the_notes_that_search_finds",
    ),
    row(
        32,
        "# [노트 1]\\n{note}\\n\\n[노트 2]\\n{note}",
        "llm/test_fences.py::test_each_note_stands_unchanged_between_its_tags",
    ),
    row(
        (39, 40),
        "클라이언트가 context 직접 전달 … 서버에서 `_search_and_fetch_notes()` 호출",
        Field(AskOptions, "context_notes"),
        Field(AskOptions, "mode"),
        f"{_ASKING}test_insight_that_searches_is_evaluated_and_other_features_are_not",
    ),
    row(
        (43, 44),
        "`FullTextSearchEngine`으로 상위 5개 노트 검색 … `content_text` 가져와서 12k chars까지 결합",
        Option("serve", "--context-notes", 5),
        Option("serve", "--context-chars", 12_000),
    ),
    row(45, "metadata에 note_id, title, score 포함", _ORDER),
    row(
        (53, 54, 55, 56, 58),
        "질문에 직접적으로 답변했는가? … 검색 결과를 근거로 활용했는가? … 출처(노트 제목 등)를 명시했는가? … 불확실한 부분을 솔직히 표시했는가? … min_pass_ratio=0.75",
        Equal(
            _checklist,
            {
                "items": [
                    "질문에 직접적으로 답변했는가?",
                    "검색 결과를 근거로 활용했는가?",
                    "출처(노트 제목 등)를 명시했는가?",
                    "불확실한 부분을 솔직히 표시했는가?",
                ],
                "ratio": 0.75,
            },
        ),
    ),
    *shown("""
        66-69 | event: metadata … data: {"chunk": ...} … data: [DONE] … event: quality | service/test_asking.py::test_a_search_answer_streams_in_the_order_of_the_seed_and_is_evaluated
        74-75 | `AIChat.tsx` … `NoteAIPanel.tsx` | e2e/browser/test_service_page.py::test_the_panel_asks_the_note_that_is_open_and_shows_passages_in_it
    """),
)

_EVALUATION = (
    row(
        (88, 220),
        "note_index: int … note_index: number",
        Field(SearchQAEvaluation, "source_coverage.note_index"),
    ),
    row(
        (89, 221),
        "note_title: str … note_title: string",
        Field(SearchQAEvaluation, "source_coverage.note_title"),
    ),
    row(
        (90, 222),
        "cited: bool … cited: boolean",
        Field(SearchQAEvaluation, "source_coverage.cited"),
        "judges/search_qa/test_judge.py::test_a_note_counts_as_cited_only_with_words_that_stand_in_it_and_in_the_answer",
    ),
    row(
        (91, 223),
        "relevant_claim: str … relevant_claim: string",
        Field(SearchQAEvaluation, "source_coverage.relevant_claim"),
    ),
    row(
        (95, 227, 149),
        "correctness: float    # 0.0~1.0 … correctness: number … 응답의 모든 주장이 context_notes에 근거하면 1.0",
        Field(SearchQAEvaluation, "correctness"),
        _PROVEN,
    ),
    row(
        (96, 228, 150),
        "utility: float        # 0.0~1.0 … utility: number … 직접적/완전한 답변이면 1.0, 부분 답변이면 감점",
        Field(SearchQAEvaluation, "utility"),
        "judges/search_qa/test_usefulness.py::test_an_abstention_is_useful_iff_nobody_says_that_the_notes_answer",
    ),
    row(
        (97, 229),
        "confidence: Literal[\"high\", \"medium\", \"low\"] … confidence: 'high' | 'medium' | 'low'",
        Field(SearchQAEvaluation, "confidence"),
    ),
    row(
        (98, 230, 151),
        "source_coverage: list[SourceCoverage] … source_coverage: SourceCoverage[] … 각 노트가 응답에서 인용/활용되었는지 판별",
        Field(SearchQAEvaluation, "source_coverage"),
    ),
    row(
        (99, 231, 152),
        "grounding_issues: list[str] … grounding_issues: string[] … context에 없는 주장(hallucination) 목록",
        Field(SearchQAEvaluation, "grounding_issues"),
        "judges/search_qa/test_judge.py::test_a_claim_without_proof_is_unverified_whatever_the_model_says",
    ),
    row((100, 232), "summary: str … summary: string", Field(SearchQAEvaluation, "summary"), _NAMES),
    *shown("""
        108-112 | question: str, … context_notes: list[str], … note_titles: list[str], … ai_response: str, … lang: str | judges/search_qa/test_judge.py::test_the_prompt_holds_notes_fenced_and_the_answer_as_json
        123-124, 161 | 2-1의 QualityGate와 **독립 모듈** … SearchQAEvaluator는 **추가 실행** … 기존 quality gate 이후 추가 | tasks/answers/test_checks.py::test_a_failed_check_leaves_the_evaluation_and_a_failed_evaluation_the_check
        134 | 원본 질문, 참조 노트 목록 (제목 + 요약), AI 응답 | judges/search_qa/test_judge.py::test_the_prompt_holds_notes_fenced_and_the_answer_as_json
        135 | 출력 형식 (JSON 강제) | llm/test_contract.py::test_the_request_states_a_strict_schema_and_all_parameters
        126 | context_notes가 없으면 평가 스킵 → `None` 반환 | judges/search_qa/test_judge.py::test_without_context_notes_there_is_no_evaluation_and_no_call | tasks/answers/test_run.py::test_a_run_judges_every_answer_and_says_what_it_found
        138-139, 141, 144-145 | "correctness": 0.85, … "utility": 0.9, … "note_index": 1, "cited": true … "grounding_issues": … "summary": | judges/search_qa/test_judge.py::test_the_evaluation_has_the_fields_of_the_seed_under_their_names
    """),
    row(
        (125, 361),
        "`temperature=0.1`, `max_tokens=768` … 평가 호출 1회 추가",
        Equal(
            lambda: [_judge("search_qa.toml")[name] for name in ("temperature", "max_tokens")],
            [0.1, 768],
        ),
        f"{_ASKING}test_one_answer_costs_one_evaluation_and_one_check_and_none_when_it_is_asked_again",
    ),
)

_SERVICE = (
    *shown("""
        173, 180 | quality_dict["qa_evaluation"] = qa_result.model_dump() … `quality: dict | None` 필드 내부에 `qa_evaluation` 키 추가 | service/test_asking.py::test_chat_holds_the_evaluation_within_the_quality
        176, 195, 206 | context_notes 정보를 평가 시점까지 보존 … search_qa + search 모드에서도 … eval_context_notes = opts | service/test_asking.py::test_context_notes_of_the_client_are_kept_with_their_titles_until_the_evaluation
        239, 245 | currentEvent === 'qa_evaluation' … return { ..., qaEvaluation } | e2e/browser/test_service_page.py::test_events_are_read_whatever_pieces_they_come_in
        255 | `high` → 초록 뱃지 + ShieldCheck 아이콘 | e2e/browser/test_service_page.py::test_each_level_has_its_colour_its_icon_and_its_words
        256 | `medium` → 주황 뱃지 + AlertTriangle 아이콘 | e2e/browser/test_service_page.py::test_three_levels_have_three_colours
        257 | `low` → 빨강 뱃지 + AlertOctagon 아이콘 | e2e/browser/test_service_page.py::test_each_level_has_its_colour_its_icon_and_its_words
        259-261 | **소스 커버리지** (클릭 펼침) … 인용됨 ✅ / 미인용 ⬜ … 인용된 주장 표시 | e2e/browser/test_service_page.py::test_sources_unfold_and_their_passages_are_marked_in_the_note
        264 | 빨간 텍스트로 hallucination 경고 | e2e/browser/test_service_page.py::test_issues_say_what_is_wrong_and_show_what_the_note_says
        266-268, 278-279 | **정확성/유용성 바** … 정확성 {(qaEvaluation.correctness * 100).toFixed(0)}% … 유용성 | e2e/browser/test_service_page.py::test_each_level_has_its_colour_its_icon_and_its_words
        272 | {qaEvaluation && !isStreaming && ( | e2e/browser/test_service_page.py::test_badges_come_only_when_the_answer_has_ended
        326, 349 | `frontend/src/locales/en.json` … 한국어 우선 | service/test_locales.py::test_both_languages_have_the_same_phrases_with_the_same_placeholders
    """),
    row((184, 187), "event: qa_evaluation … `event: quality` 이후에 전송", _ORDER),
    row(207, "titles는 context에서 추출 불가 → 빈 리스트", Field(AskOptions, "note_titles")),
    *(
        row(line, f'"{name}": "{word}"', Equal(lambda name=name: _phrase(name), word))
        for line, name, word in (
            (300, "qaCorrectness", "정확성"),
            (301, "qaUtility", "유용성"),
            (302, "qaConfidenceHigh", "높은 신뢰도"),
            (303, "qaConfidenceMedium", "보통 신뢰도"),
            (304, "qaConfidenceLow", "낮은 신뢰도"),
            (305, "qaSourceCoverage", "소스 활용"),
            (306, "qaSourceCited", "인용됨"),
            (307, "qaSourceNotCited", "미인용"),
            (308, "qaGroundingIssues", "근거 이슈"),
            (309, "qaNoIssues", "근거 문제 없음"),
        )
    ),
    row(
        346,
        "Light mode only",
        Equal(lambda: "color-scheme: light dark;" in _static("app.css"), expected=True),
    ),
)

_CAUTIONS = (
    row(
        356,
        "quality_gate_enabled=False면 둘 다 스킵",
        f"{_ASKING}test_with_the_quality_gate_off_nothing_is_judged",
        Option("eval answers", "--checklist", default=False),
    ),
    *shown("""
        357 | **context_notes 보존** | service/test_asking.py::test_context_notes_of_the_client_are_kept_with_their_titles_until_the_evaluation
        358 | insight, writing 등 다른 feature는 기존 동작 그대로 | service/test_asking.py::test_insight_that_searches_is_evaluated_and_other_features_are_not
        360 | AI 호출 실패 시 qa_evaluation=None, 원본 응답 정상 전달 | service/test_asking.py::test_a_judge_that_answers_rubbish_harms_nothing
    """),
    row(359, "`[DONE]` → `event: quality` → `event: qa_evaluation`", _ORDER),
    row(
        362,
        "correctness >= 0.8 AND utility >= 0.7 → high, correctness >= 0.5 → medium, else low",
        Equal(
            lambda: [
                _confidence(*pair, None)
                for pair in ((0.8, 0.7), (0.8, 0.69), (0.5, 0.0), (0.49, 1.0))
            ],
            ["high", "medium", "medium", "low"],
        ),
    ),
)


SECTIONS = (
    Section("004", "current", _PROMPTS),
    Section("004", "1-2", _EVALUATION),
    Section("004", "3-7", _SERVICE),
    Section("004", "cautions", _CAUTIONS),
)
