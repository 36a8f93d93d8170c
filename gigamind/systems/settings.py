"""Options that select a system."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from gigamind.i18n import _
from gigamind.redaction import redacted, without_secrets

BUILTIN = "builtin"
DEFAULT_PRESET = "plain"
SystemName = Annotated[
    str | None,
    Field(
        description=_(
            "name of the external system; runs with the same name count as the same system, even at different"
            " addresses"
        )
    ),
]


@dataclass(frozen=True, slots=True)
class SystemOptions:
    """The selected system; fields as the options of the same names."""

    system: str
    system_config: str | None
    timeout_ms: int

    @property
    def in_any_folder(self) -> dict[str, str]:
        """Return the options whose paths depend on the working directory, as absolute paths."""
        kind, _colon, path = self.system.partition(":")
        places = {"system": f"run:{Path(path).absolute()}"} if kind == "run" else {}
        if self.system_config and Path(self.system_config).is_file():
            places["system_config"] = str(Path(self.system_config).absolute())
        return places


def shown_system(system: str) -> str:
    """Return the value of `--system` without secrets."""
    return redacted(without_secrets(system) if system.startswith("http") else system)
