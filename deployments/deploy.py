"""`make deploy` and `gigamind deploy [FILE]`: create the work pool, and apply a prefect.yaml and automations.yaml.

A busy server may answer some requests with an error. Every step can be repeated, so all are, until the server has
everything in both files.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import httpx
import yaml
from prefect.blocks.webhook import Webhook
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectNotFound, PrefectException
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from gigamind.errors import ServerError
from gigamind.publish.server import check_worker

HERE = Path(__file__).parent
FILE = Path(sys.argv[1]).absolute() if sys.argv[1:] else HERE / "prefect.yaml"
POOL = os.environ.setdefault("GIGAMIND_POOL", "local")  # or docker, kubernetes
FLOWS = "/srv/gigamind"  # where the image has them
PROMOTE = "promote/promote"
WEBHOOK = "gigamind"
# Marks automations from this folder; others are not touched.
TAG = "gigamind"
ATTEMPTS = 5


def read(name: str | Path) -> dict[str, Any]:
    """Return the content of a YAML file, by default of this folder."""
    return yaml.safe_load((HERE / name).read_text("utf-8"))


class IncompleteError(Exception):
    """Says which automations the server has, if they are not those of the file."""


def make_pool(client: SyncPrefectClient) -> None:
    """Create or update the work pool.

    Whoever starts a run cannot change its command or environment. A run does not write to its worker's output,
    so it goes on when the worker ends.
    """
    kind, folder = ("process", HERE) if POOL == "local" else (POOL, HERE / POOL)
    template = json.loads((folder / "pool.json").read_text("utf-8"))
    pool = WorkPoolCreate(name=POOL, type=kind, base_job_template=template)
    client.create_work_pool(pool, overwrite=True)


def pull_steps() -> list[dict[str, Any]] | None:
    """Return how a run gets its flows: from $GIGAMIND_GIT (URL#BRANCH), from the image, or None for this clone."""
    if git := os.environ.get("GIGAMIND_GIT"):
        repository, _hash, branch = git.partition("#")
        given = {"repository": repository, "branch": branch or None}
        return [{"prefect.deployments.steps.git_clone": given}]
    if POOL == "local":
        return None
    return [{"prefect.deployments.steps.set_working_directory": {"directory": FLOWS}}]


def deploy(client: SyncPrefectClient) -> None:
    """Deploy the file; promotion stays paused, which Prefect would resume."""
    try:
        paused = client.read_deployment_by_name(PROMOTE).paused
    except ObjectNotFound:
        paused = False
    with NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(read(FILE) | {"pull": pull_steps()}, file)
        file.flush()
        command = ["prefect", "--no-prompt", "deploy", "--all", "--prefect-file", file.name]
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        subprocess.run([sys.executable, "-m", *command], check=True, **output)
    if paused:
        found = client.read_deployment_by_name(PROMOTE)
        client.pause_deployment(found.id)


def webhook_id(client: SyncPrefectClient) -> str | None:
    """Return the id of the webhook block for notifications, possibly from an earlier deploy; None without one."""
    if address := os.environ.get("GIGAMIND_WEBHOOK"):
        headers = {"Content-Type": "application/json"}
        Webhook.model_validate({"url": address, "headers": headers}).save(WEBHOOK, overwrite=True)
    try:
        return str(client.read_block_document_by_name(WEBHOOK, "webhook").id)
    except ObjectNotFound:
        return None


def deployment_names() -> list[str]:
    """Return the deployments of the file, such as `promote/promote`."""
    listed = read(FILE)["deployments"]
    flows = [re.split("[:.]", one["entrypoint"])[-1].replace("_", "-") for one in listed]
    return [f"{flow}/{one['name']}" for flow, one in zip(flows, listed, strict=True)]


def read_automations(client: SyncPrefectClient, webhook: str | None) -> list[AutomationCore]:
    """Return the automations of automations.yaml with the ids of this server.

    Actions on deployments that the file does not have are left out, and automations without another action.
    """
    known = deployment_names()

    def action(given: dict[str, Any]) -> dict[str, Any]:
        if given["type"] == "notify":
            if webhook is None:
                return {"type": "do-nothing"}
            # `text` is read by Slack and most other services. A busy SQLite server may send an alarm twice, so alarms
            # about an event have an `id` by which a receiver can drop the second one.
            named = "{% set id = {'id': automation.id ~ '/' ~ event.id} if event else {} %}"
            told = "{{ dict(text=text, **id) | tojson }}"
            text = f"{{% set text %}}{given['text']}{{% endset %}}{named}{told}"
            return {"type": "call-webhook", "block_document_id": webhook, "payload": text}
        if "deployment" in given:
            name = given.pop("deployment")
            return given | {"deployment_id": client.read_deployment_by_name(name).id}
        return given

    listed = read("automations.yaml")["automations"]
    for one in listed:
        one["actions"] = [
            given for given in one["actions"] if given.get("deployment", known[0]) in known
        ]
    return [
        AutomationCore.model_validate(
            one | {"actions": [action(given) for given in one["actions"]], "tags": [TAG]}
        )
        for one in listed
        if one["actions"]
    ]


def apply_automations(client: SyncPrefectClient, automations: list[AutomationCore]) -> None:
    """Update, create and delete automations so that they match the file."""
    ours = [found for found in client.read_automations() if TAG in found.tags]
    for automation in automations:
        same = next((found for found in ours if found.name == automation.name), None)
        if same:
            # Others with this name were created by requests whose answer was lost.
            ours.remove(same)
            client.update_automation(same.id, automation)
        else:
            client.create_automation(automation)
    for removed in ours:
        client.delete_automation(removed.id)


def check(client: SyncPrefectClient, automations: list[AutomationCore]) -> str:
    """Return what the server has, as read back from it.

    Raises:
        IncompleteError: it lacks an automation, or has one twice.
        ObjectNotFound: it lacks a deployment.
    """
    deployments = deployment_names()
    for name in deployments:
        client.read_deployment_by_name(name)
    found = sorted(one.name for one in client.read_automations() if TAG in one.tags)
    if found != sorted(one.name for one in automations):
        raise IncompleteError(f"The server has these automations: {', '.join(found) or 'none'}.")
    return f"{len(deployments)} deployments, {len(automations)} automations"


def apply(client: SyncPrefectClient) -> str:
    """Apply both files and return what the server has."""
    make_pool(client)
    deploy(client)
    automations = read_automations(client, webhook_id(client))
    apply_automations(client, automations)
    return check(client, automations)


FAILURES = IncompleteError, subprocess.CalledProcessError, httpx.HTTPError, PrefectException


def main() -> None:
    """Deploy, and warn if no worker polls the work pool."""
    print("Registering deployments and automations ...", flush=True)
    patiently = Retrying(
        retry=retry_if_exception_type(FAILURES),
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_exponential(max=20),
        before_sleep=lambda state: print(
            f"Attempt {state.attempt_number} of {ATTEMPTS} failed. Trying again ...", flush=True
        ),
        reraise=True,
    )
    with get_client(sync_client=True) as client:
        print(patiently(apply, client))
        try:
            check_worker(client, POOL)
        except ServerError as error:
            print(f"Runs wait for a worker. {error}")


if __name__ == "__main__":
    try:
        deployment_names()
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError) as wrong:
        print(f"Error: {FILE} has no valid deployments: {wrong!r}", file=sys.stderr)
        sys.exit(1)
    try:
        main()
    except subprocess.CalledProcessError as error:
        print(error.output, file=sys.stderr)
        sys.exit(error.returncode)
    except FAILURES as error:
        print(
            f"Error: the deployments are incomplete: {error}. Run this command again.",
            file=sys.stderr,
        )
        sys.exit(3)
