"""The project card: nine packages, and what is at the top of the repository.  Its lines are numbered here."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import gigamind
from demands.model import TESTS, Equal, Section, row

_SEARCH = (
    "cli/test_extras.py::"
    "test_the_core_alone_evaluates_search_and_says_in_one_line_what_to_type_for_the_rest"
)
_MODEL = "cli/test_eval_answers.py::test_figures_cost_and_report_are_shown"
_PACKAGES = {
    "prefect": "flows/test_eval_search.py::"
    "test_the_flow_writes_the_same_reports_as_the_evaluation_without_prefect",
    "litellm": _MODEL,
    "instructor": _MODEL,
    "pydantic": _SEARCH,
    "qdrant-client": "flows/test_index_vault.py::"
    "test_the_collection_stands_under_the_alias_of_the_vault",
    "fastembed": "retrieval/test_fastembed.py::test_a_model_in_a_subfolder_is_found",
    "rank-bm25": _SEARCH,
    "tenacity": "llm/test_retry.py::test_waits_are_random_and_doubled_up_to_twenty_seconds",
    "jinja2": _SEARCH,
}
_TOP = ("pyproject.toml", "flows", "judges", "prompts", "tests", "deployments", "README.md")


@functools.cache
def _imported() -> frozenset[str]:
    """What modules of the package import, also on first use."""

    def names(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module

    files = Path(gigamind.__file__).parent.rglob("*.py")
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_bytes())))
    return frozenset(name.partition(".")[0] for node in nodes for name in names(node))


def _is_there(path: Path) -> bool:
    return path.is_file() if path.suffix else any(path.iterdir())


SECTIONS = (
    Section(
        "card",
        "all",
        (
            *(
                row(
                    line,
                    name,
                    Equal(lambda name=name: name.replace("-", "_") in _imported(), expected=True),
                    test,
                )
                for line, (name, test) in enumerate(_PACKAGES.items(), start=1)
            ),
            row(
                tuple(range(10, 10 + len(_TOP))),
                " … ".join(_TOP),
                *(
                    Equal(lambda name=name: _is_there(TESTS.parent / name), expected=True)
                    for name in _TOP
                ),
            ),
        ),
    ),
)
