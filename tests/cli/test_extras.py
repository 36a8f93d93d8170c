"""An installation of the core alone: what it does, and what it says of the rest."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gigamind.cli.extras import _EXTRAS

ROOT = Path(__file__).parents[2]
BLOCKED = """
import sys
for name in {modules!r}:
    sys.modules[name] = None  # as if it were not installed
from gigamind.cli.main import main
main({arguments!r})
"""


def core(*arguments: str) -> subprocess.CompletedProcess[str]:
    modules = [module for modules in _EXTRAS.values() for module in modules]
    code = BLOCKED.format(modules=modules, arguments=[*arguments])
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env=os.environ | {"OPENAI_API_KEY": "none"},
    )


@pytest.fixture
def vault(tmp_path):
    notes = tmp_path / "vault"
    notes.mkdir()
    (notes / "휴가.md").write_text("휴가는 팀장에게 신청한다.\n", encoding="utf-8")
    (notes / "deploy.md").write_text("The deploy runs every Friday.\n", encoding="utf-8")
    row = {"id": "q", "query": "휴가 신청", "answerable": True, "expected_notes": ["휴가.md"]}
    (tmp_path / "queries.jsonl").write_text(json.dumps(row), encoding="utf-8")
    return ["--dataset", str(tmp_path / "queries.jsonl"), "--notes", str(notes)]


def test_the_core_alone_evaluates_search_and_writes_its_report(vault, tmp_path):
    done = core("eval", "search", *vault, "--out", str(tmp_path / "out"), "--speed-passes", "0")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("--flow",), "prefect"),
        (("--qdrant-url", "http://127.0.0.1:1"), "qdrant"),
        (("--embedder", "fastembed:BAAI/bge-small-en-v1.5"), "fastembed"),
        (("--unanswerable-mode", "llm", "--model", "openai/m"), "llm"),
    ],
)
def test_what_needs_an_extra_says_in_one_line_what_to_type(vault, tmp_path, arguments, extra):
    done = core("eval", "search", *vault, "--out", str(tmp_path / "out"), *arguments)
    [told] = [line for line in done.stderr.splitlines() if line.startswith("Error")]
    assert done.returncode == 1, done.stderr
    assert told.endswith(f"pip install 'gigamind-eval[{extra}]', or [all]; in a clone: make all")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_every_extra_that_is_told_of_is_one_and_all_of_them_are_all():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    assert set(_EXTRAS) < set(extras)
    assert extras["all"] == [f"gigamind-eval[{','.join(sorted(_EXTRAS))}]"]
