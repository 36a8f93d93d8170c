"""Every file in flows/ is a thin script that Prefect can load by its path, and that hides no library."""

import ast
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from flow_files import FLOWS, load_flow

FILES = sorted(FLOWS.glob("*.py"))


def flow_names(file: Path) -> list[str]:
    """Functions of the file that are decorated as flows."""
    return [
        node.name
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef)
        and any("flow" in ast.unparse(decorator) for decorator in node.decorator_list)
    ]


def test_the_flows_folder_holds_flow_scripts_and_is_no_package():
    assert FLOWS / "eval_search.py" in FILES
    assert not (FLOWS / "__init__.py").exists()
    assert [path for path in FLOWS.iterdir() if path.is_dir() and path.name != "__pycache__"] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_flow_file_loads_without_a_placeholder(file: Path):
    names = flow_names(file)
    assert names == [file.stem]
    assert load_flow(file.stem).name == file.stem.replace("_", "-")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_flow_file_imports_no_other_flow_file(file: Path):
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(file.read_text()))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or "."]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert not imported & {"flows", "", *(other.stem for other in FILES)}


def test_a_flow_file_has_the_name_of_no_module_that_could_be_imported():
    # Prefect puts flows/ first on sys.path: a flow file of such a name would be imported in its stead.
    names = {file.stem for file in FILES}
    assert names.isdisjoint(sys.stdlib_module_names)
    assert names.isdisjoint(packages_distributions())


def test_the_parameters_of_a_search_evaluation_make_a_typed_form():
    from prefect.utilities.callables import parameter_schema

    schema = parameter_schema(load_flow("eval_search")).model_dump()
    assert schema["required"] == ["options"]
    forms = schema["definitions"]
    assert schema["properties"]["options"]["required"] == ["dataset"]
    assert all(form["additionalProperties"] is False for form in forms.values())
    assert forms["SearchSearch"]["properties"]["mode"]["enum"] == ["semantic", "hybrid", "keyword"]
    topk = forms["SearchSearch"]["properties"]["topk"]
    values = {"type": "integer", "default": 10, "minimum": 1, "maximum": 1000}
    assert {name: topk[name] for name in topk.keys() - {"title", "description"}} == values
    fields = [field for form in forms.values() for field in form["properties"].values()]
    assert all("description" in field or "$ref" in str(field) for field in fields)


def test_the_parameters_of_a_certification_make_a_typed_form():
    from prefect.utilities.callables import parameter_schema

    schema = parameter_schema(load_flow("certify_judge")).model_dump()
    form = schema["definitions"]["CertifyOptions"]
    assert form["required"] == ["runs"]
    assert form["additionalProperties"] is False
    assert all(field["description"] for field in form["properties"].values())
