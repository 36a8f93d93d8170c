"""What is exported says the same elsewhere."""

import csv
import io
import random
from xml.etree import ElementTree as ET

import ir_measures
import pytest
from ranked import measure_ranking

from gigamind.evaluation.release import _junit_xml, _JunitCase
from gigamind.interop.tables import csv_text, flat_row
from gigamind.interop.trec import column, trec_qrels, trec_run


def test_trec_eval_keeps_the_order_of_an_exported_run(tmp_path):
    """Names go against the ranks, so that a tie of scores in float32 would change the order."""
    chance = random.Random(3)
    rankings, grades = {}, {}
    for query in ("q 1", "q%2", "휴가"):
        rankings[query] = [f"노트 {1000 - rank}.md" for rank in range(1000)]
        grades[query] = {note: chance.randint(0, 3) for note in chance.sample(rankings[query], 400)}
        rankings[query].sort(reverse=query == "휴가")
    (tmp_path / "run").write_text(trec_run(rankings, "a tag"), encoding="utf-8")
    (tmp_path / "qrels").write_text(trec_qrels(grades), encoding="utf-8")
    names = {"ndcg_at_1000": "nDCG@1000", "recall_at_10": "R@10", "mrr": "RR"}
    measures = {name: ir_measures.parse_measure(theirs) for name, theirs in names.items()}
    found = {
        (row.query_id, row.measure): row.value
        for row in ir_measures.iter_calc(
            measures.values(),
            ir_measures.read_trec_qrels(str(tmp_path / "qrels")),
            ir_measures.read_trec_run(str(tmp_path / "run")),
        )
    }
    assert len(found) == len(rankings) * len(names)
    for query, ranking in rankings.items():
        ours = measure_ranking(ranking, grades[query], 1000)
        for name, measure in measures.items():
            assert ours[name] == pytest.approx(found[column(query), measure], abs=1e-12)


def test_names_stay_different_in_a_column():
    names = ["a b", "a%20b", "a\u3000b", "a\tb", "a"]
    assert len({column(name) for name in names}) == len(names)
    assert not [name for name in names if len(column(name).split()) != 1]


def test_a_table_survives_a_spreadsheet():
    rows = [{"id": "=1+1", "tags": ["ㄱ", "b"], "x": -0.5}, {"id": 'a"b\nc', "y": None}]
    text = csv_text(rows)
    assert text.startswith("\ufeffid,tags,x,y\n")
    first, second = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    assert first == {"id": "'=1+1", "tags": '["ㄱ", "b"]', "x": "-0.5", "y": ""}
    assert second["id"] == 'a"b\nc'


def test_lists_of_objects_are_no_columns_even_if_empty():
    row = {"id": "q", "tags": ["a"], "expected_spans": [], "gains": {"a.md": 1}}
    flat = {"id": "q", "tags": ["a"], "gains": {"a.md": 1}}
    assert flat_row(row) == flat_row({**row, "expected_spans": [{"start": 1}]}) == flat


def test_cases_and_counts_read_back_from_the_xml():
    text = _junit_xml(
        "gate",
        [
            _JunitCase("search.mrr", "failed", 'worse by 0.1 <"&>'),
            _JunitCase("search.hit_at_1", "passed", "fine"),
            _JunitCase("cold_start", "skipped", "not measured"),
            _JunitCase("comparable", "error", "other dataset"),
        ],
    )
    suite = ET.fromstring(text)
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    assert suite.find("testcase[@name='search.mrr']/failure").get("message") == 'worse by 0.1 <"&>'
    assert suite.find("testcase[@name='search.hit_at_1']/system-out").text == "fine"


def test_characters_that_xml_forbids_are_left_out():
    case = _JunitCase("bell\x07", "failed", "nul\x00 lone \ud800 kept \U0001f680 한글")
    found = ET.fromstring(_junit_xml("gate", [case])).find("testcase")
    assert found.get("name") == "bell"
    assert found.find("failure").get("message") == "nul lone  kept \U0001f680 한글"
