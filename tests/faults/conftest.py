from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import forked
import pytest
from fault_work import SEARCH, lay_out
from faulty_model import FakeServer

from gigamind.judges.unanswerable_llm import UnanswerableReply


class Faults:
    """What a test tried; the line at the end of the session counts it all."""

    def __init__(self, test: pytest.Item) -> None:
        self._test = test
        self.lost: list[str] = []

    @contextmanager
    def tried(self, what: str) -> Iterator[None]:
        """One fault: survived where the block ends without a failed assertion."""
        ended = "survived"
        try:
            yield
        except AssertionError as error:
            ended = "lost"
            self.lost.append(f"{what}: {error}")
        finally:
            self._test.user_properties.append((ended, what))


@pytest.fixture
def faults(request: pytest.FixtureRequest) -> Iterator[Faults]:
    found = Faults(request.node)
    yield found
    assert not found.lost, "\n\n".join(found.lost)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What all work reads, with `base`, a finished run."""
    folder = tmp_path_factory.mktemp("template")
    lay_out(folder / "laid")
    kept = ("--out", "base", "--cache-dir", folder / "cache")
    made = forked.command(folder / "laid", *SEARCH, *kept)
    assert made.completed().returncode == 0
    return folder / "laid"


@pytest.fixture
def asked(server: FakeServer) -> FakeServer:
    """A model that says the same of the same question, whatever fences the notes."""
    said = UnanswerableReply(answered=False, answer="", sources=(), confidence=0.8)
    server.respond = lambda _body: said.model_dump(mode="json")
    return server
