import gc
import inspect
import os
import signal
import ssl
import sys
from multiprocessing import forkserver
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from named_tests import NamedTests

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from pathlib import Path

    from _pytest.terminal import TerminalReporter
    from faulty_model import FakeServer
    from prefect_stack import Stack

    from gigamind.vault.notes import Vault

# A script's background jobs ignore SIGINT, and children inherit that; one that the tests interrupt must not.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Whatever language the machine speaks, what tests read is English unless they ask for another.
os.environ["LC_ALL"] = "C.UTF-8"

# A busy machine is no defect of the code: examples have no deadline, and their number bounds the time.
settings.register_profile("any machine", deadline=None, max_examples=50)
settings.register_profile("few", deadline=None, max_examples=20)  # on one more Python
settings.load_profile("any machine")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(NamedTests())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`@pytest.mark.each("row", ROWS)` is `parametrize` in a single test: thousands of tests take time to collect."""
    for marker in metafunc.definition.iter_markers("each"):
        metafunc.parametrize(marker.args[0], marker.args[1][:1], ids=["each"])


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Such a test fails once all its rows were tried, and names those that are wrong."""
    marker = pyfuncitem.get_closest_marker("each")
    if marker is None:
        return None
    names, rows = [name.strip() for name in marker.args[0].split(",")], marker.args[1]
    taken = inspect.signature(pyfuncitem.obj).parameters.keys() - set(names)
    fixtures = {name: pyfuncitem.funcargs[name] for name in taken}
    wrong: list[str] = []
    for row in rows:
        values = row if len(names) > 1 else (row,)
        try:
            pyfuncitem.obj(**fixtures, **dict(zip(names, values, strict=True)))
        except AssertionError as error:
            wrong.append(f"{str(row)[:200]}\n    {error}")
    assert rows, "no row"
    if wrong:
        pytest.fail(f"{len(wrong)} of {len(rows)} rows:\n" + "\n".join(wrong), pytrace=False)
    return True


@pytest.fixture
def text_file(tmp_path: "Path") -> "Callable[[str], Path]":
    """Writes a file with that text."""

    def write(text: str) -> "Path":
        path = tmp_path / "file.txt"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def vault_of(tmp_path: "Path") -> "Callable[[Mapping[str, str]], Vault]":
    """Writes notes (path -> text) into a folder, whose other notes stay, and reads it as a vault."""
    from vault_files import write_files

    from gigamind.vault.notes import Vault

    return lambda notes: Vault.read(write_files(tmp_path / "vault", notes))


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Nothing waits before it asks a server again; the seconds that it would have waited."""
    from gigamind.llm.budget import Budget

    waited: list[float] = []

    async def sleep(_budget: Budget, seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(Budget, "sleep", sleep)
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=waited.append))
    return waited


@pytest.fixture(autouse=True, scope="session")
def certificate_authorities() -> "Iterator[None]":
    """Load those of the system once: for each model that a test opens, they take an eighth of a second of CPU time."""
    from gigamind.llm import transport

    authorities = ssl.create_default_context()
    vars(authorities)["load_verify_locations"] = lambda _certifi: None
    with pytest.MonkeyPatch.context() as patch:
        loaded = SimpleNamespace(create_default_context=lambda: authorities)
        patch.setattr(transport, "ssl", loaded)
        yield


@pytest.fixture(scope="session")
def model_server() -> "Iterator[FakeServer]":
    """A model on loopback, for the tests of several rooms."""
    from faulty_model import running  # a web server, which most tests need not load

    with running() as server:
        yield server


@pytest.fixture
def server() -> "Iterator[FakeServer]":
    """Another, for one test alone."""
    from faulty_model import running

    with running() as server:
        yield server


@pytest.fixture
def fake(model_server: "FakeServer") -> "FakeServer":
    """The same, with nothing seen and nothing to say."""
    model_server.forget()
    return model_server


@pytest.fixture(scope="session")
def examples_cache(tmp_path_factory: pytest.TempPathFactory) -> "Path":
    """A cache of the vectors of examples/vault for all workers: embedding them takes seconds."""
    folder = tmp_path_factory.getbasetemp()
    shared = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "examples-cache"
    shared.mkdir(exist_ok=True)
    return shared


@pytest.fixture(autouse=True, scope="session")
def forks() -> None:
    """What forks commands loads the package beside the first tests, which takes seconds, if later ones need it."""
    if "forked" in sys.modules:
        forkserver.ensure_running()


@pytest.fixture(autouse=True, scope="session")
def prefect_starting(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[Callable[[], Stack] | None]":
    """A Prefect server that starts beside the first tests, if later ones of the first worker need it."""
    is_needed = any("prefect_stack" in vars(item)["fixturenames"] for item in request.session.items)
    if not is_needed or os.environ.get("PYTEST_XDIST_WORKER", "gw0") != "gw0":
        yield None
        return
    from prefect_stack import starting

    with starting(tmp_path_factory.mktemp("prefect")) as started:
        yield started


@pytest.fixture(scope="session")
def prefect_stack(
    prefect_starting: "Callable[[], Stack] | None", tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[Stack]":
    """A Prefect server, which takes a core half a minute to start: one for all tests that need it."""
    from prefect_stack import serving

    if prefect_starting:
        yield prefect_starting()
        return
    with serving(tmp_path_factory.mktemp("prefect")) as stack:
        yield stack


def pytest_terminal_summary(terminalreporter: "TerminalReporter") -> None:
    """Of the tests of faults: what was tried, survived, lost; one that counts nothing itself is one."""
    ended: list[str] = []
    for outcome, as_a_whole in (("passed", "survived"), ("failed", "lost")):
        for report in terminalreporter.stats.get(outcome, ()):
            told = [name for name, _ in report.user_properties]
            if "fault" in told:
                ended += [name for name in told if name in {"survived", "lost"}] or [as_a_whole]
    if ended:
        lost = ended.count("lost")
        terminalreporter.write_line(
            f"Faults: {len(ended)} tried, {len(ended) - lost} survived, {lost} lost"
        )


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> "Generator[None, int, int]":
    """`-n auto` is a worker more than there are cores: tests that wait for a server or a process leave theirs idle."""
    return (yield) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> "Generator[None, object, object]":
    """What is imported stays: else each of the many collections of garbage walks through all of it."""
    gc.disable()  # a fifth of the time of collecting the tests
    result = yield
    gc.freeze()
    gc.enable()
    return result


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need a Prefect server go early, to one worker, behind some that run while the server starts."""
    flows = [item for item in items if item.get_closest_marker("prefect")]
    others = [item for item in items if not item.get_closest_marker("prefect")]
    before = len(others) // 16
    items[:] = [*others[:before], *flows, *others[before:]]
    for item in items:
        if item.get_closest_marker("deployed"):
            item.add_marker("whole")
        if item.get_closest_marker("faults"):
            item.user_properties.append(("fault", ""))  # for the line at the end
        if item.get_closest_marker("prefect") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(450))
