import json
import os
import subprocess
import sys

import pytest

from gigamind import __version__

HEAVY = {
    "numpy", "pydantic", "prefect", "litellm", "qdrant_client", "qdrant_edge", "rich", "fastembed",
}  # fmt: skip


def run_python(code):
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ended.stdout


def test_help_loads_no_heavy_module():
    code = (
        "import sys, json\n"
        "from gigamind.cli.main import main\n"
        "for arguments in (['--help'], ['--version'], ['nonsense']):\n"
        "    try:\n"
        "        main(arguments)\n"
        "    except SystemExit:\n"
        "        pass\n"
        "print(json.dumps([m for m in sys.modules if '.' not in m]))\n"
    )
    loaded = set(json.loads(run_python(code).splitlines()[-1]))
    assert "click" in loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_tells_the_exit_codes_and_the_commands(gigamind, option):
    ended = gigamind(option)
    assert ended.code == 0
    text = " ".join(ended.stdout.split())
    assert (
        "0 success, 1 invalid input, 2 notes or index not accessible, 3 evaluation failed" in text
    )
    assert "130 interrupted" in text
    assert "eval Evaluate search, answers and links" in text


def test_the_version_is_the_packages(gigamind):
    assert gigamind("--version").stdout == f"gigamind, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "nonsense"),
        (["eval", "nonsense"], "nonsense"),
        (["--nonsense"], "--nonsense"),
        (["eval", "search"], "--dataset"),
        (["eval", "search", "--topk"], "--topk"),
        (["eval", "search", "--dataset", "d", "--mode", "x"], "semantic, hybrid, keyword"),
        (["eval", "search", "--dataset", "d", "--topk", "x"], "--topk"),
        (["eval", "search", "extra", "--dataset", "d", "--notes", "n"], "extra"),
    ],
)
def test_a_command_line_that_cannot_be_read_ends_with_code_1_not_2(gigamind, arguments, message):
    ended = gigamind(*arguments)
    assert (ended.code, ended.stdout) == (1, "")
    assert message in ended.stderr


def test_a_terminal_without_unicode_still_gets_its_figures(case):
    command = "eval search --dataset queries.jsonl --notes vault --mode keyword --out out"
    ended = subprocess.run(
        [sys.executable, "-m", "gigamind", *command.split()],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        cwd=case,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert r"0.342 \u2013 1.000" in ended.stdout


def test_a_bug_ends_with_its_traceback_and_code_3_not_1():
    # Python's own code for it, 1, would say that the input was wrong.
    code = (
        "import click\n"
        "from gigamind.cli import main\n"
        "@main.cli.command('break')\n"
        "def broken(): raise ZeroDivisionError('bug')\n"
        "main.broken = broken\n"
        "main._COMMANDS['break'] = ('main:broken', '')\n"
        "main.main(['break'])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 3
    assert "ZeroDivisionError: bug" in ended.stderr
