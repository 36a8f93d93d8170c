"""Metrics and the way to them: sections 4 and 5 of document 000."""

import numpy as np

from demands.model import Equal, Field, Option, Section, Written, row, shown
from gigamind.judges.unanswerable import ThresholdJudge
from gigamind.judges.unanswerable_llm import UnanswerableReply
from gigamind.metrics.answerability import Confusion
from gigamind.metrics.spans import Unplaced, matches
from gigamind.retrieval.fuse import Fusion, relative
from gigamind.retrieval.hit import Hit
from gigamind.retrieval.keyword import KeywordIndex
from gigamind.retrieval.settings import DEFAULT_ALPHA, RetrievalSettings
from gigamind.spans import Passage, Span
from gigamind.tasks.search.schema import HitReport
from gigamind.text import jaccard, plain

_BOOSTED = Fusion.of(RetrievalSettings(graph_rerank=True), np.array([0.0, 0.5, 1.0]))
_COUNTS = Confusion(tp=3, fp=1, fn=2, tn=4)
_TEXTS = ("backup every night", "lunch menu", "backup of the lunch menu")


def _hybrid(semantic: float, keyword: float) -> float:
    """The joined score of a note by the default share of the semantic leg."""
    fusion = Fusion.of(RetrievalSettings(topk=1), np.zeros(1))
    return float(fusion.join(semantic, np.asarray([(1 - DEFAULT_ALPHA) * keyword]))[0])


def _by_place(start: int, end: int) -> bool:
    """Whether evidence from 0 to 10 matches a label at this place."""
    text = "." * 30
    return matches(Passage("a.md", text, Span(0, 10)), Passage("a.md", text, Span(start, end)))


def _by_text(text: str, label: str) -> bool:
    return matches(Unplaced("a.md", text), Passage("a.md", label, Span(0, len(label))))


def _relative(query: str) -> list[float]:
    """Keyword scores of all texts for a query, the best first."""
    scores = relative(KeywordIndex.of(_TEXTS).scores(query))
    return sorted((float(score) for score in scores), reverse=True)


class _Scored:
    def __init__(self, base_score: float | None) -> None:
        self.base_score = base_score


def _unanswerable(*scores: float) -> bool:
    judge = ThresholdJudge(kind="threshold", min_score=0.3)
    return judge.verdict([_Scored(score) for score in scores]).unanswerable


