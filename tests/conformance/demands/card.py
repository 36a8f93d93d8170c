"""The project card: nine packages, and what is at the top of the repository.  Its lines are numbered here."""

from pathlib import Path

from demands.model import TESTS, Equal, Section, row

_JOB = "conformance/test_card.py::test_"
_SEARCH = f"{_JOB}a_search_run_loads_three"
_MODEL = f"{_JOB}a_search_run_with_a_model_loads_six"
_EMBEDDER = f"{_JOB}an_embedder_of_fastembed_loads_it"
_ALL = f"{_JOB}a_flow_with_a_model_a_qdrant_server_and_fastembed_loads_nine"
_TOP = ("pyproject.toml", "flows", "judges", "prompts", "tests", "deployments", "README.md")


def _is_there(path: Path) -> bool:
    return path.is_file() if path.suffix else any(path.iterdir())


_PACKAGES = (
    row(1, "prefect", _ALL),
    row(2, "litellm", _MODEL),
    row(3, "instructor", _MODEL),
    row(4, "pydantic", _SEARCH),
    row(5, "qdrant-client", _ALL),
    row(6, "fastembed", _EMBEDDER, _ALL),
    row(7, "rank-bm25", _SEARCH),
    row(8, "tenacity", _MODEL),
    row(9, "jinja2", _SEARCH),
)
_LAYOUT = row(
    tuple(range(10, 10 + len(_TOP))),
    " … ".join(_TOP),
    *(Equal(lambda name=name: _is_there(TESTS.parent / name), expected=True) for name in _TOP),
)

SECTIONS = (Section("card", "all", (*_PACKAGES, _LAYOUT)),)
