import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from called import ran
from gate_policy import shipped

EXAMPLES = Path(__file__).parents[2] / "examples" / "vault"


@pytest.fixture(scope="module")
def generated(gigamind, tmp_path_factory, examples_cache):
    """The options of a generated dataset, on names alone."""
    folder = tmp_path_factory.mktemp("links")
    given = ("--out-notes", folder / "copy", "--dataset", folder / "links.jsonl")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GIGAMIND_CACHE_DIR", str(examples_cache))
        environment.delenv("GITHUB_STEP_SUMMARY", raising=False)
        assert gigamind("eval", "generate-links", "--notes", EXAMPLES, *given).code == 0
        yield ("--notes", folder / "copy", "--dataset", folder / "links.jsonl", "--no-semantic")


@pytest.fixture(scope="module")
def base(gigamind, generated, tmp_path_factory):
    """A run over them with its snapshot."""
    folder = tmp_path_factory.mktemp("run") / "base"
    assert gigamind("eval", "links", *generated, "--out", folder, "--save-snapshot").code == 0
    return folder


def test_the_examples_run_from_vault_to_report_in_one_go(generated, tmp_path):
    ended = ran("eval", "links", *generated, "--semantic", "--out", tmp_path / "out")
    rows = [line.split() for line in ended.stdout.splitlines()]
    assert ["recall@5", "0.882"] in [row[:2] for row in rows]
    assert ended.stdout.endswith(f"Report: {tmp_path / 'out' / 'report.html'}\n")
    assert ended.stderr == ""


def test_the_original_vault_draws_a_warning(generated, tmp_path):
    wrong = ("--notes", EXAMPLES, *generated[2:], "--out", tmp_path / "out")
    ended = ran("eval", "links", *wrong)
    warnings = [line for line in ended.stdout.splitlines() if line.startswith("  ! ")]
    assert any("--out-notes" in line for line in warnings)


@pytest.fixture(scope="module")
def gates(tmp_path_factory):
    """Gates that compare other settings all the same."""
    file = tmp_path_factory.mktemp("gates") / "gates.toml"
    file.write_text(shipped("settings"), "utf-8")
    return ("--gates", file, "--fail-on-regression")


@pytest.fixture(scope="module")
def worse(gigamind, generated, base, gates):
    """How a run ended whose suggestions are never sure enough: no link is found again."""
    out, junit = base.with_name("worse"), base.with_name("gate.xml")
    flags = ("--compare", base / "snapshot.json", "--phase", "beta", *gates, "--junit", junit)
    return gigamind("eval", "links", *generated, "--out", out, "--min-confidence", 1, *flags)


def verdict_of(folder):
    """Return verdict and phase in the compare.json of a folder."""
    gate = json.loads((folder / "compare.json").read_text("utf-8"))["gate"]
    return gate["verdict"], gate["phase"]


def test_in_beta_worse_links_stop_the_release(worse, base):
    folder = base.with_name("worse")
    assert worse.code == 4
    assert verdict_of(folder) == ("failed", "beta")
    page = (folder / "compare.md").read_text("utf-8").replace("\\", "")
    assert "min_confidence" in page
    suite = ET.parse(base.with_name("gate.xml")).getroot()
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert "links.recall_at_5" in failed


def test_a_search_run_and_a_links_run_cannot_be_compared(search, base, gigamind, tmp_path):
    assert search().code == 0
    ended = gigamind("compare", "out", base)
    assert ended.code == 1
    assert all(task in ended.stderr for task in ("search", "links"))
    other = search("--out", "never", "--compare", base / "snapshot.json")
    assert other.code == 1
    assert "links" in other.stderr
    assert not (tmp_path / "never").exists()  # said before any work


def test_an_equal_run_passes_against_a_baseline_that_leaves_that_of_search_alone(
    base, generated, search, gigamind, tmp_path
):
    assert search().code == 0
    kept = tmp_path / "kept"
    for run in ("out", base):
        assert gigamind("baseline", "promote", run, "--folder", kept).code == 0
    assert search("--out", "again", "--compare", kept).code == 0
    given = ("--compare", kept, "--phase", "ga", "--fail-on-regression", "--out", "links")
    ended = ran("eval", "links", *generated, *given)
    assert verdict_of(tmp_path / "links") == ("passed", "ga")
    assert "22" in ended.stdout.splitlines()[0]