_GOLDEN = "out/summary.json"
_DOCUMENTS = "conformance/test_documents.py::test_"
_RANKINGS = (
    row(
        254,
        "**Hit@K**: Top-K 내 정답 노트 포함 여부",
        Written(_GOLDEN, "overall.search.hit_at_10"),
        "metrics/test_ranking.py::test_a_hit_begins_at_the_rank_of_the_first_relevant_note",
    ),
    *shown("""
        255 | **MRR**: 첫 정답의 역순위 평균 | metrics/test_ranking.py::test_only_the_first_relevant_note_counts_for_the_reciprocal_rank
        256 | **NDCG@K**: 순위 기반 정규화 이득 | metrics/test_trec_eval_parity.py::test_figures_agree_with_trec_eval_on_tied_scores
        257 | **Recall@K**: 정답 노트 커버리지 | metrics/test_ranking.py::test_recall_is_the_share_of_all_relevant_notes
        262 | **Span Precision**: 추출된 근거(evidence) 중 expected_spans와 일치하는 비율 | metrics/test_spans.py::test_precision_counts_evidence_and_recall_counts_expected_spans
        263 | **Span Recall**: expected_spans 중 추출된 근거에 포함된 비율 | metrics/test_spans.py::test_precision_counts_evidence_and_recall_counts_expected_spans
    """),
    row(
        258,
        "**Latency p50/p95**: 쿼리 처리 시간 (인덱싱 제외)",
        Written(_GOLDEN, "overall.search.latency_p50_ms"),
        "evaluation/test_workers.py::test_percentiles_interpolate_between_the_two_nearest_times",
    ),
    row(
        (269, 270),
        "각 청크를 evidence로 사용 … 쿼리와 매칭된 문장/구문을 evidence로 추출",
        Option("eval search", "--evidence-notes", 3),
        "retrieval/test_passages.py::test_the_sentence_with_the_most_query_words_is_shown_where_it_stands",
        f"{_DOCUMENTS}the_search_command_reads_the_rows_and_writes_the_files",
    ),
    row(
        (274, 275, 276, 277, 278),
        "note_path: string; … text: string; … char_range?: { … start: number; … end: number;",
        *(
            Field(HitReport, f"evidence.{name}")
            for name in ("note", "text", "utf16_start", "utf16_end")
        ),
    ),
    row(
        (286, 287),
        "overlap 비율 = intersection / union … overlap > 0.5일 때 일치로 판정",
        Equal(lambda: [_by_place(0, 20), _by_place(0, 19), _by_place(4, 10)], [False, True, True]),
    ),
    row(
        (290, 294, 295, 296, 297),
        '공백 통합, 소문자 변환, 문장부호 제거 … 원본: "RAG 시스템의 구조는..." … 정규화: "rag 시스템의 구조는"',
        Equal(lambda: plain("RAG 시스템의 구조는..."), "rag 시스템의 구조는"),
        Equal(lambda: plain("RAG  시스템의\n구조는"), "rag 시스템의 구조는"),
    ),
    row(
        291,
        "정규화된 텍스트가 expected_span을 포함하면 일치",
        Equal(
            lambda: _by_text("우리 RAG 시스템의 구조는 이렇다.", "rag 시스템의 구조는..."),
            expected=True,
        ),
        "tasks/search/test_systems.py::test_a_text_that_stands_nowhere_in_its_note_is_evidence_by_its_words",
    ),
    row(
        292,
        "Jaccard 유사도 > 0.7일 때 일치",
        Equal(lambda: jaccard("a b c d", "a b c e"), 0.6),
        # 7 of 10 words are not enough, 8 of 11 are.
        Equal(lambda: _by_text("a b c d e f g x", "a b c d e f g y z"), expected=False),
        Equal(lambda: _by_text("a b c d e f g h x", "a b c d e f g h y z"), expected=True),
    ),
)

