"""An installation of the core alone: what it does, and what it says of the rest."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gigamind.cli.main import _EXTRAS

ROOT = Path(__file__).parents[2]
BLOCKED = """
import contextlib, io, json, sys
for name in {modules!r}:
    sys.modules[name] = None  # as if it were not installed
from gigamind.cli.main import main
ends = []
for arguments in {commands!r}:
    with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.redirect_stdout(sys.stderr):
        try:
            main(arguments)
        except SystemExit as end:
            ends.append((end.code or 0, errors.getvalue(), "tenacity" in sys.modules))
print(json.dumps(ends))
"""


def core(*commands: tuple[str, ...]) -> list[tuple[int, str, bool]]:
    """How each command ends, one after the other in one process.

    Its exit code, what it says of errors, and whether tenacity is loaded by then, which only models need.
    """
    modules = [module for modules in _EXTRAS.values() for module in modules]
    code = BLOCKED.format(modules=modules, commands=[[*command] for command in commands])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
        env=os.environ | {"OPENAI_API_KEY": "none"},
    )
    return json.loads(done.stdout)


@pytest.fixture
def vault(tmp_path):
    notes = tmp_path / "vault"
    notes.mkdir()
    (notes / "휴가.md").write_text("휴가는 팀장에게 신청한다.\n", encoding="utf-8")
    (notes / "deploy.md").write_text("The deploy runs every Friday.\n", encoding="utf-8")
    row = {"id": "q", "query": "휴가 신청", "answerable": True, "expected_notes": ["휴가.md"]}
    (tmp_path / "queries.jsonl").write_text(json.dumps(row), encoding="utf-8")
    return ["--dataset", str(tmp_path / "queries.jsonl"), "--notes", str(notes)]


def test_the_core_alone_evaluates_search_and_says_in_one_line_what_to_type_for_the_rest(
    vault, tmp_path
):
    needing = {
        "prefect": ("--flow",),
        "qdrant": ("--qdrant-url", "http://127.0.0.1:1"),
        "fastembed": ("--embedder", "fastembed:BAAI/bge-small-en-v1.5"),
        "llm": ("--unanswerable-mode", "llm", "--model", "openai/m"),
    }
    search = ("eval", "search", *vault, "--speed-passes", "0", "--out")
    refused = [(*search, str(tmp_path / extra), *given) for extra, given in needing.items()]
    (code, errors, retries), *ends = core((*search, str(tmp_path / "out")), *refused)
    assert (code, retries) == (0, False), errors
    assert (tmp_path / "out" / "report.html").is_file()
    for extra, (refusal, said, _) in zip(needing, ends, strict=True):
        [told] = [line for line in said.splitlines() if line.startswith("Error")]
        assert refusal == 1, said
        assert f"pip install 'gigamind-eval[{extra}]'" in told
        assert "Traceback" not in said
        assert not (tmp_path / extra).exists()


def test_every_extra_that_is_told_of_is_one_and_all_of_them_are_all():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    assert set(_EXTRAS) < set(extras)
    assert extras["all"] == [f"gigamind-eval[{','.join(sorted(_EXTRAS))}]"]
