"""A link run made by hand: three notes, one suggestion of each kind. The list of answers as its script reads it."""

import json
import re
from collections.abc import Callable
from importlib import resources
from types import SimpleNamespace

import pytest

from gigamind.i18n import translator
from gigamind.records.schema import IntervalReport, PassageReport
from gigamind.tasks.answers.page import list_data
from gigamind.tasks.links import schema
from gigamind.tasks.search.schema import RunRecord

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


@pytest.fixture(name="make_note", scope="session")
def _make_note() -> Callable[..., schema.LinkItemReport]:
    """A line of per_item.jsonl: Beta found, Gamma new, Delta linked already, Omega missed."""
    return make_note


@pytest.fixture
def make_links(make_record: Callable[..., RunRecord]) -> Callable[..., schema.LinkRunRecord]:
    """A link run of these notes, over the run of `make_record`."""

    def make(
        *notes: schema.LinkItemReport, status: str = "complete", **run: object
    ) -> schema.LinkRunRecord:
        figures = {
            "precision_at_5": 1 / 3, "recall_at_5": 0.5, "recall_at_5_ceiling": 0.75,
            "recall_at_5_excluding_linked": 0.5,
        }  # fmt: skip
        part = schema.LinkSliceReport(
            notes=len(notes),
            misses={},
            links=figures if notes else {},
            intervals={
                f"links.{name}": IntervalReport(low=0.25, high=0.75, n=len(notes))
                for name in figures
            },
        )
        counts = dict.fromkeys(schema.LinkCounts.model_fields, 0)
        summary = schema.LinkSummaryReport.model_validate(
            {
                "status": status,
                "counts": counts | {"source_notes": len(notes), "notes_not_run": 3, "notes": 9},
                "overall": part,
                "by_language": {"en": part} if notes else {},
                "sweep": (
                    schema.SweepPointReport(
                        min_confidence=0, suggested=3, precision=1 / 3, recall=0.5
                    ),
                    schema.SweepPointReport(
                        min_confidence=1, suggested=0, precision=None, recall=0
                    ),
                ),
                "reliability": (
                    schema.ReliabilityBinReport(
                        low=0.9, high=1, n=1, mean_confidence=0.9, precision=1
                    ),
                ),
                "calibration_error": 0.125,
                "performance": schema.LinkPerformance(indexing_ms=1, eval_runtime_ms=1),
            }
        )
        options = {"topk": 5, "min_confidence": 0.0, "seed": 42}
        about = make_record(run={"task": "links", "status": status, "options": options, **run}).run
        return schema.LinkRunRecord(about, summary, notes, ())

    return make


def _named(name: str, values: list[object]) -> dict[str, object]:
    """Name the values of an array by the fields of answer_item.js."""
    file = resources.files("gigamind.reports.page") / "templates" / "answer_item.js"
    declared = re.search(rf"const {name} = (\[.*?\]);", file.read_text("utf-8"), re.DOTALL)
    return dict(zip(json.loads(declared[1]), values, strict=True))


@pytest.fixture
def listed() -> Callable[..., tuple[dict[str, object], list[dict[str, object]]]]:
    """The data of the list of these answers, and its rows."""

    def read(*items, lang="en", judge=None, comparison=None, baseline=()):
        record = SimpleNamespace(items=items, run=SimpleNamespace(judge=judge))
        before = SimpleNamespace(items=baseline)
        data = json.loads(list_data(record, translator(lang), comparison, before))
        return data, [_named("FIELDS", row) for row in data["items"]]

    return read


@pytest.fixture
def claims() -> Callable[[dict[str, list[list[object]]]], list[dict[str, object]]]:
    """The claims of a row."""
    return lambda row: [_named("CLAIM_FIELDS", values) for values in row["claims"]]
