"""The flow `eval-links` against a real server: the same reports, artifacts and errors as without Prefect."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from flow_artifacts import artifacts_of
from flow_files import load_flow
from gate_policy import shipped

from gigamind.datasets.generate_links import generate_links
from gigamind.publish.ends import artifact_key
from gigamind.publish.here import run_flow
from gigamind.tasks import evaluate
from gigamind.tasks.options import LinkEvalOptions

pytestmark = [pytest.mark.prefect, pytest.mark.whole, pytest.mark.usefixtures("prefect_server")]

ROOT = Path(__file__).parents[2]
Options = Callable[..., LinkEvalOptions]


@pytest.fixture(scope="module")
def unlinked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A part of the examples without its links in `vault`, those in `links.jsonl`, and a run of them in `base`."""
    folder = tmp_path_factory.mktemp("links")
    generate_links(
        ROOT / "examples" / "vault" / "policies",
        folder / "vault",
        folder / "links.jsonl",
        remove_ratio=1,
    )
    evaluate(options_of(folder, out=folder / "base"))
    return folder


def options_of(folder: Path, **changes: object) -> LinkEvalOptions:
    given = {"dataset": folder / "links.jsonl", "notes": folder / "vault"}
    return LinkEvalOptions.model_validate(given | changes)


@pytest.fixture
def links(unlinked: Path, tmp_path: Path) -> Options:
    """Options of a run over it, changed by what a test names."""
    return lambda **changes: options_of(unlinked, **{"out": tmp_path / "out", **changes})


def test_the_flow_writes_the_same_reports_as_the_evaluation_without_prefect(
    links: Options, unlinked: Path, tmp_path: Path
):
    finished = run_flow(links())
    assert (finished.out, finished.verdict) == (tmp_path / "out", None)
    assert finished.summary.task == "links"
    outs = (unlinked / "base", tmp_path / "out")
    lines = [(out / "per_item.jsonl").read_bytes() for out in outs]
    assert lines[0] == lines[1]
    both = [json.loads((out / "summary.json").read_text("utf-8")) for out in outs]
    assert [one.pop("performance") is not None for one in both] == [True, True]
    assert both[0] == both[1]


def test_the_release_gate_of_links_fails_in_beta(links: Options, unlinked: Path, tmp_path: Path):
    # As a deployment gives them: JSON, with the task by its name.
    (tmp_path / "gates.toml").write_text(shipped("settings"), "utf-8")
    how = {"compare": unlinked / "base", "gates": tmp_path / "gates.toml", "phase": "beta"}
    worse = links(**how, min_confidence=1.0)
    state = load_flow("release_gate")(worse.model_dump(mode="json"), return_state=True)
    assert (state.is_failed(), state.name) == (True, "Regressed")
    artifacts = artifacts_of(state)
    page = artifact_key(worse)
    assert set(artifacts) == {page, f"{page}-figures"}
    assert "recall@5" in artifacts[page].data
