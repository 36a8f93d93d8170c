"""The commands and programs of the English docs run as they stand there, page by page, in a folder of a reader's own.

Korean pages have the same ones: tests/test_docs.py.

The folder has what the pages take for granted: a vault, questions, runs and answers of another system.  What is named
on a page but is the reader's own is replaced by what STAND_INS says; what cannot run is in NOT_RUN or ELSEWHERE, with
the reason.
"""

import json
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from operator import methodcaller
from pathlib import Path
from typing import Any

import pytest
from command_line import reached
from fake_model import reply_to
from faulty_model import running
from own_systems import EXAMPLES, serving
from pages import KOREAN, NAMES, ROOT, SHELLS, lines_of
from replies_by_schema import answer_to
from row_files import write_rows
from search_servers import ranked
from shell import Shell

PYTHON = frozenset({"python"})
QUERIES, ANSWERS = slice(None, None, 8), slice(4)  # of those in examples/
PROGRAMS = {
    "make": f'#!/bin/sh\nexec {shutil.which("make")} --dry-run --directory {ROOT} "$@"\n',  # .ci/run makes them
    "until_open": """#!/bin/bash
until (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; do sleep 0.05; done
""",
}

# What is the reader's own -> what it is here; {names} are addresses of servers, and free ports.
STAND_INS = {
    "https://rag.example/ask": "{rag}",  # examples/own_rag.py
    "https://preview.rag.example/ask": "{rag}",
    '"openai/gpt-4o-mini"': '"openai/judge", api_base="{model}", max_in_flight=16, model_timeout_s=60',
    "openai/gpt-4o-mini": "openai/judge {reached}",  # a script that looks each sentence up in the notes
    "openai/gpt-4o": "openai/judge",
    "--model ...": "--model openai/judge {reached}",
    "eval search ...": "eval search --dataset queries.jsonl --notes vault",  # as the page has it further up
    "path/to/vault": "vault",
    'evaluate_search("queries.jsonl", "vault", ': 'evaluate_search("queries.jsonl", "vault", speed_passes=0, ',
    "projects/gigamind.md": "projects/lock-v3.md",
    # Servers that a page starts in the background: people take longer to type than these to start.
    "examples/vault 9000 &": "examples/vault {port} & until_open {port}",
    "http://127.0.0.1:9000": "http://127.0.0.1:{port}",
    "examples/vault 9001 &": "examples/vault {other_port} & until_open {other_port}",
    "http://127.0.0.1:9001": "http://127.0.0.1:{other_port}",
    "fake_model.py --port 8911 &": "fake_model.py --port {model_port} & until_open {model_port}",
    "http://127.0.0.1:8911": "http://127.0.0.1:{model_port}",
    "--fail-on-regression --junit gate.xml": "--junit gate.xml",  # its speed was not measured
    "--apply linked": "--apply linked --yes",  # it asks about each link, at a terminal
    "links/20261123-172531/": "links/*/",  # the time of the run
    # Of these shells, which a machine may not have, only what is said to them.
    'eval "$(_GIGAMIND_COMPLETE=zsh_source gigamind)"': "_GIGAMIND_COMPLETE=zsh_source gigamind | grep compdef",
    "| source": "| grep complete",
    # What a program on the page takes for its own.
    "for line in sys.stdin": 'for line in [\'{{"id": "q-001"}}\']',
    "index.find(query.text)": '[("incidents/2025-04-27 알림 폭주.md", 0.9)]',
    "rag.ask(question.text)": '("The lead. [1]", [type("Chunk", (), dict(doc="kb/7", score=0.9, text="The lead."))])',
    '[json.loads(line) for line in open("per_item.jsonl", "rb")]': (
        '[__import__("json").loads(line) for line in open("runs/a/per_item.jsonl", "rb")]'
    ),
}

_SEARCH = "eval search --dataset queries.jsonl --notes vault"
_RUNS = (f"{_SEARCH} --mode keyword --out runs/keyword", f"{_SEARCH} --out runs/hybrid")

