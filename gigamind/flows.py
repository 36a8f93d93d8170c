"""The flows by module path, as entrypoints of deployments outside this repository: `gigamind.flows.release_gate`."""

from typing import Any

from gigamind.assets import asset


def __getattr__(name: str) -> Any:  # noqa: ANN401  Prefect's Flow
    """Load the flow of `flows/NAME.py`; AttributeError if there is none."""
    if name.startswith("_") or not (file := asset("flows") / f"{name}.py").is_file():
        raise AttributeError(name)
    from prefect.flows import load_flow_from_entrypoint

    return load_flow_from_entrypoint(f"{file}:{name}", use_placeholder_flow=False)
