"""A link run made by hand: three notes, one suggestion of each kind."""

from search_records import make_record

from gigamind.records.schema import IntervalReport, PassageReport
from gigamind.tasks.links import schema

TEXT = "👋 See Beta, Gamma and Delta; not Omega."


def _passage(note: str, text: str, anchor: str) -> PassageReport:
    start = len(text[: text.index(anchor)].encode("utf-16-le")) // 2
    return PassageReport(note=note, utf16_start=start, utf16_end=start + len(anchor), text=anchor)


def _suggestion(
    anchor: str, *, hit: bool, novel: bool, confidence: float
) -> schema.SuggestionReport:
    return schema.SuggestionReport(
        anchor=_passage("a.md", TEXT, anchor), target=f"{anchor.lower()}.md", confidence=confidence,
        reason=f"title {anchor}", context="", features={}, hit=hit,
        span_exact=True if hit else None, novel=novel,
    )  # fmt: skip


def make_note(**changes: object) -> schema.LinkItemReport:
    """A line of per_item.jsonl: Beta found, Gamma new, Delta linked already, Omega missed."""
    values: dict[str, object] = {
        "note": "a.md",
        "language": "en",
        "text": TEXT,
        "expected": tuple(
            schema.ExpectedLinkReport(
                id=anchor,
                anchor=anchor,
                targets=(f"{anchor.lower()}.md",),
                passage=_passage("a.md", TEXT, anchor),
                label=None,
            )
            for anchor in ("Beta", "Omega")
        ),
        "suggestions": (
            _suggestion("Beta", hit=True, novel=True, confidence=0.9),
            _suggestion("Gamma", hit=False, novel=True, confidence=0.5),
            _suggestion("Delta", hit=False, novel=False, confidence=0.25),
        ),
        "misses": ({"id": "Omega", "cause": "no_candidate", "own": None, "instead": None},),
        "terms": {"precision_at_5": (1, 3), "recall_at_5": (1, 2)},
        "metrics": {"precision_at_5": 1 / 3, "recall_at_5": 0.5},
    }
    return schema.LinkItemReport.model_validate(values | changes)


def make_links(
    *notes: schema.LinkItemReport, status: str = "complete", **run: object
) -> schema.LinkRunRecord:
    """A link run of these notes, over the run of `make_record`."""
    figures = {
        "precision_at_5": 1 / 3, "recall_at_5": 0.5, "recall_at_5_ceiling": 0.75,
        "recall_at_5_excluding_linked": 0.5,
    }  # fmt: skip
    interval = IntervalReport(low=0.25, high=0.75, n=len(notes))
    part = schema.LinkSliceReport(
        notes=len(notes), misses={}, links=figures if notes else {},
        intervals={f"links.{name}": interval for name in figures},
    )  # fmt: skip
    counts = dict.fromkeys(schema.LinkCounts.model_fields, 0)
    counts |= {"source_notes": len(notes), "notes_not_run": 3, "notes": 9}
    sweep = (
        {"min_confidence": 0, "suggested": 3, "precision": 1 / 3, "recall": 0.5},
        {"min_confidence": 1, "suggested": 0, "precision": None, "recall": 0},
    )
    told = {"low": 0.9, "high": 1, "n": 1, "mean_confidence": 0.9, "precision": 1}
    summary = schema.LinkSummaryReport.model_validate({
        "status": status, "counts": counts, "overall": part, "sweep": sweep, "reliability": (told,),
        "by_language": {"en": part} if notes else {}, "calibration_error": 0.125,
        "performance": {"indexing_ms": 1, "eval_runtime_ms": 1},
    })  # fmt: skip
    options = {"topk": 5, "min_confidence": 0.0, "seed": 42}
    about = make_record(run={"task": "links", "status": status, "options": options, **run}).run
    return schema.LinkRunRecord(about, summary, notes, ())
