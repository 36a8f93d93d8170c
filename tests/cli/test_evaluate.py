import json

import pytest
from run_files import RUN_FILES


def written(case):
    return sorted(file.name for file in (case / "out").iterdir())


def test_a_run_prints_its_figures_and_where_the_report_is(case, search):
    ended = search("--min-score", 0)
    assert (ended.code, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    rows = [line.split() for line in lines]
    assert "2 of 2" in lines[0]
    assert ["hit@1", "1.000", "0.342", "–", "1.000", "2"] in rows
    assert ["wrongly", "answered", "(FAR)", "0.000", "0.000", "–", "0.793", "1"] in rows
    assert lines[-1] == "Report: out/report.html"
    assert written(case) == RUN_FILES


def test_warnings_are_part_of_the_page(case, search):
    rows = (case / "queries.jsonl").read_text("utf-8").replace('"id"', '"colour": 1, "id"')
    (case / "queries.jsonl").write_text(rows, "utf-8")
    ended = search()
    assert (ended.code, ended.stderr) == (0, "")
    (warning,) = [line for line in ended.stdout.splitlines() if line.startswith("  ! ")]
    assert '"colour"' in warning
    assert "colour" in (case / "out" / "summary.md").read_text("utf-8")


@pytest.mark.parametrize(("form", "report"), [("json", "summary.json"), ("md", "report.html")])
def test_the_format_chooses_the_summary_and_the_report_named(case, search, form, report):
    ended = search("--format", form)
    assert ended.stdout.endswith(f"Report: out/{report}\n")
    absent = {"json": {"summary.md", "report.html"}, "md": {"summary.json"}}[form]
    assert written(case) == [name for name in RUN_FILES if name not in absent]


def test_every_option_reaches_the_run(case, search):
    changes = {
        "format": "json",
        "lang": "ko",
        "seed": 7,
        "sample": "2",
        "warmup": 1,
        "timeout_ms": 9000,
        "max_concurrency": 2,
        "speed_passes": 3,
        "min_rows": 0.25,
        "notes_hash_mode": "mtime",
        "mode": "keyword",
        "topk": 3,
        "evidence_notes": 2,
        "min_score": 0.5,
        "judge_lang": "ko",
        "batch_poll": 1.5,
        "fresh_fraction": 0.5,
        "fusion": "balanced",
        "alpha": 0.25,
        "embedder": "use-multilingual",
        "embedding_api_base": "http://localhost:1",
        "cache_dir": "elsewhere",
        "phase": "ga",
        "junit": "gate.xml",
        "comment": "comment.md",
        "model": "openai/none",
        "api_base": "http://localhost:2",
        "key_variable": "NONE",
        "structured": "md_json",
        "model_timeout_s": 7.5,
        "max_wait": 30.0,
        "max_in_flight": 3,
        "requests_per_minute": 4,
        "tokens_per_minute": 5,
        "prices": "prices.toml",
        "max_cost_usd": 0.5,
        "max_calls": 6,
        "context_notes": 2,
        "context_chars": 900,
        "chunk_chars": 700,
        "title_weight": 0.2,
        "max_minutes": 1.5,
        "store": "replies",
        "store_mode": "refresh",
    }
    given = (
        part for name, value in changes.items() for part in (f"--{name.replace('_', '-')}", value)
    )
    flags = [
        "--strict",
        "--graph-rerank",
        "--cold-start",
        "--save-snapshot",
        "--allow-partial",
        "--batch",
    ]
    flags += ["--min-coverage", "0.5"]
    ended = search(*given, *flags, "--notes-hash-exclude", "*.a", "--notes-hash-exclude", "*.b")
    assert ended.code == 0, ended.stderr
    run = json.loads((case / "out" / "run.json").read_text("utf-8"))
    expected = changes | {
        "dataset": "queries.jsonl",
        "notes": "vault",
        "out": "out",
        "strict": True,
        "deterministic": False,
        "dry_run": False,
        "graph_rerank": True,
        "rerank": None,
        "cold_start": True,
        "exclude": [],
        "notes_hash_exclude": ["*.a", "*.b"],
        "qdrant_url": None,
        "save_snapshot": True,
        "fail_on_regression": False,
        "compare": None,
        "changed": [],
        "gates": None,
        "unanswerable_mode": "threshold",
        "judge": None,
        "resume": None,
        "allow_partial": True,
        "batch": True,
        "min_coverage": 0.5,
        "judge_forecast": False,
        "judge_card": None,
    }
    assert run["options"] == expected
    assert run["notes_hash_mode"] == "mtime"


def test_without_out_the_results_stand_under_eval_out(case, gigamind):
    ended = gigamind(
        "eval", "search", "--dataset", "queries.jsonl", "--notes", "vault", "--mode", "keyword"
    )
    report = ended.stdout.splitlines()[-1].removeprefix("Report: ")
    assert report.startswith("eval/out/2")
    assert (case / report).is_file()


def test_a_path_is_printed_as_it_is(search):
    ended = search("--out", "out[red]:smile:" + "x" * 100)
    assert ended.stdout.splitlines()[-1] == f"Report: out[red]:smile:{'x' * 100}/report.html"
