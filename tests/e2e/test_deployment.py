"""Server, worker and deployment as a team runs them: a schedule fires by itself, and leaves its artifacts.

Only a run that the server's scheduler has made shows that schedules work: with SQLAlchemy 2.1 everything else does.
"""

import json
import re
import subprocess
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from memory_rows import entry, extracted
from prefect_stack import Stack
from qdrant_server import qdrant
from told import check_told

from gigamind.datasets.generate_links import generate_links
from gigamind.version import __version__

# A server, a worker and two deploys: each may take minutes to start on a busy machine.
pytestmark = [pytest.mark.prefect, pytest.mark.deployed, pytest.mark.timeout(600)]


def started_runs(deployed: Stack) -> list[Any]:
    """Flow runs of the deployment that were due by now, newest first."""
    return deployed.ask(
        "/flow_runs/filter",
        {
            "deployments": {"id": {"any_": [deployed.deployment()["id"]]}},
            "flow_runs": {"expected_start_time": {"before_": datetime.now(UTC).isoformat()}},
            "sort": "EXPECTED_START_TIME_DESC",
        },
    )


def test_a_schedule_fires_and_its_run_leaves_reports_and_artifacts(deployed: Stack):
    soon = {
        "slug": "soon",
        "active": True,
        "schedule": {
            # A busy server may see the schedule only when its first time has gone by.
            "interval": timedelta(minutes=1).total_seconds(),
            "anchor_date": (datetime.now(UTC) + timedelta(seconds=10)).isoformat(),
        },
        "parameters": deployed.parameters(sample="20"),
    }
    schedules = f"/deployments/{deployed.deployment()['id']}/schedules"
    [schedule] = deployed.ask(schedules, [soon])
    [due] = deployed.wait_for(
        lambda: [run for run in started_runs(deployed) if run["auto_scheduled"]][:1],
        150,
        "a run that the scheduler has made",
    )
    deployed.ask(f"{schedules}/{schedule['id']}", {"active": False}, "PATCH")
    run = deployed.ended(due["id"])
    assert run["auto_scheduled"] is True
    assert run["created_by"]["id"] == schedule["id"]
    assert run["state"]["name"] == "Completed", run["state"]
    check_told(deployed, run)

    [out] = (deployed.clone / "eval" / "out" / "search-nightly").iterdir()
    artifacts = {
        artifact["key"]: artifact
        for artifact in deployed.ask(
            "/artifacts/filter", {"flow_runs": {"id": {"any_": [run["id"]]}}}
        )
    }
    assert set(artifacts) == {"search-nightly", "search-nightly-figures", "search-nightly-report"}
    assert artifacts["search-nightly"]["data"].startswith("# ")
    [report] = re.findall(r"\(([^)]*report\.html)\)", artifacts["search-nightly"]["data"])
    with urllib.request.urlopen(report, timeout=20) as served:
        assert served.read() == (out / "report.html").read_bytes()
    mrr = json.loads((out / "summary.json").read_text())["overall"]["search"]["mrr"]
    rows = {row["metric"]: row for row in json.loads(artifacts["search-nightly-figures"]["data"])}
    assert rows["MRR"]["value"] == f"{mrr:.3f}"
    assert mrr > 0.3


def test_a_nightly_run_is_compared_with_the_last_one_and_named_by_its_verdict(deployed: Stack):
    out = deployed.clone / "eval" / "compared"
    # A dataset of its own, as another test may have promoted a baseline of the examples.
    rows = (deployed.clone / "examples" / "queries.jsonl").read_text("utf-8").splitlines(True)
    (deployed.clone / "examples" / "nightly.jsonl").write_text("".join(rows[:-1]), "utf-8")
    told = {"mode": "keyword", "sample": "40", "speed_passes": 0, "out": "eval/compared"}
    told["dataset"] = "examples/nightly.jsonl"
    runs = [
        deployed.ended(deployed.start(**told, **change)["id"])
        for change in ({}, {}, {"topk": 1, "changed": ["settings"]})
    ]
    states = [run["state"]["name"] for run in runs]
    assert states == ["Completed", "Completed", "RegressedSoft"]
    first, second, third = sorted(out.iterdir())
    assert not (first / "compare.json").exists()
    for before, after in ((first, second), (second, third)):
        compared = json.loads((after / "compare.json").read_text())["comparison"]
        found = compared["baseline"]["run_id"]
        assert found == json.loads((before / "run.json").read_text())["run_id"]
    assert len({run["name"] for run in runs}) == 3
    assert all(run["name"].startswith("search-nightly · ") for run in runs)
    about = deployed.deployment()["description"]
    assert about.startswith("Evaluates search")
    assert about.count(runs[-1]["state"]["message"]) == 1
    assert runs[0]["state"]["message"] not in about
    trial = deployed.ended(deployed.start(dataset="missing.jsonl")["id"])
    assert trial["state"]["type"] == "FAILED"
    assert deployed.deployment()["description"] == about  # the last verdict stays


def test_a_form_cannot_run_programs(deployed: Stack):
    """Nor send keys elsewhere: what else a worker must allow is in tests/flows/test_allowed.py."""
    run = deployed.ended(deployed.start(system="command:env")["id"])
    assert run["state"]["name"] == "InvalidInput", run["state"]
    assert ";system=PATTERN'" in run["state"]["message"]
    assert "system=command:env" not in run["state"]["message"]


def test_whoever_starts_a_run_cannot_change_its_command_or_environment(deployed: Stack):
    made = deployed.clone / "made"
    run = deployed.ask(
        f"/deployments/{deployed.deployment()['id']}/create_flow_run",
        {
            "parameters": deployed.parameters(key_variable="HOME"),
            "job_variables": {
                "command": f"touch {made}",
                "env": {"GIGAMIND_WORKER_ALLOWS": "key_variable=HOME"},
            },
        },
    )
    assert deployed.ended(run["id"])["state"]["name"] == "InvalidInput"
    assert not made.exists()


