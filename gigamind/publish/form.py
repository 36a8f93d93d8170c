"""The form of a flow's parameters: the options of an evaluation in sections, what is required first.

The command line, Python and the record of a run have them flat, by the same names; only a deployment sees sections.
"""

from collections.abc import Mapping
from typing import Any, cast, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    create_model,
)
from pydantic_core import CoreSchema, core_schema

from gigamind.choices import TaskName
from gigamind.evaluation.options import OWN_SECTION, SECTIONS, EvalOptions

_OF_COMMANDS = {"config"}


class Sectioned:
    """Annotates the options of a flow, of one of these models: shown in sections, taken so or flat."""

    def __init__(self, *models: type[EvalOptions]) -> None:
        self._models = models

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(flat, handler(source))

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        shown = [handler(_form(model).__pydantic_core_schema__) for model in self._models]
        return shown[0] if len(shown) == 1 else {"anyOf": shown}


def flat(given: object) -> object:
    """Options by name, of those in sections; anything else as it is."""
    if not isinstance(given, Mapping):
        return given
    told = cast("Mapping[str, object]", given)
    values = {name: value for name, value in told.items() if not _is_section(name, value)}
    for name, value in told.items():
        if _is_section(name, value):
            values |= cast("Mapping[str, object]", value)
    return values


def _is_section(name: str, value: object) -> bool:
    return isinstance(value, Mapping) and name in {*SECTIONS, *get_args(TaskName)}


def _form(model: type[EvalOptions]) -> type[BaseModel]:
    """A model of sections, each a model of options; a section that needs nothing may be left out."""
    task = str(model.model_fields["task"].default)
    named = {name: section for section, names in SECTIONS.items() for name in names}
    fields: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for name in [*named, *model.model_fields]:
        if name in model.model_fields and name not in _OF_COMMANDS:
            fields[named.get(name, OWN_SECTION)].setdefault(name, model.model_fields[name])
    sections: dict[str, Any] = {}
    for section, held in fields.items():
        shown = task if section == OWN_SECTION else section
        ordered = sorted(held.items(), key=lambda entry: not entry[1].is_required())
        kinds: Any = {name: (field.annotation, field) for name, field in ordered}
        titled = ConfigDict(extra="forbid", title=shown.title())
        made = create_model(f"{task.title()}{shown.title()}", __config__=titled, **kinds)
        needed = any(field.is_required() for field in held.values())
        sections[shown] = (made, ...) if needed else (made, Field(default_factory=made))
    titled = ConfigDict(extra="forbid", title=task.title())
    return create_model(f"{task.title()}Options", __config__=titled, **sections)
