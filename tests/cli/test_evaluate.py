import json

import pytest
from command_line import RUN_FILES

from gigamind.tasks.options import SearchEvalOptions


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


def test_an_option_of_each_type_reaches_the_run_and_the_others_have_their_defaults(case, search):
    """Options are made from the fields of their model: those of one type are alike."""
    changes = {
        "format": "json",
        "lang": "ko",
        "seed": 7,
        "sample": "2",
        "min_rows": 0.25,
        "min_score": 0.5,
        "fusion": "balanced",
        "cache_dir": "elsewhere",
        "notes_hash_mode": "mtime",
        "max_cost_usd": 0.5,
        "model": "openai/none",
        "api_base": "http://localhost:2",
    }
    words = [
        part for name, value in changes.items() for part in (f"--{name.replace('_', '-')}", value)
    ]
    flags = ("--strict", "--graph-rerank", "--allow-partial")
    excluded = ("--notes-hash-exclude", "*.a", "--notes-hash-exclude", "*.b")
    ended = search(*words, *flags, *excluded)
    assert ended.code == 0, ended.stderr
    run = json.loads((case / "out" / "run.json").read_text("utf-8"))
    given = {"dataset": "queries.jsonl", "notes": "vault", "out": "out", "mode": "keyword"}
    given |= {"speed_passes": 0, "notes_hash_exclude": ["*.a", "*.b"], **changes}
    given |= dict.fromkeys(("strict", "graph_rerank", "allow_partial"), True)
    model = SearchEvalOptions.model_validate(given).model_dump(mode="json")
    assert run["options"] == {name: model[name] for name in run["options"]}
    assert run["options"].items() >= given.items()
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
