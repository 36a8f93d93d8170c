"""Which search is named, and by which options."""

from dataclasses import dataclass

BUILTIN = "builtin"


@dataclass(frozen=True, slots=True)
class SystemOptions:
    """A search as it is named; see the options of the same names."""

    system: str
    system_config: str | None
    topk: int
    timeout_ms: int
