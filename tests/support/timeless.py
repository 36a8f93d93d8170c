"""Reports without what a clock has put there, so that those of two runs can be compared."""

from collections.abc import Mapping
from typing import Any


def without_times(value: Any) -> Any:
    """JSON values without durations."""
    if isinstance(value, Mapping):
        return {
            key: without_times(inner)
            for key, inner in value.items()
            if not key.endswith("_ms") and key != "passes"
        }
    return [without_times(inner) for inner in value] if isinstance(value, list) else value
