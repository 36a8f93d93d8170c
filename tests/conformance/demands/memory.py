"""Evidence and memory: document 003."""

from typing import get_args, get_type_hints

from rapidfuzz.distance import Levenshtein

from demands.model import Equal, Field, Option, Section, row, shown
from gigamind.evidence.align import align
from gigamind.evidence.result import Aligned, AlignedRecord, Failed, Method
from gigamind.evidence.schema import AlignOptions
from gigamind.memory.events import _EventType
from gigamind.memory.extract import Statement, StatementEvidence
from gigamind.memory.sessions import Entry

_FIELDS = (
    "memory/test_pipeline.py::test_aligned_evidence_has_the_fields_of_the_document_in_utf16_units"
)
_STEPS = "memory/test_pipeline.py::test_every_step_is_an_event_in_its_order"
_REFUSED = (
    "memory/test_pipeline.py::test_exactly_the_proven_entry_is_verified_and_each_refusal_explained"
)


def _found(quote: str, source: str) -> tuple[int, int, float, str, bool]:
    """Start, end, confidence, method, and whether it may promote an entry."""
    found = align(quote, source)
    assert isinstance(found, Aligned)
    return (
        found.span.start,
        found.span.end,
        round(found.confidence, 3),
        found.method,
        found.promotable,
    )


def _why_not(quote: str, source: str) -> str:
    found = align(quote, source)
    assert isinstance(found, Failed)
    return found.reason


_EXTRACTION = (
    *shown("""
        12, 22, 30 | LLM 프롬프트에서 spanStart/spanEnd 요구 제거 … spanStart/spanEnd는 제공하지 마세요 … 출력 스키마에서 spanStart/spanEnd 제거 | memory/test_model_extractor.py::test_one_session_is_one_request_that_asks_for_quotes_and_no_spans
        32 | messageIndex 범위 검증 | memory/test_pipeline.py::test_a_message_index_beyond_the_session_blocks_the_entry
        66, 70, 76-78 | export class EvidenceAlignerV2 … async align( … exactMatch(quote: string … normalizedMatch(quote: string … fuzzyMatch(quote: string | evidence/test_align.py::test_the_first_level_that_hits_is_recorded
        89-90 | normalize 함수 구현 … (위치 역추적 포함) | evidence/test_normalize.py::test_every_folded_stretch_comes_back_from_its_original
        92-93 | (슬라이딩 윈도우) … (3단계 폴백) | evidence/test_fuzzy.py::test_the_best_window_takes_the_fewest_edits_there_are
    """),
    row(
        (13, 31), "quote 필드 필수로 변경 … quote 필수 검증 추가", Field(StatementEvidence, "quote")
    ),
    row(
        (14, 20),
        "quote 길이 가이드라인 추가 (30~200자) … quote: 원문에서 발췌한 텍스트 (30~200자)",
        Equal(
            lambda: "30 to 200" in str(StatementEvidence.model_fields["quote"].description),
            expected=True,
        ),
    ),
    row(18, "각 entry에 대해 evidence를 제공하세요", Field(Statement, "evidence")),
    row(
        19,
        "messageIndex: 증거가 있는 메시지 인덱스 (0-based)",
        Field(StatementEvidence, "messageIndex"),
    ),
    row(
        42,
        "z.enum(['exact', 'normalized', 'fuzzy', 'none'])",
        Equal(lambda: get_args(Method), ("exact", "normalized", "fuzzy")),
    ),
    row(45, "messageIndex: z.number().int().nonnegative(),", _FIELDS),
    row(46, "quote: z.string(),", Field(AlignedRecord, "quote")),
    row(47, "quoteHash: z.string(),", _FIELDS),
    row(48, "spanStart: z.number().int().nonnegative(),", _FIELDS),
    row(49, "spanEnd: z.number().int().positive(),", _FIELDS),
    row(50, "confidence: z.number().min(0).max(1),", Field(AlignedRecord, "confidence")),
    row(51, "matchMethod: AlignMethodSchema", _FIELDS),
    row(
        99,
        "fuzzyThreshold: number;        // default: 0.85",
        Equal(lambda: AlignOptions().fuzzy_threshold, 0.85),
        Option("memory graduate", "--fuzzy-threshold", 0.85),
        Option("memory graduate-all", "--fuzzy-threshold", 0.85),
    ),
    row(
        100,
        "maxQuoteLength: number;        // default: 500",
        Option("memory graduate", "--max-quote-length", 500),
        "evidence/test_align.py::test_a_quote_that_is_not_found_has_a_reason",
    ),
    row(
        101,
        "enableFuzzy: boolean;          // default: true",
        Option("memory graduate", "--enable-fuzzy", default=True),
        Option("memory graduate", "--no-enable-fuzzy"),
        "evidence/test_align.py::test_fuzzy_matching_can_be_switched_off",
    ),
)