def test_parameters_that_the_form_does_not_allow_are_refused_before_any_run(deployed: Stack):
    with pytest.raises(urllib.error.HTTPError) as refused:
        deployed.start(topk=0)
    assert refused.value.code == 409
    assert "0 is less than the minimum of 1" in refused.value.read().decode()


def test_of_two_runs_at_once_one_goes_on_and_the_other_is_cancelled(deployed: Stack):
    runs = [deployed.start(mode="keyword", sample="20", out="out") for number in range(2)]
    states = [deployed.ended(run["id"])["state"]["type"] for run in runs]
    assert sorted(states) == ["CANCELLED", "COMPLETED"]
    assert len(list((deployed.clone / "out").iterdir())) == 1


def names_of_automations(deployed: Stack) -> list[str]:
    return sorted(found["name"] for found in deployed.ask("/automations/filter", {}))


def test_a_run_that_cannot_even_start_leaves_a_sentence_and_no_traceback(deployed: Stack):
    run = deployed.ended(deployed.start("release-gate/release-gate", compare="missing")["id"])
    assert (run["state"]["type"], run["state"]["name"]) == ("FAILED", "InvalidInput"), run["state"]
    assert run["name"] == "release-gate · InvalidInput"
    assert "missing: no such file or folder" in run["state"]["message"]
    check_told(deployed, run)


def test_links_are_evaluated_once_their_dataset_was_made(deployed: Stack):
    made = deployed.clone / "eval" / "links"
    failed = deployed.make("run", DEPLOYMENT="eval-links/links-nightly")
    assert failed.returncode
    assert "gigamind eval generate-links" in failed.stdout
    generate_links(deployed.clone / "examples" / "vault", made / "vault", made / "links.jsonl")
    run = deployed.ended(deployed.start("eval-links/links-nightly")["id"])
    assert run["state"]["name"] == "Completed", run["state"]
    check_told(deployed, run)


def test_a_second_deploy_changes_the_commit_that_deployments_tell_and_nothing_else(deployed: Stack):
    def git(*arguments: str) -> str:
        who = ("-c", "user.name=t", "-c", "user.email=t@t")
        command = ["git", *who, "-C", deployed.clone, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def versions() -> set[str]:
        return {deployment["version"] for deployment in deployed.ask("/deployments/filter", {})}

    assert versions() == {__version__}  # the clone of the tests is none yet
    git("init", "--quiet")
    git("add", "deployments", "flows", "Makefile")
    git("commit", "--quiet", "--message", "as deployed")
    before, automations = deployed.deployment(), names_of_automations(deployed)
    promotion = deployed.deployment("promote/promote")["id"]
    deployed.ask(f"/deployments/{promotion}/pause_deployment", {})  # as a gate that failed does
    assert deployed.make("deploy").returncode == 0
    assert versions() == {git("rev-parse", "HEAD")[:12]}
    after = deployed.deployment()
    assert after["id"] == before["id"]
    assert [schedule["slug"] for schedule in after["schedules"]].count("nightly") == 1
    assert names_of_automations(deployed) == automations
    assert deployed.deployment("promote/promote")["paused"] is True
    deployed.ask(f"/deployments/{promotion}/resume_deployment", {})


def test_a_vault_is_indexed_on_a_server_and_an_evaluation_reads_what_stands_there(deployed: Stack):
    with qdrant() as standing:
        indexed = deployed.ended(
            deployed.start("index-vault/index-vault", qdrant_url=standing.url)["id"]
        )
        assert indexed["state"]["name"] == "Completed", indexed["state"]
        collection = standing.aliases["gigamind-examples"]
        assert standing.engine.count(collection).count > 70
        standing.requests.clear()
        run = deployed.ended(
            deployed.start(
                "eval-search/search-nightly", qdrant_url=standing.url, sample="20", out="indexed"
            )["id"]
        )
        assert run["state"]["name"] == "Completed", run["state"]
        assert ("POST", f"/collections/{collection}/points/query") in standing.requests
        assert not any(verb == "PUT" for verb, _ in standing.requests)


def test_a_cleanup_logs_what_it_removes(deployed: Stack):
    old = deployed.clone / "eval" / "out" / "search-nightly" / "20200101-000000.abandoned"
    old.mkdir(parents=True)
    for dry, stays in ((True, True), (False, False)):
        run = deployed.ended(deployed.start("cleanup/cleanup", dry_run=dry)["id"])
        assert run["state"]["name"] == "Completed", run["state"]
        deployed.wait_for(  # a log's lines may come after the state
            lambda run=run: [
                line
                for line in deployed.logs_of(run["id"])
                if f"eval/out/search-nightly/{old.name}" in line["message"]
            ],
            20,
            old.name,
        )
        assert old.exists() is stays


def test_sessions_are_graduated_by_their_deployment(deployed: Stack):
    folder = deployed.clone / "eval" / "sessions"
    folder.mkdir(parents=True)
    message = {"role": "user", "content": "Let's ship the release on Friday."}
    found = extracted(entry("e", "A plan.", "ship the release on Friday"))
    (folder / "standup.jsonl").write_text(json.dumps(message))
    (folder / "standup.extracted.json").write_text(json.dumps(found))
    run = deployed.ended(deployed.start("graduate-memory/graduate-memory")["id"])
    assert run["state"]["name"] == "Completed", run["state"]
    assert (deployed.clone / "eval" / "memory.db").is_file()