_ANSWERABILITY = (
    *shown("""
        302, 364-365 | Phase 1은 **retrieval-only** 평가입니다 … LLM 호출 없음 … 결정론적, 비용 없음 | cli/test_extras.py::test_the_core_alone_evaluates_search_and_says_in_one_line_what_to_type_for_the_rest
        316, 320, 376 | `--min-score` 임계값은 이 기본 점수에 적용됩니다 … Unanswerable 판정에는 사용되지 않음 … 항상 리랭킹 전 `base_score`를 사용합니다 | retrieval/test_retriever.py::test_the_first_is_taken_by_final_score_and_judged_by_its_base_score
        323-324 | 임베딩 코사인 유사도 (0~1) … 하이브리드 검색 시 키워드 점수와 가중 합산 | retrieval/test_retriever.py::test_a_search_gives_the_scores_of_a_plain_computation
        369-370 | `final_score` 기준으로 정렬하여 최상위 결과 선택 … `base_score`를 `--min-score` 임계값과 비교 | retrieval/test_retriever.py::test_the_first_is_taken_by_final_score_and_judged_by_its_base_score
        395, 398-399 | gigamind eval search --dataset eval/queries.jsonl --notes eval/notes … --unanswerable-mode llm | conformance/test_documents.py::test_both_ways_to_judge_queries_run_with_a_model_from_the_environment | conformance/test_documents.py::test_a_model_may_be_in_gigamind_toml | conformance/test_documents.py::test_without_a_model_the_error_names_all_three_places
        419-421 | Top-1 선택은 `finalScore` 기준 … Top-1의 `baseScore`로 수행 … `baseScore`는 리랭킹 전에 계산된 값 | retrieval/test_retriever.py::test_the_first_is_taken_by_final_score_and_judged_by_its_base_score
    """),
    row(
        306,
        '**Unanswerable Precision**: 시스템이 "답변 불가"로 판단한 것 중 실제로 unanswerable인 비율',
        Equal(lambda: _COUNTS.precision, 3 / 4),
    ),
    row(
        307,
        "**Unanswerable Recall**: 실제 unanswerable 쿼리 중 시스템이 올바르게 판정한 비율",
        Equal(lambda: _COUNTS.recall, 3 / 5),
    ),
    row(
        308,
        "**Unanswerable F1**: Precision/Recall의 조화 평균",
        Equal(lambda: _COUNTS.f1, round(2 / (4 / 3 + 5 / 3), 9)),
    ),
    row(
        309,
        "**FAR (False Answerable Rate)**: 실제 unanswerable 쿼리 중 answerable로 잘못 판단한 비율",
        Equal(lambda: _COUNTS.far, 2 / 5),
    ),
    row(
        315,
        "**기본 점수 (base_score)**: 0~1 범위의 정규화된 관련성 점수",
        Field(Hit, "base_score"),
        "retrieval/test_retriever.py::test_base_scores_lie_between_0_and_1_and_equal_the_final_ones_without_the_rerank",
    ),
    row(
        (318, 319),
        "**최종 점수 (final_score)**: 그래프 리랭킹 부스트 적용 후 … 순위 결정에만 사용, 1.0 초과 가능",
        Field(Hit, "final_score"),
        "retrieval/test_retriever.py::test_the_rerank_multiplies_by_the_centrality_and_leaves_base_scores_alone",
    ),
    row(
        (332, 333, 335, 336),
        "score = max(0, raw_cosine) … 최종 범위: 0~1",
        Equal(lambda: [_hybrid(cosine, 0.0) for cosine in (-0.5, 0.0, 1.0)], [0.0, 0.0, 0.7]),
    ),
    row(
        (340, 341, 343, 344),
        "score = BM25(query, chunk) / max_bm25 if max_bm25 > 0 else 0 … `max_bm25 == 0`인 경우 (키워드 매칭 없음): score = 0",
        Equal(lambda: (_relative("backup")[0], _relative("unknown")), (1.0, [0.0, 0.0, 0.0])),
        "retrieval/test_keyword.py::test_relative_scores_are_over_the_best_of_the_query",
    ),
    row(
        (348, 350, 351),
        "score = α × semantic_score + (1 - α) × keyword_score … α = 0.7 (기본값, 향후 설정 가능)",
        Equal(lambda: round(_hybrid(0.8, 0.5), 9), 0.71),
        Option("eval search", "--alpha", 0.7),
    ),
    row(
        (355, 357, 358, 359),
        "final_score = score × (1 + β × centrality_score) … β = 0.2 (기본값) … (0~1) … 1.0을 초과할 수 있으나, 순위 결정에만 사용",
        Equal(_BOOSTED.boosts.tolist, [1.0, 1.1, 1.2]),
    ),
    row(
        363,
        "`--unanswerable-mode threshold`",
        Option("eval search", "--unanswerable-mode", "threshold", ("threshold",)),
    ),
    row(
        (373, 374),
        "Top-1의 `base_score` < `--min-score` 임계값 (기본: 0.3) … 검색 결과가 0개",
        Equal(
            lambda: [_unanswerable(0.29), _unanswerable(0.3), _unanswerable()], [True, False, True]
        ),
    ),
    row(
        (378, 379),
        "`--unanswerable-mode llm` … 검색 결과를 LLM에 전달하여",
        Option("eval search", "--unanswerable-mode", choices=("llm",)),
        "tasks/search/test_model_judging.py::test_an_answer_counts_only_with_a_quote_that_stands_in_its_note",
    ),
    row(385, "answer: string;", Field(UnanswerableReply, "answer")),
    row(386, "sources: string[];", Field(UnanswerableReply, "sources.quote")),
    row(387, "unanswerable: boolean;", Field(UnanswerableReply, "answered")),
    row(388, "confidence: number;", Field(UnanswerableReply, "confidence")),
    row(408, "notePath: string;", Field(Hit, "note")),
    row(409, "title: string;", Field(Hit, "title"), Field(HitReport, "title")),
    row(410, "content: string;", Field(Hit, "chunk"), Field(HitReport, "chunk.text")),
    row(411, "baseScore: number;", Field(Hit, "base_score"), Field(HitReport, "base_score")),
    row(412, "finalScore: number;", Field(Hit, "final_score"), Field(HitReport, "final_score")),
    row(413, "score?: number;"),
    row(414, "highlights?: string[];", Field(HitReport, "highlights")),
)