# What a reader has done before, on pages that go on from their runs.
BEFORE = {
    "docs/ci.md": ("eval generate-queries --notes vault --out eval/queries.jsonl --limit 20",),
    "docs/command-line.md": (f"{_SEARCH} --out runs/a", f"{_SEARCH} --out runs/b"),
    "docs/library.md": _RUNS,
    "docs/release-manager.md": (
        *_RUNS,
        "eval search --dataset queries.jsonl --system run:bm25.run --out runs/bm25",
    ),
}

# How a line begins that is left out, and why.
NOT_RUN = {
    "docs/ci.md": {
        "gigamind init --system": "instead of the line before: tests/e2e/test_own_search.py"
    },
    "docs/command-line.md": {
        "gigamind init       ": "asks at a terminal: tests/cli/test_config.py",
        "items = pandas.read_json": "needs pandas",
        "items = polars.read_ndjson": "needs Polars",
    },
    "docs/release-manager.md": {
        "gigamind gate waive": "needs a run that failed: tests/evaluation/test_attempts.py"
    },
    "docs/search.md": {
        "gigamind tune search ...": "embeds with a second encoder for half a minute",
        "pip install 'gigamind-eval[fastembed]'": "a published package",
        f"gigamind {_SEARCH} --rerank": "needs a model: tests/retrieval/test_fastembed.py",
    },
    "docs/systems.md": dict.fromkeys(
        (
            "gigamind import ",
            "gigamind export ",
            "gigamind dataset label ",
            "gigamind eval answers --dataset traced/",
            "gigamind eval search --dataset beir-rows/",
        ),
        "needs files of other tools: tests/cli/test_formats.py",
    ),
}

# Pages on which every comparison is to end in a verdict.
COMPARABLE = frozenset({"README.md", "docs/systems.md"})

# Pages of which nothing is run here: where it is, or why it is not.
ELSEWHERE = {
    "benchmarks/README.md": "take minutes to hours, and the test collections of others",
    "deployments/README.md": "tests/e2e/test_deployment.py",
    "docs/labels.md": "tests/cli/test_label_to_card.py, tests/e2e/browser",
    "docs/judges.md": "tests/cli/test_judge_attack_to_card.py",
    "docs/ml-engineer.md": "tests/e2e/test_deployment.py",
    "docs/models.md": "tests/cli/test_llm.py; examples/demo_llm.py, by `make test-model`",
    "docs/service.md": "tests/service",
}
RUN = [name for name in NAMES if name not in {*ELSEWHERE, *KOREAN}]


def text_of(name: str, languages: frozenset[str]) -> str:
    """What the page's blocks in these languages say, but for what is not run."""
    left_out = tuple(NOT_RUN.get(name, ()))
    lines = (line.text for line in lines_of(ROOT / name) if line.language in languages)
    return "\n".join(line for line in lines if not (left_out and line.startswith(left_out)))


def has_blocks(name: str) -> bool:
    return any(line.language in SHELLS | PYTHON for line in lines_of(ROOT / name))


def said(body: dict[str, Any]) -> dict[str, Any]:
    """What the model says: a judge's reply by the notes, an answer of no sense."""
    schema = body["response_format"]["json_schema"]["schema"]
    return answer_to(body) if "answer" in schema["properties"] else reply_to(body)


