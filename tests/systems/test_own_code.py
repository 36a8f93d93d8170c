"""Code of a team's own that fails, or ends the process: a failure of its item, or of the run in one line."""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from gigamind.cli.main import main
from gigamind.errors import InputError, SystemFailedError
from gigamind.loading import imported
from gigamind.systems.dialect import ANSWERS, rankings
from gigamind.systems.open import _FunctionSystem
from gigamind.systems.protocol import Guarded, Query

QUERY = Query("q1", "deploy")


class Raising:
    """A search and a RAG system that raise what they hold."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def search(self, _query):
        raise self.error

    answer = search

    def __call__(self, *_given):
        raise self.error

    def close(self):
        pass


def doors(error: BaseException):
    """Each way in which code of a team's own is asked."""
    own = Raising(error)
    yield lambda: _FunctionSystem(own, rankings(3)).ask(QUERY)
    yield lambda: _FunctionSystem(own, ANSWERS).ask(QUERY)
    yield lambda: Guarded(own, "search", object).ask(QUERY)
    yield lambda: Guarded(own, "answer", object).ask(QUERY)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (SystemExit(0), "SystemExit: 0"),
        (SystemExit(), "SystemExit"),
        (SystemExit("no licence"), "SystemExit: no licence"),
        (RuntimeError("two\nlines"), "RuntimeError: two lines"),
    ],
)
def test_what_own_code_raises_is_a_failure_of_its_item_and_ends_no_process(error, told):
    for ask in doors(error):
        with pytest.raises(SystemFailedError) as failed:
            ask()
        assert str(failed.value) == told


def test_ctrl_c_in_own_code_stays_ctrl_c():
    for ask in doors(KeyboardInterrupt()):
        with pytest.raises(KeyboardInterrupt):
            ask()


MODULES = {
    "exits": ("import sys\nsys.exit(0)\n", "{}:2: SystemExit: 0"),
    "raises": ("def load():\n    raise RuntimeError('no index')\nload()\n", "{}:2: RuntimeError: no index"),
    "deeper": ("import json\njson.loads('[')\n", "{}:2: JSONDecodeError: Expecting value"),
    "no_python": ("def f(q,k:\n", "{}:1: SyntaxError: '(' was never closed"),
    "lacks": ("\nimport gone_module\n", "{}:2: ModuleNotFoundError: No module named 'gone_module'"),
}  # fmt: skip


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Makes a module of that text below the working directory, and gives the name of it."""
    monkeypatch.chdir(tmp_path)

    def make(name: str, text: str) -> Path:
        (file := tmp_path / f"own_{name}.py").write_text(text, encoding="utf-8")
        sys.modules.pop(file.stem, None)
        return file

    return make


@pytest.mark.parametrize("name", MODULES)
def test_a_module_that_fails_is_told_with_the_line_that_failed(own, name):
    text, told = MODULES[name]
    file = own(name, text)
    with pytest.raises(InputError) as refused:
        imported(file.stem, "f")
    assert file.stem in str(refused.value)
    assert told.format(file) in str(refused.value)


def test_what_is_not_there_is_no_failure_of_its_code(own):
    own("whole", "")
    for module, error in (("own_nowhere", ImportError), ("", ValueError), (".x", ValueError)):
        with pytest.raises(error):
            imported(module, "f")
    with pytest.raises(AttributeError):
        imported("own_whole", "f")


def test_ctrl_c_while_a_module_is_imported_stays_ctrl_c(own):
    file = own("slow", "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        imported(file.stem, "f")


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("import sys\nsys.exit(0)\n", 1, "SystemExit: 0"),
        ("import sys\ndef f(*_):\n    sys.exit(0)\n", 3, "SystemExit: 0"),
    ],
)  # fmt: skip
def test_a_run_whose_search_ends_the_process_is_no_success_and_junit_says_why(
    own, capsys, text, code, told
):
    file = own(f"ends_{code}", text)
    row = '{{"id": "{}", "query": "deploy", "answerable": true, "expected_notes": ["a.md"]}}\n'
    Path("q.jsonl").write_text("".join(row.format(n) for n in range(10)), encoding="utf-8")
    asked = f"eval search --dataset q.jsonl --system python:{file.stem}:f --out out --junit j.xml"
    with pytest.raises(SystemExit) as ended:
        main(asked.split())
    assert ended.value.code == code
    assert told in capsys.readouterr().err
    (error,) = ET.parse("j.xml").getroot().iter("error")
    assert told in error.get("message")
