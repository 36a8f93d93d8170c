"""Every message that the code may make for people, as a template: read from its source, so that none is forgotten.

What an error is raised with is followed to the strings that it is put together of: through names of the same function
and module, conditional expressions, and functions of this package that return text.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import gigamind
from gigamind import errors

PACKAGE = Path(gigamind.__file__).parent
SOURCES = sorted([*PACKAGE.rglob("*.py"), *(PACKAGE.parent / "flows").glob("*.py")])
ERRORS = {
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.GigamindError)
} | {"UsageError", "BadParameter", "ValueError"}
# What is told otherwise: which arguments are messages.
TELLING = {
    "RowError": (3, 4),
    "_BadRowError": (1, 2),
    "reject": (2, 3),
    "warn": (2,),
    "problem": (1, 2),  # of doctor
    "note": (0, 1, 2),
    "tell": (0,),
    "_tell_once": (0,),
    "ok": (1,),
    "translated": (0,),
    "say_line": (0,),
    "heading": (0,),
    "in_its_language": (0,),
    "HTTPException": (1,),
    "refused": (2,),
    "heading_in": (1,),
    "message_in": (1,),
    "_asked": (0,),
    "tell_written": (2,),
    "Checked": (1,),
    "Estimate": (0,),
}
_WORDS = re.compile(r"[A-Za-z]{2,}.* .*|.* .*[A-Za-z]{2,}")
_DEEPEST = 6


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def _definitions(path: Path) -> dict[str, ast.AST]:
    """Functions, methods and constants of a module, and what it imports from this package."""
    found: dict[str, ast.AST] = {}
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = node
    for node in _tree(path).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        found |= {target.id: value for target in targets if isinstance(target, ast.Name) and value}
    return found


@cache
def _imported(path: Path) -> dict[str, Path]:
    """Name -> the file of this package that it is imported from."""
    found: dict[str, Path] = {}
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gigamind."):
            file = PACKAGE.joinpath(*str(node.module).split(".")[1:]).with_suffix(".py")
            found |= {alias.name: file for alias in node.names if file.is_file()}
    return found


class _Reader:
    """The templates of an expression in one function of one file."""

    def __init__(self, path: Path, function: ast.AST | None, depth: int = 0) -> None:
        self.path, self.function, self.depth = path, function, depth

    def whole(self, node: ast.AST | None) -> Iterator[str]:  # noqa: C901, PLR0912  one case for each kind of expression
        """The texts that the expression may be."""
        match node:
            case ast.Constant(value=str(text)):
                yield text
            case ast.JoinedStr(values=values):
                parts = [v.value if isinstance(v, ast.Constant) else "{}" for v in values]
                yield "".join(map(str, parts))
                for value in values:
                    if isinstance(value, ast.FormattedValue):
                        yield from self.whole(value.value)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                lefts, rights = list(self.whole(left)), list(self.whole(right))
                if len(lefts) == len(rights) == 1:
                    yield lefts[0] + rights[0]
                else:
                    yield from lefts
                    yield from rights
            case ast.IfExp(body=body, orelse=orelse):
                yield from self.whole(body)
                yield from self.whole(orelse)
            case ast.BoolOp(values=values) | ast.List(elts=values) | ast.Tuple(elts=values):
                for value in values:
                    yield from self.whole(value)
            case ast.Dict(values=values):
                for value in values:
                    yield from self.whole(value)
            case ast.ListComp(elt=part) | ast.GeneratorExp(elt=part) | ast.Starred(value=part):
                yield from self.whole(part)
            case ast.Subscript(value=value):
                yield from self.whole(value)
            case ast.Name(id=name):
                yield from self.named(name)
            case ast.Call():
                yield from self.called(node)
            case _:
                pass

    def named(self, name: str) -> Iterator[str]:
        """What is assigned to a name here, or in the module."""
        if self.depth > _DEEPEST:
            return
        deeper = _Reader(self.path, self.function, self.depth + 1)
        inside = list(_assigned(self.function, name)) if self.function else []
        for value in inside:
            yield from deeper.whole(value)
        known = _definitions(self.path).get(name)
        if not inside and known is not None and not isinstance(known, ast.FunctionDef):
            yield from deeper.whole(known)

    def method(self, text: ast.AST, name: str, arguments: list[ast.expr]) -> Iterator[str]:
        """What a method of a text or of a dictionary of texts gives."""
        match name:
            case "format":
                yield from (re.sub(r"\{[^}]*\}", "{}", form) for form in self.whole(text))
            case "join":
                for argument in arguments:
                    yield from self.whole(argument)
            case "get" | "removeprefix" | "removesuffix" | "replace" | "strip":
                yield from self.whole(text)
            case _:
                pass

    def called(self, call: ast.Call) -> Iterator[str]:
        """What a call returns."""
        function = call.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        if isinstance(function, ast.Attribute):
            yield from self.method(function.value, name, call.args)
        if self.depth > _DEEPEST or name in {"format", "join"}:
            return
        path = _imported(self.path).get(name, self.path)
        body = _definitions(path).get(name)
        if isinstance(body, ast.FunctionDef | ast.AsyncFunctionDef) and body is not self.function:
            deeper = _Reader(path, body, self.depth + 1)
            for node in ast.walk(body):
                if isinstance(node, ast.Return | ast.Yield):
                    yield from deeper.whole(node.value)


def _assigned(function: ast.AST, name: str) -> Iterator[ast.AST]:
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if isinstance(target, ast.Name) and target.id == name:
                        yield value
                    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple | ast.IfExp):
                        for one, part in _pairs(target, value):
                            if isinstance(one, ast.Name) and one.id == name:
                                yield part
            case ast.NamedExpr(target=ast.Name(id=known), value=value) if known == name:
                yield value
            case _:
                pass


def _pairs(target: ast.Tuple, value: ast.Tuple | ast.IfExp) -> Iterator[tuple[ast.AST, ast.AST]]:
    values = [value] if isinstance(value, ast.Tuple) else [value.body, value.orelse]
    for one in values:
        if isinstance(one, ast.Tuple):
            yield from zip(target.elts, one.elts, strict=False)


def messages() -> dict[str, str]:
    """Template -> a place of the code that makes it."""
    found: dict[str, str] = {}
    for path in SOURCES:
        functions = {
            inner: node
            for node in ast.walk(_tree(path))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for inner in ast.walk(node)
        }
        for node in ast.walk(_tree(path)):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            places = (0,) if name in ERRORS else TELLING.get(name, ())
            reader = _Reader(path, functions.get(node))
            for place in places:
                if place < len(node.args):
                    for text in reader.whole(node.args[place]):
                        for line in text.split("\n"):
                            if _WORDS.search(line.replace("{}", "")):
                                at = f"{path.relative_to(PACKAGE.parent)}:{node.lineno}"
                                found.setdefault(line, at)
    return found


def texts() -> Iterator[str]:
    """Each text of the code, f-strings with {} for their values."""
    for path in SOURCES:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Constant | ast.JoinedStr):
                yield next(_Reader(path, None).whole(node), "")
