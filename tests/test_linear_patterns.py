"""Every regular expression of the package takes time in proportion to the text, however odd the text.

Notes, answers and replies of models come from anywhere: 20 000 characters without a space once took 2.7 s, and 500 000
did not end. The test finds the patterns by the calls in the source, so that it misses none, and tries them as they are
used: a pattern that is only matched at a given place may be slow to search with.
"""

import ast
import importlib
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from time_limit import LINEAR, TooSlowError, cost_ratio, within

import gigamind

PACKAGE = Path(gigamind.__file__).parent
COMPILES = {
    "compile", "sub", "subn", "search", "match", "fullmatch", "findall", "finditer", "split",
}  # fmt: skip
AT_A_PLACE = {"match", "fullmatch"}
CHARS, MANY_CHARS = 10_000, 100_000
PLAIN = re.compile(r"\w")
LIMIT = 30  # times as long as PLAIN: only then is the growth measured; most patterns take 1 to 6 times as long
KINDS = "a", " ", "[", "(", "`", "-", "\n", "가", "1", ".", "http://", "a a a ", "[[", "<", "*_"
# Local names in patterns that functions make -> examples of what they hold.
LOCALS = {
    "datasets/check.py": {"text": "휴가 (규정)"},
    "datasets/generate_queries.py": {"shape": r"[?？]$|(?:는가|은가|인가|나요)$"},
    "evidence/normalize.py": {"line": "^>", "inline": "`+"},  # its results are globals
    "judges/quotes.py": {"before": r"(?<!\w)", "stem": "a", "behind": r"(?!\.?\d)"},
    "judges/search_qa/segments.py": {"fence": "```"},
    "llm/completion.py": {"name": "max_tokens"},
    "messages.py": {"parts": ["", "{}", ": no ", "{#}", " of ", "{w}", ""]},
    "metrics/spec.py": {"parts": ["recall_at_", "{k}", "_ceiling"]},
    "prompting/fences.py": {"pattern": "10/10", "flags": re.IGNORECASE},  # its results are `held`
    "wording.py": {"form": "lost {what}; found {found}"},
}


@dataclass(frozen=True)
class Tried:
    """A pattern, where it stands, and whether it is only matched at a given place."""

    where: str
    pattern: re.Pattern[str]
    at_a_place: bool

    def on(self, text: str) -> None:
        if self.at_a_place:
            self.pattern.match(text)
            self.pattern.fullmatch(text)
        else:
            deque(self.pattern.finditer(text), maxlen=0)


def trees():
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text("utf-8")
        if "import re\n" in source:
            yield path.relative_to(PACKAGE).as_posix(), ast.parse(source)


def held(value: object) -> list[re.Pattern[str]]:
    """The patterns in a global, in containers too, and of a function that keeps them."""
    if "re.Pattern" in str(getattr(value, "__annotations__", None)) and hasattr(
        value, "cache_info"
    ):
        value = value()
    if isinstance(value, re.Pattern):
        return [value] if isinstance(value.pattern, str) else []
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, tuple | list | set | frozenset):
        return [pattern for part in value for pattern in held(part)]
    return []


