"""The form of a deployment: a few fields, the others in closed sections; options are taken flat as well."""

from typing import Annotated, Any, get_args

import pytest
from forms import sectioned
from pydantic import TypeAdapter, ValidationError

from gigamind.evaluation.options import SECTIONS
from gigamind.publish.flows import Form, _flat
from gigamind.tasks import TASKS
from gigamind.tasks.options import AnyOptions, SearchEvalOptions

SEARCH = TypeAdapter(Annotated[SearchEvalOptions, Form(SearchEvalOptions)])
GIVEN = {"dataset": "q.jsonl", "notes": "vault", "topk": 3, "max_calls": 7}


@pytest.mark.parametrize("task", list(TASKS))
def test_the_form_shows_few_fields_and_every_other_option_in_one_closed_section(task):
    model = TASKS[task].options
    shown = TypeAdapter(Annotated[model, Form(model)]).json_schema()
    *first, advanced = shown["properties"]
    assert advanced == "advanced"
    assert len(first) + 1 <= 8  # with the parameter `runner`
    assert set(shown["required"]) <= set(first)

    def closed(part: dict[str, Any]) -> dict[str, Any]:
        assert part["default"] is None
        return shown["$defs"][part["anyOf"][0]["$ref"].rpartition("/")[2]]["properties"]

    sections = closed(shown["properties"]["advanced"])
    names = [name for part in sections.values() for name in closed(part)]
    assert sorted([*first, *names]) == sorted(model.model_fields.keys() - {"config", "task"})


def test_every_name_of_a_section_is_an_option_of_some_task():
    known = {name for task in TASKS.values() for name in task.options.model_fields}
    assert {name for names in SECTIONS.values() for name in names} <= known


def test_options_are_taken_in_sections_and_flat():
    plain = SearchEvalOptions.model_validate(GIVEN)
    assert SEARCH.validate_python(GIVEN) == plain
    assert SEARCH.validate_python(sectioned(GIVEN)) == plain
    assert SEARCH.validate_python(plain) == plain
    assert _flat(sectioned(GIVEN)) == GIVEN


def test_an_unknown_option_in_a_section_is_refused():
    with pytest.raises(ValidationError, match="nonsense"):
        SEARCH.validate_python({**sectioned(GIVEN), "advanced": {"budget": {"nonsense": 1}}})


def test_a_gate_offers_the_form_of_each_task():
    of_any = TypeAdapter(Annotated[AnyOptions, Form(*get_args(AnyOptions))])
    assert len(of_any.json_schema()["anyOf"]) == len(TASKS)
    assert of_any.validate_python(sectioned({**GIVEN, "task": "search"})).topk == 3
