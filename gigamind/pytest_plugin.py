"""Plugin of pytest: registers the marker of tests that evaluate; they call `gigamind.assert_no_regression`."""

from typing import Any


def pytest_configure(config: Any) -> None:  # noqa: ANN401  pytest need not be installed
    """Register the marker `gigamind`."""
    line = (
        "gigamind: evaluates search or answers, which takes long; leave out with -m 'not gigamind'"
    )
    config.addinivalue_line("markers", line)
