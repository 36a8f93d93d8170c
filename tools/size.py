"""Count what a reader has to keep in mind: `python tools/size.py [--record]`; exit code 1 if a count grew.

size.txt holds the limit of each count. `--record` lowers each limit to its count, and never raises one.

A room is a package directly below gigamind/, or its modules outside packages. A public name is a function, class or
constant of a module without an underscore. A repeated line starts six equal lines that stand in two places. A long
sentence of a page or docstring has more than 30 words; `make lint` refuses one in a message.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from graphlib import TopologicalSorter
from itertools import chain
from pathlib import Path

from plain_language import LONGEST_SENTENCE, docstrings, pages, sentences, statements

ROOT = Path(__file__).parents[1]
LIMITS = Path(__file__).with_suffix(".txt")
_REPEATED = 6  # lines
_SHORTEST = 4  # characters of a line that counts as repeated; brackets do not


def counts(root: Path = ROOT) -> dict[str, int]:
    """Return each count of a checkout by its name."""
    package = root / "gigamind"
    files = [
        file
        for file in sorted(package.rglob("*"))
        if file.is_file() and file.suffix != ".pyc" and "locales" not in file.parts
    ]
    rooms: Counter[str] = Counter()
    for file in files:
        rooms["modules" if file.parent == package else file.relative_to(package).parts[0]] += (
            _lines(file)
        )
    modules = {_name(file, root): file for file in files if file.suffix == ".py"}
    imports: dict[str, set[str]] = {}
    names = 0
    texts = [text for _place, text, _limited in pages()]
    for name, file in modules.items():
        tree = ast.parse(file.read_text("utf-8"))
        imports[name] = imported(name, tree, modules)
        names += len(list(public_names(tree)))
        texts += docstrings(tree)
    for file in (root / "flows").glob("*.py"):
        texts += docstrings(ast.parse(file.read_text("utf-8")))
    imports["gigamind"] = set()  # the names of the library, each loaded when it is first used
    importers = Counter(chain.from_iterable(imports.values()))
    return {
        "lines": rooms.total(),
        **{f"lines of {room}": lines for room, lines in sorted(rooms.items())},
        "lines of the longest module": max(map(_lines, modules.values())),
        "lines of tests": sum(map(_lines, (root / "tests").rglob("*.py"))),
        "modules": len(modules),
        "modules with one importer": sum(count == 1 for count in importers.values()),
        "modules in the longest chain of imports": len(longest_chain(imports)),
        "public names": names,
        "repeated lines": repeated_lines(file.read_text("utf-8") for file in modules.values()),
        "long sentences": sum(
            len(sentence.split()) > LONGEST_SENTENCE
            for text in texts
            for sentence in sentences(text)
        ),
    }


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n")


def _name(file: Path, root: Path) -> str:
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(name: str, tree: ast.Module, modules: Mapping[str, Path]) -> set[str]:
    """Return the modules that a module imports, those inside functions and for types included.

    Raises:
        ValueError: An import is relative.
    """
    found: set[str] = set()
    for node in statements(tree):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(
                    f"{modules[name]}:{node.lineno}: import modules by their full names"
                )
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {one if one in modules else str(node.module) for one in whole}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & set(modules) - {name}


def longest_chain(imports: Mapping[str, set[str]]) -> list[str]:
    """Return the longest chain of modules of which each imports the next; CycleError if there is a cycle."""
    below: dict[str, list[str]] = {}
    for module in TopologicalSorter(imports).static_order():
        below[module] = [module, *max((below[one] for one in imports[module]), key=len, default=[])]
    return max(below.values(), key=len)


def public_names(tree: ast.Module) -> Iterator[str]:
    """Yield the names of a module that others may use."""
    for node in tree.body:
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                names = [name]
            case ast.Assign(targets=targets):
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case _:
                names = []
        yield from (name for name in names if not name.startswith("_"))


def repeated_lines(codes: Iterable[str]) -> int:
    """Return how many lines start a run of six lines that stands in another place, too."""
    runs: Counter[tuple[str, ...]] = Counter()
    for code in codes:
        lines = [line.strip() for line in code.splitlines()]
        lines = [line for line in lines if len(line) >= _SHORTEST and not line.startswith("#")]
        runs.update(zip(*(lines[start:] for start in range(_REPEATED)), strict=False))
    return sum(times for times in runs.values() if times > 1)


def limits(file: Path = LIMITS) -> dict[str, int]:
    """Return the limit of each count by its name."""
    rows = (line.rsplit(": ", 1) for line in file.read_text("utf-8").splitlines())
    return {name: int(limit) for name, limit in rows}


def growth(now: Mapping[str, int], limit: Mapping[str, int]) -> list[str]:
    """Return one line for each count above its limit; a count without a limit may not exist yet."""
    return [
        f"{name}: {count}, limit {limit.get(name, 0)}"
        for name, count in now.items()
        if count > limit.get(name, 0)
    ]


def record(now: Mapping[str, int], limit: Mapping[str, int], file: Path = LIMITS) -> None:
    """Write the lower one of each count and its limit."""
    rows = (f"{name}: {min(count, limit.get(name, 0))}\n" for name, count in now.items())
    file.write_text("".join(rows), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    found, allowed = counts(), limits()
    if "--record" in sys.argv[1:]:
        record(found, allowed)
    grown = growth(found, allowed)
    sys.stderr.writelines(f"grew: {row}\n" for row in grown)
    sys.exit(1 if grown else 0)