def uses(tree: ast.Module) -> dict[str, set[str]]:
    """Name -> the methods that are called on it; "" where it is used otherwise."""
    found: dict[str, set[str]] = {}
    methods = {id(n.value): n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.setdefault(node.id, set()).add(methods.get(id(node), ""))
    return found


def is_regex_call(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in COMPILES
    )


def made_by(call: ast.Call, known: Mapping[str, object]) -> re.Pattern[str]:
    """The pattern of a call, by the globals of its module and examples of its locals."""
    given = call.args[1:2] if call.func.attr == "compile" else []
    given += [word.value for word in call.keywords if word.arg == "flags"]
    return re.compile(*(eval(ast.unparse(part), dict(known)) for part in (call.args[0], *given)))


@cache
def patterns() -> tuple[Tried, ...]:
    parsed = dict(trees())
    shared: dict[str, set[str]] = {}  # uses of names that other modules may import
    for tree in parsed.values():
        for name, methods in uses(tree).items():
            shared.setdefault(name, set()).update(methods)
    found: dict[tuple[str, int], Tried] = {}
    for path, tree in parsed.items():
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        known, own = vars(importlib.import_module(f"gigamind.{module}")), uses(tree)
        for name, value in known.items():
            methods = own.get(name, set()) if name.startswith("_") else shared.get(name, set())
            at_a_place = bool(methods) and methods <= AT_A_PLACE
            for each in held(value):
                found[each.pattern, each.flags] = Tried(f"{path}: {name}", each, at_a_place)
        for statement in tree.body:
            calls = [node for node in ast.walk(statement) if is_regex_call(node)]
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                names = {
                    id(n.value): n.targets[0]
                    for n in ast.walk(statement)
                    if isinstance(n, ast.Assign)
                }
                for call in calls:
                    each = made_by(call, known | LOCALS.get(path, {}))
                    name = names.get(id(call))
                    compiled = call.func.attr == "compile" and isinstance(name, ast.Name)
                    methods = own[name.id] if compiled else {call.func.attr}
                    where, at_a_place = f"{path}:{call.lineno}", methods <= AT_A_PLACE
                    found.setdefault((each.pattern, each.flags), Tried(where, each, at_a_place))
            elif calls:
                names = [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
                values = [known.get(name) for name in names]
                reads_bytes = any(isinstance(getattr(v, "pattern", None), bytes) for v in values)
                assert held(values) or reads_bytes, f"{path}:{statement.lineno} is in no global"
    return tuple(found.values())


@cache
def seconds_a_character() -> float:
    """Return what a search with PLAIN takes on this machine."""
    text, shortest = "a" * CHARS, float("inf")
    for _ in range(5):
        begun = time.process_time()
        deque(PLAIN.finditer(text), maxlen=0)
        shortest = min(shortest, time.process_time() - begun)
    return shortest / CHARS


def is_slow(pattern: Tried, text_of: Callable[[int], str], size: int) -> bool:
    """Whether a pattern takes long, and much more than 4 times as long on 4 times the text."""
    limit, text, quarter = LIMIT * size * seconds_a_character(), text_of(size), text_of(size // 4)
    try:
        with within(limit):
            pattern.on(text)
    except TooSlowError:
        with suppress(TooSlowError), within(100 * limit):
            return (
                cost_ratio(lambda: pattern.on(quarter), lambda: pattern.on(text), LINEAR)[0]
                > LINEAR
            )
        return True
    return False


def slow(tried: Iterable[Tried], *texts: Callable[[int], str], size: int = CHARS) -> list[str]:
    """Return the patterns whose time is not linear on one of the texts."""
    return [
        f"{each.where}: {each.pattern.pattern}"
        for each in tried
        if any(is_slow(each, text_of, size) for text_of in texts)
    ]


def repeated(kind: str, end: str = "") -> Callable[[int], str]:
    return lambda size: kind * (size // len(kind)) + end


@pytest.mark.whole
@pytest.mark.each("kind", KINDS)
def test_no_pattern_is_slow_on_the_same_characters_again_and_again(kind):
    assert slow(patterns(), repeated(kind, "\n!"), repeated(kind, "가")) == []


def test_no_pattern_is_slow_behind_what_it_begins_with():
    beginnings = ("#", "see", "__a__", "<title>", "q 0 d", "판정", "유용성", "verdict")
    behind = [lambda size, first=first: f"{first}{' ' * size}\n!" for first in beginnings]
    assert slow(patterns(), *behind) == []


@pytest.mark.parametrize(
    "kind", [*(pytest.param(kind, marks=pytest.mark.whole) for kind in "a["), "a a a "]
)
def test_a_long_text_is_read_in_linear_time(kind):
    # What is quadratic with a small factor is noticed here alone.
    assert slow(patterns(), repeated(kind), size=MANY_CHARS) == []


@pytest.mark.whole
def test_slow_patterns_are_distinguished_from_fast_ones():
    quadratic = [Tried("here", re.compile(form), at_a_place=False) for form in (r"\w+://", r"\s*$")]
    bounded = r"\s{1,60}?\s*:"  # linear, at each place 60 times as slow as others
    linear = [Tried("here", re.compile(form), at_a_place=False) for form in (r"\w+", r"a://")]
    linear.append(Tried("here", re.compile(bounded), at_a_place=True))
    assert slow([*quadratic, *linear], repeated("a"), size=6_000) == [r"here: \w+://"]
    assert slow([*quadratic, *linear], repeated(" ", "a"), size=6_000) == [r"here: \s*$"]
    assert slow([Tried("here", re.compile(r"\s*$"), at_a_place=True)], repeated(" ", "a")) == []


def test_patterns_are_found_wherever_they_are_made():
    places = {re.sub(r":\d+$", "", each.where) for each in patterns()}
    in_a_global, in_a_cached_tuple = (
        "linking/anchors.py: _NO_PROSE",
        "prompting/fences.py: _instructions",
    )
    in_a_function, of_locals = "tasks/search/score.py", "metrics/spec.py"
    assert {in_a_global, in_a_cached_tuple, in_a_function, of_locals} <= places
