"""Job templates of the work pools: what a run gets, and what whoever starts it cannot change."""

import asyncio
import json
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

pytestmark = pytest.mark.prefect
FOLDER = Path(__file__).parents[2] / "deployments"
TEMPLATES = {
    "process": FOLDER / "pool.json",
    "docker": FOLDER / "docker" / "pool.json",
    "kubernetes": FOLDER / "kubernetes" / "pool.json",
}
WORKERS = {
    "process": ("prefect.workers.process", "ProcessJobConfiguration"),
    "docker": ("prefect_docker.worker", "DockerWorkerJobConfiguration"),
    "kubernetes": ("prefect_kubernetes.worker", "KubernetesWorkerJobConfiguration"),
}


def read(kind: str) -> dict[str, Any]:
    return json.loads(TEMPLATES[kind].read_text("utf-8"))


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_run_can_change_only_its_name(kind: str):
    from prefect.client.schemas.actions import WorkPoolCreate

    template = read(kind)
    WorkPoolCreate(name=kind, type=kind, base_job_template=template)  # every placeholder is known
    assert list(template["variables"]["properties"]) == ["name"]
    assert "env" not in template["job_configuration"]  # Prefect would merge a run's `env` into it


@pytest.mark.parametrize("kind", WORKERS)
def test_its_worker_accepts_a_template_and_ignores_what_a_run_adds(kind: str):
    module, name = WORKERS[kind]
    pytest.importorskip(module, reason=f"needs: pip install prefect-{kind}")
    from prefect.client.schemas.objects import FlowRun
    from prefect.settings import PREFECT_API_URL, temporary_settings

    configuration: Any = getattr(import_module(module), name)
    added = {"env": {"GIGAMIND_WORKER_ALLOWS": "*"}, "image": "other", "command": "touch made"}
    template = read(kind)
    assert set(template["job_configuration"]) <= set(configuration.model_fields)
    with temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}):  # needs no server
        job = asyncio.run(configuration.from_template_and_values(template, added))
        job.prepare_for_flow_run(FlowRun(flow_id=uuid4(), name="nightly"), worker_name="w")
    given = job.model_dump_json()
    assert "GIGAMIND_WORKER_ALLOWS=*" not in given
    assert '"GIGAMIND_WORKER_ALLOWS":"*"' not in given
    assert '"other"' not in given
    assert "touch made" not in given


def test_a_run_on_kubernetes_has_limits_and_reads_its_keys_from_a_secret():
    job = read("kubernetes")["job_configuration"]["job_manifest"]["spec"]
    [container] = job["template"]["spec"]["containers"]
    assert {"requests", "limits"} <= set(container["resources"])
    assert [next(iter(one)) for one in container["envFrom"]] == ["configMapRef", "secretRef"]
    assert job["backoffLimit"] == 0  # a second try would pay twice


def test_the_worker_on_kubernetes_has_probes_and_may_only_manage_jobs():
    text = (FOLDER / "kubernetes" / "worker.yaml").read_text("utf-8")
    parts = {part["kind"]: part for part in yaml.safe_load_all(text)}
    [container] = parts["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert {"livenessProbe", "startupProbe", "resources"} <= set(container)
    assert "--with-healthcheck" in container["args"]
    changed = [rule for rule in parts["Role"]["rules"] if "create" in rule["verbs"]]
    assert [rule["resources"] for rule in changed] == [["jobs"]]
