"""Snapshots made by hand: what one item did in a run is said in one word."""

from collections.abc import Mapping
from typing import Any

from judged_folders import RUN
from summaries import answer_summary, search_summary

from gigamind.records.judged import JudgeReport
from gigamind.records.schema import Environment, Hardware
from gigamind.release.comparison import SnapshotHit
from gigamind.release.model import SnapshotCheck
from gigamind.tasks.answers import schema
from gigamind.tasks.links import schema as links_schema
from gigamind.tasks.search import schema as search


def item(name: str, rank: int | None, *, unanswerable: bool | None = None) -> search.SearchItem:
    """An answerable item whose note came at `rank`, or an unanswerable one judged so (True) or not (False)."""
    answerable = unanswerable is None
    reciprocal = 1 / rank if rank else 0.0
    hits = [f"other{i}.md" for i in range(1, rank or 3)] + (["right.md"] if rank else [])
    return search.SearchItem(
        id=name,
        query=f"question {name}",
        answerable=answerable,
        judged_unanswerable=bool(unanswerable),
        expected_notes=("right.md",) if answerable else (),
        ranking=tuple(
            SnapshotHit(note=note, base_score=0.9 - i / 10, final_score=0.9 - i / 10)
            for i, note in enumerate(hits)
        ),
        metrics={"hit_at_1": float(rank == 1), "mrr": reciprocal} if answerable else {},
    )


def _summary(p95: float | None, cold: float | None, count: int) -> search.SummaryReport:
    part = search.SliceReport(
        counts=search.SliceCounts(queries=count, answerable=count, unanswerable=0),
        search={"latency_p95_ms": p95},
        unanswerable={},
        intervals={},
    )
    return search_summary(part, 3, cold)


# Of runs that search nothing.
UNSEARCHED = Environment.model_validate(RUN["environment"])
HARDWARE = Hardware.model_validate(RUN["hardware"])
PLAIN: dict[str, Any] = {
    "created_at": "2026-01-01T00:00:00+00:00", "run_id": "20260101-000000", "dataset_hash": "d",
    "notes_hash": "n", "notes_hash_mode": "content", "environment": UNSEARCHED,
    "hardware": HARDWARE,
}  # fmt: skip


def snapshot(
    items: Mapping[str, int | str | None],
    *,
    p95: float | None = 100.0,
    cold: float | None = None,
    model: str | None = "use@1",
    **changed: str,
) -> search.SearchSnapshot:
    """A snapshot of {item: rank | None | "right" | "wrong"}; the words are verdicts on unanswerable items."""
    made = [
        item(name, None, unanswerable=value == "right")
        if isinstance(value, str)
        else item(name, value)
        for name, value in items.items()
    ]
    about = {"embedding_model": model, "rag_schema_version": changed.get("schema", "1.1")}
    return search.SearchSnapshot(
        **PLAIN
        | {
            "run_id": changed.get("run_id", PLAIN["run_id"]),
            "dataset_hash": changed.get("dataset", "d"),
            "notes_hash": changed.get("notes", "n"),
            "environment": UNSEARCHED.model_copy(update=about),
            "hardware": HARDWARE.model_copy(update={"hash": changed.get("hardware", "h")}),
        },
        task="search",
        judge_fingerprint=changed.get("judge", "j"),
        config={
            "mode": changed.get("mode", "hybrid"),
            "min_score": 0.3,
            **({"fusion": changed["fusion"]} if "fusion" in changed else {}),
        },
        metrics=_summary(p95, cold, len(made)),
        items=tuple(made),
    )


def note(path: str, right: int, shown: int, expected: int) -> links_schema.LinkItem:
    """A note of which `right` of `shown` suggestions were among its `expected` links."""
    targets = tuple(f"t{i}.md" for i in range(expected))
    suggested = [*targets[:right], *(f"other{i}.md" for i in range(shown - right))]
    return links_schema.LinkItem(
        id=path,
        expected=targets,
        suggestions=tuple(
            links_schema.SnapshotSuggestion(
                anchor=target, target=target, confidence=0.9 - i / 10, hit=target in targets
            )
            for i, target in enumerate(suggested)
        ),
        terms={
            "precision_at_5": (right, shown),
            "recall_at_5": (right, expected),
            "recall_at_5_ceiling": (expected, expected),
        },
    )


def links(
    notes: Mapping[str, tuple[int, int, int]], **changed: object
) -> links_schema.LinkSnapshot:
    """A snapshot of a link run of {note: (right, shown, expected)}."""
    part = links_schema.LinkSliceReport(notes=len(notes), misses={}, links={}, intervals={})
    counts = dict.fromkeys(links_schema.LinkCounts.model_fields, 0)
    return links_schema.LinkSnapshot(
        **PLAIN | {"dataset_hash": changed.get("dataset", "d")},
        task="links",
        judge_fingerprint="removed-links",
        config={"topk": 5, "min_confidence": changed.get("floor", 0.0), "seed": 42},
        metrics=links_schema.LinkSummaryReport(
            status="complete",
            counts=links_schema.LinkCounts.model_validate(counts),
            overall=part,
            by_language={},
            sweep=(),
            reliability=(),
            calibration_error=None,
            performance=links_schema.LinkPerformance(indexing_ms=1.0, eval_runtime_ms=1.0),
        ),
        items=tuple(note(path, *numbers) for path, numbers in notes.items()),
    )


CHECKLIST = ("direct", "grounded", "sources", "uncertainty")


def _check(fulfilled: str | None) -> SnapshotCheck | None:
    """That of the items with these first letters; three of four are enough."""
    if fulfilled is None:
        return None
    yes = {name: name[0] in fulfilled for name in CHECKLIST}
    return SnapshotCheck(passed=len(fulfilled) >= 3, yes=yes)


def _quality(checked: int, fingerprint: str) -> schema.QualitySummaryReport:
    part = schema.QualitySliceReport(
        checked=checked, passed=0, pass_rate=None, low=None, high=None, items=()
    )
    judge = JudgeReport(kind="checklist", file="judges/quality_gate.toml", fingerprint=fingerprint)
    return schema.QualitySummaryReport(
        judge=judge, feature="search_qa", min_pass_ratio=0.75, unchecked=0, overall=part,
        by_language={},
    )  # fmt: skip


def answers(
    items: Mapping[str, str | None],
    *,
    checklist: str | None = "c",
    correctness: Mapping[str, float] | None = None,
) -> schema.AnswerSnapshot:
    """A snapshot of {answer: first letters of the items of the checklist that it fulfils, None unchecked}.

    `checklist` is the fingerprint of the checklist, None without one; `correctness` is that of some answers, else 1.
    """
    checked = sum(fulfilled is not None for fulfilled in items.values())
    return schema.AnswerSnapshot(
        **PLAIN,
        task="answers",
        judge_fingerprint="j",
        config={"seed": 42},
        metrics=answer_summary(
            len(items), quality=_quality(checked, checklist) if checklist else None
        ),
        items=tuple(
            schema.AnswerItem(
                id=name,
                question=f"question {name}",
                evaluated=True,
                metrics={"correctness": (correctness or {}).get(name, 1.0)},
                unsupported=(),
                check=_check(fulfilled),
            )
            for name, fulfilled in items.items()
        ),
    )
