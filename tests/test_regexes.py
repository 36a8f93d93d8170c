"""Regular expressions of the package mean the same on every Python from 3.11 on.

CPython before 3.11.4 matches possessive groups wrongly, so that a verdict would hang on the interpreter's patch level.
Behind a single character or class, a possessive quantifier is safe.
"""

import ast
import re
from pathlib import Path

import gigamind

ESCAPED = re.compile(r"\\.", re.DOTALL)
CLASS = re.compile(r"\[\^?\]?[^\]]*\]")
POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+|\(\?>")


def is_possessive_group(pattern):
    return POSSESSIVE_GROUP.search(CLASS.sub("c", ESCAPED.sub("e", pattern))) is not None


def strings(tree):
    """Each string of a module; whatever an f-string puts in counts as a group."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "()" for part in node.values]
            yield node.lineno, "".join(map(str, parts))


def test_no_regular_expression_has_a_possessive_or_an_atomic_group():
    package = Path(gigamind.__file__).parent
    wrong = [
        f"{path.relative_to(package)}:{line}"
        for path in sorted(package.rglob("*.py"))
        for line, text in strings(ast.parse(path.read_text(encoding="utf-8")))
        if is_possessive_group(text)
    ]
    assert wrong == []


def test_possessive_groups_are_told_from_other_quantifiers():
    groups = [r"(a|b)*+", r"(?:a)++", r"(?:a)?+", r"(a){2,}+", r"(?>a)", r"(?:[)]\))*+"]
    others = [r"[^()]*+", r"\)++", r"a{2,}+", r"(a)+\+", r"(a)[+*]", r"\s*+(?:b)+", r"[]()]++"]
    assert [each for each in groups if not is_possessive_group(each)] == []
    assert [each for each in others if is_possessive_group(each)] == []
    (_, marked), *_ = strings(ast.parse('rf"{MARK}++|[{CLASS}]++"'))
    assert is_possessive_group(marked)
    (_, classed), *_ = strings(ast.parse('rf"[{CLASS}]++"'))
    assert not is_possessive_group(classed)
