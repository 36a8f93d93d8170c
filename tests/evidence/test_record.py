import json
from hashlib import sha256

from gigamind.evidence.align import align_all
from gigamind.evidence.result import Quote


def test_an_aligned_quote_is_written_with_everything_that_finds_it_again():
    source = "🎉🎉 릴리스 v2.0 배포 완료"
    (written,) = align_all([Quote("릴리스 v2.0", entry_id="e1")], [source]).records([source])
    assert written == {
        "status": "aligned", "entry_id": "e1", "quote": "릴리스 v2.0",
        "quote_sha256": sha256("릴리스 v2.0".encode()).hexdigest(), "source_index": 0,
        "source_sha256": sha256(source.encode()).hexdigest(), "offset_unit": "code_point",
        "start": 3, "end": 11, "utf16_start": 5, "utf16_end": 13, "method": "exact", "level": "raw",
        "confidence": 1.0, "occurrences": 1, "ambiguous": False, "critical": [], "unproven": None,
        "promotable": True,
        "selector": {"exact": "릴리스 v2.0", "prefix": "🎉🎉 ", "suffix": " 배포 완료"},
    }  # fmt: skip


def test_a_failed_quote_is_written_with_its_reason():
    (written,) = align_all([Quote("", 4)], ["가"]).records(["가"])
    assert written == {
        "status": "failed", "entry_id": "", "quote": "", "quote_sha256": sha256(b"").hexdigest(),
        "source_index": 4, "source_sha256": None, "reason": "source_index_out_of_range",
        "near_miss": None,
    }  # fmt: skip


def test_a_confidence_is_written_to_four_digits():
    source = "DuckDB에서 JSONB 타입을 제거"
    (written,) = align_all([Quote("DuckDB JSONB 타입 제거")], [source]).records([source])
    assert written["confidence"] == 0.8571


def test_lone_surrogates_can_be_written():
    source = "앞 \ud800 뒤"
    written = align_all([Quote("앞 \ud800")], [source]).records([source])
    assert json.loads(json.dumps(written)) == written
