import json
import math
import re
from datetime import UTC, datetime

import pytest

from gigamind.errors import EvaluationError, InputError
from gigamind.evals.summary import default_out, evaluate
from gigamind.reports.schema import ErrorReport, ItemReport, RunReport, SummaryReport

FILES = [
    "errors.jsonl",
    "per_item.jsonl",
    "report.html",
    "run.json",
    "summary.json",
    "summary.md",
]


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def keyword_run(make_options):
    """Summary and lines by id of the keyword run of all queries."""
    summary, out, _ = evaluate(make_options())
    return summary, {line["id"]: line for line in read_lines(out / "per_item.jsonl")}


def test_keyword_rankings_are_those_worked_out_by_hand(keyword_run):
    _, lines = keyword_run
    found = {name: [hit["note"] for hit in line["ranking"]] for name, line in lines.items()}
    assert found == {
        "first": ["deploy.md"],
        # "approval" stands in its note twice (title and text), "roses" once, and both are equally rare.
        "second": ["policies/approval.md", "garden.md"],
        "korean": ["휴가.md"],
        # The bigram 요일 is part of 월요일; 배포 stands nowhere.
        "across": ["회의.md"],
        "nothing": [],
        "trap": ["garden.md"],
    }
    assert lines["first"]["ranking"][0]["base_score"] == 1.0


def test_ranking_means_are_over_the_answerable_queries_only(keyword_run):
    summary, _ = keyword_run
    # Ranks of the expected note: 1, 2, 1, none.
    expected = {
        "hit_at_1": 2 / 4,
        "hit_at_3": 3 / 4,
        "hit_at_10": 3 / 4,
        "mrr": (1 + 1 / 2 + 1 + 0) / 4,
        "ndcg_at_1": 2 / 4,
        "ndcg_at_3": (1 + 1 / math.log2(3) + 1 + 0) / 4,
        "recall_at_1": 2 / 4,
        "recall_at_10": 3 / 4,
    }
    found = summary.overall.search
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert summary.overall.intervals["search.mrr"].n == 4
    assert summary.counts.model_dump() == {
        "queries_total": 6,
        "queries_answerable": 4,
        "queries_unanswerable": 2,
        "rows_rejected": 0,
        "rows_not_sampled": 0,
        "queries_failed": 0,
        "queries_not_run": 0,
        "notes": 5,
    }


def test_the_unanswerable_queries_are_judged_by_the_threshold(keyword_run):
    summary, lines = keyword_run
    # "nothing" finds nothing (true positive), "trap" finds a note (false negative), no answerable one is refused.
    assert summary.overall.unanswerable == pytest.approx(
        {"precision": 1.0, "recall": 0.5, "f1": 2 / 3, "far": 0.5}
    )
    assert lines["nothing"]["top_base_score"] is None
    assert lines["nothing"]["metrics"] == lines["trap"]["metrics"] == {}


def test_slices_hold_their_own_queries(keyword_run):
    summary, _ = keyword_run
    assert {key: part.search["mrr"] for key, part in summary.by_language.items()} == {
        "en": 0.75,
        "ko": 1.0,
        "ko-KR": 0.0,
    }
    assert summary.by_language["en"].counts.model_dump() == {
        "queries": 4,
        "answerable": 2,
        "unanswerable": 2,
    }
    assert set(summary.by_tag) == {"ops"}
    assert {key: part.search["mrr"] for key, part in summary.by_difficulty.items()} == {
        "easy": 1.0,
        "mid": 0.5,
    }


def test_a_query_in_a_language_that_its_notes_are_not_in_is_cross_lingual(keyword_run):
    summary, lines = keyword_run
    assert [name for name, line in lines.items() if line["cross_lingual"]] == ["across"]
    assert summary.cross_lingual is not None
    assert summary.cross_lingual.counts.queries == 1
    assert summary.cross_lingual.search["mrr"] == 0.0


@pytest.mark.parametrize(
    ("changes", "cross"),
    [
        ({"language": "ko"}, True),
        ({"language": "en"}, False),
        ({"language": "en-GB"}, False),
        ({"language": "EN"}, False),
        ({}, False),
        ({"tags": ["cross-lingual"]}, True),
        ({"language": "en", "expected_notes": ["deploy.md", "회의.md"]}, False),
        ({"language": "ko", "expected_notes": ["plain.md"]}, False),  # its language is unknown
    ],
)
def test_what_counts_as_cross_lingual(make_options, notes, changes, cross):
    (notes / "plain.md").write_text("No language is told.\n", encoding="utf-8")
    row = {"id": "a", "query": "deploy", "answerable": True, "expected_notes": ["deploy.md"]}
    summary, _, _ = evaluate(make_options([row | changes]))
    assert (summary.cross_lingual is not None) == cross


