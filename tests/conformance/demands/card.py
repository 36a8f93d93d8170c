"""The project card: nine packages, and what is at the top of the repository.  Its lines are numbered here."""

from pathlib import Path

from demands.model import TESTS, Departure, Equal, Section, row

_JOB = "conformance/test_card.py::test_"
_SEARCH = f"{_JOB}a_search_run_loads_three"
_MODEL = f"{_JOB}a_search_run_with_a_model_loads_six"
_EMBEDDER = f"{_JOB}an_embedder_of_fastembed_loads_it"
_ALL = f"{_JOB}a_flow_with_a_model_a_qdrant_server_and_fastembed_loads_nine"
_TOP = ("pyproject.toml", "flows", "judges", "prompts", "tests", "deployments", "README.md")


def _is_there(path: Path) -> bool:
    return path.is_file() if path.suffix else any(path.iterdir())


_PACKAGES = (
    row(
        1,
        "prefect",
        _ALL,
        Departure(
            "`prefect` runs evaluations",
            "with `--flow` and in deployments; `gigamind eval` alone runs in its own process",
            "a flow in a shell needs a server, whose start takes 10 to 30 s; the results are the same. Flows declare no"
            " assets (`@materialize`): Prefect's documentation marks them as a feature of its cloud, and the pages of a"
            " server of your own (3.9.1) show none. The event `gigamind.gate.<verdict>` has the run, the baseline and"
            " the verdict already.",
        ),
    ),
    row(
        2,
        "litellm",
        _MODEL,
        Departure(
            "`litellm` and `instructor` are used",
            "by every judge with a language model (`--unanswerable-mode llm`, `eval answers`); a default search"
            " run loads neither",
            "the default run needs no key and no network, and litellm takes seconds and 170 MB to load",
        ),
    ),
    row(3, "instructor", _MODEL),
    row(4, "pydantic", _SEARCH),
    row(
        5,
        "qdrant-client",
        _ALL,
        Departure(
            "`qdrant-client` searches",
            "with `--qdrant-url`; by default Qdrant Edge, the engine of the same company, searches in the process",
            "over 20 000 chunks this is 24 to 31 times as fast as `QdrantClient(path=...)`, needs no server, and"
            " loads in 0.01 s and 12 MB, not 3 s and 143 MB",
        ),
    ),
    row(
        6,
        "fastembed",
        _EMBEDDER,
        _ALL,
        Departure(
            "`fastembed` embeds",
            "with `--embedder fastembed:MODEL`; by default an encoder whose weights are in a package"
            " (`use-multilingual`). `qdrant-client` loads fastembed, too, if it is installed",
            "fastembed downloads its models, and the default run needs no network. The encoder takes 32 MB, 0.2 s to"
            " load and 20 to 50 ms per note; fastembed with onnxruntime takes 74 MB and 1 to 2 s, without a model",
        ),
    ),
    row(7, "rank-bm25", _SEARCH),
    row(
        8,
        "tenacity",
        _MODEL,
        Departure(
            "`tenacity` retries",
            "requests to models, to a Qdrant server and to other systems; a default search run does not load it",
            "such a run requests nothing outside its process",
        ),
    ),
    row(9, "jinja2", _SEARCH),
)
_LAYOUT = row(
    tuple(range(10, 10 + len(_TOP))),
    " … ".join(_TOP),
    *(Equal(lambda name=name: _is_there(TESTS.parent / name), expected=True) for name in _TOP),
    Departure(
        "`flows`, `judges`, `prompts`, `tests`, `deployments` at the root",
        "they exist and are not importable; `judges/` and `prompts/` contain data, `gigamind/judges/` the"
        " code; a wheel has the data in `gigamind/_assets/`",
        "packages with such names exist, and installing one would overwrite another; a new threshold,"
        " model or question is a one-line review",
    ),
)

SECTIONS = (Section("card", "all", "Packages and layout", (*_PACKAGES, _LAYOUT)),)
