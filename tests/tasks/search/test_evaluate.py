import json
import re

import pytest
from blocks import section
from command_line import RUN_FILES
from out_files import rows_of

from gigamind.errors import EvaluationError
from gigamind.records.schema import ErrorReport, RunReport
from gigamind.tasks import evaluate
from gigamind.tasks.search.schema import ItemReport, SummaryReport


def test_every_file_of_the_out_folder_reads_back_as_its_model(make_options, tmp_path):
    summary, out, *_ = evaluate(make_options([*_rows(), "{broken"]))
    assert out == tmp_path / "out"
    assert sorted(file.name for file in out.iterdir()) == RUN_FILES
    assert SummaryReport.model_validate_json((out / "summary.json").read_bytes()) == summary
    run = RunReport.model_validate_json((out / "run.json").read_bytes())
    assert (run.status, run.options["mode"]) == ("complete", "keyword")
    for name, model, count in (("per_item", ItemReport, 6), ("errors", ErrorReport, 1)):
        lines = (out / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        assert len([model.model_validate_json(line) for line in lines]) == count


def _rows():
    texts = ("deploy", "Friday", "roses", "휴가", "approval", "euros")
    return [
        {"id": f"q{n}", "query": text, "answerable": True, "expected_notes": ["deploy"]}
        for n, text in enumerate(texts)
    ]


def test_two_runs_differ_in_times_only_whatever_the_concurrency(make_options, tmp_path):
    texts = []
    for concurrency in (1, 4):
        out = tmp_path / f"out{concurrency}"
        evaluate(make_options(out=out, max_concurrency=concurrency))
        written = [
            _without_times((out / name).read_text("utf-8")).replace(out.name, "OUT")
            for name in RUN_FILES
        ]
        texts.append([re.sub(r"[14] at a time|(?<=concurrency\":) [14]", "", x) for x in written])
    one, four = texts
    for name, first, second in zip(RUN_FILES, one, four, strict=True):
        # run.json's options tell the concurrency; the page draws the times.
        if name not in {"run.json", "report.html"}:
            assert first == second, name


def _without_times(text):
    text = re.sub(r'("\w+_ms":\s*)[0-9.eE+-]+', r"\1T", text)
    text = re.sub(r"\d{8}-\d{6}|\d{4}-\d\d-\d\d[T ][\d:]+|[\d.,]+ m?s\b", "T", text)
    return re.sub(r"(?m)^\| (latency p\d+|indexing|all queries|run) \|.*$", r"| \1 |", text)


def test_rejected_rows_are_counted_once_however_many_problems_they_have(make_options):
    bad = {"id": "b", "query": "", "answerable": "yes", "expected_notes": "deploy.md"}
    summary, out, _verdict, _bounds, page = evaluate(make_options([*_rows(), bad]))
    errors = rows_of(out, "errors.jsonl")
    assert len(errors) == 3
    assert {(error["line"], error["kind"]) for error in errors} == {(7, "row")}
    assert summary.counts.rows_rejected == 1
    kinds, rows = section(page, "errors").blocks
    assert [kind.values["count"] for kind in kinds.items] == [1]
    ((_place, messages),) = rows.rows
    assert len(messages.values["parts"]) == 3


def test_without_a_name_the_out_folder_is_named_by_the_time(make_options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = evaluate(make_options(out=None)).out
    second = evaluate(make_options(out=None)).out
    assert first != second
    for out in (first, second):
        assert re.fullmatch(r"eval/out/\d{8}-\d{6}(-2)?", out.as_posix())
        assert sorted(file.name for file in out.iterdir()) == RUN_FILES


def test_a_run_whose_every_query_failed_is_an_error_and_says_why(make_options):
    words = "deploy " * 10_000  # some 7 ms of work
    rows = [
        {"id": f"q{n}", "query": words, "answerable": True, "expected_notes": ["deploy.md"]}
        for n in range(3)
    ]
    why = r"query q0: .*1 ms.*errors\.jsonl"
    with pytest.raises(EvaluationError, match=why) as end:
        evaluate(make_options(rows, timeout_ms=1))
    assert end.value.exit_code == 3
    out = make_options(rows).out
    errors = rows_of(out, "errors.jsonl")
    assert [(e["kind"], e["id"], e["error"]) for e in errors] == [
        ("item", f"q{n}", "QueryTimeoutError") for n in range(3)
    ]
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert summary["counts"]["queries_failed"] == 3
    assert summary["overall"]["search"]["latency_p50_ms"] is None


def test_a_cold_start_is_told_only_where_it_was_one(make_options, tmp_path):
    warm, *_ = evaluate(make_options())
    cold, *_ = evaluate(make_options(out=tmp_path / "cold", cold_start=True))
    assert warm.performance.cold_start_ms is None
    assert cold.performance.cold_start_ms == cold.performance.indexing_ms
    assert cold.overall.search["mrr"] == warm.overall.search["mrr"]
