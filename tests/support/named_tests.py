"""At the end of a run of the whole suite: the tests that docs/conformance.md names as proofs must have passed in it.

A skipped test, or one of whose cases failed, proves nothing.  Those that `-m` leaves out belong to another run, and a
file of only such tests is not imported.  With xdist, the workers report what passed to the controller, which decides.
"""

import re
from pathlib import Path

import pytest


def named(node_id: str) -> str:
    """Such as "cli/test_main.py::test_help", as a row names a test."""
    return node_id.removeprefix("tests/").partition("[")[0]


def marks_of(file: Path) -> set[str]:
    """Marks of all tests of a file, read from its text."""
    line = re.search(r"^pytestmark = (?:\[[^\]]*\]|.*)", file.read_text("utf-8"), re.MULTILINE)
    marks = set(re.findall(r"\bmark\.(\w+)", line[0])) if line else set()
    return marks | {"whole"} if "deployed" in marks else marks  # as conftest.py adds it


class NamedTests:
    """A plugin of pytest."""

    def __init__(self) -> None:
        self.passed: set[str] = set()
        self.failed: set[str] = set()
        self.left_out: set[str] = set()
        self.unproven: list[str] = []

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """Leave out a file whose `pytestmark` the expression of `-m` excludes: importing Prefect takes seconds."""
        expression = config.getoption("-m")
        excluded = set() if " or " in expression else set(re.findall(r"\bnot (\w+)", expression))
        is_excluded = excluded and collection_path.suffix == ".py"
        if not is_excluded or not excluded & marks_of(collection_path):
            return None
        self.left_out.add(named(collection_path.relative_to(config.rootpath).as_posix()))
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(named(report.nodeid))
        elif report.passed and report.when == "call":
            self.passed.add(named(report.nodeid))

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self.left_out.update(named(item.nodeid) for item in items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        self.left_out.update(getattr(node, "workeroutput", {}).get("left_out", ()))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["left_out"] = sorted(self.left_out)
        elif is_whole(session):
            from demands.table import tests_named

            proven = self.passed - self.failed
            here = {name for name in tests_named() if name.partition("::")[0] not in self.left_out}
            self.unproven = sorted(here - proven - (self.left_out - self.passed))
            if self.unproven and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for test in self.unproven:
            terminalreporter.write_line(
                f"docs/conformance.md names {test}, which did not pass in this run"
            )


def is_whole(session: pytest.Session) -> bool:
    """Whether nothing but `-m` chose among the tests, and all of them ran."""
    config = session.config
    choices = ("keyword", "lf", "deselect", "ignore", "ignore_glob", "collectonly")
    return (
        config.args_source is pytest.Config.ArgsSource.TESTPATHS
        and not any(config.getoption(name, None) for name in choices)
        and session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}
        and not (session.shouldstop or session.shouldfail)
    )
