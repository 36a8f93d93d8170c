import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from flow_files import load_flow
from prefect_stack import Stack

from gigamind.tasks.options import SearchEvalOptions

if TYPE_CHECKING:
    from faulty_model import FakeServer

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="session")
def prefect_server(prefect_stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """API address of the session's own server, to which every flow run here speaks."""
    home = tmp_path_factory.mktemp("prefect")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("DO_NOT_TRACK", "1")
        environment.setenv("GIGAMIND_CACHE_DIR", str(home / "cache"))
        environment.setenv("PREFECT_API_URL", prefect_stack.api)  # else a killed run leaves its own
        from prefect import settings
        from prefect.logging.configuration import setup_logging

        setup_logging()  # else the first flow run does it, and takes away the handler of its test's caplog
        its_own = {
            settings.PREFECT_HOME: home,
            settings.PREFECT_API_URL: prefect_stack.api,
            settings.PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,  # its thread costs a flow run a second
        }
        with settings.temporary_settings(its_own):
            yield prefect_stack.api


@pytest.fixture
def flow() -> Any:
    """The flow `eval-search`."""
    return load_flow("eval_search")


@pytest.fixture
def options(tmp_path: Path) -> Callable[..., SearchEvalOptions]:
    """Options of a run over a copy of the examples, by keyword search, changed by what a test names."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")

    def make(**changes: object) -> SearchEvalOptions:
        chosen = {
            "dataset": tmp_path / "examples" / "queries.jsonl",
            "notes": tmp_path / "examples" / "vault",
            "out": tmp_path / "out",
            "mode": "keyword",
            "speed_passes": 0,
            **changes,
        }
        return SearchEvalOptions.model_validate(chosen)

    return make


@pytest.fixture
def by_its_model(server: "FakeServer", tmp_path: Path) -> dict[str, object]:
    """Options that have a model decide what no note answers."""
    return {
        "unanswerable_mode": "llm",
        "model": "openai/judge",
        "api_base": server.url,
        "max_in_flight": 8,
        "model_timeout_s": 60,  # both given: no speed is measured
        "store": tmp_path / "replies",
    }
