"""`gigamind eval search --compare`, `gigamind compare` and `gigamind baseline`, over real runs in keyword mode."""

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from called import ran
from gate_policy import shipped
from korean import HANGUL
from row_files import read_rows

EXAMPLES = Path(__file__).parents[2] / "examples"
ROWS = (EXAMPLES / "queries.jsonl").read_bytes().splitlines(keepends=True)[::6]
DAMAGED = ["policies/on-call.md", "policies/휴가.md", "glossary.md"]
DAMAGED += ["people/team-directory.md", "projects/porto-hills.md"]


@pytest.fixture(scope="module")
def place(tmp_path_factory, examples_cache):
    """The working directory, with `base`, a run over a part of the examples, and `damaged`, with five empty notes."""
    folder = tmp_path_factory.mktemp("compare")
    (folder / "queries.jsonl").write_bytes(b"".join(ROWS))
    for note in {note for row in ROWS for note in json.loads(row)["expected_notes"]}:
        (folder / "vault" / note).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(EXAMPLES / "vault" / note, folder / "vault" / note)
    shutil.copytree(folder / "vault", folder / "damaged")
    for note in DAMAGED:
        (folder / "damaged" / note).write_text("# gone\n", "utf-8")
    with pytest.MonkeyPatch.context() as environment:
        environment.chdir(folder)
        environment.setenv("GIGAMIND_CACHE_DIR", str(examples_cache))
        environment.delenv("GITHUB_STEP_SUMMARY", raising=False)
        (folder / "gates.toml").write_text(lax(), "utf-8")
        ran(*searched("vault", "base"), "--save-snapshot")
        yield folder


def lax():
    """The gates over other notes, a judge that finds nothing unanswerable, and a machine that is busy with tests."""
    gates = shipped("notes").replace("rise_ms = 200", "rise_ms = 1e6")
    gates = gates.replace("ratio = 1.15", "ratio = 1000")
    gates = gates.replace("\n[ceilings]\n", '\n[ceilings]\n"unanswerable.far" = 1.0\n')
    return gates.replace("\n[floors]\n", '\n[floors]\n"unanswerable.f1" = 0.0\n')


def searched(vault, out):
    read = ["--dataset", "queries.jsonl", "--notes", str(vault)]
    fixed = ["--mode", "keyword", *read, "--out", out]
    return ["eval", "search", *fixed, "--speed-passes", "0"]


def verdict_of(out):
    return json.loads(Path(out, "compare.json").read_text("utf-8"))["gate"]["verdict"]