@pytest.fixture(scope="module")
def addresses() -> Iterator[dict[str, str]]:
    """What stands for the {names} of STAND_INS."""
    with ExitStack() as stack:
        model = stack.enter_context(running())
        model.respond = said
        rag = stack.enter_context(serving(EXAMPLES / "own_rag.py", EXAMPLES / "vault"))
        sockets = [stack.enter_context(socket.socket()) for _ in range(3)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        ports = (str(one.getsockname()[1]) for one in sockets)
        names = dict(zip(("port", "other_port", "model_port"), ports, strict=True))
        for one in sockets:
            one.close()
        yield {**names, "rag": rag, "model": model.url, "reached": " ".join(reached(model))}


@pytest.fixture
def ours(addresses: dict[str, str]) -> dict[str, str]:
    return {named: ours.format(**addresses) for named, ours in STAND_INS.items()}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def rows(name: str, these: slice) -> list[dict[str, Any]]:
    lines = (EXAMPLES / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines[these]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What a reader has before the first command."""
    folder = tmp_path / "reader"
    shutil.copytree(EXAMPLES, folder / "examples")
    vault = shutil.copytree(EXAMPLES / "vault", folder / "vault")
    notes = {str(note.relative_to(vault)): note.read_text("utf-8") for note in vault.rglob("*.md")}
    queries, answers = rows("queries", QUERIES), rows("answers", ANSWERS)
    write_rows(folder / "queries.jsonl", queries)
    for run, texts in (
        ("bm25", {note: text[:400] for note, text in notes.items()}),
        ("dense", notes),
    ):
        hits = [(row["id"], ranked(row["query"], texts)[:10]) for row in queries]
        (folder / f"{run}.run").write_text(
            "".join(
                f"{query} Q0 {note} {rank} {score} {run}\n"
                for query, found in hits
                for rank, (note, score) in enumerate(found, 1)
            ),
            "utf-8",
        )
    for row in answers:
        row["contexts"] = [
            {"note": note["path"], "text": notes[note["path"]]} for note in row["context_notes"]
        ]
    write_rows(folder / "answers.jsonl", answers)
    write_rows(
        folder / "questions.jsonl",
        ({"id": row["id"], "question": row["question"]} for row in answers),
    )
    (folder / "eval").mkdir()
    (folder / "eval" / "gates.toml").write_text(
        '[comparable]\nrelax = ["hardware", "notes"]\n', "utf-8"
    )
    text = "Leave is approved by the lead.\n"
    (folder / "note.md").write_text(text, "utf-8")
    write_rows(
        folder / "suggestions.jsonl", ({"note": note, "suggestions": ["lock-v3"]} for note in notes)
    )
    write_rows(folder / "quotes.jsonl", [{"quote": "approved by the lead"}])
    return folder


@pytest.fixture
def shell(
    folder: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shell]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    programs = tmp_path / "programs"
    programs.mkdir()
    environment = {
        "GIGAMIND_CACHE_DIR": str(cache),
        "GIGAMIND_EVAL_SEARCH_SPEED_PASSES": "0",  # how fast it is, a busy machine cannot tell
    }
    with Shell(folder, environment, PROGRAMS, programs) as shell:
        yield shell


def replaced(text: str, ours: dict[str, str]) -> str:
    return re.sub("|".join(map(re.escape, ours)), lambda found: ours[found[0]], text)


@pytest.mark.docs
@pytest.mark.timeout(400)  # on two busy cores
@pytest.mark.parametrize("name", [name for name in RUN if has_blocks(name)])
def test_everything_on_a_page_runs_in_its_order(name: str, shell: Shell, ours: dict[str, str]):
    script = text_of(name, SHELLS)
    before = BEFORE.get(name, ())
    ended = shell.bash("\n".join(f"gigamind {command}" for command in before))
    assert ended.returncode == 0, ended.stderr
    ended = shell.bash(replaced(script, ours))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert name not in COMPARABLE or "Not comparable" not in ended.stdout, ended.stdout
    if program := text_of(name, PYTHON):
        ended = shell.python(replaced(program, ours))
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_every_page_with_blocks_is_run_here_or_elsewhere():
    assert [name for name in ELSEWHERE if not has_blocks(name)] == []
    places = [place for why in ELSEWHERE.values() for place in re.findall(r"tests/[\w/.]+\w", why)]
    assert places
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_what_the_tables_name_stands_on_the_pages():
    told = "\n".join(line.text for name in RUN for line in lines_of(ROOT / name) if line.language)
    assert [named for named in STAND_INS if named not in told] == []
    assert set(BEFORE) <= set(RUN)
    for name, left_out in NOT_RUN.items():
        lines = [line.text for line in lines_of(ROOT / name) if line.language]
        assert [
            start for start in left_out if not any(map(methodcaller("startswith", start), lines))
        ] == []
