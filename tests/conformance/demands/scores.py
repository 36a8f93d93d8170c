"""`baseScore` and `finalScore` apart: document 001."""

from demands.model import Field, Option, Section, row, shown
from gigamind.retrieval.hit import Hit
from gigamind.tasks.search.schema import HitReport

SECTIONS = (
    Section(
        "001",
        "all",
        (
            row(
                (10, 11, 12),
                "`RAGSearchResult`는 `score` 필드 하나만 노출 … **baseScore** (리랭킹 전 점수)가 필요",
                Field(Hit, "base_score"),
                Field(Hit, "final_score"),
            ),
            *shown("""
        19-22 | cosine_similarity (0~1) … BM25 정규화 (0~1) … 0.7 * vector + 0.3 * keyword … base * (1 + 0.2 * centrality) | retrieval/test_retriever.py::test_a_search_gives_the_scores_of_a_plain_computation
        25-26, 29-30 | 순위 결정용 (centrality boost 포함) … 신뢰도 판정용 … Top-1은 `finalScore`로 선택 … (`< --min-score`면 unanswerable) | retrieval/test_retriever.py::test_the_first_is_taken_by_final_score_and_judged_by_its_base_score
        141, 149, 160, 165 | vectorWeight * agg.vectorScore + config.keywordWeight * agg.keywordScore … 초기값은 baseScore와 동일 … // baseScore 기준 … // finalScore만 업데이트 | retrieval/test_retriever.py::test_the_rerank_multiplies_by_the_centrality_and_leaves_base_scores_alone
        239 | baseScore가 0-1 범위인지 확인 | retrieval/test_retriever.py::test_base_scores_lie_between_0_and_1_and_equal_the_final_ones_without_the_rerank
        240 | finalScore >= baseScore 확인 | retrieval/test_fuse.py::test_a_boost_is_one_and_a_fifth_of_the_centrality
        241 | 리랭킹 OFF 시 baseScore === finalScore 확인 | retrieval/test_retriever.py::test_base_scores_lie_between_0_and_1_and_equal_the_final_ones_without_the_rerank
    """),
            row(
                (50, 51, 52, 54, 109, 110, 111, 114),
                "notePath: string; … title: string; … content: string; … highlights?: string[];",
                Field(Hit, "note"),
                Field(Hit, "title"),
                Field(Hit, "chunk"),
                Field(HitReport, "highlights"),
            ),
            row(
                (53, 205, 206, 208, 212, 216),
                "score: number; … baseScore: number; … finalScore: number; … **권장**: Option B (breaking change)",
            ),
            row(
                (63, 64, 65, 66, 124, 125, 126, 127),
                "noteId: string; … notePath: string; … noteTitle: string; … chunks: Array<",
                Field(Hit, "note"),
                Field(Hit, "title"),
                Field(Hit, "chunk"),
            ),
            row((67, 129), "finalScore: number;", Field(Hit, "final_score")),
            row((68, 130), "confidence: number;"),
            row((69, 131), "graphCentrality: number;", Field(Hit, "centrality")),
            row((112, 128), "baseScore: number;", Field(Hit, "base_score")),
            row(113, "finalScore: number;", Field(Hit, "final_score")),
            row(
                (193, 194),
                "results.map((r) => r.baseScore) … results.map((r) => r.finalScore)",
                Field(HitReport, "base_score"),
                Field(HitReport, "final_score"),
            ),
            row(
                (246, 249),
                "gigamind eval search --dataset queries.jsonl --notes notes … --graph-rerank",
                Option("eval search", "--graph-rerank", default=False),
                "tasks/search/test_figures.py::test_the_graph_rerank_changes_order_and_never_the_base_score",
            ),
        ),
    ),
)
