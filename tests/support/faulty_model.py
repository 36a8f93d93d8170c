"""The mock model of the tests, which misbehaves on request."""

from gigamind.fake_model.server import (
    ERRORS,
    FAULTS,
    Behaviour,
    FakeServer,
    Seen,
    error_response,
    read_behaviour,
    run,
    running,
)

__all__ = [
    "ERRORS",
    "FAULTS",
    "Behaviour",
    "FakeServer",
    "Seen",
    "error_response",
    "read_behaviour",
    "run",
    "running",
]
