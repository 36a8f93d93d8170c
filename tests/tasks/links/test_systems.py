"""Suggestions of another tool: measured as ours, from a file, whatever is odd about them."""

import json
import re

import pytest
from out_files import items_of, run_of

from gigamind.errors import EvaluationError, InputError

BETA = {"target": "Beta", "anchor": "Beta", "start": 7, "end": 11, "confidence": 0.9}
LINES = [
    # The link to Beta was taken from a; 감마 is linked there already.
    {"note": "a.md", "suggestions": [BETA, {"target": "감마", "confidence": 0.5}]},
    # Of c the one to 감마 was taken, at 0, and one to d that nothing here leads to.
    {"id": "c", "suggestions": [["b.md", 0.8], {"target": "감마.md", "anchor": "감마"}]},
]


@pytest.fixture
def suggested(evaluate, tmp_path):
    """The run of a tool whose file has these lines."""

    def run(lines=LINES, **options):
        file = tmp_path / "tool.jsonl"
        told = (
            line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)
            for line in lines
        )
        file.write_text("\n".join(told), "utf-8")
        return evaluate(**{"semantic": True, "system": f"run:{file}"} | options)

    return run


def test_a_tool_is_measured_as_we_are_counted_by_hand(suggested):
    done = suggested()
    links = done.summary.overall.links
    expected = {
        "precision_at_1": 1 / 2,  # Beta of a; not b.md of c
        "precision_at_5": 2 / 4,
        "recall_at_5": 2 / 3,
        "recall_at_5_excluding_linked": 2 / 3,
        "novelty_at_5": 3 / 4,
        "span_accuracy_at_5": 1.0,  # Beta at its range; 감마 stands once in c, at 0
    }
    assert {name: links[name] for name in expected} == pytest.approx(expected)
    items, run = items_of(done.out, "note"), run_of(done.out)
    assert [one["span_exact"] for one in items["a.md"]["suggestions"]] == [True, None]
    assert items["a.md"]["suggestions"][1]["anchor"] is None
    assert items["c.md"]["suggestions"][1]["confidence"] is None
    assert items["c.md"]["suggestions"][1]["anchor"]["utf16_start"] == 0
    system = run["environment"]["system"]
    assert (system["kind"], system["target"], len(system["file_hash"])) == ("run", "tool.jsonl", 64)
    assert (run["options"]["semantic"], run["options"]["embedder"]) == (None, None)
    assert done.summary.system.oddities == {}
    # Of the three confidences 0.9 is right; those of 0.5 and 0.8 are wrong: (0.1 + 0.5 + 0.8) / 3
    assert done.summary.calibration_error == pytest.approx(1.4 / 3)
    page = (done.out / "report.html").read_text("utf-8")
    assert "run:tool.jsonl" in page


def test_what_is_odd_is_counted_by_note_and_said(suggested):
    lines = [
        {
            "note": "a.md",
            "suggestions": [
                {"target": "Beta", "anchor": "Beta", "start": 8, "end": 12, "confidence": 0.4},
                {"target": "b.md", "confidence": 0.5},
                {"target": "gone", "confidence": 0.6},
                {"target": "d", "confidence": 1.5},
            ],
        },
        '{"note": "c.md", "suggestions": [{"target": "감마", "anchor": "없다", "confidence": NaN}]}',
        {"note": "Delta", "suggestions": []},
        {"note": "a", "suggestions": []},
        {"note": "c.md"},
        {"note": "x", "suggestions": [{"anchor": "y"}]},
    ]
    done = suggested(lines, lang="ko")
    items, run = items_of(done.out, "note"), run_of(done.out)
    assert items["a.md"]["oddities"] == {
        "repeated_notes": 1,
        "unknown_notes": 1,
        "rising_scores": 1 + 1,  # 0.4, 0.6, 1.5
        "bad_scores": 1,
        "unplaced_texts": 1,
    }
    assert items["c.md"]["oddities"] == {"bad_scores": 1, "unplaced_texts": 1}
    assert [one["target"] for one in items["a.md"]["suggestions"]] == ["b.md", "gone", "d.md"]
    assert items["a.md"]["suggestions"][2]["confidence"] is None
    warned = " ".join(run["warnings"])
    assert "suggestion 1 " in warned
    assert "d.md" in warned
    values = [message.get("values") for message in run["warning_messages"]]
    assert {"count": 1, "total": 2} in values
    assert "노트 2개 중 1개" in (done.out / "report.html").read_text("utf-8")


def test_a_run_that_lacks_more_than_a_fifth_of_the_notes_is_no_result(suggested, tmp_path):
    with pytest.raises(EvaluationError, match="50%") as refusal:
        suggested(LINES[:1])
    assert refusal.value.exit_code == 3
    items = items_of(tmp_path / "out", "note")
    assert items["c.md"]["oddities"] == {"not_in_run_file": 1}
    done = suggested(LINES[:1], allow_partial=True, out=tmp_path / "part")
    assert done.summary.system.failed == 1


def test_without_a_confidence_nothing_is_said_of_calibration(suggested):
    lines = [{"note": note, "suggestions": ["b", "감마"]} for note in ("a", "c")]
    done = suggested(lines)
    assert (done.summary.sweep, done.summary.reliability) == ((), ())
    assert done.summary.calibration_error is None
    assert done.summary.overall.links["span_accuracy_at_5"] is None


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (LINES, {"embedder": "e5-small"}, "--embedder: "),
        (LINES, {"semantic": False}, "--semantic: "),
        (LINES, {"system": "http://x"}, "--system http://x: "),
        (LINES, {"system": None, "allow_partial": True}, "--allow-partial: "),
        ([{"note": "a"}], {}, '{"note": ..., "suggestions"'),
        ([{"note": "x", "suggestions": []}], {}, "x"),
    ],
)
def test_what_cannot_be_used_is_refused(suggested, lines, options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        suggested(lines, **options)