def test_spans_are_counted_in_utf16_units_and_only_where_expected(keyword_run):
    summary, lines = keyword_run
    (span,) = lines["korean"]["expected_spans"]
    assert (span["utf16_start"], span["utf16_end"]) == (17, 34)
    assert span["text"] == "🌴 휴가는 팀장에게 신청한다."
    assert lines["korean"]["ranking"][0]["evidence"] == span
    assert lines["korean"]["metrics"]["span_precision"] == 1.0
    assert lines["first"]["metrics"]["span_precision"] is None
    assert summary.overall.search["span_recall"] == 1.0
    assert summary.overall.intervals["search.span_recall"].n == 1


def test_every_file_of_the_out_folder_reads_back_as_its_model(make_options, tmp_path):
    summary, out, _ = evaluate(make_options([*_rows(), "{broken"]))
    assert out == tmp_path / "out"
    assert sorted(file.name for file in out.iterdir()) == FILES
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


@pytest.mark.parametrize(
    ("output", "absent"),
    [("json", {"summary.md", "report.html"}), ("md", {"summary.json"}), ("both", set())],
)
def test_the_format_chooses_the_summary(make_options, output, absent):
    _, out, _ = evaluate(make_options(format=output))
    assert {file.name for file in out.iterdir()} == set(FILES) - absent


def test_two_runs_differ_in_times_only_whatever_the_concurrency(make_options, tmp_path):
    texts = []
    for concurrency in (1, 4):
        out = tmp_path / f"out{concurrency}"
        evaluate(make_options(out=out, max_concurrency=concurrency))
        texts.append([_without_times((out / name).read_text("utf-8")) for name in FILES])
    one, four = texts
    for name, first, second in zip(FILES, one, four, strict=True):
        # run.json's options tell the concurrency; the page draws the times.
        if name not in {"run.json", "report.html"}:
            assert first == second, name


def _without_times(text):
    text = re.sub(r'("\w+_ms":\s*)[0-9.eE+-]+', r"\1T", text)
    text = re.sub(r"\d+ at a time", "N at a time", text)
    return re.sub(r"(?m)^\| (latency p\d+|indexing|all queries|run) \|.*$", r"| \1 |", text)


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_the_other_modes_run_end_to_end(make_options, mode):
    summary, out, _ = evaluate(make_options(mode=mode))
    lines = {line["id"]: line for line in read_lines(out / "per_item.jsonl")}
    best = lines["first"]["ranking"][0]
    assert best["note"] == "deploy.md"
    assert 0 < best["semantic_score"] <= 1
    keyword = {"semantic": None, "hybrid": 1.0}[mode]
    assert best["keyword_score"] == keyword
    share = 0.7 * best["semantic_score"] + 0.3 * 1.0 if keyword else best["semantic_score"]
    assert best["base_score"] == pytest.approx(share)
    assert summary.overall.search["hit_at_10"] == 1.0  # ten places, five notes
    run = json.loads((out / "run.json").read_text("utf-8"))
    assert run["environment"]["embedding_model"].startswith("use-multilingual")


def test_rejected_rows_are_counted_once_however_many_problems_they_have(make_options):
    bad = {"id": "b", "query": "", "answerable": "yes", "expected_notes": "deploy.md"}
    summary, out, _ = evaluate(make_options([*_rows(), bad]))
    errors = read_lines(out / "errors.jsonl")
    assert len(errors) == 3
    assert {(error["line"], error["kind"]) for error in errors} == {(7, "row")}
    assert summary.counts.rows_rejected == 1


def test_a_sample_is_drawn_by_the_seed(make_options, tmp_path):
    def ids(name, seed):
        out = tmp_path / name
        summary, _, _ = evaluate(make_options(sample="3", seed=seed, out=out))
        assert (summary.counts.queries_total, summary.counts.rows_not_sampled) == (3, 3)
        return [line["id"] for line in read_lines(out / "per_item.jsonl")]

    assert ids("a", 1) == ids("b", 1) != ids("c", 2)


