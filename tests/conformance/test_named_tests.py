"""A run of the whole suite fails where a test that a row names did not pass, alone and on workers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CONFTEST = """
from named_tests import NamedTests

def pytest_configure(config):
    config.pluginmanager.register(NamedTests())
"""
TABLE = "def tests_named():\n    return {'test_a.py::test_one', 'test_a.py::test_two'}\n"
ONE = "import pytest\n@pytest.mark.parametrize('n', [1, 2])\ndef test_one(n): pass\n"
CASES = {
    "skipped": ("def test_two(): pytest.skip('no engine')\n", (), 1),
    "gone": ("def test_other(): pass\n", (), 1),
    "of another run": ("@pytest.mark.browser\ndef test_two(): assert 0\n", ("-m", "not browser"), 0),
    "not imported": ("pytestmark = pytest.mark.browser\nraise ImportError\n", ("-m", "not browser"), 0),
    "a part": ("def test_two(): pytest.skip('no engine')\n", ("-k", "two or one"), 0),
    "one file": ("def test_two(): pytest.skip('no engine')\n", ("tests/test_a.py",), 0),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "workers"),
    [
        *((name, ()) for name in CASES if name != "skipped"),
        *((name, ("-p", "xdist.plugin", "-n", "1")) for name in ("skipped", "not imported")),
    ],
)
def test_a_named_test_must_have_passed_in_a_whole_run(tmp_path, name, workers):
    text, options, code = CASES[name]
    (tmp_path / "tests").mkdir()
    (tmp_path / "demands").mkdir()
    (tmp_path / "demands/table.py").write_text(TABLE)
    (tmp_path / "tests/conftest.py").write_text(CONFTEST)
    (tmp_path / "tests/test_a.py").write_text(ONE + text)
    (tmp_path / "tests/test_b.py").write_text("def test_three(): pass\n")
    settings = "[pytest]\ntestpaths = tests\nmarkers =\n    browser: drives a browser\n"
    (tmp_path / "pytest.ini").write_text(settings)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *workers, *options],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{TESTS / 'support'}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout
    assert ("test_two, which did not pass" in done.stdout) is bool(code)
