"""Server, worker and deployment as a team runs them: a schedule fires by itself, and leaves its artifacts.

Only a run that the server's scheduler has made shows that schedules work: with SQLAlchemy 2.1 everything else does.
"""

import json
import logging
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from forms import sectioned
from prefect_stack import Stack
from qdrant_server import qdrant

from gigamind.tasks import evaluate
from gigamind.tasks.search.options import SearchEvalOptions
from gigamind.version import __version__

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
    return {"options": sectioned(stack.deployment()["parameters"]["options"], **changes)}


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
    form = deployment["parameter_openapi_schema"]
    assert next(iter(form["properties"]["options"]["properties"])) == "what"
    assert form["definitions"]["SearchWhat"]["required"] == ["dataset", "notes"]


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

    [out] = (stack.clone / "eval" / "out" / "search-nightly").iterdir()
    artifacts = {
        artifact["key"]: artifact
        for artifact in stack.ask("/artifacts/filter", {"flow_runs": {"id": {"any_": [run["id"]]}}})
    }
    assert set(artifacts) == {"search-nightly", "search-nightly-figures"}
    assert artifacts["search-nightly"]["data"].startswith("# ☑️ Measured")
    [report] = re.findall(r"\(([^)]*report\.html)\)", artifacts["search-nightly"]["data"])
    with urllib.request.urlopen(report, timeout=20) as served:
        assert served.read() == (out / "report.html").read_bytes()
    mrr = json.loads((out / "summary.json").read_text())["overall"]["search"]["mrr"]
    rows = {row["metric"]: row for row in json.loads(artifacts["search-nightly-figures"]["data"])}
    assert rows["MRR"]["value"] == f"{mrr:.3f}"
    assert mrr > 0.3


def test_parameters_that_the_form_does_not_allow_are_refused_before_any_run(stack: Stack):
    with pytest.raises(urllib.error.HTTPError) as refused:
        start(stack, topk=0)
    assert refused.value.code == 409
    assert "0 is less than the minimum of 1" in refused.value.read().decode()


def test_of_two_runs_at_once_one_goes_on_and_the_other_is_cancelled(stack: Stack):
    runs = [start(stack, mode="keyword", sample="20", out="out") for number in range(2)]
    states = [ended(stack, run["id"])["state"]["type"] for run in runs]
    assert sorted(states) == ["CANCELLED", "COMPLETED"]
    assert len(list((stack.clone / "out").iterdir())) == 1


def test_a_second_deploy_changes_nothing(stack: Stack):
    before = stack.deployment()
    assert stack.make("deploy").returncode == 0
    after = stack.deployment()
    assert after["id"] == before["id"]
    assert [schedule["slug"] for schedule in after["schedules"]].count("nightly") == 1


def logs_of(stack: Stack, run_id: str) -> list[Any]:
    """What stands in the Logs tab of a flow run."""
    return stack.ask("/logs/filter", {"logs": {"flow_run_id": {"any_": [run_id]}}})


def test_ends_that_are_results_leave_a_sentence_and_no_traceback(stack: Stack):
    """A gate that nothing passes, then one that cannot even start: on the page of each a release manager reads why."""
    deployment = stack.ask("/deployments/name/release-gate/release-gate")
    base = stack.clone / "base"
    keyword = {
        "mode": "keyword",
        "sample": "20",
        "speed_passes": 0,
        "unanswerable_mode": "threshold",
    }
    examples = stack.clone / "examples"
    evaluate(
        SearchEvalOptions.model_validate(
            {"dataset": examples / "queries.jsonl", "notes": examples / "vault", "out": base}
            | keyword
        )
    )
    for changes, name, why in (
        ({"topk": 2, "compare": "base"}, "NotComparable", "set differently (topk 10 -> 2)"),
        (
            {"dataset": "missing.jsonl", "compare": "base"},
            "InvalidInput",
            "missing.jsonl: no such file",
        ),
    ):
        given = sectioned(deployment["parameters"]["options"], **keyword, out="gates", **changes)
        created = stack.ask(
            f"/deployments/{deployment['id']}/create_flow_run", {"parameters": {"options": given}}
        )
        run = ended(stack, created["id"])
        assert (run["state"]["type"], run["state"]["name"]) == ("FAILED", name), run["state"]
        assert run["name"] == "search · vault · keyword · gates"
        assert why in run["state"]["message"]
        assert len(run["state"]["message"]) < 500
        lines = logs_of(stack, run["id"])
        assert [line["message"] for line in lines if line["level"] >= logging.ERROR] == []
        assert max(len(line["message"]) for line in lines) < 2_000
    assert [folder.name[:2] for folder in (stack.clone / "gates").iterdir()] == ["20"]