_EVENTS = (
    row(
        (112, 122, 126, 131, 153, 154),
        "'evidence_aligned' 이벤트 타입 추가 … 'session_ingested' … 'memory_extracted' … 'evidence_aligned'",
        Equal(
            lambda: get_args(_EventType)[:3],
            ("session_ingested", "memory_extracted", "evidence_aligned"),
        ),
        _STEPS,
    ),
    row((113, 133), "payload 스키마 정의 … source_event_id: ingestEvent.eventId,", _STEPS),
    row(134, "aligned_count: alignResult.alignedEvidence.length,", _STEPS),
    row(135, "failed_count: alignResult.failedQuotes.length,", _STEPS),
    row(136, "evidence: alignResult.alignedEvidence,", _FIELDS),
    row(137, "failed_quotes: alignResult.failedQuotes", _STEPS),
    row(
        (144, 146, 155),
        "e.entryId === entry.entryId … entry.evidenceAligned = entryEvidence.every(e => e.matchMethod !== 'none') … entry에 evidenceAligned 플래그 설정",
        Field(Entry, "evidence_aligned"),
        "evidence/test_align.py::test_one_failed_quote_leaves_an_entry_unaligned",
    ),
    row(
        (166, 167, 168, 169, 178, 179),
        "if (!entry.evidenceAligned) { … success: false, … reason: 'Evidence alignment failed. … 승격 조건에 evidenceAligned 추가 … 명확한 reason 제공",
        _REFUSED,
    ),
    row(
        (184, 185, 186),
        "entry.meta.promotionBlocked 플래그 … entry.meta.promotionBlockReason 기록 … entry.meta.failedQuotes 저장 (디버깅용)",
        *(
            Field(Entry, name)
            for name in ("promotion_blocked", "promotion_block_reason", "failed_quotes")
        ),
    ),
)

_EXAMPLES = (
    row(
        (195, 205),
        "levenshteinDistance(a: string, b: string) … Levenshtein 거리 함수",
        Equal(lambda: Levenshtein.distance("kitten", "sitting"), 3),
        "evidence/test_bitvector.py::test_distances_are_those_to_the_best_suffix_of_each_prefix",
    ),
    row(
        (196, 206),
        "levenshteinSimilarity(a: string, b: string) … 유사도 함수 (1 - distance / max_length)",
        Equal(lambda: Levenshtein.normalized_similarity("kitten", "sitting"), round(1 - 3 / 7, 9)),
        "evidence/test_fuzzy.py::test_the_best_window_takes_the_fewest_edits_there_are",
    ),
    *shown("""
        214-215 | normalizedToOriginal: Map<number, number>; … originalToNormalized: Map<number, number>; | evidence/test_normalize.py::test_a_folded_character_keeps_its_original_range
        218-219, 223-224 | createPositionMap( … mapSpanToOriginal( … 위치 매핑 생성 함수 … span 역추적 함수 | evidence/test_normalize.py::test_every_folded_stretch_comes_back_from_its_original
    """),
    row(
        (248, 249, 251, 252, 253, 254),
        'const source = "DuckDB의 JSONB를 JSON으로 변경"; … const quote = "JSONB를 JSON으로"; … spanStart: 7, … spanEnd: 18, … confidence: 1.0, … matchMethod: \'exact\'',
        Equal(
            lambda: _found("JSONB를 JSON으로", "DuckDB의 JSONB를 JSON으로 변경"),
            (8, 21, 1.0, "exact", True),
        ),
    ),
    row(
        (261, 262),
        '"JSONB를   JSON으로\\n변경" … const quote = "JSONB를 JSON으로 변경"',
        Equal(
            lambda: _found("JSONB를 JSON으로 변경", "JSONB를   JSON으로\n변경"),
            (0, 18, 0.99, "normalized", True),
        ),
    ),
    row(
        (269, 270, 272),
        'const source = "DuckDB에서 JSONB 타입을 제거"; … const quote = "DuckDB JSONB 타입 제거"; … toBeGreaterThanOrEqual(0.85)',
        Equal(
            lambda: _found("DuckDB JSONB 타입 제거", "DuckDB에서 JSONB 타입을 제거"),
            (0, 21, 0.857, "fuzzy", False),
        ),
    ),
    row(
        (278, 279, 281, 282),
        'const source = "벡터 검색을 구현합니다"; … const quote = "JSONB를 제거"; … evidenceAligned: false, … failedQuotes: ["JSONB를 제거"]',
        Equal(
            lambda: _why_not("JSONB를 제거", "벡터 검색을 구현합니다"), "quote_too_short_for_fuzzy"
        ),
        _REFUSED,
    ),
    row(
        (288, 290, 291),
        "{ evidenceAligned: false, stage: 'candidate' } … expect(result.success).toBe(false) … 'Evidence alignment failed'",
        Equal(lambda: get_args(get_type_hints(Entry)["stage"]), ("candidate", "verified")),
        _REFUSED,
    ),
)

SECTIONS = (
    Section("003", "1-2", _EXTRACTION),
    Section("003", "3-4", _EVENTS),
    Section("003", "5", _EXAMPLES),
)
