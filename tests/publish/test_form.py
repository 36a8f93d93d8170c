"""The form of a deployment: options in sections, each in one, and taken flat as well."""

from typing import Annotated, get_args

import pytest
from forms import sectioned
from pydantic import TypeAdapter, ValidationError

from gigamind.evaluation.options import SECTIONS
from gigamind.publish.flows import Sectioned, flat
from gigamind.tasks import TASKS
from gigamind.tasks.search.options import SearchEvalOptions
from gigamind.tasks.steps import AnyOptions

SEARCH = TypeAdapter(Annotated[SearchEvalOptions, Sectioned(SearchEvalOptions)])
GIVEN = {"dataset": "q.jsonl", "notes": "vault", "topk": 3, "max_calls": 7}


@pytest.mark.parametrize("task", list(TASKS))
def test_every_option_stands_in_one_section_and_the_required_ones_come_first(task):
    model = TASKS[task].options
    shown = TypeAdapter(Annotated[model, Sectioned(model)]).json_schema()
    sections = shown["properties"]
    assert next(iter(sections)) == "what"
    assert shown["required"] == ["what"]
    names = [
        name
        for part in sections.values()
        for name in shown["$defs"][part["$ref"].rpartition("/")[2]]["properties"]
    ]
    assert sorted(names) == sorted(model.model_fields.keys() - {"config"})
    what = shown["$defs"][f"{task.title()}What"]
    assert list(what["properties"])[: len(what["required"])] == what["required"]


def test_every_name_of_a_section_is_an_option_of_some_task():
    known = {name for task in TASKS.values() for name in task.options.model_fields}
    assert {name for names in SECTIONS.values() for name in names} <= known


def test_options_are_taken_in_sections_and_flat():
    plain = SearchEvalOptions.model_validate(GIVEN)
    assert SEARCH.validate_python(GIVEN) == plain
    assert SEARCH.validate_python(sectioned(GIVEN)) == plain
    assert SEARCH.validate_python(plain) == plain
    assert flat(sectioned(GIVEN)) == GIVEN


def test_an_unknown_option_in_a_section_is_refused():
    with pytest.raises(ValidationError, match="nonsense"):
        SEARCH.validate_python({**sectioned(GIVEN), "budget": {"nonsense": 1}})


def test_a_gate_offers_the_form_of_each_task():
    of_any = TypeAdapter(Annotated[AnyOptions, Sectioned(*get_args(AnyOptions))])
    assert len(of_any.json_schema()["anyOf"]) == len(TASKS)
    assert of_any.validate_python(sectioned({**GIVEN, "task": "search"})).topk == 3