@pytest.fixture(scope="module")
def worse(place, gigamind):
    """A run over `damaged` whose gate failed."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GITHUB_STEP_SUMMARY", str(place / "step.md"))
        ended = gigamind(
            *searched(place / "damaged", "worse"),
            *("--compare", "base/snapshot.json", "--fail-on-regression", "--junit", "gate.xml"),
            *("--gates", "gates.toml", "--lang", "ko", "--comment", "comment.md"),
            "--save-snapshot",
        )
    assert ended.code == 4, ended.stderr
    assert "(worse/report.html)." in ended.stdout


@pytest.mark.usefixtures("worse")
def test_a_damaged_vault_stops_the_release_and_names_the_queries(place):
    report = json.loads((place / "worse" / "compare.json").read_text("utf-8"))
    broken = {item["id"] for item in report["comparison"]["lost"]}
    broken |= {c["id"] for c in report["comparison"]["changes"] if c["change"] == "worse"}
    rows = read_rows(place / "queries.jsonl")
    damaged = {row["id"] for row in rows if set(row["expected_notes"]) & set(DAMAGED)}
    baseline = read_rows(place / "base" / "per_item.jsonl")
    found = {item["id"] for item in baseline if item["metrics"].get("mrr")}
    assert damaged & found <= broken
    page = (place / "worse" / "compare.md").read_text("utf-8")
    assert report["comparison"]["lost"] == []
    gone = [item["id"] for item in report["comparison"]["gone"]]
    assert {*gone} <= damaged
    assert all(f"`{name}`" in page for name in gone[:3])
    suite = ET.parse(place / "gate.xml").getroot()
    assert int(suite.get("failures")) >= 1
    step = (place / "step.md").read_text("utf-8")
    assert HANGUL.search(step)
    assert step == (place / "comment.md").read_text("utf-8") + "\n"
    worst = next(c for c in report["comparison"]["changes"] if c["change"] == "worse")
    assert f"(`{worst['id']}`): " in step


@pytest.mark.usefixtures("place")
def test_the_same_vault_compared_with_itself_passes():
    flags = ("--compare", "base", "--fail-on-regression", "--gates", "gates.toml")
    ended = ran(*searched("vault", "again"), *flags)
    assert verdict_of("again") == "passed"
    assert "34 queries" in ended.stdout.splitlines()[1]


@pytest.mark.parametrize(("floor", "code"), [(0.3, 0), (0.99, 4)])
def test_a_floor_gates_a_run_without_a_baseline(case, search, floor, code):
    row = {"id": "d", "query": "roses", "answerable": True, "expected_notes": ["deploy.md"]}
    with (case / "queries.jsonl").open("a", encoding="utf-8") as dataset:
        dataset.write(json.dumps(row) + "\n")
    (case / "floors.toml").write_text(f'[floors]\n"search.hit_at_1" = {floor}\n', "utf-8")
    flags = ("--gates", "floors.toml", "--junit", "floors.xml")
    seen = search(*flags)
    assert seen.code == 0
    suite = ET.parse(case / "floors.xml").getroot()
    assert suite.get("failures") == str(code // 4)
    verdict, *_ = seen.stdout.splitlines()
    assert (f"{floor}" in verdict) is bool(code)
    for name in ("summary.md", "report.html"):
        assert verdict in (case / "out" / name).read_text("utf-8")
    gated = search(*flags, "--fail-on-regression", "--comment", "floors.md", "--out", "gated")
    assert gated.code == code
    assert verdict in (case / "floors.md").read_text("utf-8")
    assert ("floors.toml" in gated.stderr) is bool(code)
    assert gated.stdout.splitlines()[0] == verdict
    assert "Report: gated/report.html" in gated.stdout
    assert search(*flags, "--format", "md", "--out", "md").stdout.splitlines()[0] == verdict


@pytest.mark.usefixtures("place")
def test_gates_without_a_bound_hold_nothing_without_a_baseline(gigamind):
    gated = ("--gates", "unbound.toml", "--fail-on-regression")
    Path("unbound.toml").write_text("[comparable]\nrelax = []\n", "utf-8")
    ended = gigamind(*searched("vault", "unbound"), *gated)
    assert ended.code == 1
    assert "unbound.toml" in ended.stderr
    assert "[floors]" in ended.stderr


@pytest.mark.usefixtures("worse")
def test_two_finished_runs_are_compared_without_running_anything(place, gigamind):
    asked = ("compare", "base", "worse", "--phase", "ga", "--fail-on-regression", "--lang", "en")
    refused = gigamind(*asked)
    assert refused.code == 1
    ended = gigamind(*asked, "--out", "compared", "--gates", "gates.toml")
    assert ended.code == 4
    assert "--changed notes\n" not in ended.stdout
    assert "--changed notes\n" in refused.stdout
    changed = gigamind(*asked, "--changed", "notes")
    assert changed.code == 4
    assert gigamind(*asked, "--changed", "settings").code == 1
    found = sorted(path.name for path in (place / "compared").iterdir())
    assert found == ["compare.html", "compare.json", "compare.md", "report.html"]
    report = json.loads((place / "compared" / "compare.json").read_text("utf-8"))
    assert list(report) == ["comparison", "gate", "messages", "experiment"]
    page = (place / "compared" / "compare.html").read_text("utf-8")
    assert '<div class="verdict failed">' in page
    assert 'lang="ko"' not in page
    assert gigamind("compare", "base", "worse").code == 0  # without the flag it only tells


@pytest.mark.usefixtures("place")
def test_a_snapshot_has_no_texts_for_a_report_beside_the_comparison(place, gigamind):
    gigamind("baseline", "promote", "base", "--folder", "held")
    (held,) = (place / "held").glob("search-*.json")
    assert gigamind("compare", "base", "base", "--out", "whole", "--lang", "ko").code == 0
    assert 'lang="ko"' in (place / "whole" / "compare.html").read_text("utf-8")
    ended = gigamind("compare", "base", held, "--out", "texts")
    assert not (place / "texts" / "report.html").exists()
    assert 'href="report.html"' not in (place / "texts" / "compare.html").read_text("utf-8")
    assert ended.stdout.splitlines()[-1].endswith(str(Path("texts") / "compare.html"))


@pytest.mark.usefixtures("place")
def test_a_promoted_run_is_the_baseline_that_counts():
    promoted = ran("baseline", "promote", "base", "--folder", "kept")
    # In keyword mode the threshold finds nothing unanswerable.
    assert "F1 (unanswerable), wrongly answered (FAR)" in promoted.stderr
    assert "--unanswerable-mode" in promoted.stderr
    flags = ("--fail-on-regression", "--gates", "gates.toml")
    ran("compare", "kept", "base", *flags, "--out", "with-kept")
    assert verdict_of("with-kept") == "passed"


@pytest.mark.usefixtures("worse")
def test_a_run_whose_gate_failed_is_promoted_only_by_force(place, gigamind):
    for run in ("worse", "worse/snapshot.json"):
        refused = gigamind("baseline", "promote", run, "--folder", "moved on")
        assert refused.code == 1
        (line,) = refused.stderr.splitlines()
        assert line.startswith(f"Error: {run}: ")
        assert f"gigamind baseline promote {run} --folder 'moved on' --force" in line
    assert not (place / "moved on").exists()

    forced = ran("baseline", "promote", "worse", "--folder", "moved on", "--force")
    assert not HANGUL.search(forced.stderr)  # in the reader's language, not in the run's
    assert (place / "moved on" / "LATEST").is_file()


def test_a_run_of_another_embedding_model_is_kept_and_the_error_says_where(place, gigamind):
    snapshot = json.loads((place / "base" / "snapshot.json").read_text("utf-8"))
    del snapshot["checksum"]
    snapshot["environment"]["embedding_model"] = "another@1"
    (place / "embedded.json").write_text(json.dumps(snapshot), "utf-8")
    ended = gigamind(*searched("vault", "kept-run"), "--compare", "embedded.json")
    assert ended.code == 1
    assert "another@1" in ended.stderr
    assert "kept-run" in ended.stderr
    assert (place / "kept-run" / "summary.json").exists()


def test_another_dataset_is_an_error_that_junit_tells_too(place, gigamind):
    snapshot = json.loads((place / "base" / "snapshot.json").read_text("utf-8"))
    del snapshot["checksum"]
    (place / "foreign.json").write_text(json.dumps(snapshot | {"dataset_hash": "x"}), "utf-8")
    ended = gigamind("compare", "foreign.json", "base", "--fail-on-regression", "--junit", "no.xml")
    assert ended.code == 1
    assert "dataset_hash" in ended.stderr
    assert ET.parse(place / "no.xml").getroot().get("errors") != "0"
    assert gigamind("compare", "foreign.json", "base").code == 1


@pytest.fixture(scope="module")
def runs(place, gigamind):
    """Three runs of other depths over all examples, in a folder of their own."""
    for depth in (3, 5, 8):
        flags = ("--topk", str(depth), "--sample", "20", "--format", "json")
        assert gigamind(*searched(EXAMPLES / "vault", f"runs/top{depth}"), *flags).code == 0
    return place / "runs"


def test_runs_of_other_settings_are_held_against_the_first_without_a_verdict(runs, gigamind):
    asked = ("compare", *(runs / f"top{depth}" for depth in (3, 5, 8)))
    ran(*asked, "--out", "three", "--lang", "ko")
    page = Path("three", "compare.html").read_text("utf-8")
    assert all(f"top{depth}" in page for depth in (3, 5, 8))
    assert "20건" in page
    assert sorted(path.name for path in Path("three").iterdir()) == ["compare.html", "compare.json"]
    found = json.loads(Path("three", "compare.json").read_text("utf-8"))["experiment"]
    assert [run["setup"] for run in found["runs"]] == [{"topk": k} for k in "358"]
    told = found["correction"]
    assert told == {"intervals": "bonferroni", "confidence": 0.975, "p_values": "holm"}
    printed = gigamind(*asked, "--json")
    assert json.loads(printed.stdout) == {"experiment": found}


def test_two_runs_that_are_not_comparable_say_why_and_how_to_compare_them(runs, gigamind):
    ended = ran("compare", runs / "top3", runs / "top5")
    why, *others = ended.stdout.splitlines()
    assert "(topk 3 → 5)" in why
    assert any(line.endswith("top5 --changed settings") for line in others)
    assert gigamind("compare", runs / "top3", runs / "top5", "--fail-on-regression").code == 1


def test_the_history_of_a_folder_is_told_and_written(runs, gigamind):
    (runs / "notes").mkdir(exist_ok=True)
    ended = ran("history", runs, "--out", "told", "--lang", "ko")
    assert HANGUL.search(ended.stdout)
    assert 'lang="ko"' in Path("told", "history.html").read_text("utf-8")
    printed = json.loads(gigamind("history", runs, "--json").stdout)
    assert printed == json.loads(Path("told", "history.json").read_text("utf-8"))
    assert [len(one["runs"]) for one in printed["histories"]] == [3]
    assert printed["skipped"] == 1


def test_a_rule_that_cannot_be_applied_does_not_hide_the_verdict(runs, gigamind):
    same = ("compare", runs / "top5", runs / "top5")
    ran(*same, "--fail-on-regression", "--out", "same")  # a first user's two equal runs
    assert verdict_of("same") == "warned"
    assert gigamind(*same, "--phase", "ga", "--out", "same-ga").code == 0
    assert verdict_of("same-ga") == "warned"  # a judge that detects nothing gates nothing


def test_a_bad_baseline_is_found_before_any_work_and_nothing_is_written(place, gigamind):
    (place / "cut.json").write_text('{"version": "1.0", "metr', "utf-8")
    ended = gigamind(*searched("vault", "never"), "--compare", "cut.json")
    assert (ended.code, (place / "never").exists()) == (1, False)
    assert "cut.json:1: " in ended.stderr
