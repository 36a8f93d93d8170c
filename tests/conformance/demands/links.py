"""Link suggestions: section 10 of document 000."""

from demands.model import Equal, Field, Option, Section, row, shown
from gigamind.linking.suggest import LinkSuggestion, SuggestOptions

_INTERFACE = (
    *shown("""
        654 | 다른 노트로 연결할 수 있는 위치를 자동으로 제안 | linking/test_suggest.py::test_the_names_in_the_examples_give_exactly_these_suggestions
        694-697 | function suggestLinks( … notePath: string, … Promise<LinkSuggestion[]>; | test_library.py::test_the_examples_hold
    """),
    row(661, "anchor: string;", Field(LinkSuggestion, "anchor")),
    row(
        664,
        "anchorRange: {",
        Field(LinkSuggestion, "span"),
        "cli/test_suggest.py::test_json_carries_range_confidence_and_features",
    ),
    row(
        (665, 666),
        "start: number; … end: number;",
        Field(LinkSuggestion, "span.start"),
        Field(LinkSuggestion, "span.end"),
    ),
    row(670, "suggestedTarget: string;", Field(LinkSuggestion, "target")),
    row(
        673,
        "confidence: number;",
        Field(LinkSuggestion, "confidence"),
        "linking/test_quality.py::test_a_confidence_is_about_the_share_that_is_right",
    ),
    row(676, "reason?: string;", Field(LinkSuggestion, "reason")),
    row(
        681,
        "maxSuggestions?: number;  // 기본: 10",
        Equal(lambda: SuggestOptions().max_suggestions, 10),
        Option("suggest-links", "--max", 10),
    ),
    row(
        684,
        "minConfidence?: number;   // 기본: 0.3",
        Equal(lambda: SuggestOptions().min_confidence, 0.3),
        Option("suggest-links", "--min-confidence", 0.3),
    ),
    row(
        687,
        "excludeExisting?: boolean;  // 기본: true",
        Equal(lambda: SuggestOptions().exclude_existing, expected=True),
        Option("suggest-links", "--include-linked", default=False),
    ),
    row(
        690,
        "contextChars?: number;    // 기본: 200",
        Equal(lambda: SuggestOptions().context_chars, 400),
        Option("suggest-links", "--context-chars", 400),
    ),
)

_DOCUMENTS = "conformance/test_documents.py::test_"
_DEMANDS = (
    *shown("""
        703, 705 | 명사구, 고유명사, 기술 용어 추출 … 2~10 단어 길이의 의미있는 구문 선택 | linking/test_phrases.py::test_phrases_are_rows_of_nouns_without_particles
        704 | 기존 `[[wikilink]]` 위치는 제외 | linking/test_places.py::test_what_is_no_running_text_is_no_place
        708 | RAG 벡터 검색으로 유사 노트 찾기 | linking/test_meaning.py::test_a_phrase_means_the_note_whose_name_or_beginning_is_nearest
        709 | 노트 제목/헤더/별칭과의 유사도 계산 | linking/test_anchors.py::test_a_note_is_called_by_title_file_name_path_aliases_and_first_heading
        710 | Graph 연결 정보 활용 (있는 경우) | linking/test_near.py::test_notes_that_share_neighbours_are_near_and_those_of_few_links_count_most
        713-715 | 의미적 유사도 (임베딩 코사인) … 텍스트 매칭 점수 (제목/별칭 일치) … 문맥 적합성 점수 | linking/test_ranking.py::test_the_scores_shown_apart_are_the_parts_of_the_whole
        718 | 동일 대상에 대한 여러 앵커 중 최선 선택 | linking/test_suggest.py::test_each_target_comes_once_with_its_surest_anchor
        719 | 겹치는 앵커 범위 처리 | linking/test_suggest.py::test_whatever_a_draft_says_suggestions_are_apart_one_a_target_and_in_order
        729, 731-733 | Found 3 link suggestions: … "RAG 시스템" → [[RAG 아키텍처]] … Position: 145-152, Confidence: 0.87 … Reason: 직접적인 개념 참조 | cli/test_suggest.py::test_a_suggestion_reads_as_the_format_says | conformance/test_documents.py::test_suggestions_are_shown_as_in_the_example
        735, 739 | "벡터 검색" → [[LanceDB 통합]] … "지식 그래프" → [[Knowledge Graph 설계]] | linking/test_meaning.py::test_the_example_of_the_seed_gives_its_three_links | conformance/test_documents.py::test_suggestions_are_shown_as_in_the_example
        747-749 | `eval links` 명령어가 `suggestLinks()` 함수를 호출 … ground truth (`links.jsonl`)와 비교 … Precision@K, Recall@K, Novelty | tasks/links/test_run.py::test_five_notes_counted_by_hand | cli/test_eval_links.py::test_the_examples_run_from_vault_to_report_in_one_go
    """),
    row(
        724,
        "gigamind suggest-links --note projects/gigamind.md --max 10 --min-confidence 0.5",
        Option("suggest-links", "--note"),
        Option("suggest-links", "--max"),
        Option("suggest-links", "--min-confidence"),
    ),
)

SECTIONS = (
    Section("000", "10.1-10.2", _INTERFACE),
    Section("000", "10.3-10.5", _DEMANDS),
)
