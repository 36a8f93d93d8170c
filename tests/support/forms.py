"""Options as the form of a deployment has them."""

from collections.abc import Mapping
from typing import Any

from gigamind.evaluation.options import SECTIONS
from gigamind.publish.flows import _SHOWN, _flat


def sectioned(given: Mapping[str, Any], **changes: object) -> dict[str, Any]:
    """Options of a deployment, in its form or flat, with some of them changed, in its form."""
    options: Any = _flat(given)
    form: dict[str, Any] = {}
    sections: dict[str, dict[str, Any]] = {}
    for name, value in {**options, **changes}.items():
        named = next((section for section, names in SECTIONS.items() if name in names), None)
        if name in {*_SHOWN, "task"}:
            form[name] = value
        else:
            sections.setdefault(named or options.get("task", "search"), {})[name] = value
    return form | ({"advanced": sections} if sections else {})
