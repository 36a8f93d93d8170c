"""`make deploy`: create the work pool, and apply prefect.yaml and automations.yaml."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from prefect.blocks.webhook import Webhook
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectNotFound

from gigamind.errors import ServerError
from gigamind.publish.server import check_worker

HERE = Path(__file__).parent
POOL = "local"
PROMOTE = "promote/promote"
WEBHOOK = "gigamind"
# Marks automations from this folder; others are not touched.
TAG = "gigamind"


def prefect(*command: str) -> None:
    """Run a command of Prefect, which prints its own errors."""
    subprocess.run([sys.executable, "-m", "prefect", "--no-prompt", *command], check=True)


def make_pool(client: SyncPrefectClient) -> None:
    """Create the work pool, unless it exists; a worker that starts may create it at the same time."""
    if any(pool.name == POOL for pool in client.read_work_pools()):
        return
    try:
        prefect("work-pool", "create", POOL, "--type", "process")
    except subprocess.CalledProcessError:
        client.read_work_pool(POOL)


def deploy(client: SyncPrefectClient) -> None:
    """Deploy prefect.yaml; promotion stays paused, which Prefect would resume."""
    try:
        paused = client.read_deployment_by_name(PROMOTE).paused
    except ObjectNotFound:
        paused = False
    prefect("deploy", "--all", "--prefect-file", str(HERE / "prefect.yaml"))
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


def read_automations(client: SyncPrefectClient, webhook: str | None) -> list[AutomationCore]:
    """Return the automations of automations.yaml with the ids of this server."""

    def action(given: dict[str, Any]) -> dict[str, Any]:
        if given["type"] == "notify":
            if webhook is None:
                return {"type": "do-nothing"}
            # The format of Slack and most other services.
            text = (
                f"{{% set text %}}{given['text']}{{% endset %}}{{{{ {{'text': text}} | tojson }}}}"
            )
            return {"type": "call-webhook", "block_document_id": webhook, "payload": text}
        if "deployment" in given:
            name = given.pop("deployment")
            return given | {"deployment_id": client.read_deployment_by_name(name).id}
        return given

    listed = yaml.safe_load((HERE / "automations.yaml").read_text("utf-8"))["automations"]
    return [
        AutomationCore.model_validate(
            one | {"actions": [action(given) for given in one["actions"]], "tags": [TAG]}
        )
        for one in listed
    ]


def apply_automations(client: SyncPrefectClient, automations: list[AutomationCore]) -> None:
    """Update, create and delete automations so that they match the file."""
    ours = {found.name: found for found in client.read_automations() if TAG in found.tags}
    for automation in automations:
        if found := ours.pop(automation.name, None):
            client.update_automation(found.id, automation)
        else:
            client.create_automation(automation)
    for removed in ours.values():
        client.delete_automation(removed.id)
    print(f"{len(automations)} automations applied.")


def main() -> None:
    """Deploy, and warn if no worker polls the work pool."""
    with get_client(sync_client=True) as client:
        make_pool(client)
        deploy(client)
        apply_automations(client, read_automations(client, webhook_id(client)))
        try:
            check_worker(client, POOL)
        except ServerError as error:
            print(f"Runs wait for a worker. {error}")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