def test_a_full_out_folder_is_refused_before_any_work(make_options, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.txt").write_text("mine", encoding="utf-8")
    options = make_options().model_copy(update={"dataset": tmp_path / "never read.jsonl"})
    with pytest.raises(InputError, match="exists already"):
        evaluate(options)
    assert [file.name for file in out.iterdir()] == ["report.txt"]


def test_without_a_name_the_out_folder_is_named_by_the_time(make_options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, first, _ = evaluate(make_options(out=None))
    _, second, _ = evaluate(make_options(out=None))
    assert first != second
    for out in (first, second):
        assert re.fullmatch(r"eval/out/\d{8}-\d{6}(-2)?", out.as_posix())
        assert sorted(file.name for file in out.iterdir()) == FILES


def test_a_name_that_is_taken_gets_a_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    started = datetime(2026, 1, 31, 12, 0, 0).astimezone(UTC)
    names = []
    for _ in range(3):
        out = default_out(started)
        out.mkdir(parents=True)
        names.append(out.as_posix())
    first = "eval/out/20260131-120000"
    assert names == [first, f"{first}-2", f"{first}-3"]


def test_a_run_whose_every_query_failed_is_an_error_and_says_why(make_options):
    words = "deploy " * 30_000  # some 20 ms of work
    rows = [
        {"id": f"q{n}", "query": words, "answerable": True, "expected_notes": ["deploy.md"]}
        for n in range(3)
    ]
    with pytest.raises(EvaluationError, match=r"every query failed: see .*errors\.jsonl") as end:
        evaluate(make_options(rows, timeout_ms=1))
    assert end.value.exit_code == 3
    out = make_options(rows).out
    errors = read_lines(out / "errors.jsonl")
    assert [(e["kind"], e["id"], e["error"]) for e in errors] == [
        ("item", f"q{n}", "QueryTimeoutError") for n in range(3)
    ]
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert summary["counts"]["queries_failed"] == 3
    assert summary["overall"]["search"]["latency_p50_ms"] is None


def test_a_cold_start_is_told_only_where_it_was_one(make_options, tmp_path):
    warm, _, _ = evaluate(make_options())
    cold, _, _ = evaluate(make_options(out=tmp_path / "cold", cold_start=True))
    assert warm.performance.cold_start_ms is None
    assert cold.performance.cold_start_ms == cold.performance.indexing_ms
    assert cold.overall.search["mrr"] == warm.overall.search["mrr"]


def test_topk_decides_the_length_of_rankings_and_the_cut_offs(make_options):
    summary, out, _ = evaluate(make_options(topk=2, mode="keyword"))
    assert max(len(line["ranking"]) for line in read_lines(out / "per_item.jsonl")) == 2
    assert {name for name in summary.overall.search if name.startswith("ndcg")} == {
        "ndcg_at_1",
        "ndcg_at_2",
    }


def test_the_graph_rerank_changes_order_and_never_the_base_score(make_options, notes, tmp_path):
    for n in range(3):
        (notes / f"link{n}.md").write_text("See [[garden]].\n", encoding="utf-8")
    lines = {}
    for rerank in (False, True):
        out = tmp_path / str(rerank)
        evaluate(make_options(graph_rerank=rerank, out=out))
        lines[rerank] = {line["id"]: line["ranking"] for line in read_lines(out / "per_item.jsonl")}
    off = {hit["note"]: hit for hit in lines[False]["second"]}
    on = {hit["note"]: hit for hit in lines[True]["second"]}
    assert all(hit["final_score"] == hit["base_score"] for hit in off.values())
    assert {n: h["base_score"] for n, h in on.items()} == {
        n: h["base_score"] for n, h in off.items()
    }
    garden = on["garden.md"]  # the most linked note has centrality 1
    assert garden["final_score"] == pytest.approx(1.2 * garden["base_score"])


def test_figures_are_written_as_files_where_asked_for(make_options):
    _, out, _ = evaluate(make_options(figures="svg"))
    drawn = sorted(file.name for file in (out / "figures").iterdir())
    assert "metrics.svg" in drawn
    assert all((out / "figures" / name).read_text("utf-8").count("<svg") == 1 for name in drawn)


def test_the_page_of_a_compared_run_shows_the_gates_verdict(make_options, tmp_path):
    evaluate(make_options(out=tmp_path / "base"))
    _, out, verdict = evaluate(
        make_options(out=tmp_path / "next", compare=tmp_path / "base", save_snapshot=True)
    )
    assert verdict is not None
    assert verdict.gate.verdict == "passed"
    assert {"compare.md", "compare.json", "snapshot.json"} <= {file.name for file in out.iterdir()}
    assert "Release gate passed" in (out / "report.html").read_text("utf-8")
