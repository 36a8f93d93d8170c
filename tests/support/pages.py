"""The READMEs and docs/: their lines, their fenced blocks, and the commands in these."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from typed import words_of

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ROOMS = ("deployments", "judges", "benchmarks", "examples", "schemas", "systems")
READ = sorted(
    (
        *ROOT.glob("*.md"), *DOCS.glob("*.md"), *(ROOT / room / "README.md" for room in ROOMS),
        ROOT / "benchmarks" / "MEASUREMENTS.md",
    )
)  # fmt: skip
NAMES = [page.relative_to(ROOT).as_posix() for page in READ]
KOREAN = [name for name in NAMES if name.endswith(".ko.md")]  # with the code of the English pages
SHELLS = frozenset({"sh", "bash"})
_FENCE = re.compile(r"^ *```(.*)$")


class Line(NamedTuple):
    """A line of a page.

    Attributes:
        language: of the fenced block that it stands in; None outside of one.
        number: from 1.
    """

    language: str | None
    number: int
    text: str


def lines_of(page: Path) -> Iterator[Line]:
    """All lines but the fences."""
    language: str | None = None
    for number, text in enumerate(page.read_text("utf-8").splitlines(), 1):
        if fence := _FENCE.match(text):
            language = fence[1].strip() if language is None else None
        else:
            yield Line(language, number, text)


def prose(page: Path) -> str:
    """What stands in no fenced block."""
    return "\n".join(line.text for line in lines_of(page) if line.language is None)


def commands(page: Path) -> Iterator[list[str]]:
    """Each call of gigamind in the page's shell blocks, a line that goes on joined with the next."""
    lines = "\n".join(line.text for line in lines_of(page) if line.language in SHELLS)
    for line in lines.replace("\\\n", " ").splitlines():
        if "gigamind" in line and "<<" not in line and (words := words_of(line)):
            yield words
