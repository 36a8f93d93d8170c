"""The flow `eval-search` against a real server: the same figures, artifacts and errors as without Prefect."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flow_artifacts import artifacts_of
from prefect.client.orchestration import get_client
from timeless import without_times

from gigamind.errors import InputError
from gigamind.publish.ends import publish_run
from gigamind.publish.flows import _artifact_key
from gigamind.publish.here import run_flow
from gigamind.tasks import TASKS, evaluate
from gigamind.tasks.options import SearchEvalOptions

pytestmark = [pytest.mark.prefect, pytest.mark.whole, pytest.mark.usefixtures("prefect_server")]

Options = Callable[..., SearchEvalOptions]


def stored_state(state: Any) -> Any:
    """The state that the server keeps of that flow run."""
    with get_client(sync_client=True) as client:
        return client.read_flow_run(state.state_details.flow_run_id).state


def reports(out: Path) -> tuple[Any, list[Any]]:
    lines = (out / "per_item.jsonl").read_text(encoding="utf-8").splitlines()
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    return without_times(summary), [without_times(json.loads(line)) for line in lines]


def test_the_flow_writes_the_same_reports_as_the_evaluation_without_prefect(
    options: Options, tmp_path: Path
):
    # A broken row, failures and slices come along: all of both files is compared.
    chosen = options(mode="hybrid", graph_rerank=True, sample="20")
    with chosen.dataset.open("a", encoding="utf-8") as file:
        file.write("{broken\n")
    evaluate(chosen.model_copy(update={"out": tmp_path / "direct"}))
    finished = run_flow(chosen)
    summary, out = finished.summary, finished.out
    assert out == tmp_path / "out"
    assert reports(out) == reports(tmp_path / "direct")
    assert len(reports(out)[1]) == summary.counts.queries_total == 20
    assert summary.counts.rows_rejected == 1
    assert summary.model_dump(mode="json") == json.loads((out / "summary.json").read_text())


def test_other_systems_are_evaluated_by_a_flow_as_without_one(
    options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "a.run").write_text("".join(f"q-{n:03} Q0 a.md 1 1 t\n" for n in range(150)))
    lines = ("import sys, json", "for line in sys.stdin: print(json.dumps(['a.md']), flush=True)")
    (tmp_path / "find.py").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    for system, runner in (("run:a.run", "threads:2"), (f"command:{sys.executable} find.py", None)):
        chosen = options(
            mode="hybrid", system=system, out=tmp_path / system[:3], sample="30", allow_partial=True
        )
        evaluate(chosen.model_copy(update={"out": tmp_path / f"direct-{system[:3]}"}))
        out = run_flow(chosen, runner).out
        assert reports(out) == reports(tmp_path / f"direct-{system[:3]}")


def test_a_flow_run_stores_the_summary_and_the_figures_as_artifacts(
    options: Options,
    flow: Any,
    tmp_path: Path,
    prefect_server: str,
    caplog: pytest.LogCaptureFixture,
):
    state = flow(options(sample="20"), return_state=True)
    with get_client(sync_client=True) as client:
        run = client.read_flow_run(state.state_details.flow_run_id)
    assert set(run.tags) == {"search", "vault"}
    address = f"{prefect_server.removesuffix('/api')}/v2/artifacts/artifact/"
    for key in ("search-vault", "search-vault-figures"):
        assert re.search(rf"Artifact {key}: {address}[0-9a-f-]{{36}}", caplog.text)
    artifacts = artifacts_of(state)
    assert set(artifacts) == {"search-vault", "search-vault-figures"}
    page = artifacts["search-vault"]
    assert page.type == "markdown"
    assert page.data.startswith("# ")
    assert page.description in page.data
    assert str(tmp_path / "out") in page.data
    figures = json.loads((tmp_path / "out" / "summary.json").read_text())["overall"]
    rows = {row["metric"]: row for row in json.loads(artifacts["search-vault-figures"].data)}
    assert rows["MRR"]["value"] == f"{figures['search']['mrr']:.3f}"
    assert rows["MRR"]["n"] == figures["counts"]["answerable"] > 10


def test_artifacts_that_cannot_be_stored_cost_a_warning_and_no_evaluation(
    options: Options, caplog: pytest.LogCaptureFixture
):
    import prefect

    chosen = options(sample="20")
    summary = evaluate(chosen).summary
    finished = {
        "summary": summary.model_dump(mode="json"),
        # Half a surrogate pair has no JSON form, so no request with it can be sent.
        "headline": "\ud800",
        "page": "# Page",
    }

    @prefect.flow
    def publishes() -> str:
        publish_run(finished, _artifact_key(chosen), TASKS[chosen.task])
        return "went on"

    assert publishes() == "went on"
    warnings = [record for record in caplog.records if record.levelname == "WARNING"]
    found = [re.findall(r"search-vault\S*", record.getMessage()) for record in warnings]
    assert found == [["search-vault"], ["search-vault-figures"]]


def test_a_caller_of_the_flow_meets_the_error_of_the_evaluation(options: Options):
    with pytest.raises(InputError, match=r"missing\.jsonl"):
        run_flow(options(dataset="missing.jsonl"))


def test_a_dry_run_checks_the_input_and_writes_nothing(options: Options, flow: Any, tmp_path: Path):
    state = flow(options(dry_run=True), return_state=True)
    assert stored_state(state).name == "Checked"
    assert re.findall(r"\b\d+\b", state.message)[:3] == ["202", "70", "0"]
    assert not (tmp_path / "out").exists()


def test_a_second_run_in_one_process_sees_what_has_changed_in_the_vault(
    options: Options, flow: Any, tmp_path: Path
):
    chosen = options(sample="20")
    first = flow(chosen)["summary"]
    (tmp_path / "out").rename(tmp_path / "first")
    (chosen.notes / "new.md").write_text("# New\n\nA note that was not there before.\n")
    second = flow(chosen)["summary"]
    assert second["counts"]["notes"] == first["counts"]["notes"] + 1