def test_every_deployment_tells_the_commit_it_was_deployed_from(stack: Stack):
    def git(*arguments: str) -> str:
        command = [
            "git",
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "-C",
            stack.clone,
            *arguments,
        ]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def versions() -> set[str]:
        return {deployment["version"] for deployment in stack.ask("/deployments/filter", {})}

    assert versions() == {__version__}  # the clone of the tests is none yet
    git("init", "--quiet")
    git("add", "deployments", "flows", "Makefile")
    git("commit", "--quiet", "--message", "as deployed")
    assert stack.make("deploy").returncode == 0
    assert versions() == {git("rev-parse", "HEAD")[:12]}


def started(stack: Stack, deployment: str, **changes: object) -> Any:
    """A flow run of a deployment, with some of its options changed, once it has ended."""
    found = stack.ask(f"/deployments/name/{deployment}")
    options = found["parameters"]["options"]
    changed = sectioned(options, **changes) if "what" in options else options | changes
    given = {"options": changed}
    created = stack.ask(f"/deployments/{found['id']}/create_flow_run", {"parameters": given})
    return ended(stack, created["id"])


def test_a_vault_is_indexed_on_a_server_and_an_evaluation_reads_what_stands_there(stack: Stack):
    with qdrant() as standing:
        indexed = started(stack, "index-vault/index-vault", qdrant_url=standing.url)
        assert indexed["state"]["name"] == "Completed", indexed["state"]
        collection = standing.aliases["gigamind-examples"]
        assert standing.engine.count(collection).count > 70
        standing.requests.clear()
        run = started(
            stack, "eval-search/search-nightly", qdrant_url=standing.url, sample="20", out="indexed"
        )
        assert run["state"]["name"] == "Completed", run["state"]
        assert ("POST", f"/collections/{collection}/points/query") in standing.requests
        assert not any(verb == "PUT" for verb, _ in standing.requests)


def test_a_cleanup_tells_what_it_takes_in_its_log(stack: Stack):
    old = stack.clone / "eval" / "out" / "search-nightly" / "20200101-000000.abandoned"
    old.mkdir(parents=True)
    for dry, stays in ((True, True), (False, False)):
        run = started(stack, "cleanup/cleanup", dry_run=dry)
        assert run["state"]["name"] == "Completed", run["state"]
        told = f"{'would go' if dry else 'removed'}: eval/out/search-nightly/{old.name} (abandoned;"
        stack.wait_for(  # a log's lines may come after the state
            lambda run=run, told=told: [
                line for line in logs_of(stack, run["id"]) if line["message"].startswith(told)
            ],
            20,
            told,
        )
        assert old.exists() is stays


def test_sessions_are_graduated_by_their_deployment(stack: Stack):
    folder = stack.clone / "eval" / "sessions"
    folder.mkdir(parents=True)
    message = {"role": "user", "content": "Let's ship the release on Friday."}
    entry = {
        "entryId": "e",
        "text": "A plan.",
        "evidence": [{"messageIndex": 0, "quote": "ship the release on Friday"}],
    }
    (folder / "standup.jsonl").write_text(json.dumps(message))
    (folder / "standup.extracted.json").write_text(json.dumps({"entries": [entry]}))
    run = started(stack, "graduate-memory/graduate-memory")
    assert run["state"]["name"] == "Completed", run["state"]
    assert (stack.clone / "eval" / "memory.db").is_file()
