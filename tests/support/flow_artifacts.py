"""What flow runs left on the Prefect server of the tests."""

import time
from typing import Any


def artifacts_of(state: Any) -> dict[str, Any]:
    """Artifacts of the flow run that ended in `state`, by key."""
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId

    run = ArtifactFilterFlowRunId(any_=[state.state_details.flow_run_id])
    return {artifact.key: artifact for artifact in _read(ArtifactFilter(flow_run_id=run))}


def events_of(state: Any, name: str, count: int) -> list[dict[str, Any]]:
    """Our events of that name of a flow run, once `count` have come: the server writes them a little later."""
    from prefect.client.orchestration import get_client

    run = f"prefect.flow-run.{state.state_details.flow_run_id}"
    asked = {"filter": {"event": {"name": [name]}, "related": {"id": [run]}}}
    deadline = time.monotonic() + 30
    while True:
        with get_client(sync_client=True) as client:
            found = client.request("POST", "/events/filter", json=asked).json()["events"]
        if len(found) >= count or time.monotonic() > deadline:
            return found
        time.sleep(0.2)


def newest_artifact(key: str) -> Any:
    """The last one that any flow run published under this key."""
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
    from prefect.client.schemas.sorting import ArtifactSort

    of_key = ArtifactFilter(key=ArtifactFilterKey(any_=[key]))
    return _read(of_key, sort=ArtifactSort.UPDATED_DESC, limit=1)[0]


def _read(which: Any, **how: Any) -> Any:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return client.read_artifacts(artifact_filter=which, **how)
