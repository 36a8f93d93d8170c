"""The counts of tools/size.py do not grow, and they see what they count; `lint-imports` checks the layers."""

import ast
from graphlib import CycleError

import pytest
from size import (
    counts,
    growth,
    imported,
    limits,
    longest_chain,
    public_names,
    record,
    repeated_lines,
)


def test_no_count_is_above_its_limit():
    grown = growth(counts(), limits())
    if grown:
        pytest.fail(
            "\n".join(("Make the code smaller, or remove something else:", *grown)), pytrace=False
        )


def test_limits_fall_and_never_rise(tmp_path):
    file = tmp_path / "size.txt"
    record({"lines": 7, "modules": 5}, {"lines": 9, "modules": 4, "gone": 1}, file)
    assert limits(file) == {"lines": 7, "modules": 4}
    assert growth({"lines": 7, "modules": 5, "new": 1}, limits(file)) == [
        "modules: 5, limit 4",
        "new: 1, limit 0",
    ]


def test_imports_inside_functions_count_and_relative_ones_are_refused(text_file):
    modules = dict.fromkeys(("a", "a.b", "a.c", "d"), text_file(""))
    code = "import d\ndef f():\n    from a import b\n    from a.c import name\n    import json\n"
    assert imported("a", ast.parse(code), modules) == {"d", "a.b", "a.c"}
    with pytest.raises(ValueError, match=r"file\.txt:1"):
        imported("a", ast.parse("from . import b"), modules)


def test_the_longest_chain_goes_down_and_a_cycle_is_an_error():
    assert longest_chain({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == ["a", "b", "c"]
    with pytest.raises(CycleError):
        longest_chain({"a": {"b"}, "b": {"a"}})


def test_public_names_are_those_defined_at_the_top_without_an_underscore():
    code = (
        "import x\nA = _B = 1\nC: int = 2\nclass D:\n    E = 3\nasync def f(): ...\ndef _g(): ...\n"
    )
    assert list(public_names(ast.parse(code))) == ["A", "C", "D", "f"]


def test_six_equal_lines_in_two_places_are_repeated_whatever_their_indentation():
    run = [f"line {number}" for number in range(6)]
    one, other = "\n".join(["first", *run]), "\n".join(["other", *(f"    {line}" for line in run)])
    assert repeated_lines([one, other]) == 2
    assert repeated_lines([one, other.replace("line 3", "line three")]) == 0
