"""The scripts of flows/."""

from pathlib import Path
from typing import Any

FLOWS = Path(__file__).parents[2] / "flows"


def load_flow(name: str) -> Any:
    """The flow of the script with that name."""
    from prefect.flows import load_flow_from_entrypoint

    return load_flow_from_entrypoint(f"{FLOWS / name}.py:{name}", use_placeholder_flow=False)
