"""Writes demands.txt: where the documents define an option, a field, an exit code, an event or a phrase of the page.

    PYTHONPATH=tests/conformance python tests/conformance/scan.py FOLDER_OF_DOCUMENTS

The documents are not in the repository; a row of the list is `document line token`.
It also says which quotes of the tables do not stand in their lines.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from demands.model import Repeats
from demands.table import SECTIONS

LIST = Path(__file__).with_name("demands.txt")
_ITEM = re.compile(r"^\s*- (?P<names>`[^`]+`(?:, `[^`]+`)*)")
_NAME = re.compile(r"`(--[a-z-]+|\w+)[^`]*`")
_PROMPT_ITEM = re.compile(r"^- (?P<name>[a-zA-Z]+):")
_OPENER = re.compile(
    r"^(?P<indent>\s*).*(?:interface \w+ \{|z\.object\(\{|JSON\.stringify\(\{|\(BaseModel\):)$"
)
_FIELD = re.compile(r"^\s+(?P<name>\w+)\??:\s")
_EVENT = re.compile(r"^event: (?P<name>\w+)")
_PHRASE = re.compile(r'^\s+"(?P<name>qa\w+)":')
_COMMAND = re.compile(r"^(?:gigamind |\s+--)")
_FLAG = re.compile(r"--[a-z][a-z-]+")


def definitions(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Line number, from 1, and name of all that is defined, or first named in a command, in a document."""
    closer: str | None = None
    seen: set[str] = set()
    for number, line in enumerate(lines, start=1):
        names = set[str]()
        if item := _ITEM.match(line):
            names |= set(_NAME.findall(item["names"]))
        for pattern in (_PROMPT_ITEM, _EVENT, _PHRASE):
            if match := pattern.match(line):
                names.add(match["name"])
        if closer is not None:
            is_inside = line.startswith(closer + " ") or not line.strip()
            if is_inside and (match := _FIELD.match(line)):
                names.add(match["name"])
            closer = closer if is_inside else None
        if closer is None and (opener := _OPENER.match(line)):
            closer = opener["indent"]
        if _COMMAND.match(line):
            names |= set(_FLAG.findall(line)) - seen
        seen |= names
        yield from ((number, name) for name in sorted(names))


def main(folder: Path) -> None:
    """Write the list, and say what is misquoted."""
    found: list[str] = []
    for file in sorted(folder.glob("00?_*.txt")):
        document = file.name[:3]
        lines = file.read_text("utf-8").splitlines()
        found += [f"{document} {number} {name}" for number, name in definitions(lines)]
        for section in SECTIONS:
            if section.document == document:
                misquoted(document, lines, section.rows)
    LIST.write_text("\n".join(found) + "\n", "utf-8")
    sys.stdout.write(f"{LIST}: {len(found)} demands\n")


def misquoted(document: str, lines: list[str], rows) -> None:
    """Say which pieces of quotes, parted by " … ", stand in none of their row's lines, unless another document's do."""
    for row in rows:
        if any(isinstance(proof, Repeats) for proof in row.proofs):
            continue
        text = "\n".join(lines[number - 1] for number in row.lines)
        for piece in row.says.split(" … "):
            if piece not in text:
                sys.stdout.write(f"{document}:{row.lines}: not said there: {piece}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
