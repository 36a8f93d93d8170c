"""Command-line options from an options model, which holds their names, types, defaults and help."""

import inspect
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import click
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from gigamind.cli.command import GroupedOption
from gigamind.errors import InputError
from gigamind.evaluation.options import SECTIONS, EvalOptions
from gigamind.i18n import _
from gigamind.loading import demand_of

_Command = TypeVar("_Command", bound=Callable[..., Any])


class _ModelOption(GroupedOption):
    """An option for a field of a model."""

    def __init__(self, *arguments: Any, field: FieldInfo, **settings: Any) -> None:  # noqa: ANN401  click's own
        super().__init__(*arguments, **settings)
        self._field = field

    def check(self, value: object, where: str) -> None:
        """Check a value from a file, which `where` names."""
        kind: Any = self._field.annotation
        if self._field.metadata:
            kind = Annotated[kind, *self._field.metadata]
        try:
            TypeAdapter[Any](kind).validate_python(value)
        except ValidationError as error:
            demand = demand_of(error.errors()[0])
            raise InputError(
                "{where} = {value}: {demand}", where=where, value=repr(value), demand=demand
            ) from error


def options_of(
    model: type[BaseModel], *, only: Collection[str] | None = None
) -> Callable[[_Command], _Command]:
    """Return a decorator that adds one option per field of `model`: its own fields first, then its parents' fields.

    Fields with one possible value or another model are left out; fields not in `only` keep their defaults.
    """
    fields = {
        name: field for name, field in model.model_fields.items() if only is None or name in only
    }
    mro = [inspect.get_annotations(kind) for kind in model.__mro__]
    order = {name: next(at for at, names in enumerate(mro) if name in names) for name in fields}
    ordered = sorted(fields.items(), key=lambda entry: order[entry[0]])

    def decorate(command: _Command) -> _Command:
        for name, field in reversed(ordered):
            kind = _bare(field.annotation)
            if len(get_args(field.annotation)) == 1 and get_origin(field.annotation) is Literal:
                continue
            if not (inspect.isclass(kind) and issubclass(kind, BaseModel)):
                command = _option(model, name, field)(command)
        return command

    return decorate


def _option(model: type[BaseModel], name: str, field: FieldInfo) -> Callable[[_Command], _Command]:
    flag = f"--{name.replace('_', '-')}"
    kind = _bare(field.annotation)
    settings: dict[str, Any] = {
        "cls": _ModelOption,
        "field": field,
        "help": field.description,
        "required": field.is_required(),
        **_group(model, name),
    }
    if kind is bool and field.default is True:
        return click.option(f"{flag}/--no-{name.replace('_', '-')}", default=True, **settings)
    if kind is bool:
        return click.option(flag, is_flag=True, **settings)
    if get_origin(kind) is tuple:
        return click.option(flag, multiple=True, metavar="TEXT", **settings)
    if not field.is_required() and field.default is not None:
        settings |= {"default": field.default, "show_default": True}
    if get_origin(kind) is Literal:
        settings["type"] = click.Choice(get_args(kind))
    elif kind is Path:
        settings["type"] = click.Path(path_type=Path)
    elif field.examples:
        settings["metavar"] = "|".join((*field.examples, "FILE"))
    else:
        settings["type"] = kind
    return click.option(flag, **settings)


_HEADINGS = {
    "what": _("Input"),
    "where": _("Output"),
    "search": _("Search"),
    "links": _("Links"),
    "answers": _("Answers"),
    "judge": _("Judge"),
    "model": _("Model"),
    "budget": _("Budget"),
    "gate": _("Gate"),
}


def _group(model: type[BaseModel], name: str) -> dict[str, Any]:
    section = next((section for section, names in SECTIONS.items() if name in names), None)
    if section is None and issubclass(model, EvalOptions):
        section = str(model.model_fields["task"].default)
    task = str(getattr(model.model_fields.get("task"), "default", ""))
    return {"group": _HEADINGS[section], "first": name in _FIRST.get(task, ())} if section else {}


_FIRST: Mapping[str, frozenset[str]] = {
    task: frozenset((*own, "dataset", "notes", "system", "out", "compare", "fail_on_regression"))
    for task, own in {
        "search": ("mode", "unanswerable_mode"),
        "answers": ("model", "max_cost_usd"),
        "links": ("topk", "min_confidence"),
    }.items()
}
"""The options that a help page shows first, by task."""


def _bare(annotation: Any) -> Any:  # noqa: ANN401  an annotation may be anything
    if get_origin(annotation) in {Union, UnionType}:
        return _bare(next(part for part in get_args(annotation) if part is not NoneType))
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
