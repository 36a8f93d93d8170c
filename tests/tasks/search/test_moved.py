import json

import pytest
from blocks import find
from called import call, ran

from gigamind.evidence.again import find_again
from gigamind.release.compare import compare
from gigamind.release.gates import judge_release
from gigamind.release.model import read_run
from gigamind.release.policy import Policy, Release
from gigamind.reports.comparison import release_document
from gigamind.reports.document import Examples, Section
from gigamind.spans import Span
from gigamind.tasks import evaluate
from gigamind.tasks.search.prepare import prepare
from gigamind.tasks.search.schema import SearchComparison

LONG = "Invoices above 500 euros need the approval of two people."


@pytest.mark.each(
    "text, note, expected",
    [
        ("휴가는 팀장에게", "새 머리말\n\n휴가는 팀장에게 신청한다.", Span(7, 15)),
        ("휴가는 팀장에게", "휴가는\n**팀장**에게 신청한다.", Span(0, 12)),
        (LONG, f"# Money\n\n{LONG.replace('need the', 'need an')}", Span(9, 65)),
        (LONG, LONG.replace("500", "900"), None),  # says something else now
        ("휴가는 팀장에게", "휴가는 팀장에게. 휴가는 팀장에게.", None),  # which of the two?
        ("휴가는 팀장에게", "회의는 월요일에 한다.", None),
        ("가" * 5_000, "나" + "가" * 5_000, Span(1, 5_001)),
        ("가" * 5_001, "나" + "가" * 5_001, None),
        ("가", "", None),
    ],
)
def test_a_text_is_found_again_only_when_its_place_is_sure(text, note, expected):
    assert find_again(text, note) == expected


def labelled(start, end, text):
    return {
        "id": "a",
        "query": "휴가 신청",
        "answerable": True,
        "expected_notes": ["휴가.md"],
        "expected_spans": [{"note_path": "휴가.md", "start": start, "end": end, "text": text}],
    }


def warnings_of(options):
    """Those of single rows, which name their file first."""
    found = prepare(options).warnings
    return [warning for warning in found if warning.startswith(f"{options.dataset}:")]


def test_no_row_is_rejected_for_a_note_that_was_shortened(make_options):
    rows = [labelled(90, 98, "휴가는 팀장에게"), labelled(90, 98, "장미") | {"id": "b"}]
    prepared = prepare(make_options([*rows, labelled(17, 19, "🌴") | {"id": "c"}]))
    assert prepared.errors == ()
    assert [query.gone for query in prepared.queries] == [0, 1, 0]
    moved, gone = warnings_of(prepared.options)
    assert '"start": 20, "end": 28' in moved
    assert '"start"' not in gone


def test_no_more_than_500_texts_are_looked_for_that_do_not_stand_there_word_for_word(make_options):
    rows = [labelled(0, 8, "휴가는  팀장에게") | {"id": f"q{number}"} for number in range(501)]
    warnings = warnings_of(make_options(rows))
    assert ['"start":' in warning for warning in warnings] == [True] * 500 + [False]


def test_moved_passages_are_scored_where_they_stand_and_gone_ones_are_told_by_the_gate(
    make_options, tmp_path
):
    """A sentence more above the answer changes no figure; without the answer the gate fails, and the ranking stays."""
    note = tmp_path / "vault" / "휴가.md"
    rows = [labelled(20, 34, "휴가는 팀장에게 신청한다.")]
    options = make_options(rows).model_copy(update={"min_rows": 0})
    text = note.read_text("utf-8")

    def snapshot_of(changed):
        note.write_text(changed, encoding="utf-8")
        out = tmp_path / f"run{len(changed)}"
        evaluate(options.model_copy(update={"out": out}))
        task = SearchComparison()
        return task.take_snapshot(read_run(out, {"search": task}))

    before = snapshot_of(text)
    policy = Policy.read(None)
    policy = policy.model_copy(
        update={"comparable": policy.comparable.model_copy(update={"relax": ("notes",)})}
    )
    moved = compare(before, snapshot_of(text.replace("🌴", "🌴 새 소식.\n\n🌴")))
    assert moved.gone == ()
    for name in ("search.span_recall", "search.answer_in_evidence"):
        change = moved.metric(name)
        assert change is not None
        assert (change.baseline, change.current) == (1.0, 1.0), name
    gone = compare(before, snapshot_of(text.replace("휴가는 팀장에게", "내용은 없음")))
    assert [item.id for item in gone.gone] == ["a"]
    assert gone.metric("search.hit_at_1").current == 1.0
    (change,) = gone.changes
    assert change.change == "worse"
    gate = judge_release(gone, policy, "mvp")
    assert gate.verdict == "failed"
    lists = [
        find([block], Examples)
        for block in release_document(Release(comparison=gone, gate=gate)).blocks
        if isinstance(block, Section)
    ]
    assert [[item.id for item in block.items] for block in lists if block] == [["a"]]


def test_the_offsets_are_rewritten_and_no_other_line_is(tmp_path):
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "휴가.md").write_text("👋 새 소식.\n\n휴가는 팀장에게 신청한다.", encoding="utf-8")
    kept = '{"id": "k",  "query": "q", "answerable": false, "expected_notes": []}'
    gone = json.dumps(labelled(0, 2, "장미") | {"id": "g"})
    moved = json.dumps(labelled(0, 8, "휴가는 팀장에게"))
    (tmp_path / "q.jsonl").write_text(f"{kept}\n{moved}\n\n{gone}\n", encoding="utf-8")
    given = ("dataset", "check", "--dataset", tmp_path / "q.jsonl")
    fixed = (*given, "--notes", vault, "--fix", tmp_path / "new.jsonl")
    done = ran(*fixed)
    assert "1 of 3 " in done.stderr
    assert str(tmp_path / "new.jsonl") in done.stderr
    lines = (tmp_path / "new.jsonl").read_text("utf-8").split("\n")
    assert (lines[0], lines[2], lines[3], lines[4]) == (kept, "", gone, "")
    span = {"note_path": "휴가.md", "start": 10, "end": 18, "text": "휴가는 팀장에게"}
    assert json.loads(lines[1]) == labelled(0, 8, "휴가는 팀장에게") | {"expected_spans": [span]}

    assert str(tmp_path / "new.jsonl") in call(*fixed).stderr
    assert "--fix" in call(*given, "--fix", tmp_path / "other.jsonl").stderr
