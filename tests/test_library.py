"""The library's door: what it offers, that it is light, and that its examples hold."""

import doctest
import json
import re
import shutil
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import get_type_hints
from xml.etree import ElementTree as ET

import pytest
from answer_reply import ANSWER, PROOF, answer_reply, supported
from faulty_model import running
from linked_notes import write_linked_notes

import gigamind
from gigamind import library
from gigamind.evaluation.options import ReleaseOptions
from gigamind.evaluation.release import compare_runs
from gigamind.tasks import TASKS
from gigamind.tasks.options import (
    AnswerEvalOptions,
    GridOptions,
    LinkEvalOptions,
    SearchEvalOptions,
)

ROOT = Path(__file__).parents[1]
QUERIES = ROOT / "examples" / "queries.jsonl"
# Told by an argument of its own, or of the command line alone.
ELSEWHERE = {"task", "dataset", "notes", "out", "dry_run", "fail_on_regression", "config"}
REPLY = answer_reply([supported(PROOF)], PROOF)


@pytest.fixture
def here(tmp_path, monkeypatch, examples_cache):
    """A working directory with the examples."""
    for name in ("examples", "judges"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(examples_cache))
    return tmp_path


def search(**options):
    """Evaluate the built-in search on a few of the examples."""
    few = {"mode": "keyword", "sample": "8", "speed_passes": 0}
    return gigamind.evaluate_search(QUERIES, ROOT / "examples" / "vault", **few | options)


@pytest.fixture(scope="module")
def bare(examples_cache):
    """A run without a folder."""
    return search(cache_dir=examples_cache)


@pytest.fixture
def snapshot(here, bare):
    """The same as a file."""
    (here / "snapshot.json").write_text(bare.snapshot.model_dump_json(), "utf-8")
    return "snapshot.json"


def test_every_name_of_the_door_is_there_and_documented():
    for name in gigamind.__all__:
        assert getattr(gigamind, name).__doc__, name
    assert set(gigamind.__all__) < set(dir(gigamind))
    with pytest.raises(AttributeError, match="'evaluate'"):
        _ = gigamind.evaluate


def test_importing_it_loads_nothing_else():
    code = (
        "import sys; before = set(sys.modules); import gigamind; print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = {name.partition(".")[0] for name in done.stdout.split()}
    assert packages - set(sys.stdlib_module_names) == {"gigamind"}


@pytest.mark.parametrize(
    ("keywords", "model"),
    [
        (library._SearchKeywords, SearchEvalOptions),
        (library._LinkKeywords, LinkEvalOptions),
        (library._AnswerKeywords, AnswerEvalOptions),
    ],
)
def test_whatever_the_command_line_can_be_told_the_library_can(keywords, model):
    assert get_type_hints(keywords).keys() == model.model_fields.keys() - ELSEWHERE


def test_tuning_can_be_told_the_axes_of_the_command_line():
    told = get_type_hints(library._TuneKeywords).keys() - get_type_hints(library._SearchKeywords)
    assert told == GridOptions.model_fields.keys()


def test_the_examples_hold(here):
    write_linked_notes(here / "vault-without-links", here / "links.jsonl")
    (here / "answers.jsonl").write_text(json.dumps(ANSWER) + "\n")
    # Some notes of the vault: to embed what all of them say takes eight seconds.
    for name in ("projects/전주-출시.md", "howto/배터리-교체.md", "howto/민원-응대.md"):
        (here / "some" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(here / "examples" / "vault" / name, here / "some" / name)
    names = vars(library) | {
        "evaluate_search": cache(library.evaluate_search),  # several examples begin alike
        "suggest_links": lambda _vault, note: library.suggest_links("some", note),
    }
    with running() as server:
        names["server"] = server.url
        server.script.append(REPLY)
        found = doctest.testmod(library, extraglobs=names, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert (found.failed, found.attempted > 0) == (0, True)
    assert not (here / "eval").exists()


@pytest.mark.usefixtures("here")
def test_a_run_without_a_folder_equals_one_with_it(bare):
    kept = search(out="run", lang="ko")
    assert (bare.out, kept.out) == (None, Path("run"))
    assert bare.summary.overall.search["mrr"] == kept.summary.overall.search["mrr"]
    assert [item.id for item in bare.items] == [item.id for item in kept.items]
    comparison = gigamind.compare(bare, "run")
    assert (comparison.shared, comparison.changes) == (8, ())


def test_a_baseline_gives_comparison_and_verdict_without_a_folder(snapshot):
    after = search(compare=snapshot)
    assert after.comparison is not None
    assert after.gate == gigamind.gate(snapshot, after)


@pytest.mark.usefixtures("here")
def test_several_runs_are_compared_as_by_the_command_line(bare):
    kept = [search(out=f"runs/top{topk}", topk=topk) for topk in (10, 3, 1)]
    paths = [Path(f"runs/top{topk}") for topk in (10, 3, 1)]
    experiment = gigamind.compare(*kept)
    assert experiment == gigamind.compare(*paths)
    assert experiment == compare_runs(paths, ReleaseOptions(), "auto", TASKS).experiment
    assert [run.label for run in experiment.runs] == ["top10", "top3", "top1"]
    assert gigamind.compare(*kept[:2], bare).runs[2].label == bare.run.run_id
    with pytest.raises(gigamind.InputError, match="nowhere"):
        gigamind.compare(*paths, "nowhere")
    assert gigamind.compare(*kept[:2], search(sample="3")).shared == 3


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"topk": 0}, "--topk 0: "),
        ({"save_snapshot": True}, "save_snapshot: "),
        (
            {"unanswerable_mode": "llm", "model": "openai/judge", "api_base": "http://127.0.0.1:9"},
            "--out",
        ),
    ],
)
@pytest.mark.usefixtures("here")
def test_what_cannot_be_is_said(options, problem):
    with pytest.raises(gigamind.InputError, match=problem):
        search(**options)


