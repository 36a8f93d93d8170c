"""Hatchling's hook: compile the catalogues before a wheel or an editable install is made."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CatalogueHook(BuildHookInterface[Any]):
    """Runs for `hatchling build`, `pip install .` and `pip install -e .`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  hatchling's own
        """Write the compiled files and name them, as hatchling leaves out what git ignores."""
        sys.path.insert(0, str(Path(self.root, "tools")))
        from compile_catalogues import compile_catalogues

        compile_catalogues(Path(self.root, "gigamind", "locales"))
        build_data["artifacts"] += [
            "gigamind/locales/*/LC_MESSAGES/*.mo",
            "gigamind/locales/*/LC_MESSAGES/scripts.json",
        ]
