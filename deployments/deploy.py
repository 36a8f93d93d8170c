"""`make deploy`: makes the work pool and all that prefect.yaml and automations.yaml hold what these files say."""

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
# Of the automations that are this file's: those of people stay.
TAG = "gigamind"


def prefect(*command: str) -> None:
    """Run a command of Prefect's; one that fails has told why."""
    subprocess.run([sys.executable, "-m", "prefect", "--no-prompt", *command], check=True)


def make_pool(client: SyncPrefectClient) -> None:
    """The work pool, which a worker that starts meanwhile makes, too."""
    if any(pool.name == POOL for pool in client.read_work_pools()):
        return
    try:
        prefect("work-pool", "create", POOL, "--type", "process")
    except subprocess.CalledProcessError:
        client.read_work_pool(POOL)


def deploy(client: SyncPrefectClient) -> None:
    """All of prefect.yaml; Prefect would start what is paused again, which a gate that failed has paused for people."""
    try:
        paused = client.read_deployment_by_name(PROMOTE).paused
    except ObjectNotFound:
        paused = False
    prefect("deploy", "--all", "--prefect-file", str(HERE / "prefect.yaml"))
    if paused:
        found = client.read_deployment_by_name(PROMOTE)
        client.pause_deployment(found.id)


def webhook_id(client: SyncPrefectClient) -> str | None:
    """The block with the address that notifications go to, that of an earlier deploy if need be; None without one."""
    if address := os.environ.get("GIGAMIND_WEBHOOK"):
        headers = {"Content-Type": "application/json"}
        Webhook.model_validate({"url": address, "headers": headers}).save(WEBHOOK, overwrite=True)
    try:
        return str(client.read_block_document_by_name(WEBHOOK, "webhook").id)
    except ObjectNotFound:
        return None


def read_automations(client: SyncPrefectClient, webhook: str | None) -> list[AutomationCore]:
    """The automations of automations.yaml, with the ids that this server has."""

    def action(given: dict[str, Any]) -> dict[str, Any]:
        if given["type"] == "notify":
            if webhook is None:
                return {"type": "do-nothing"}
            # As Slack and most others take it.
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
    """Change those that are there, make those that are not, delete those that the file had once."""
    ours = {found.name: found for found in client.read_automations() if TAG in found.tags}
    for automation in automations:
        if found := ours.pop(automation.name, None):
            client.update_automation(found.id, automation)
        else:
            client.create_automation(automation)
    for gone in ours.values():
        client.delete_automation(gone.id)
    print(f"{len(automations)} automations applied.")


def main() -> None:
    """Deploy, and tell where no worker would run it yet."""
    with get_client(sync_client=True) as client:
        make_pool(client)
        deploy(client)
        apply_automations(client, read_automations(client, webhook_id(client)))
        try:
            check_worker(client, POOL)
        except ServerError as error:
            print(f"Nothing is run yet: {error}")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
