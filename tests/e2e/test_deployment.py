"""Server, worker and deployment as a team runs them: a schedule fires by itself, and leaves its artifacts.

Only a run that the server's scheduler has made shows that schedules work: with SQLAlchemy 2.1 everything else does.
"""

import json
import urllib.error
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prefect_stack import Stack

# A server, a worker and two deploys: each may take minutes to start on a busy machine.
pytestmark = [pytest.mark.prefect, pytest.mark.timeout(600)]

ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


@pytest.fixture(scope="module")
def stack(prefect_stack: Stack) -> Iterator[Stack]:
    """The server with a worker beside it, and the deployments of the repository."""
    with prefect_stack.running("worker"):
        deployed = prefect_stack.make("deploy")
        assert deployed.returncode == 0, deployed.stdout + deployed.stderr
        yield prefect_stack


def started_runs(stack: Stack) -> list[Any]:
    """Flow runs of the deployment that were due by now, newest first."""
    return stack.ask(
        "/flow_runs/filter",
        {
            "deployments": {"id": {"any_": [stack.deployment()["id"]]}},
            "flow_runs": {"expected_start_time": {"before_": datetime.now(UTC).isoformat()}},
            "sort": "EXPECTED_START_TIME_DESC",
        },
    )


def ended(stack: Stack, run_id: str) -> Any:
    """The flow run, once it has ended."""

    def found() -> Any:
        run = stack.ask(f"/flow_runs/{run_id}")
        return run if run["state"]["type"] in ENDED else None

    return stack.wait_for(found, 90, f"the end of flow run {run_id}")


def parameters(stack: Stack, **changes: object) -> dict[str, Any]:
    """Those of the deployment, with some of its options changed."""
    return {"options": {**stack.deployment()["parameters"]["options"], **changes}}


def start(stack: Stack, **changes: object) -> Any:
    """A flow run of the deployment, with some of its options changed."""
    return stack.ask(
        f"/deployments/{stack.deployment()['id']}/create_flow_run",
        {"parameters": parameters(stack, **changes), "enforce_parameter_schema": True},
    )


def test_the_deployment_stands_with_its_schedule_and_typed_parameters(stack: Stack):
    deployment = stack.deployment()
    [schedule] = deployment["schedules"]
    assert (schedule["slug"], schedule["active"]) == ("nightly", True)
    assert schedule["schedule"]["cron"] == "0 3 * * *"
    assert deployment["work_pool_name"] == "local"
    assert deployment["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"
    assert deployment["global_concurrency_limit"]["limit"] == 1
    assert deployment["enforce_parameter_schema"] is True
    assert "SearchEvalOptions" in deployment["parameter_openapi_schema"]["definitions"]


def test_a_schedule_fires_and_its_run_leaves_reports_and_artifacts(stack: Stack):
    soon = {
        "slug": "soon",
        "active": True,
        "schedule": {
            "interval": timedelta(days=1).total_seconds(),
            "anchor_date": (datetime.now(UTC) + timedelta(seconds=10)).isoformat(),
        },
        "parameters": parameters(stack, sample="20"),
    }
    [schedule] = stack.ask(f"/deployments/{stack.deployment()['id']}/schedules", [soon])
    [due] = stack.wait_for(lambda: started_runs(stack), 60, "a run that the scheduler has made")
    run = ended(stack, due["id"])
    assert run["auto_scheduled"] is True
    assert run["created_by"]["id"] == schedule["id"]
    assert run["state"]["name"] == "Completed", run["state"]

    [out] = (stack.clone / "eval" / "out").iterdir()
    artifacts = {
        artifact["key"]: artifact
        for artifact in stack.ask("/artifacts/filter", {"flow_runs": {"id": {"any_": [run["id"]]}}})
    }
    assert set(artifacts) == {"search-summary", "search-metrics"}
    assert artifacts["search-summary"]["data"] == (out / "summary.md").read_text(encoding="utf-8")
    mrr = json.loads((out / "summary.json").read_text())["overall"]["search"]["mrr"]
    rows = {row["metric"]: row for row in json.loads(artifacts["search-metrics"]["data"])}
    assert rows["MRR"]["value"] == f"{mrr:.3f}"
    assert mrr > 0.3


def test_parameters_that_the_form_does_not_allow_are_refused_before_any_run(stack: Stack):
    with pytest.raises(urllib.error.HTTPError) as refused:
        start(stack, topk=0)
    assert refused.value.code == 409
    assert "0 is less than the minimum of 1" in refused.value.read().decode()


def test_of_two_runs_at_once_one_goes_on_and_the_other_is_cancelled(stack: Stack):
    runs = [start(stack, mode="keyword", sample="20", out=f"out-{number}") for number in range(2)]
    states = [ended(stack, run["id"])["state"]["type"] for run in runs]
    assert sorted(states) == ["CANCELLED", "COMPLETED"]
    assert len(list(stack.clone.glob("out-*"))) == 1


def test_a_second_deploy_changes_nothing(stack: Stack):
    before = stack.deployment()
    assert stack.make("deploy").returncode == 0
    after = stack.deployment()
    assert after["id"] == before["id"]
    assert [schedule["slug"] for schedule in after["schedules"]].count("nightly") == 1
