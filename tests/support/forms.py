"""Options as the form of a deployment has them."""

from collections.abc import Mapping
from typing import Any

from gigamind.evaluation.options import SECTIONS
from gigamind.publish.flows import flat


def sectioned(given: Mapping[str, Any], **changes: object) -> dict[str, dict[str, Any]]:
    """Options of a deployment, in sections or flat, with some of them changed, in the sections of its form."""
    options: Any = flat(given)
    sections: dict[str, dict[str, Any]] = {}
    for name, value in {**options, **changes}.items():
        named = next((section for section, names in SECTIONS.items() if name in names), None)
        sections.setdefault(named or options.get("task", "search"), {})[name] = value
    return sections
