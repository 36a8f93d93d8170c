"""deployments/prefect.yaml and server.env say what they should, before any server reads them."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from flow_files import load_flow

from gigamind.tasks.options import LinkEvalOptions, SearchEvalOptions

ROOT = Path(__file__).parents[2]
DEPLOYMENTS = yaml.safe_load((ROOT / "deployments" / "prefect.yaml").read_text())["deployments"]


def name_of(deployment: dict[str, Any]) -> str:
    return deployment["name"]


def paths_in(value: object) -> list[Path]:
    """The paths that a field of options holds."""
    return [
        path for path in (value if isinstance(value, tuple) else [value]) if isinstance(path, Path)
    ]


def read_env(**environment: str) -> dict[str, str]:
    """The variables that a shell has after reading server.env."""
    command = "set -a; . deployments/server.env; env -0"
    shell = subprocess.run(
        ["sh", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return dict(line.split("=", 1) for line in shell.stdout.split("\0") if line)


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=name_of)
def test_a_deployment_runs_a_flow_that_loads_with_parameters_that_it_takes(
    deployment: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    from prefect.flows import load_flow_from_entrypoint

    monkeypatch.chdir(ROOT)
    flow: Any = load_flow_from_entrypoint(deployment["entrypoint"], use_placeholder_flow=False)
    taken = flow.validate_parameters(deployment["parameters"])["options"]
    read = [path for value in vars(taken).values() for path in paths_in(value)]
    assert read
    assert not any(path.is_absolute() for path in read)
    assert deployment["enforce_parameter_schema"] is True
    if any(schedule["active"] for schedule in deployment["schedules"]):
        assert all(path.exists() for path in read)
    else:  # what nothing starts by itself may ask for what a command of gigamind makes first
        assert all(path.exists() or path.parts[0] == "eval" for path in read)


def test_the_deployment_that_init_writes_loads_by_its_module():
    from prefect.flows import load_flow_from_entrypoint

    text = (ROOT / "examples" / "ci" / "prefect.yaml").read_text("utf-8")
    given = text.replace("{{ options }}", "        dataset: d.jsonl").replace(
        "{{ cron }}", "'0 3 * * *'"
    )
    [deployment] = yaml.safe_load(given)["deployments"]
    flow: Any = load_flow_from_entrypoint(deployment["entrypoint"], use_placeholder_flow=False)
    options = flow.validate_parameters(deployment["parameters"])["options"]
    assert isinstance(options, SearchEvalOptions)
    assert (options.compare, options.gates) == (Path("eval/baselines"), Path("eval/gates.toml"))


def test_the_release_gate_is_told_its_task():
    flow = load_flow("release_gate")
    given = {"dataset": "d.jsonl", "notes": "vault"}
    kinds = {
        task: type(flow.validate_parameters({"options": given | told})["options"])
        for task, told in {"search": {"task": "search"}, "links": {"task": "links"}, "": {}}.items()
    }
    assert kinds == {"search": SearchEvalOptions, "links": LinkEvalOptions, "": SearchEvalOptions}


@pytest.mark.each("deployment", DEPLOYMENTS)
def test_a_deployment_tells_its_commit_its_runs_never_overlap_and_its_schedules_have_a_place(
    deployment: dict[str, Any],
):
    assert deployment["version"] == "{{ $GIGAMIND_COMMIT }}"
    assert deployment["concurrency_limit"] == {"limit": 1, "collision_strategy": "CANCEL_NEW"}
    for schedule in deployment["schedules"]:
        assert set(schedule) == {"slug", "cron", "timezone", "active"}
        assert "/" in schedule["timezone"]
    slugs = [schedule["slug"] for schedule in deployment["schedules"]]
    assert len(set(slugs)) == len(slugs)


@pytest.mark.parametrize(
    "deployment", [one for one in DEPLOYMENTS if "llm" in one["tags"]], ids=name_of
)
def test_what_asks_a_model_has_a_budget_and_starts_when_somebody_switches_it_on(
    deployment: dict[str, Any],
):
    assert 0 < deployment["parameters"]["options"]["max_cost_usd"] <= 2
    assert not any(schedule["active"] for schedule in deployment["schedules"])


def test_deployment_files_name_no_place_of_one_machine():
    for file in ("prefect.yaml", "server.env", "automations.yaml"):
        assert not re.findall(r"(?<![\w./:}])/\w+|~/", (ROOT / "deployments" / file).read_text())


def test_the_profile_sets_only_what_prefect_knows():
    from prefect import settings  # has an attribute for each variable it reads

    ours = [name for name in read_env() if name.startswith("PREFECT_")]
    assert len(ours) == 13
    assert [name for name in ours if not hasattr(settings, name)] == []
    assert not hasattr(settings, "PREFECT_SERVER_API_PROT")


def test_the_profile_keeps_the_server_on_loopback_and_tells_nobody():
    profile = read_env()
    assert profile["PREFECT_SERVER_API_HOST"] == "127.0.0.1"
    assert profile["PREFECT_API_URL"] == "http://127.0.0.1:4200/api"
    assert profile["DO_NOT_TRACK"] == "1"
    assert profile["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"


def test_the_server_sleeps_whole_seconds_for_prefect_would_make_none_of_a_part():
    interval = read_env()["PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL"]
    assert int(interval) >= 1


def test_another_port_reaches_clients_and_pages_too():
    profile = read_env(PREFECT_SERVER_API_PORT="4300")
    assert profile["PREFECT_SERVER_API_PORT"] == "4300"
    assert profile["PREFECT_API_URL"] == "http://127.0.0.1:4300/api"
    assert profile["PREFECT_SERVER_UI_API_URL"] == "http://127.0.0.1:4300/api"


def test_workers_elsewhere_can_be_told_where_the_server_is():
    profile = read_env(PREFECT_API_URL="https://prefect.example/api")
    assert profile["PREFECT_API_URL"] == "https://prefect.example/api"
    assert profile["PREFECT_SERVER_UI_API_URL"] == "https://prefect.example/api"