@pytest.mark.usefixtures("here")
def test_an_unknown_note_is_named():
    with pytest.raises(gigamind.InputError, match=r"^nowhere: .*examples/vault"):
        gigamind.suggest_links("examples/vault", "nowhere")


class Search:
    """A search of a team's own that fails on some queries: it raises, or returns what is no ranking."""

    def search(self, query):
        if query.id == "q001":
            raise RuntimeError("the index is gone")
        return ["a.md"] if query.id == "q002" else gigamind.Ranking(())

    def close(self):
        pass


def test_what_an_own_search_raises_or_returns_of_another_type_is_a_failure_of_its_query(tmp_path):
    rows = QUERIES.read_text("utf-8").splitlines()[:20]
    dataset, out = tmp_path / "queries.jsonl", tmp_path / "run"
    changed = [
        json.dumps(json.loads(row) | {"id": f"q{at:03}"}) for at, row in enumerate(rows, start=1)
    ]
    dataset.write_text("\n".join(changed), "utf-8")
    gigamind.evaluate_search(str(dataset), system=Search(), out=str(out))
    errors = [json.loads(line) for line in (out / "errors.jsonl").read_text("utf-8").splitlines()]
    assert [one["message"] for one in errors if one["id"] in {"q001", "q002"}] == [
        "query q001: RuntimeError: the index is gone",
        "query q002: search() returned list, not gigamind.Ranking",
    ]


@pytest.mark.parametrize("out", [None, "run"])
def test_a_notebook_shows_the_report_without_scripts_in_a_frame(out, snapshot):
    result = search(out=out, topk=1, compare=snapshot, changed=["settings"])
    frames = []

    class Frames(HTMLParser):
        def handle_starttag(self, tag, attrs):
            frames.append((tag, dict(attrs)))

    Frames().feed(result._repr_html_())
    [(tag, attributes)] = frames
    assert (tag, attributes["sandbox"]) == ("iframe", None)
    page = attributes["srcdoc"]
    assert "<script" not in page
    assert "script-src" in page
    assert 'content="light dark"' in page
    assert re.search(r'class="verdict (passed|failed|inconclusive|warning)', page)
    if out:
        report = Path(out, "report.html").read_text("utf-8")
        sections = [re.findall('<section id="([a-z-]+)"', text) for text in (page, report)]
        assert sections[0] == [name for name in sections[1] if name != "list"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_data_frame_has_a_row_for_each_item(library, bare, monkeypatch):
    made = getattr(bare, f"to_{library}")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(gigamind.InputError, match=f"pip install {library}"):
        made()
    monkeypatch.undo()
    pytest.importorskip(library)
    frame = made()
    assert list(frame["id"]) == [item.id for item in bare.items]
    ranks = [x for x in frame["mrr"].to_list() if x is not None and x == x]  # noqa: PLR0124  not NaN
    assert sum(ranks) / len(ranks) == pytest.approx(bare.summary.overall.search["mrr"])


REGRESSION = """
import json
from pathlib import Path

import gigamind
import pytest

QUERIES, VAULT = "examples/queries.jsonl", "examples/vault"


@pytest.fixture(scope="session")
def runs():
    def run(**options):
        few = {"mode": "keyword", "sample": "150", "speed_passes": 0}
        return gigamind.evaluate_search(QUERIES, VAULT, **few, **options)

    good = run()
    slow = json.loads(good.snapshot.model_dump_json())
    slow["metrics"]["overall"]["search"]["latency_p95_ms"] += 105  # measured once: perhaps the machine
    Path("slow.json").write_text(json.dumps(slow))
    return {"good": good, "bad": run(title_weight=0.0, topk=1), "slow": Path("slow.json")}


@pytest.mark.gigamind
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", ["good", "bad", "slow", "other"])
def test_search(runs, name, strict):
    options = {"strict": strict, "changed": [] if name == "other" else ["settings"]}
    run = runs["bad" if name == "other" else name]
    found = gigamind.assert_no_regression(run, runs["good"], **options)
    assert found.verdict in {"passed", "warned"}
"""


def test_a_test_of_a_team_fails_on_a_regression_and_is_skipped_if_inconclusive(here):
    (here / "test_search.py").write_text(REGRESSION, "utf-8")
    options = ["--strict-markers", "-pno:cacheprovider", "-pno:schemathesis", "-pno:anyio"]
    command = [sys.executable, "-m", "pytest", *options, "--junitxml=junit.xml", "test_search.py"]
    subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    found = {}
    for case in ET.parse(here / "junit.xml").iter("testcase"):
        ends = [(part.tag, part.text) for part in case]
        found[case.get("name")] = ends[0] if ends else ("passed", "")
    assert {name: tag for name, (tag, _) in found.items()} == {
        "test_search[good-False]": "passed",
        "test_search[good-True]": "passed",
        "test_search[bad-False]": "failure",
        "test_search[bad-True]": "failure",
        "test_search[slow-False]": "skipped",
        "test_search[slow-True]": "failure",
        "test_search[other-False]": "failure",
        "test_search[other-True]": "failure",
    }
    message = found["test_search[bad-False]"][1]
    assert re.search(r"^E +MRR: .*\(.* to .*\)$", message, re.MULTILINE)
    assert len(re.findall(r"^E +- q-\d+: ", message, re.MULTILINE)) == 20
