"""Hits that nobody judged, in the out folder of a run; and rows without judgements, which have none."""

import json
import math

import pytest
from blocks import section

from gigamind.i18n import translator
from gigamind.release.model import read_run
from gigamind.reports.run import Outcome, run_document
from gigamind.tasks import KINDS, TASKS, evaluate

ROW = {"id": "a", "query": "a?", "answerable": True, "expected_notes": ["r"]}
RUN = "a Q0 x 1 3 t\na Q0 r 2 2 t\na Q0 y 3 1 t\nb Q0 y 1 3 t\nb Q0 r 2 2 t\nn Q0 z 1 1 t\n"


@pytest.fixture
def run(make_options, tmp_path):
    """Evaluates rows over RUN without a vault; the out folder and its summary."""

    def evaluated(*rows, **changes):
        (tmp_path / "a.run").write_text(RUN)
        given = {"mode": "hybrid", "notes": None, "system": f"run:{tmp_path / 'a.run'}", "topk": 5}
        finished = evaluate(make_options(list(rows), **(given | changes)))
        return finished.out, json.loads((finished.out / "summary.json").read_text("utf-8"))

    return evaluated


def test_the_hits_that_would_matter_most_come_first_as_rows_to_label(run):
    out, summary = run(
        ROW | {"gains": {"r": 1}},
        ROW | {"id": "b", "gains": {"r": 2, "y": 0}},
        {"id": "n", "query": "n?", "answerable": False, "expected_notes": [], "gains": {"z": 0}},
    )
    holes = summary["holes"]
    lines = holes["worst"]
    now, ideal = 1 / math.log2(3), 1 + 1 / math.log2(3)
    found = [(line["id"], line["note"], line["rank"]) for line in lines]
    assert found == [("a", "x", 1), ("a", "y", 3)]
    assert [line["ndcg_change"] for line in lines] == pytest.approx(
        [1 - now, (now + 1 / 2) / ideal - now]
    )
    assert (holes["k"], holes["hits"], holes["unjudged"]) == (5, 5, 2)
    assert read_run(out, KINDS).summary.holes.unjudged == 2


def test_the_report_says_what_the_holes_leave_open(run):
    out, _ = run(ROW | {"gains": {"r": 1}})
    record = read_run(out, KINDS)
    document = run_document(TASKS["search"].view, record, Outcome(), translator("en"))
    (prose,) = section(document, "unjudged").blocks
    values = prose.text.values
    assert (values["unjudged"], values["hits"], values["k"]) == (2, 3, 5)
    # x, y irrelevant: 0.631; relevant: x alone or both give 1; y alone (0.631 + 0.5) / 1.631 = 0.693
    assert (values["low"], values["current"], values["high"]) == ("0.631", "0.631", "1.000")


def test_where_all_was_judged_there_is_nothing_to_label(run):
    _out, summary = run(ROW | {"gains": {"r": 1, "x": 0, "y": 0}})
    assert summary["holes"]["unjudged"] == 0


def test_rows_without_judgements_have_no_holes(run):
    out, summary = run(ROW)
    assert "holes" not in summary
    assert not [name for name in summary["overall"]["search"] if "judged" in name or "low" in name]
    assert "gains" not in json.loads((out / "per_item.jsonl").read_text("utf-8"))


def test_groups_of_notes_are_measured_over_the_rows_that_have_some(run):
    _, summary = run(
        ROW | {"expected_notes": [], "expected_all_of": [["x", "q"], ["y"]]}, ROW | {"id": "b"}
    )
    search = summary["overall"]["search"]
    assert (search["group_recall_at_1"], search["complete_at_1"]) == (0.5, 0.0)
    assert (search["group_recall_at_3"], search["complete_at_3"]) == (1.0, 1.0)
    assert summary["overall"]["intervals"]["search.complete_at_3"]["n"] == 1
