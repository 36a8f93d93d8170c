"""How modules import one another: in no circle, and in short chains; that no layer imports a higher one, `lint-imports`
holds.

All imports count, those inside functions and for types, too: a reader follows them alike.
"""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import gigamind

ROOT = Path(gigamind.__file__).parent
LONGEST = 18


def _name(file: Path) -> str:
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(file: Path, modules: set[str]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, (
                f"{file}: {ast.unparse(node)}: modules are imported by their full names"
            )
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in modules else str(node.module) for name in whole}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & modules - {_name(file)}


def _longest_chain(imports: dict[str, set[str]]) -> list[str]:
    """From the module above to the one beneath; a circle is a `CycleError` that names it."""
    below: dict[str, list[str]] = {}
    for module in TopologicalSorter(imports).static_order():
        below[module] = [module, *max((below[one] for one in imports[module]), key=len, default=[])]
    return max(below.values(), key=len)


def test_imports_form_no_circle_and_no_chain_of_more_than_18_modules():
    files = {_name(file): file for file in sorted(ROOT.rglob("*.py"))}
    imports = {name: _imported(file, set(files)) for name, file in files.items()}
    imports["gigamind"] = set()  # the names of the library, each loaded when it is first used
    chain = _longest_chain(imports)
    assert len(chain) <= LONGEST, " > ".join(chain)