_LINKS_AND_COSTS = (
    *shown("""
        425 | **Precision@K**: 제안된 링크 중 정답 비율 | metrics/test_linking.py::test_the_figures_of_one_note_by_hand
        426 | **Recall@K**: 정답 링크 중 제안된 비율 | metrics/test_linking.py::test_figures_over_notes_are_sums_divided
        427 | **Novelty**: 기존 본문 링크와 중복되지 않는 비율 | tasks/links/test_run.py::test_five_notes_counted_by_hand
        428 | **Acceptance proxy**: human label(accept/reject)이 있을 경우 사용 | tasks/links/test_run.py::test_a_rejected_link_is_not_expected_and_lowers_acceptance
        438-441, 449-451 | ~$0.01 … ~$0.50 … ~$0.03 | tasks/search/test_estimate.py::test_a_run_that_asks_no_model_costs_nothing_and_says_so
        453 | 링크 평가는 앵커당 여러 후보를 검색하므로 | linking/test_meaning.py::test_phrases_are_embedded_once_and_kept_in_the_cache
    """),
)

_PIPELINE = (
    *shown("""
        459 | dataset 스키마 + notesDir 유효성 체크 | tasks/search/test_prepare.py::test_rows_that_cannot_be_used_are_listed_with_file_and_line | tasks/search/test_prepare.py::test_notes_that_cannot_be_read_end_with_code_2
        460 | RAG 인덱스 준비 (cold-start 옵션 제공) | tasks/search/test_evaluate.py::test_a_cold_start_is_told_only_where_it_was_one
        461 | 캐시/임베딩 로딩을 위한 N회 사전 실행 | tasks/search/test_score.py::test_the_first_queries_are_run_once_more_as_a_warm_up
        462 | 병렬 실행 + 타임아웃 | evaluation/test_workers.py::test_never_more_than_max_concurrency_run_at_a_time_and_that_many_do | tasks/search/test_score.py::test_a_query_that_hangs_fails_and_the_others_do_not_wait
        464 | JSON + Markdown | tasks/search/test_evaluate.py::test_every_file_of_the_out_folder_reads_back_as_its_model
        468 | 고정 모델 버전 | release/test_answers.py::test_answers_of_another_version_of_the_model_get_no_verdict
        470 | 랜덤 샘플링 금지 | evaluation/test_options.py::test_a_deterministic_run_draws_nothing_and_asks_nothing_twice
    """),
    row(
        463,
        "전체/하위 태그/난이도별 집계",
        Written(_GOLDEN, "by_tag"),
        Written(_GOLDEN, "by_difficulty"),
    ),
    row(
        (466, 467),
        "temperature=0",
        Option("eval search", "--deterministic", default=False),
        "evaluation/test_options.py::test_a_deterministic_run_asks_at_temperature_0_whatever_a_judge_file_says",
    ),
    row(469, "시드 고정", Option("eval search", "--seed", 42)),
)

SECTIONS = (
    Section("000", "4.1", _RANKINGS),
    Section("000", "4.1-4.1.1", _ANSWERABILITY),
    Section("000", "4.2-4.3", _LINKS_AND_COSTS),
    Section("000", "5", _PIPELINE),
)
