"""A search run made by hand, and its parts."""

from judged_folders import QUERY, RUN
from summaries import search_summary

from gigamind.records import schema
from gigamind.tasks.search.schema import (
    HitReport,
    ItemReport,
    RunCounts,
    RunRecord,
    SliceCounts,
    SliceReport,
)

SEARCH = {
    "hit_at_1": 0.5, "hit_at_10": 1.0, "mrr": 0.75, "ndcg_at_1": 0.5, "ndcg_at_10": 0.8125,
    "recall_at_10": 1.0,
}  # fmt: skip
UNANSWERABLE = {"precision": 1.0, "recall": 0.5, "f1": 2 / 3, "far": 0.5, "false_refusals": 0.0}


def make_item(number: int = 1, **changes: object) -> ItemReport:
    """A line of per_item.jsonl; by default an answerable query whose note came first."""
    values: dict[str, object] = QUERY | {
        "id": f"q{number}", "query": "who approves", "language": "en", "answerable": True,
        "expected_notes": ("right.md",), "judged_unanswerable": False, "metrics": {"mrr": 1.0},
        "latency_ms": 1.0,
    }  # fmt: skip
    values |= changes
    values.setdefault("answerable_score", values["top_base_score"])
    return ItemReport.model_validate(values)


def make_hit(note: str, score: float = 0.5) -> HitReport:
    """A note of a ranking."""
    passage = schema.PassageReport(note=note, utf16_start=0, utf16_end=1, text="x")
    return HitReport(
        note=note, base_score=score, final_score=score, semantic_score=score, keyword_score=None,
        chunk=passage, evidence=passage,
    )  # fmt: skip


def make_slice(answerable: int = 2, unanswerable: int = 2, /, **changes: object) -> SliceReport:
    """The figures of some queries."""
    search = SEARCH if answerable else {}
    blank = {"precision": None, "recall": None, "f1": None, "far": None, "false_refusals": None}
    judged = UNANSWERABLE if unanswerable else blank
    figures = {
        **{f"search.{name}": value for name, value in search.items()},
        **{f"unanswerable.{name}": value for name, value in judged.items()},
    }
    times = {f"latency_{p}_ms": 1234.56 for p in ("p50", "p95", "p99")}
    values: dict[str, object] = {
        "counts": SliceCounts(
            queries=answerable + unanswerable, answerable=answerable, unanswerable=unanswerable
        ),
        "search": {**search, **times},
        "unanswerable": judged,
        "intervals": {
            name: schema.IntervalReport(low=value, high=value, n=0 if value is None else 2)
            for name, value in figures.items()
        },
    }
    return SliceReport.model_validate(values | changes)


def make_record(
    items: tuple[ItemReport, ...] = (),
    errors: tuple[schema.ErrorReport, ...] = (),
    *,
    run: dict[str, object] | None = None,
    summary: dict[str, object] | None = None,
    counts: dict[str, int] | None = None,
) -> RunRecord:
    """A whole run of four queries over five notes, without slices, errors and warnings unless told."""
    told = {
        "queries_total": 4, "queries_answerable": 2, "queries_unanswerable": 2, "rows_rejected": 0,
        "rows_not_sampled": 0, "queries_failed": 0, "queries_not_run": 0, "notes": 5,
    } | (counts or {})  # fmt: skip
    overall = make_slice(told["queries_answerable"], told["queries_unanswerable"])
    made = search_summary(overall, told["notes"])
    times = {"indexing_ms": 2500.4, "eval_runtime_ms": 10.0}
    figures: dict[str, object] = {
        "counts": RunCounts.model_validate(told),
        "performance": made.performance.model_copy(update=times),
    }
    about: dict[str, object] = RUN | {
        "run_id": "20260131-120000", "created_at": "2026-01-31T12:00:00+00:00",
        "dataset": "queries.jsonl", "notes_hash": "n" * 64,
        "options": {"mode": "hybrid", "min_score": None, "topk": 10, "seed": 42},
        "judge": {
            "kind": "threshold", "file": "judges/unanswerable_threshold.toml", "fingerprint": "f",
            "setting": 0.3,
        },
        "environment": RUN["environment"]
        | {"app_version": "1.0", "embedding_model": "model", "rag_schema_version": "1"},
        "hardware": {"cpu": "CPU", "cores": 2, "memory_gib": 4.0, "system": "Linux", "hash": "h"},
    }  # fmt: skip
    return RunRecord(
        schema.RunReport.model_validate(about | (run or {})),
        made.model_copy(update=figures | (summary or {})),
        items,
        errors,
    )
