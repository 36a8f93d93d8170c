"""Where the packages of benchmarks/requirements*.txt are, which are no dependencies of the project.

`make bench` installs them in an environment of their own; what this project depends on, too, stays that of its own.
"""

import sys
from pathlib import Path

OUT = Path(__file__).with_name("out")
APART = {"ragas"}  # needs older versions of what the others need


def home(opponent: str = "") -> Path:
    """The folder of the environment that has this opponent, or those without an environment of their own."""
    return OUT / (f"opponents-{opponent}" if opponent in APART else "opponents")


def python(opponent: str = "") -> Path:
    """The interpreter that has it."""
    return home(opponent) / "bin" / "python"


def find_opponents() -> None:
    """Make those without an environment of their own importable here, behind all that is installed already."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    sys.path.append(str(home() / "lib" / version / "site-packages"))
